// testsuite/unit/sched/mig_scheduler_test.cpp - jobs that ask for MIG instances, and what they get.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "common/format.h"
#include "geometries.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

class MigCluster {
 public:
  explicit MigCluster(const std::vector<MigGeometry>& gpus, std::uint32_t nodes = 1)
      : scheduler(live_policy()) {
    scheduler.set_org(with_projects());
    for (std::uint32_t id = 1; id <= nodes; ++id) put(id, gpus);
  }

  void put(std::uint32_t id, const std::vector<MigGeometry>& gpus) {
    NodeInventory inventory;
    inventory.cpu_count = 256;
    inventory.memory_bytes = 1 << 20;
    for (const MigGeometry& geometry : gpus) {
      Gpu gpu;
      gpu.memory_bytes = std::uint64_t{40} << 30;
      gpu.mig = geometry;
      inventory.gpus.push_back(gpu);
    }
    scheduler.put_node(NodeId{id}, format("n{}", id), inventory,
                       std::vector<bool>(inventory.gpus.size()), true);
  }

  static Org with_projects() {
    Org org;
    for (const char* name : {"red", "blue"}) {
      Project project;
      project.name = name;
      project.quota.gpu_quota = gpu_unit;
      project.serial = org.projects.size() + 1;
      org.projects.push_back(project);
    }
    normalize(org);
    return org;
  }

  JobId submit(const std::string& profile, std::uint32_t count = 1,
               const std::string& project = "default") {
    JobSpec spec;
    spec.project = project;
    spec.task.mig_profile = profile;
    spec.task.mig_count = count;
    return submit(spec);
  }
  JobId submit(const JobSpec& spec) {
    Job job;
    job.id = JobId{jobs.size() + 1};
    job.spec = spec;
    scheduler.add_waiting(job, now);
    jobs[job.id] = job;
    return job.id;
  }
  JobId submit_gpus(std::uint32_t gpus, std::uint32_t share = 0) {
    JobSpec spec;
    spec.task.gpu_count = gpus;
    spec.task.gpu_share = share;
    return submit(spec);
  }

  /// "1: n1/0:4g.20gb@0", one for each that starts; then "-2" for each that has to make way.
  std::string plan() {
    const Plan plan = scheduler.plan(now);
    std::vector<std::string> lines;
    for (const Start& start : plan.starts) {
      jobs.at(start.job).last.edit().placement = start.placement;
      std::string line = format("{}:", start.job.value);
      for (const NodePart& part : start.placement) {
        for (const std::uint16_t gpu : part.gpus) line += format(" n{}/{}", part.node.value, gpu);
        for (const MigSlot& slot : part.mig)
          line += format(" n{}/{}:{}@{}", part.node.value, slot.gpu, slot.profile, slot.start);
      }
      lines.push_back(line);
    }
    for (const Eviction& eviction : plan.evictions) {
      lines.push_back(format("-{}", eviction.job.value));
      jobs.at(eviction.job).state = JobState::preempted;
    }
    return format("{}", fmt::join(lines, "; "));
  }

  void end(JobId id) {
    for (const NodePart& part : jobs.at(id).last->placement) scheduler.release(id, part.node);
    scheduler.remove(id);
    jobs.at(id).last.edit().placement.clear();
  }
  std::string why(JobId id) { return scheduler.wait_of(jobs.at(id)).text; }

  std::map<JobId, Job> jobs;
  Scheduler scheduler;
  std::int64_t now = 1000;
};

TEST(MigJobs, ArePutWhereTheyLeaveMost) {
  MigCluster cluster({a100(), a100()});
  cluster.submit("1g.5gb");
  cluster.submit("3g.20gb", 2);
  cluster.submit("4g.20gb");
  EXPECT_EQ(cluster.plan(),
            "1: n1/0:1g.5gb@6; 2: n1/0:3g.20gb@0 n1/1:3g.20gb@4; 3: n1/1:4g.20gb@0");
  EXPECT_EQ(cluster.plan(), "");
}

TEST(MigJobs, AreChargedForTheirSlices) {
  MigCluster cluster({a100()});
  const JobId job = cluster.submit("3g.20gb", 1, "red");
  cluster.plan();
  EXPECT_EQ(cluster.jobs.at(job).last->placement.front().gpu_amount(), gpu_unit / 2);
  EXPECT_EQ(cluster.scheduler.project("red").held[Resource::gpu], one_gpu / 2);
  cluster.end(job);
  EXPECT_EQ(cluster.scheduler.project("red").held[Resource::gpu], 0);
}

