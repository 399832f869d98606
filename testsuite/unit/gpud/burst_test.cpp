// testsuite/unit/gpud/burst_test.cpp - memory beyond the request: lent, asked back, never promised
// twice.
#include "gpud/share/burst.h"

#include <gtest/gtest.h>

#include <random>

#include "common/format.h"

namespace rota::gpud {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t mib = 1 << 20;
const std::string gpu = "GPU-a";

RunId job(std::uint64_t id) { return {JobId{id}, 0, 0}; }

/// One GPU of 1000 MiB.
struct Bench {
  BurstRoom room{seconds(3)};
  MonoTime now{seconds(100).count()};
  BurstRoom::Held held{{gpu, {}}};
  std::set<RunId> deaf;

  Bench() { room.set_gpu(gpu, 1000 * mib); }
  /// Whether it may start at once; then it has.
  bool add(std::uint64_t id, std::uint64_t request, std::uint64_t limit) {
    room.add(job(id), {GpuShare{gpu, limit * mib, 0, request == limit ? 0 : request * mib}});
    return start(id);
  }
  bool start(std::uint64_t id) {
    if (!room.may_start(job(id))) return false;
    room.started(job(id));
    return true;
  }
  void holds(std::uint64_t id, std::uint64_t bytes) { held[gpu][job(id)] = bytes * mib; }
  void tick(int count = 1) {
    for (; count > 0; --count, now = now + seconds(1)) room.settle(held, now, deaf);
  }
  std::uint64_t ceiling(std::uint64_t id) {
    const auto ceilings = room.ceilings(job(id));
    return ceilings.empty() ? 0 : ceilings.front().bytes / mib;
  }
  std::string evicted() {
    std::string text;
    for (const BurstEviction& each : room.take_evictions())
      text += format("{}: {};", each.run.job.value, each.why);
    return text;
  }
};

TEST(BurstRoom, NobodyNeedsItWhereNobodyAsksForMore) {
  Bench b;
  EXPECT_TRUE(b.add(1, 500, 500));
  EXPECT_FALSE(b.room.is_needed());
  b.tick(3);
  EXPECT_TRUE(b.room.ceilings(job(1)).empty());
}

TEST(BurstRoom, AloneItGetsItsLimit) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 800));
  EXPECT_EQ(b.ceiling(1), 250u);  // until somebody has looked
  b.tick();
  EXPECT_EQ(b.ceiling(1), 800u);
}

TEST(BurstRoom, WhatIsPromisedToOthersIsNotLent) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 1000));
  EXPECT_TRUE(b.add(2, 500, 500));  // holds nothing yet
  b.tick(5);
  EXPECT_EQ(b.ceiling(1), 500u);
}

TEST(BurstRoom, TwoShareWhatIsLeft) {
  Bench b;
  EXPECT_TRUE(b.add(1, 200, 1000));
  EXPECT_TRUE(b.add(2, 200, 1000));
  b.tick();
  EXPECT_EQ(b.ceiling(1) + b.ceiling(2), 1000u);
  EXPECT_EQ(b.ceiling(1), 500u);
  // One has taken its part, the other has not: what is not taken is divided anew.
  b.holds(1, 500);
  b.tick(4);
  EXPECT_EQ(b.ceiling(1), 650u);
  EXPECT_EQ(b.ceiling(2), 350u);
}

// The ceiling of 1 is lowered first; 2 starts when 1 can no longer take what is 2's.
TEST(BurstRoom, ANewcomerWaitsUntilItsRoomIsSafe) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 1000));
  b.holds(1, 300);
  b.tick(3);
  EXPECT_EQ(b.ceiling(1), 1000u);
  EXPECT_FALSE(b.add(2, 500, 500));
  b.tick();
  EXPECT_EQ(b.ceiling(1), 500u);
  EXPECT_FALSE(b.start(2));  // the last look may be older than that word
  b.tick(2);
  EXPECT_TRUE(b.start(2));
  EXPECT_EQ(b.evicted(), "");
}

