// testsuite/unit/sched/exclusive_test.cpp - jobs that have their nodes to themselves: where they
// start, what they get and are charged, who stays away, and why they wait.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "common/format.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

/// Nodes n0, n1 ... with 64 CPUs each.
class Cluster {
 public:
  explicit Cluster(const std::vector<std::size_t>& gpus, const Policy& policy = live_policy())
      : scheduler_(policy, {}) {
    set_org();
    for (std::size_t i = 0; i < gpus.size(); ++i) put(static_cast<std::uint32_t>(i), gpus[i]);
  }
  void put(std::uint32_t number, std::size_t gpus, std::size_t absent = 0) {
    NodeInventory inventory;
    inventory.cpu_count = 64;
    inventory.memory_bytes = 1000;
    std::vector<bool> is_absent(gpus);
    for (std::size_t i = 0; i < gpus; ++i) {
      Gpu& gpu = inventory.gpus.emplace_back();
      gpu.model = "V100";
      gpu.memory_bytes = std::uint64_t{32} << 30;
      is_absent[i] = i < absent;
    }
    scheduler_.put_node(NodeId{number + 1}, format("n{}", number), inventory, is_absent, true);
  }
  Project& project(const std::string& name, std::int64_t quota) {
    Project& made = org_.projects.emplace_back();
    made.name = name;
    made.quota.gpu_quota = quota * gpu_unit;
    made.serial = org_.projects.size();
    return made;
  }
  void set_org() {
    Org org = org_;
    normalize(org);
    scheduler_.set_org(org);
  }

  static JobSpec spec(const std::string& name, std::uint32_t gpus, bool exclusive = false) {
    JobSpec spec;
    spec.name = name;
    spec.task.gpu_count = gpus;
    if (exclusive) spec.rules.edit().exclusive = true;
    return spec;
  }
  std::uint64_t submit(const JobSpec& spec) {
    Job& job = jobs_[JobId{jobs_.size() + 1}];
    job.id = JobId{jobs_.size()};
    job.spec = spec;
    scheduler_.add_waiting(job, now);
    return job.id.value;
  }
  std::string plan() {
    const Plan plan = scheduler_.plan(now);
    std::string text;
    for (const Start& start : plan.starts) {
      Job& job = jobs_.at(start.job);
      job.state = JobState::running;
      job.last.edit().placement = start.placement;
      text += (text.empty() ? "" : "; ") + job.spec.name + " on";
      for (const NodePart& part : start.placement)
        text += format(" n{} ({} GPUs, {} CPUs)", part.node.value - 1, part.gpus.size(),
                       part.cpu_count);
    }
    for (const Eviction& eviction : plan.evictions) evicted_.insert(eviction.job);
    for (const Eviction& eviction : plan.evictions)
      text += format("{}{} makes way for {}", text.empty() ? "" : "; ",
                     jobs_.at(eviction.job).spec.name, jobs_.at(eviction.taker).spec.name);
    return text;
  }
  void end(std::uint64_t id) {
    for (const NodePart& part : jobs_.at(JobId{id}).last->placement)
      scheduler_.release(JobId{id}, part.node);
    scheduler_.remove(JobId{id});
    jobs_.at(JobId{id}).state = JobState::completed;
  }
  /// Those that had to make way have left, and wait again.
  void end_evicted() {
    for (const JobId id : std::exchange(evicted_, {})) {
      Job& job = jobs_.at(id);
      end(id.value);
      job.state = JobState::pending;
      job.last.edit().placement.clear();
      scheduler_.add_waiting(job, now);
    }
  }
  /// One of those that run.
  void end_some(std::size_t which) {
    std::vector<std::uint64_t> running;
    for (const auto& [id, job] : jobs_)
      if (job.state == JobState::running) running.push_back(id.value);
    if (!running.empty()) end(running[which % running.size()]);
  }
  /// Who has company, or less than all; "": all is well.
  std::string trouble() const {
    std::map<NodeId, std::vector<const Job*>> there;
    for (const auto& [id, job] : jobs_)
      if (job.state == JobState::running)
        for (const NodePart& part : job.last->placement) there[part.node].push_back(&job);
    std::string text;
    for (const auto& [node, jobs] : there)
      for (const Job* job : jobs) {
        if (!job->spec.rules->exclusive) continue;
        if (jobs.size() > 1) text += format("job {} is not alone; ", job->id.value);
        for (const NodePart& part : job->last->placement)
          if (part.node == node &&
              (part.cpu_count != 64 ||
               part.gpus.size() != scheduler_.world().fleet.at(node.value - 1).gpu_count))
            text += format("job {} has not all; ", job->id.value);
      }
    return text;
  }
  /// As after a restart of the controller.
  void reload(std::uint64_t id) {
    scheduler_.remove(JobId{id});
    scheduler_.add_holding(jobs_.at(JobId{id}), false, now);
  }
  std::string why(std::uint64_t id) const {
    const Wait wait = scheduler_.wait_of(jobs_.at(JobId{id}));
    return format("{}: {}", name_of(wait.why), wait.text);
  }
  double held(const std::string& name) const {
    return static_cast<double>(scheduler_.project(name).held[Resource::gpu]) / one_gpu;
  }
  Fit fit(const JobSpec& spec) const { return scheduler_.fit_of(spec); }