TEST(MigJobs, ShareNoGpuWithOtherUses) {
  MigCluster cluster({a100(), a100(), a100()});
  cluster.submit_gpus(1);
  cluster.submit_gpus(1, 500'000);
  cluster.submit("1g.5gb");
  EXPECT_EQ(cluster.plan(), "1: n1/0; 2: n1/1; 3: n1/2:1g.5gb@6");
  const JobId whole = cluster.submit_gpus(1);
  const JobId part = cluster.submit_gpus(1, 600'000);
  const JobId cut = cluster.submit("7g.40gb");
  EXPECT_EQ(cluster.plan(), "");
  cluster.end(JobId{3});
  EXPECT_EQ(cluster.plan(), "4: n1/2") << cluster.why(part) << cluster.why(cut);
  cluster.end(whole);
  EXPECT_EQ(cluster.plan(), "5: n1/2");
}

TEST(MigJobs, LeaveAGpuThatIsAlwaysCutToThemselves) {
  MigGeometry on = a100();
  on.is_on = true;
  on.switches = false;
  MigGeometry off = a100();
  off.switches = false;
  MigCluster cluster({on, off});
  cluster.submit_gpus(1);
  const JobId second = cluster.submit_gpus(1);
  cluster.submit("7g.40gb");
  const JobId fourth = cluster.submit("1g.5gb");
  EXPECT_EQ(cluster.plan(), "1: n1/1; 3: n1/0:7g.40gb@0");
  EXPECT_NE(cluster.why(second).find("0 GPUs and"), std::string::npos) << cluster.why(second);
  EXPECT_EQ(cluster.why(fourth),
            "needs 1 1g.5gb instance, 1 task of 1 CPU: there is room for 0 of "
            "them now");
  cluster.end(JobId{3});
  EXPECT_EQ(cluster.plan(), "4: n1/0:1g.5gb@6");
}

TEST(MigJobs, KeepOffInstancesThatAreNotOurs) {
  MigGeometry on = a100();
  on.is_on = true;
  on.blocked = 0b0000'1111;
  MigCluster cluster({on});
  const JobId big = cluster.submit("4g.20gb");
  cluster.submit("3g.20gb");
  EXPECT_EQ(cluster.plan(), "2: n1/0:3g.20gb@4");
  EXPECT_EQ(cluster.scheduler.fit_of(cluster.jobs.at(big).spec), Fit::never);
}

TEST(MigJobs, AreToldWhenOnlyTheLayoutIsInTheWay) {
  MigCluster cluster({a100()});
  for (int i = 0; i < 7; ++i) cluster.submit("1g.5gb");
  cluster.plan();
  for (const std::uint64_t id : {2, 3, 5, 6, 7}) cluster.end(JobId{id});
  const JobId job = cluster.submit("4g.20gb");
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_NE(cluster.why(job).find("blocked by layout"), std::string::npos) << cluster.why(job);
}

TEST(MigJobs, TakeBackWhatIsTheirDue) {
  MigCluster cluster({a100()});
  for (int i = 0; i < 7; ++i) cluster.submit("1g.5gb");  // on what others leave idle
  cluster.plan();
  cluster.submit("4g.20gb", 1, "red");
  const std::string plan = cluster.plan();
  EXPECT_EQ(std::count(plan.begin(), plan.end(), '-'), 4) << plan;
  for (auto& [id, job] : cluster.jobs)
    if (job.state == JobState::preempted) cluster.end(id);
  EXPECT_EQ(cluster.plan(), "8: n1/0:4g.20gb@0");
}

TEST(MigJobs, GetTheSmallestThatHoldsTheirPart) {
  MigCluster cluster({a100(), a100()});
  JobSpec spec;
  spec.task.mig_profile = TaskRequest::mig_auto;
  spec.task.gpu_count = 1;
  spec.task.gpu_share = 200'000;
  cluster.submit(spec);
  spec.task.gpu_share = 0;
  spec.task.gpu_memory_mib = 12 << 10;
  cluster.submit(spec);
  EXPECT_EQ(cluster.plan(), "1: n1/0:1g.10gb@6; 2: n1/0:3g.20gb@0");
}

TEST(MigJobs, PreferGpusWhoseModeStays) {
  MigCluster cluster({a100(), a100(), a100()});
  const JobId first = cluster.submit("7g.40gb");
  EXPECT_EQ(cluster.plan(), "1: n1/0:7g.40gb@0");
  cluster.end(first);
  cluster.submit_gpus(1);
  cluster.submit("1g.5gb");
  EXPECT_EQ(cluster.plan(), "2: n1/1; 3: n1/0:1g.5gb@6");
}

TEST(MigJobs, AreFoundAgainAfterARestart) {
  MigCluster before({a100(), a100()});
  const JobId job = before.submit("3g.20gb", 2);
  before.submit("1g.5gb");
  before.plan();
  MigCluster after({a100(), a100()});
  for (auto& [id, each] : before.jobs) {
    after.jobs[id] = each;
    after.scheduler.add_holding(each, false, after.now);
  }
  EXPECT_EQ(after.scheduler.mig_holders(NodeId{1}), before.scheduler.mig_holders(NodeId{1}));
  EXPECT_EQ(after.scheduler.mig_holders(NodeId{1}).size(), 3u);
  after.end(job);
  after.submit("4g.20gb");
  EXPECT_EQ(after.plan(), "3: n1/1:4g.20gb@0") << "beside the one that is still there";
}

TEST(MigJobs, AreSpreadOverNodesAsGangs) {
  MigCluster cluster({a100()}, 2);
  JobSpec spec;
  spec.task_count = 14;
  spec.task.mig_profile = "1g.5gb";
  spec.task.mig_count = 1;
  cluster.submit(spec);
  const std::string plan = cluster.plan();
  EXPECT_EQ(std::count(plan.begin(), plan.end(), '@'), 14) << plan;
  spec.task_count = 15;
  EXPECT_EQ(cluster.scheduler.fit_of(spec), Fit::never);
}

/// Sequences of requests and ends on one node of every geometry: the layout is one that the board
/// takes, and nobody waits for whom there is room.
TEST(MigJobs, NeverMakeAnIllegalLayout) {
  const std::vector<MigGeometry> geometries = {classic(), a100(), a30(), rtx_pro(), overlapping()};
  for (std::size_t g = 0; g < geometries.size(); ++g)
    for (unsigned seed = 0; seed < 20; ++seed) {
      const MigGeometry& geometry = geometries[g];
      std::mt19937 random(seed);
      MigCluster cluster({geometry, geometry});
      std::vector<JobId> running;
      for (int step = 0; step < 60; ++step) {
        if (random() % 3 == 0 && !running.empty()) {
          const std::size_t at = random() % running.size();
          cluster.end(running[at]);
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (random() % 8 == 0) {
          cluster.submit_gpus(1, random() % 2 == 0 ? 0 : 500'000);
        } else {
          cluster.submit(geometry.profiles[random() % geometry.profiles.size()].name,
                         1 + static_cast<std::uint32_t>(random() % 2));
        }
        cluster.now += 1;
        cluster.plan();
        running.clear();
        for (const auto& [id, job] : cluster.jobs)
          if (!job.last->placement.empty()) running.push_back(id);
        std::map<std::uint16_t, SliceMask> taken;
        std::map<std::pair<std::uint16_t, std::string>, std::uint32_t> counts;
        for (const MigHolder& each : cluster.scheduler.mig_holders(NodeId{1})) {
          const MigProfile* profile = geometry.find(each.slot.profile);
          ASSERT_NE(profile, nullptr);
          EXPECT_EQ(each.slot.size, profile->size);
          EXPECT_TRUE(
              std::binary_search(profile->starts.begin(), profile->starts.end(), each.slot.start));
          const SliceMask mask = Cut{each.slot.start, each.slot.size}.mask();
          EXPECT_EQ(taken[each.slot.gpu] & mask, 0u) << "geometry " << g << " seed " << seed;
          taken[each.slot.gpu] |= mask;
          EXPECT_LE((++counts[{each.slot.gpu, each.slot.profile}]), profile->count_max);
        }
        const auto holders = cluster.scheduler.gpu_holders(NodeId{1});
        for (const auto& [gpu, mask] : taken) EXPECT_FALSE(holders[gpu]);
        for (const GpuShare& share : cluster.scheduler.gpu_sharers(NodeId{1}))
          EXPECT_EQ(taken.count(share.gpu), 0u);
      }
      for (const JobId id : running) cluster.end(id);
      for (int left = 200; left > 0; --left) {
        cluster.now += 1;
        cluster.plan();
        bool any = false;
        for (auto& [id, job] : cluster.jobs)
          if (!job.last->placement.empty()) {
            cluster.end(id);
            any = true;
          }
        if (!any) break;
      }
      EXPECT_EQ(cluster.scheduler.node(NodeId{1}).gpus_idle, 2) << "geometry " << g;
      EXPECT_EQ(cluster.scheduler.node(NodeId{1}).gpu_free_amount, 2 * one_gpu);
    }
}

}  // namespace
}  // namespace rota::sched
