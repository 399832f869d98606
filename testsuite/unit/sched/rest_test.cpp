// testsuite/unit/sched/rest_test.cpp - while nothing happens, passes come to rest: nobody is
// evicted for a place that is then given to somebody else, for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "common/format.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

/// A small cluster with a policy like rctld's; what has to make way is gone before the next pass.
class DrawnCluster {
 public:
  DrawnCluster(std::uint32_t seed, const Policy& policy, bool elastic)
      : elastic_(elastic), random_(seed), scheduler_(policy) {
    Org org;
    for (std::uint64_t i = 0; i < draw(2, 5); ++i) {
      Project& project = org.projects.emplace_back();
      project.name = format("p{}", i);
      project.serial = i + 1;
      project.quota.gpu_quota = static_cast<std::int64_t>(draw(0, 8)) * gpu_unit;
      project_count_ = i + 1;
    }
    normalize(org);
    scheduler_.set_org(org);
    for (std::uint64_t i = 0; i < draw(2, 6); ++i) {
      NodeInventory inventory;
      inventory.cpu_count = 64;
      inventory.memory_bytes = 1 << 30;
      inventory.gpus.resize(draw(2, 8));
      scheduler_.put_node(NodeId{static_cast<std::uint32_t>(i + 1)}, format("n{}", i), inventory,
                          std::vector<bool>(inventory.gpus.size()), true);
    }
  }

  std::uint64_t draw(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }

  void submit() {
    Job& job = jobs_[JobId{jobs_.size() + 1}];
    job.id = JobId{jobs_.size()};
    job.spec.project = format("p{}", draw(0, project_count_ - 1));
    job.spec.task.gpu_count = static_cast<std::uint32_t>(draw(1, 4));
    if (draw(0, 3) == 0) {
      job.spec.node_count = static_cast<std::uint32_t>(draw(1, 3));
      job.spec.task_count = job.spec.node_count;
      if (elastic_)
        job.spec.node_count_max = job.spec.node_count + static_cast<std::uint32_t>(draw(1, 4));
    }
    if (draw(0, 3) == 0) job.spec.priority = 80;
    if (draw(0, 7) == 0) job.spec.preemptibility = Preemptibility::no;
    static constexpr std::int64_t limits[] = {30, 100, 1000, 20'000};
    job.spec.time_limit_seconds = limits[draw(0, 3)];
    scheduler_.add_waiting(job, now_);
  }

  void end_some() {
    for (auto& [id, job] : jobs_)
      if (!job.last->placement.empty() && draw(0, 4) == 0) end(job);
  }

  /// How many passes it takes until one of them changes nothing.
  std::uint32_t passes_to_rest(std::uint32_t most) {
    now_ += static_cast<std::int64_t>(draw(1, 200));
    for (std::uint32_t passes = 1; passes < most; ++passes) {
      const Plan plan = scheduler_.plan(now_);
      if (plan.starts.empty() && plan.evictions.empty()) return passes;
      for (const Start& start : plan.starts) {
        Placement& placement = jobs_.at(start.job).last.edit().placement;
        EXPECT_EQ(start.grows, !placement.empty());
        EXPECT_EQ(start.grows, start.placement.front().task_first != 0u);
        placement.insert(placement.end(), start.placement.begin(), start.placement.end());
      }
      for (const Eviction& eviction : plan.evictions) {
        Job& job = jobs_.at(eviction.job);
        if (!eviction.nodes.empty()) {
          shrink(job, eviction.nodes);
          continue;
        }
        end(job);
        ++job.preemptions;
        scheduler_.add_waiting(job, now_);
      }
    }
    return most;
  }

 private:
  void shrink(Job& job, const std::vector<NodeId>& nodes) {
    Placement& placement = job.last.edit().placement;
    for (const NodeId id : nodes) {
      scheduler_.release(job.id, id, true);
      EXPECT_EQ(std::erase_if(placement, [id](const NodePart& part) { return part.node == id; }),
                1u);
    }
    EXPECT_GE(placement.size(), job.spec.node_count);
  }

  void end(Job& job) {
    for (const NodePart& part : job.last->placement) scheduler_.release(job.id, part.node);
    scheduler_.remove(job.id);
    job.last.reset();
  }

  const bool elastic_;  // some of the gangs are
  std::mt19937 random_;
  Scheduler scheduler_;
  std::map<JobId, Job> jobs_;
  std::uint64_t project_count_ = 0;
  std::int64_t now_ = 1000;
};

/// Of so many drawn clusters, or of ROTA_SCHED_SEEDS where that is less.
void expect_rest(std::uint64_t seed_last, const Policy& policy, bool elastic = false) {
  if (const char* wanted = std::getenv("ROTA_SCHED_SEEDS"))
    seed_last = std::min<std::uint64_t>(seed_last, std::strtoull(wanted, nullptr, 10));
  constexpr std::uint32_t most = 50;
  for (std::uint32_t seed = 1; seed <= seed_last; ++seed) {
    DrawnCluster cluster(seed, policy, elastic);
    for (int step = 0; step < 25; ++step) {
      for (std::uint64_t i = cluster.draw(0, 4); i > 0; --i) cluster.submit();
      cluster.end_some();
      ASSERT_LT(cluster.passes_to_rest(most), most) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Rest, PassesComeToRestWhileNothingHappens) { expect_rest(500, live_policy()); }

TEST(Rest, SoTheyDoWithJobsThatGrowAndShrink) { expect_rest(500, live_policy(), true); }

// Without the rest that evicted jobs get, which would hide what else goes round. The rules alone go
// round too, but in none of these.
TEST(Rest, PromisesAreKeptSoThatTheyDo) {
  Policy policy = live_policy();
  policy.evicted_rest_seconds = 0;
  expect_rest(250, policy);
}

}  // namespace
}  // namespace rota::sched