  std::int64_t now = 1000;

 private:
  Scheduler scheduler_;
  Org org_;
  std::map<JobId, Job> jobs_;
  std::set<JobId> evicted_;
};

// The small job has n0, so n1 is the only one that is empty. All of that is the job's.
TEST(Exclusive, HasTheNodeToItself) {
  Cluster cluster({4, 4});
  cluster.submit(Cluster::spec("small", 1));
  EXPECT_EQ(cluster.plan(), "small on n0 (1 GPUs, 1 CPUs)");
  const auto alone = cluster.submit(Cluster::spec("alone", 1, true));
  EXPECT_EQ(cluster.plan(), "alone on n1 (4 GPUs, 64 CPUs)");
  cluster.submit(Cluster::spec("three", 3));
  EXPECT_EQ(cluster.plan(), "three on n0 (3 GPUs, 1 CPUs)");
  JobSpec part = Cluster::spec("part", 1);
  part.task.gpu_share = 500'000;
  cluster.submit(part);
  JobSpec gap = Cluster::spec("gap", 1);
  gap.background = true;
  cluster.submit(gap);
  const auto cpu = cluster.submit(Cluster::spec("cpu", 0));
  EXPECT_EQ(cluster.plan(), "cpu on n0 (0 GPUs, 1 CPUs)");
  cluster.end(cpu);
  cluster.end(alone);
  EXPECT_EQ(cluster.plan(), "part on n1 (1 GPUs, 1 CPUs); gap on n1 (1 GPUs, 1 CPUs)");
}

TEST(Exclusive, SaysThatNoNodeIsEmpty) {
  Cluster cluster({4, 4});
  const auto first = cluster.submit(Cluster::spec("first", 4));
  JobSpec cpu = Cluster::spec("cpu", 0);
  const auto second = cluster.submit(Cluster::spec("second", 1));
  cluster.plan();
  const auto alone = cluster.submit(Cluster::spec("alone", 1, true));
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(alone),
            "Resources: needs 1 GPU, 1 task of 1 CPU with nobody else there: none of 2 nodes is "
            "empty");
  cluster.end(first);
  cluster.submit(cpu);
  EXPECT_EQ(cluster.plan(), "alone on n0 (4 GPUs, 64 CPUs); cpu on n1 (0 GPUs, 1 CPUs)");
  cluster.end(second);
}

// Four tasks of two GPUs need two nodes of four; each is had as a whole.
TEST(Exclusive, TakesAsFewNodesAsItsTasksNeed) {
  Cluster cluster({4, 4, 4});
  JobSpec gang = Cluster::spec("gang", 2, true);
  gang.task_count = 4;
  cluster.submit(gang);
  EXPECT_EQ(cluster.plan(), "gang on n0 (4 GPUs, 64 CPUs) n1 (4 GPUs, 64 CPUs)");
  cluster.submit(Cluster::spec("other", 1));
  EXPECT_EQ(cluster.plan(), "other on n2 (1 GPUs, 1 CPUs)");
}

