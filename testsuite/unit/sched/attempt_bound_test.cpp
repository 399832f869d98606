// testsuite/unit/sched/attempt_bound_test.cpp - what is said to be hopeless fails when it is tried.
#include "sched/attempt_bound.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "common/format.h"
#include "sched/place.h"

namespace rota::sched {
namespace {

std::shared_ptr<const JobShape> shape_of(std::uint32_t tasks, std::uint32_t gpus, Lie lie) {
  auto demand = std::make_shared<Demand>();
  demand->gpu = Demand::Gpu::whole;
  demand->devices = gpus;
  auto shape = std::make_shared<JobShape>();
  shape->gang = Gang::simple(tasks);
  shape->tasks.assign(tasks, {0, demand, nullptr});
  shape->lie = lie;
  return shape;
}

/// Projects of different quotas under one parent; nodes of 8 GPUs.
class Cluster {
 public:
  Cluster(std::size_t nodes, const std::vector<std::int64_t>& quotas) {
    for (std::size_t i = 0; i < nodes; ++i) {
      FleetNode node;
      node.name = format("n{}", i);
      node.gpu_count = 8;
      node.gpu_memory_mib = 1000;
      node.task_count_max = 1000;
      world.fleet.add(std::move(node));
    }
    world.measure_gpus();
    world.now = 1000;
    for (std::size_t i = 0; i < quotas.size(); ++i) {
      QuotaTerms terms;
      terms.deserved = Amount::all(unbounded);
      terms.deserved[Resource::gpu] = quotas[i] * one_gpu;
      terms.weight[0] = static_cast<double>(quotas[i]);
      terms.age_order = i;
      world.quotas.add(format("p{}", i), quota_root, terms);
    }
  }

  std::uint32_t add(QuotaIndex project, std::shared_ptr<const JobShape> shape) {
    SchedJob job;
    job.id = ++last_;
    job.shape = std::move(shape);
    job.project = project;
    job.submitted = static_cast<std::int64_t>(last_);
    return world.add(std::move(job));
  }

  /// Starts it if it fits somewhere.
  bool start(std::uint32_t job, std::int64_t at) {
    if (!place(world, job, tasks_to_place(world.job(job)))) return false;
    world.set_started(job, at);
    return true;
  }

  void divide() {
    world.settle();
    world.refresh();
    world.quotas.divide(world.fleet.total(), 0);
  }

  /// What an attempt does: they leave, and all compete. Whether the taker found its place; and what
  /// those lost who did not come back to where they were. Leaves no mark.
  struct Outcome {
    bool is_placed = false;
    double lost = 0;
  };
  Outcome try_to_take(std::uint32_t taker, const std::vector<Unit>& units) {
    const auto wanted = tasks_to_place(world.job(taker));
    const std::size_t mark = world.mark();
    Contest contest(world);
    for (const Unit& unit : units)
      for (const auto task : unit.tasks) world.evict({unit.job, task});
    contest.push(world.key_as(Fill::below, taker), world.estimate(world.job(taker), wanted));
    for (const Unit& unit : units)
      contest.push(world.key_to_take(fill_of(world.job(unit.job)), unit.job),
                   world.estimate(world.job(unit.job), unit.tasks));
    Outcome outcome;
    while (const auto next = contest.pop()) {
      const bool is_taker = *next == taker;
      const auto tasks = is_taker ? wanted : tasks_to_place(world.job(*next), Which::evicted);
      const bool is_placed = bool(place(world, *next, tasks, {.only_promise = true}));
      if (is_taker) outcome.is_placed = is_placed;
      if (is_taker && !is_placed) break;
    }
    std::vector<Unit> moved;
    for (const Unit& unit : units)
      for (const auto task : unit.tasks)
        if (world.task({unit.job, task}).evicted) moved.push_back({unit.job, {task}});
    world.undo_to(mark);
    EXPECT_TRUE(world.job(taker).tasks.empty()) << "as if nothing had been tried";
    outcome.lost = work_lost(world, moved);
    return outcome;
  }

  World world;

