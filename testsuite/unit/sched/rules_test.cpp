// testsuite/unit/sched/rules_test.cpp - passes over drawn worlds, judged by a model of the rules.
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/format.h"
#include "unit/sched/rules_model.h"

namespace rota::sched::drawn {
namespace {

constexpr std::uint64_t seeds_usual = 500;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A world must be worth its time: the worlds together come across every rule.
void expect_all_met(const Coverage& met) {
  EXPECT_GT(met.starts, 500u);
  EXPECT_GT(met.gangs, 100u);
  EXPECT_GT(met.takings[static_cast<std::size_t>(Did::consolidate)], 5u);
  EXPECT_GT(met.takings[static_cast<std::size_t>(Did::reclaim)], 100u);
  EXPECT_GT(met.takings[static_cast<std::size_t>(Did::preempt)], 10u);
  EXPECT_GT(met.lost, 100u);
  EXPECT_GT(met.stopped, 100u);
  EXPECT_GT(met.full, 100u);
  EXPECT_GT(met.alone, 10u);
}

void play_and_judge(std::uint64_t seed, Coverage& met) {
  const World world = draw(seed);
  SCOPED_TRACE(format("replay: ROTA_WORLD_SEED={}\n{}", seed, text_of(world)));
  const PlayedPass played = play(world);
  ASSERT_EQ(broken_rules(world, played, met), "");
  // The same world gives the same decisions.
  ASSERT_TRUE(play(world).steps == played.steps) << "plan: not the same twice";
}

// ROTA_WORLD_SEED=N plays one world again, ROTA_SCHED_SEEDS=N that many instead of 500.
TEST(Rules, HoldInDrawnWorlds) {
  const std::uint64_t only = number_in("ROTA_WORLD_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t last = only != 0 ? only : number_in("ROTA_SCHED_SEEDS", seeds_usual);
  Coverage met;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    ASSERT_NO_FATAL_FAILURE(play_and_judge(seed, met));
  }
  if (last - first + 1 >= seeds_usual) expect_all_met(met);
}

// Where elastic jobs lost their minimum, or a part of it, and kept a task that was above it.
TEST(Rules, GangsAreEvictedFromTheTopDown) {
  Coverage met;
  for (const std::uint64_t seed : {1442u, 2897u, 9649u})
    ASSERT_NO_FATAL_FAILURE(play_and_judge(seed, met));
}

// Where the victim's department is of a higher rank than the taker's: once evicted, the victim is
// served first and has its place again, so nothing was overlooked.
TEST(Rules, WhoIsServedFirstGetsItsPlaceBack) {
  Coverage met;
  ASSERT_NO_FATAL_FAILURE(play_and_judge(1824, met));
}

}  // namespace
}  // namespace rota::sched::drawn
