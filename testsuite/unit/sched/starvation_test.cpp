// testsuite/unit/sched/starvation_test.cpp - a job that needs more at once than ever comes free by
// itself, against a stream of others without end: it starts all the same.
#include <gtest/gtest.h>

#include <map>

#include "common/format.h"
#include "geometries.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

/// One project, jobs of equal priority that run as long as their limit says, on a virtual clock.
class Stream {
 public:
  Stream(std::uint32_t gpus, const std::optional<MigGeometry>& mig, std::uint32_t nodes = 1)
      : scheduler_(live_policy()) {
    NodeInventory inventory;
    inventory.cpu_count = 256;
    inventory.memory_bytes = 1 << 20;
    Gpu gpu;
    gpu.memory_bytes = std::uint64_t{40} << 30;
    if (mig) gpu.mig = *mig;
    inventory.gpus.resize(gpus, gpu);
    Org org;
    normalize(org);
    scheduler_.set_org(org);
    for (std::uint32_t id = 1; id <= nodes; ++id)
      scheduler_.put_node(NodeId{id}, format("n{}", id), inventory, std::vector<bool>(gpus), true);
  }

  JobId submit(const TaskRequest& task, std::int64_t limit) {
    Job job;
    job.id = JobId{++last_};
    job.spec.task = task;
    job.spec.time_limit_seconds = limit;
    scheduler_.add_waiting(job, now_);
    limits_[job.id] = limit;
    return job.id;
  }

  /// Ends what is over, and starts what can be.
  void step(std::int64_t seconds) {
    now_ += seconds;
    for (auto at = running_.begin(); at != running_.end();) {
      if (at->second.ends > now_) {
        ++at;
        continue;
      }
      for (const NodePart& part : at->second.placement) scheduler_.release(at->first, part.node);
      scheduler_.remove(at->first);
      at = running_.erase(at);
    }
    for (const Start& start : scheduler_.plan(now_).starts) {
      running_[start.job] = {now_ + limits_.at(start.job), start.placement};
      started_[start.job] = now_;
    }
  }

  /// A small one comes every ten seconds, and runs so long that twice as many would have to run as
  /// there is room for (`slots`). The large one comes when the first of them has to wait. How long
  /// it waits, in rounds of small ones; nothing: still after thirty.
  std::optional<double> rounds_waited(const TaskRequest& large, const TaskRequest& small,
                                      int slots) {
    const std::int64_t round = 20 * slots;
    std::optional<JobId> waits;
    std::int64_t since = 0;
    for (int i = 0; i < 60 * slots; ++i) {
      const JobId job = submit(small, round);
      step(10);
      if (!waits && !started_.contains(job)) {
        waits = submit(large, round);
        since = now_;
      }
      if (waits && started_.contains(*waits))
        return static_cast<double>(started_.at(*waits) - since) / static_cast<double>(round);
    }
    return std::nullopt;
  }

  bool has_started(JobId job) const { return started_.contains(job); }

 private:
  struct Running {
    std::int64_t ends = 0;
    std::vector<NodePart> placement;
  };
  Scheduler scheduler_;
  std::int64_t now_ = 1000;
  std::uint64_t last_ = 0;
  std::map<JobId, std::int64_t> limits_;
  std::map<JobId, Running> running_;
  std::map<JobId, std::int64_t> started_;
};

TaskRequest gpus(std::uint32_t count) {
  TaskRequest task;
  task.gpu_count = count;
  return task;
}
TaskRequest part(std::uint32_t percent, std::uint32_t count = 1) {
  TaskRequest task = gpus(count);
  task.gpu_share = percent * 10'000;
  return task;
}
TaskRequest memory(std::uint32_t gib) {
  TaskRequest task = gpus(1);
  task.gpu_memory_mib = gib << 10;
  return task;
}
TaskRequest instance(const char* profile, std::uint32_t count = 1) {
  TaskRequest task;
  task.mig_profile = profile;
  task.mig_count = count;
  return task;
}

// Only one small job had waited before the large one came. It starts within a round and runs for
// one; what else runs is over by then.
void expect_starts(Stream stream, const TaskRequest& large, const TaskRequest& small, int slots) {
  const auto rounds = stream.rounds_waited(large, small, slots);
  ASSERT_TRUE(rounds) << "it waits for ever";
  EXPECT_LE(*rounds, 2);
}

TEST(Starvation, HalfOfTwoGpusAgainstWholeOnes) {
  expect_starts({2, std::nullopt}, part(50, 2), gpus(1), 2);
}
TEST(Starvation, MostOfAGpuAgainstSmallParts) {
  expect_starts({2, std::nullopt}, part(90), part(30), 6);
}
TEST(Starvation, AWholeGpuAgainstHalves) { expect_starts({2, std::nullopt}, gpus(1), part(50), 4); }
TEST(Starvation, TwoWholeGpusAgainstHalves) {
  expect_starts({4, std::nullopt}, gpus(2), part(50), 8);
}
TEST(Starvation, MemoryOfAGpuAgainstLittle) {
  expect_starts({2, std::nullopt}, memory(36), memory(10), 8);
}
TEST(Starvation, AWholeInstanceAgainstSmallOnes) {
  expect_starts({2, a100()}, instance("7g.40gb"), instance("1g.5gb"), 14);
}
TEST(Starvation, SeveralInstancesAgainstSmallOnes) {
  expect_starts({1, a100()}, instance("3g.20gb", 2), instance("1g.5gb"), 7);
}
TEST(Starvation, AWholeGpuAgainstInstances) {
  expect_starts({2, a100()}, gpus(1), instance("1g.5gb"), 14);
}
TEST(Starvation, InstancesAgainstWholeGpus) {
  expect_starts({2, a100()}, instance("7g.40gb", 2), gpus(1), 2);
}
TEST(Starvation, AWholeInstanceOfGpusThatAreAlwaysCut) {
  MigGeometry always = a100();
  always.is_on = true;
  always.switches = false;
  expect_starts({2, always}, instance("7g.40gb"), instance("1g.5gb"), 14);
}

// A half has one GPU for `first` seconds, somebody else has the other for 100 s. A whole one waits,
// and then comes a half for 500 s: does it start beside the first?
bool joins(std::int64_t first) {
  Stream stream(2, std::nullopt);
  stream.submit(part(50), first);
  stream.submit(gpus(1), 100);
  stream.step(0);
  stream.submit(gpus(1), 100);
  const JobId half = stream.submit(part(50), 500);
  stream.step(0);
  return stream.has_started(half);
}

// The whole one gets the GPU that is free first. With the half of 1,000 s on the other it has the
// one of 100 s, and joining that half delays nobody. A half of 50 s is on the very one that it
// gets.
TEST(Starvation, WhoeverJoinsOthersThatStayDelaysNobody) {
  EXPECT_TRUE(joins(1000));
  EXPECT_FALSE(joins(50));
}

}  // namespace
}  // namespace rota::sched