// Nodes of different sizes: the smallest that does.
TEST(Exclusive, GetsWhatItsNodeHas) {
  Cluster cluster({8, 2, 0});
  const auto one = cluster.submit(Cluster::spec("one", 1, true));
  EXPECT_EQ(cluster.plan(), "one on n1 (2 GPUs, 64 CPUs)");
  cluster.submit(Cluster::spec("none", 0, true));
  EXPECT_EQ(cluster.plan(), "none on n2 (0 GPUs, 64 CPUs)");
  cluster.submit(Cluster::spec("five", 5, true));
  EXPECT_EQ(cluster.plan(), "five on n0 (8 GPUs, 64 CPUs)");
  EXPECT_EQ(cluster.held("default"), 10);
  cluster.end(one);
  EXPECT_EQ(cluster.held("default"), 8);
  EXPECT_EQ(cluster.fit(Cluster::spec("nine", 9, true)), Fit::never);
}

// A GPU that is gone cannot be had, and one that comes back is nobody's while the job runs.
TEST(Exclusive, LivesWithGpusThatComeAndGo) {
  Cluster cluster({4});
  cluster.put(0, 4, 1);
  const auto alone = cluster.submit(Cluster::spec("alone", 1, true));
  EXPECT_EQ(cluster.plan(), "alone on n0 (3 GPUs, 64 CPUs)");
  cluster.put(0, 4, 0);
  cluster.submit(Cluster::spec("other", 1));
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.held("default"), 3);
  cluster.put(0, 4, 2);
  EXPECT_EQ(cluster.plan(), "");
  cluster.reload(alone);
  EXPECT_EQ(cluster.held("default"), 3);
  cluster.end(alone);
  EXPECT_EQ(cluster.plan(), "other on n0 (1 GPUs, 1 CPUs)");
}

// Its project has two GPUs at most, and a node has four: it would hold more than the limit.
TEST(Exclusive, IsChargedForAllThatItBlocks) {
  Cluster cluster({4, 4});
  Project& small = cluster.project("small", 2);
  small.quota.gpu_limit = 2 * gpu_unit;
  cluster.set_org();
  JobSpec spec = Cluster::spec("alone", 1, true);
  spec.project = "small";
  const auto alone = cluster.submit(spec);
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(alone),
            "ProjectLimit: needs 1 GPU, 1 task of 1 CPU with nobody else there (4 GPUs at least): "
            "project 'small' holds 0 GPUs, its limit is 2 GPUs");
}

// A guest has a GPU of n0 and all of n1, which came last: the owner takes that node back.
TEST(Exclusive, TakesBackAWholeNode) {
  Cluster cluster({4, 4});
  cluster.project("owner", 8);
  cluster.project("guest", 0);
  cluster.set_org();
  for (const std::uint32_t gpus : {1, 4}) {
    JobSpec guest = Cluster::spec(format("guest{}", gpus), gpus);
    guest.project = "guest";
    cluster.submit(guest);
  }
  cluster.plan();
  cluster.now += 1000;
  JobSpec spec = Cluster::spec("alone", 1, true);
  spec.project = "owner";
  cluster.submit(spec);
  EXPECT_EQ(cluster.plan(), "guest4 makes way for alone");
}

// In one project the more important job empties a node, whoever is there: with GPUs and without.
TEST(Exclusive, PreemptsWhoeverIsThere) {
  for (const bool has_gpu : {false, true}) {
    Cluster cluster({4});
    cluster.project("team", 4);
    cluster.set_org();
    for (const std::string name : {"low", "lower"}) {
      JobSpec low = Cluster::spec(name, has_gpu && name == "low" ? 1 : 0);
      low.project = "team";
      cluster.submit(low);
    }
    cluster.plan();
    cluster.now += 1000;
    JobSpec spec = Cluster::spec("alone", 1, true);
    spec.project = "team";
    spec.priority = 100;
    cluster.submit(spec);
    EXPECT_EQ(cluster.plan(), "low makes way for alone; lower makes way for alone");
  }
}