 private:
  std::uint64_t last_ = 0;
};

Unit all_of(const World& world, std::uint32_t job) {
  Unit unit{job, {}};
  for (std::uint32_t i = 0; i < world.job(job).task_count(); ++i) unit.tasks.push_back(i);
  return unit;
}

bool is_hopeless(const World& world, std::uint32_t taker, const std::vector<Unit>& units,
                 std::optional<double> worth = {}) {
  AttemptBound bound(world, taker);
  bound.ask_for(tasks_to_place(world.job(taker)), worth);
  std::vector<std::uint32_t> numbers;
  for (const Unit& unit : units) {
    numbers.push_back(static_cast<std::uint32_t>(numbers.size()));
    bound.add(unit);
  }
  return bound.is_hopeless(numbers);
}

// Two nodes, full of jobs of 4 GPUs of a project with a quota for all of them.
TEST(AttemptBound, SeesWhoComesBackFirst) {
  Cluster cluster(2, {16, 8});
  std::vector<Unit> units;
  for (int i = 0; i < 4; ++i) {
    const auto job = cluster.add(1, shape_of(1, 4, Lie::free));
    ASSERT_TRUE(cluster.start(job, 0));
    units.push_back({job, {0}});
  }
  const auto taker = cluster.add(2, shape_of(1, 8, Lie::free));
  cluster.divide();
  EXPECT_FALSE(cluster.try_to_take(taker, units).is_placed);
  EXPECT_TRUE(is_hopeless(cluster.world, taker, units));
}

// The same without a quota: the taker is served before them.
TEST(AttemptBound, SaysNothingOfThoseWhoComeAfterTheTaker) {
  Cluster cluster(2, {0, 8});
  std::vector<Unit> units;
  for (int i = 0; i < 4; ++i) {
    const auto job = cluster.add(1, shape_of(1, 4, Lie::free));
    ASSERT_TRUE(cluster.start(job, 0));
    units.push_back({job, {0}});
  }
  const auto taker = cluster.add(2, shape_of(1, 8, Lie::free));
  cluster.divide();
  EXPECT_TRUE(cluster.try_to_take(taker, units).is_placed);
  EXPECT_FALSE(is_hopeless(cluster.world, taker, units));
  EXPECT_TRUE(is_hopeless(cluster.world, taker, {units[0]})) << "half a node is too little";
}

// A node with 4 free GPUs and jobs of 1 GPU that have run for 1000 s: the taker needs 2 of theirs.
TEST(AttemptBound, SeesWhatMovesCostAtLeast) {
  Cluster cluster(2, {8, 8});
  const auto full = cluster.add(1, shape_of(1, 5, Lie::free));
  ASSERT_TRUE(cluster.start(full, 0));
  std::vector<Unit> units;
  for (int i = 0; i < 7; ++i) {
    const auto job = cluster.add(1, shape_of(1, 1, Lie::free));
    ASSERT_TRUE(cluster.start(job, i < 3 ? 500 : 0));
    units.push_back({job, {0}});
  }
  const auto taker = cluster.add(2, shape_of(1, 6, Lie::free));
  cluster.divide();
  // Three are beside the large one, four on the other node, which has room for two more.
  ASSERT_EQ(cluster.world.fleet.at(1).gpus_free(), 4);
  const double one = 1000.0 * one_gpu;
  EXPECT_TRUE(is_hopeless(cluster.world, taker, units, 1.99 * one));
  EXPECT_FALSE(is_hopeless(cluster.world, taker, units, 2 * one + 1));
}

/// Sets of victims drawn at random, on full clusters drawn at random.
TEST(AttemptBound, WhatIsHopelessFails) {
  std::map<bool, int> said;
  int dear = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    std::mt19937 draw(seed);
    const auto below = [&](std::uint32_t bound) {
      return static_cast<std::uint32_t>(draw() % bound);
    };
    Cluster cluster(4, {std::int64_t{below(17)}, std::int64_t{below(17)}, std::int64_t{below(9)}});
    const auto shape = [&] {
      const std::uint32_t tasks = below(3) == 0 ? 2 + below(2) : 1;
      return shape_of(tasks, below(2) == 0 ? 8 : 1 + below(4),
                      tasks > 1 && below(2) == 0 ? Lie::apart : Lie::free);
    };
    std::vector<std::uint32_t> holders;
    for (int i = 0; i < 40; ++i) {
      const auto job = cluster.add(1 + below(3), shape());
      if (cluster.start(job, below(1000))) holders.push_back(job);
    }
    const auto taker = cluster.add(1 + below(3), shape());
    cluster.divide();
    for (int i = 0; i < 20; ++i) {
      std::vector<Unit> units;
      for (const auto job : holders)
        if (below(3) > 0) units.push_back(all_of(cluster.world, job));
      const auto outcome = cluster.try_to_take(taker, units);
      const bool is_said = is_hopeless(cluster.world, taker, units);
      EXPECT_FALSE(is_said && outcome.is_placed);
      ++said[is_said];
      if (!outcome.is_placed) continue;
      EXPECT_FALSE(is_hopeless(cluster.world, taker, units, outcome.lost * 1.000001 + 1));
      dear += is_hopeless(cluster.world, taker, units, outcome.lost / 2);
    }
  }
  EXPECT_GT(said[true], 1000);
  EXPECT_GT(said[false], 1000);
  EXPECT_GT(dear, 100);
}

}  // namespace
}  // namespace rota::sched