// Its rstepd is away: it does not hear that it may hold less.
TEST(BurstRoom, WhoDoesNotHearGoesByWhatItHeardLast) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 1000));
  b.holds(1, 300);
  b.tick(3);
  EXPECT_FALSE(b.add(2, 500, 500));
  b.deaf = {job(1)};
  b.tick(5);
  EXPECT_EQ(b.ceiling(1), 500u);
  EXPECT_FALSE(b.start(2));
  b.deaf.clear();
  b.tick();  // now it is told
  EXPECT_FALSE(b.start(2));
  b.tick(2);
  EXPECT_TRUE(b.start(2));
}

TEST(BurstRoom, WhoDoesNotGiveBackIsEnded) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 1000));
  b.tick();
  b.holds(1, 900);
  b.tick();
  EXPECT_FALSE(b.add(2, 500, 500));
  b.tick(3);
  EXPECT_EQ(b.ceiling(1), 250u);
  EXPECT_EQ(b.evicted(), "");
  b.tick();
  EXPECT_EQ(b.evicted(),
            "1: it held 900 MiB of GPU-a, its request is 250 MiB, and the rest is owed to job 2;");
  b.tick(5);
  EXPECT_EQ(b.evicted(), "");  // once
  EXPECT_FALSE(b.start(2));
  b.room.remove(job(1));
  b.held[gpu].clear();
  EXPECT_TRUE(b.start(2));
}

TEST(BurstRoom, WhoGivesBackInTimeGoesOn) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 1000));
  b.tick();
  b.holds(1, 900);
  b.tick();
  EXPECT_FALSE(b.add(2, 500, 500));
  b.tick(2);
  b.holds(1, 400);
  b.tick(3);
  EXPECT_EQ(b.evicted(), "");
  EXPECT_TRUE(b.start(2));
}

TEST(BurstRoom, AGpuThatDoesNotAnswerChangesNothing) {
  Bench b;
  EXPECT_TRUE(b.add(1, 250, 800));
  b.held.clear();
  b.tick(3);
  EXPECT_EQ(b.ceiling(1), 250u);
}

TEST(BurstRoom, OfAnAdoptedRunTheWorstIsBelieved) {
  Bench b;
  b.room.adopt(job(1), {GpuShare{gpu, 800 * mib, 0, 250 * mib}});
  EXPECT_FALSE(b.add(2, 500, 500));
  b.tick(3);
  EXPECT_TRUE(b.start(2));
}

// Whatever runs take as soon as they may, and however late it is seen: all of it fits, and nobody
// is short of what he was promised.
TEST(BurstRoom, NeverLendsTheSameTwice) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    std::minstd_rand random(seed);
    const auto upto = [&](std::uint64_t most) {
      return std::uniform_int_distribution<std::uint64_t>(0, most)(random);
    };
    Bench b;
    struct Program {
      std::uint64_t request = 0, limit = 0, really = 0;
      bool runs = false;
    };
    std::map<std::uint64_t, Program> programs;
    std::uint64_t next = 1;
    for (int second = 0; second < 200; ++second) {
      std::uint64_t requested = 0;
      for (const auto& [id, program] : programs) requested += program.request;
      if (upto(3) == 0 && requested < 900) {
        const std::uint64_t request = 1 + upto(999 - requested);
        Program& program = programs[next];
        program = {request, upto(1) == 0 ? request : request + upto(1000 - request)};
        program.runs = b.add(next++, program.request, program.limit);
      }
      for (auto& [id, program] : programs)
        if (!program.runs) program.runs = b.start(id);
      // The driver is looked at before the programs go on, and its word is used afterwards.
      b.held[gpu].clear();
      for (const auto& [id, program] : programs)
        if (program.runs) b.holds(id, program.really);
      std::uint64_t all = 0;
      for (auto& [id, program] : programs) {
        if (!program.runs) continue;
        const std::uint64_t may = program.limit > program.request ? b.ceiling(id) : program.request;
        if (program.really < may) program.really += upto(may - program.really);
        if (upto(9) == 0) program.really = upto(program.really);
        all += program.really;
      }
      ASSERT_LE(all, 1000u);
      b.tick();
      for (const BurstEviction& each : b.room.take_evictions()) {
        programs.erase(each.run.job.value);
        b.room.remove(each.run);
      }
      if (upto(9) == 0 && !programs.empty()) {
        b.room.remove(job(programs.begin()->first));
        programs.erase(programs.begin());
      }
    }
  }
}

}  // namespace
}  // namespace rota::gpud