// A job in the background is in nobody's way.
TEST(Exclusive, TheBackgroundGivesWay) {
  Cluster cluster({4});
  JobSpec gap = Cluster::spec("gap", 0);
  gap.background = true;
  cluster.submit(gap);
  EXPECT_EQ(cluster.plan(), "gap on n0 (0 GPUs, 1 CPUs)");
  cluster.submit(Cluster::spec("alone", 1, true));
  EXPECT_EQ(cluster.plan(), "gap makes way for alone");
}

// Who waits for an empty node is not passed for ever by jobs that would keep it busy: n0 is kept
// for it, from the end of the job there.
TEST(Exclusive, ItsPlaceIsKept) {
  Cluster cluster({4});
  JobSpec first = Cluster::spec("first", 1);
  first.time_limit_seconds = 100;
  const auto running = cluster.submit(first);
  cluster.plan();
  const auto alone = cluster.submit(Cluster::spec("alone", 1, true));
  JobSpec brief = Cluster::spec("brief", 1);
  brief.time_limit_seconds = 50;
  cluster.submit(brief);
  JobSpec lengthy = Cluster::spec("long", 1);
  lengthy.time_limit_seconds = 1000;
  const auto late = cluster.submit(lengthy);
  EXPECT_EQ(cluster.plan(), "brief on n0 (1 GPUs, 1 CPUs)");
  EXPECT_EQ(cluster.why(late),
            format("Priority: needs 1 GPU, 1 task of 1 CPU: it would delay job {}", alone));
  cluster.end(running);
}

// And it keeps off a place that is kept for others.
TEST(Exclusive, DelaysNobodyWhosePlaceIsKept) {
  Cluster cluster({4, 4});
  JobSpec first = Cluster::spec("first", 4);
  first.time_limit_seconds = 100;
  cluster.submit(first);
  cluster.plan();
  JobSpec gang = Cluster::spec("gang", 3);
  gang.task_count = gang.node_count = 2;
  const auto waiting = cluster.submit(gang);
  JobSpec alone = Cluster::spec("alone", 1, true);
  alone.time_limit_seconds = 1000;
  const auto late = cluster.submit(alone);
  JobSpec small = Cluster::spec("small", 1);
  small.time_limit_seconds = 1000;
  cluster.submit(small);
  EXPECT_EQ(cluster.plan(), "small on n1 (1 GPUs, 1 CPUs)");
  EXPECT_EQ(cluster.why(late).substr(0, 8), "Priority") << cluster.why(late);
  EXPECT_EQ(cluster.why(waiting).substr(0, 9), "Resources") << cluster.why(waiting);
}

TEST(Exclusive, IsTheSameAfterARestart) {
  Cluster cluster({4});
  const auto alone = cluster.submit(Cluster::spec("alone", 1, true));
  cluster.plan();
  cluster.reload(alone);
  cluster.submit(Cluster::spec("other", 0));
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.held("default"), 4);
  cluster.end(alone);
  EXPECT_EQ(cluster.plan(), "other on n0 (0 GPUs, 1 CPUs)");
}

// Jobs of all kinds come and go: who has its nodes to itself is never met there, and has all of it.
TEST(Exclusive, NobodyIsEverMet) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&random](std::uint32_t below) { return random() % below; };
    Cluster cluster({4, 4, 2, 8, 0});
    cluster.project("a", 6);
    cluster.project("b", 8);
    cluster.set_org();
    for (int step = 0; step < 60; ++step) {
      JobSpec spec = Cluster::spec("job", draw(4), draw(3) == 0);
      spec.project = draw(2) == 0 ? "a" : "b";
      spec.task_count = 1 + draw(3);
      if (draw(2) == 0) spec.node_count = spec.task_count;
      if (draw(4) == 0 && !spec.rules->exclusive && spec.task.gpu_count == 1)
        spec.task.gpu_share = 500'000;
      if (draw(5) == 0) spec.background = true;
      if (draw(3) == 0) spec.time_limit_seconds = 100;
      if (cluster.fit(spec) == Fit::yes) cluster.submit(spec);
      cluster.plan();
      cluster.end_evicted();
      ASSERT_EQ(cluster.trouble(), "");
      if (draw(2) == 0) cluster.end_some(draw(1000));
      cluster.now += 30;
    }
  }
}

}  // namespace
}  // namespace rota::sched
