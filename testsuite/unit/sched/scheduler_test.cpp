// testsuite/unit/sched/scheduler_test.cpp - jobs, nodes and projects in; plans and reasons out, as
// text.
#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "common/idset.h"
#include "sched/job_state.h"

namespace rota::sched {
namespace {

std::map<std::string, std::uint64_t> words_of(const std::string& item, std::string& name,
                                              std::string& project) {
  std::map<std::string, std::uint64_t> words;
  std::istringstream in(item);
  in >> name;
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (key == "in")
      project = word.substr(equals + 1);
    else
      words[key] = equals == std::string::npos ? 1 : std::stoull(word.substr(equals + 1));
  }
  return words;
}

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ';');) items.push_back(item);
  return items;
}

Gpu gpu_of_32_gib() {
  Gpu gpu;
  gpu.memory_bytes = std::uint64_t{32} << 30;
  return gpu;
}

/// A cluster that is told of in a few words: "n0 gpus=8 used=4; n1 gpus=8 down" and
/// "small gpus=4; gang tasks=2 nodes=2 gpus=8 in=team".
class Cluster {
 public:
  explicit Cluster(const std::string& nodes, const std::string& projects = "",
                   const Policy& policy = live_policy())
      : scheduler(policy) {
    Org org;
    for (const auto& item : items_of(projects)) {
      std::string none;
      Project project;
      auto words = words_of(item, project.name, none);
      project.quota.gpu_quota = static_cast<std::int64_t>(words["quota"]) * gpu_unit;
      if (words.contains("limit"))
        project.quota.gpu_limit = static_cast<std::int64_t>(words["limit"]) * gpu_unit;
      if (words.contains("safe"))
        project.preemption.min_runtime_reclaim_seconds = static_cast<std::int64_t>(words["safe"]);
      if (words.contains("delay"))
        project.preemption.delay_seconds = static_cast<std::int64_t>(words["delay"]);
      project.serial = org.projects.size() + 1;
      org.projects.push_back(project);
    }
    normalize(org);
    scheduler.set_org(org);
    std::uint32_t id = 0;
    for (const auto& item : items_of(nodes)) {
      std::string name, none;
      auto words = words_of(item, name, none);
      NodeInventory inventory;
      inventory.cpu_count = words.contains("cpus") ? static_cast<std::uint32_t>(words["cpus"]) : 64;
      inventory.memory_bytes = words.contains("mem") ? words["mem"] : 1000;
      inventory.gpus.resize(words["gpus"], gpu_of_32_gib());
      scheduler.put_node(NodeId{++id}, name, inventory, std::vector<bool>(inventory.gpus.size()),
                         !words.contains("down"));
      if (words["used"] == 0) continue;
      NodePart held{NodeId{id}};
      for (std::uint16_t i = 0; i < words["used"]; ++i) held.gpus.push_back(i);
      Job job;
      job.id = JobId{90 + id};
      job.last.edit().placement = {held};
      scheduler.add_holding(job, words.contains("ending"), now);
    }
  }

  void submit(const std::string& text) {
    for (const auto& item : items_of(text)) {
      Job job;
      job.id = JobId{jobs.size() + 1};
      job.owner.user = user;
      std::string project = job.spec.project;
      auto words = words_of(item, job.spec.name, project);
      job.spec.project = project;
      JobSpec& spec = job.spec;
      spec.task.gpu_count = static_cast<std::uint32_t>(words["gpus"]);
      if (words.contains("cpus")) spec.task.cpu_count = static_cast<std::uint32_t>(words["cpus"]);
      spec.task.memory_bytes = words["mem"];
      spec.task.gpu_share = static_cast<std::uint32_t>(words["percent"] * 10'000);
      spec.task.gpu_memory_mib = static_cast<std::uint32_t>(words["gib"]) << 10;
      spec.node.gpu_count = static_cast<std::uint32_t>(words["gpus_per_node"]);
      spec.node.memory_bytes = words["mem_per_node"];
      if (words.contains("tasks")) spec.task_count = static_cast<std::uint32_t>(words["tasks"]);
      spec.node_count = static_cast<std::uint32_t>(words["nodes"]);
      spec.priority = static_cast<std::int32_t>(words["priority"]);
      spec.time_limit_seconds = static_cast<std::int64_t>(words["limit"]);
      if (words.contains("firm")) spec.preemptibility = Preemptibility::no;
      spec.background = words.contains("background");
      scheduler.add_waiting(job, now);
      jobs[job.id] = job;
    }
  }

  std::vector<Start> starts() {
    Plan plan = scheduler.plan(now);
    for (const auto& start : plan.starts)
      jobs.at(start.job).last.edit().placement = start.placement;
    return plan.starts;
  }

  std::string plan() {
    const Plan plan = scheduler.plan(now);
    std::string text;
    const auto add = [&text](const std::string& more) {
      text += (text.empty() ? "" : "; ") + more;
    };
    for (const auto& start : plan.starts) {
      std::string where;
      for (const auto& part : start.placement) {
        std::vector<std::uint32_t> gpus(part.gpus.begin(), part.gpus.end());
        where += " n" + std::to_string(part.node.value - 1) + "[" + idset_format(gpus) + "]";
        if (part.task_count != 1) where += "x" + std::to_string(part.task_count);
      }
      add("start " + jobs.at(start.job).spec.name + " on" + where);
      jobs.at(start.job).last.edit().placement = start.placement;
    }
    for (const auto& eviction : plan.evictions)
      add("evict " + name_of(eviction.job) + " for " + name_of(eviction.taker));
    return text;
  }

  std::string waits() {
    std::string text;
    for (const auto& [id, job] : jobs)
      if (job.last->placement.empty())
        text += job.spec.name + "=" + std::string(rota::name_of(scheduler.wait_of(job).why)) + " ";
    return text;
  }
  std::string why(std::uint64_t id) { return scheduler.wait_of(jobs.at(JobId{id})).text; }

  /// All its parts are gone; it waits again.
  void return_job(std::uint64_t id) {
    end_job(id);
    Job& job = jobs[JobId{id}];
    job.last.reset();
    scheduler.add_waiting(job, now);
  }
  void end_job(std::uint64_t id) {
    for (const NodePart& part : jobs.at(JobId{id}).last->placement)
      scheduler.release(JobId{id}, part.node);
    scheduler.remove(JobId{id});
  }

  std::string name_of(JobId id) {
    return jobs.contains(id) ? jobs.at(id).spec.name : std::to_string(id.value);
  }

  Scheduler scheduler;
  std::string user = "somebody";
  std::map<JobId, Job> jobs;
  std::int64_t now = 1000;
};

std::string plan_of(const std::string& nodes, const std::string& jobs) {
  Cluster cluster(nodes);
  cluster.submit(jobs);
  return cluster.plan();
}

std::string waits_of(const std::string& nodes, const std::string& jobs) {
  Cluster cluster(nodes);
  cluster.submit(jobs);
  cluster.plan();
  return cluster.waits();
}

// Two 8-GPU nodes, n0 half used. The 4-GPU job fills n0, so n1 is whole for the gang behind it.
TEST(SchedulerPack, FillsTheHalfUsedNodeFirst) {
  EXPECT_EQ(plan_of("n0 gpus=8 used=4; n1 gpus=8", "small gpus=4; gang gpus=8"),
            "start small on n0[4-7]; start gang on n1[0-7]");
}

TEST(SchedulerPack, CpuJobsKeepAwayFromFreeGpus) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8 used=8", "cpu cpus=4"), "start cpu on n1[]");
}

TEST(SchedulerGang, AllTasksOrNone) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8 used=1", "gang tasks=2 nodes=2 gpus=8"), "");
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8", "gang tasks=2 nodes=2 gpus=8"),
            "start gang on n0[0-7] n1[0-7]");
}

TEST(SchedulerGang, NodesAreDifferentOnes) {
  EXPECT_EQ(plan_of("n0 gpus=8", "gang tasks=2 nodes=2 gpus=1"), "");
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8", "gang tasks=2 nodes=2 gpus=1"),
            "start gang on n0[0] n1[0]");
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8", "gang tasks=2 nodes=2"), "start gang on n0[] n1[]");
}

TEST(SchedulerGang, UnevenTasksGoLargestPartFirst) {
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=4", "gang tasks=3 nodes=2 gpus=2"),
            "start gang on n1[0-3]x2 n0[0-1]");
}

TEST(SchedulerGang, WithoutNodeCountAsFewNodesAsPossible) {
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=8; n2 gpus=4", "gang tasks=4 gpus=1"),
            "start gang on n2[0-3]x4");
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=8; n2 gpus=4", "gang tasks=10 gpus=1"),
            "start gang on n1[0-7]x8 n0[0-1]x2");
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=8; n2 gpus=4", "gang tasks=15 gpus=1"), "");
}

TEST(SchedulerGang, GpusPerNodeCountOncePerNode) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8", "job tasks=8 nodes=2 gpus_per_node=6"),
            "start job on n0[0-5]x4 n1[0-5]x4");
}

TEST(SchedulerGang, MemoryPerNodeFixesTheNumberOfNodes) {
  EXPECT_EQ(plan_of("n0 gpus=4 mem=100; n1 gpus=4 mem=100", "job tasks=6 gpus=1 mem_per_node=90"),
            "start job on n0[0-2]x3 n1[0-2]x3");
}

TEST(SchedulerFit, CpusAndMemoryCount) {
  EXPECT_EQ(plan_of("n0 gpus=8 cpus=4", "job gpus=1 cpus=8"), "");
  EXPECT_EQ(plan_of("n0 gpus=8 mem=100; n1 gpus=8 mem=200", "job gpus=1 mem=150"),
            "start job on n1[0]");
  EXPECT_EQ(plan_of("n0 gpus=8 mem=100", "a gpus=1 mem=60; b gpus=1 mem=60"), "start a on n0[0]");
}

TEST(SchedulerFit, GpusThatAreNotThereAreNotGiven) {
  Cluster cluster("n0 gpus=4");
  NodeInventory inventory{64, 1000, std::vector<Gpu>(4)};
  cluster.scheduler.put_node(NodeId{1}, "n0", inventory, {true, false, false, true}, true);
  cluster.submit("a gpus=1; b gpus=2; c gpus=1");
  EXPECT_EQ(cluster.plan(), "start a on n0[1]; start c on n0[2]");
  cluster.scheduler.put_node(NodeId{1}, "n0", inventory, {false, true, false, false}, true);
  EXPECT_EQ(cluster.plan(), "start b on n0[0,3]");
  cluster.end_job(1);  // its GPU is gone
  EXPECT_EQ(cluster.scheduler.node(NodeId{1}).gpus_idle, 0);
}

TEST(SchedulerShare, PartsOfOneGpuGoTogether) {
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=2",
                    "a gpus=1 percent=60; b gpus=1 percent=40; c gpus=1 percent=50; d gpus=1"),
            "start a on n0[0]; start b on n0[0]; start c on n0[1]; start d on n1[0]");
  EXPECT_EQ(waits_of("n0 gpus=1", "a gpus=1 percent=60; b gpus=1 percent=50; c gpus=1 percent=40"),
            "b=Resources ");
}

TEST(SchedulerShare, OfSeveralGpusOfANode) {
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=4", "a gpus=2 percent=50; b gpus=3 percent=50"),
            "start a on n0[0-1]; start b on n1[0-2]");
  // Tasks on one node have different GPUs.
  EXPECT_EQ(plan_of("n0 gpus=2", "a tasks=2 gpus=1 percent=50; b gpus=1 percent=50"),
            "start a on n0[0-1]x2; start b on n0[0]");
  EXPECT_EQ(waits_of("n0 gpus=2", "a tasks=3 gpus=1 percent=10"), "a=ReqNodeNotAvail ");
}

TEST(SchedulerShare, MemoryIsChargedInHundredths) {
  Cluster cluster("n0 gpus=2", "p quota=2");
  cluster.submit("a gpus=1 gib=20 in=p; b gpus=1 gib=10 in=p; c gpus=1 gib=33 in=p");
  EXPECT_EQ(cluster.plan(), "start a on n0[0]; start b on n0[0]");
  EXPECT_EQ(cluster.scheduler.project("p").held[Resource::gpu], 630'000 + 320'000);
  const NodePart& part = cluster.jobs.at(JobId{1}).last->placement[0];
  EXPECT_EQ(part.gpu_share, 630'000u);
  EXPECT_EQ(part.gpu_memory_mib, 20'480u);
  EXPECT_EQ(cluster.waits(), "c=ReqNodeNotAvail ");
}

// A controller that starts again finds every part on the GPU that it is on.
TEST(SchedulerShare, PartsAreTakenUpWhereTheyAre) {
  Cluster cluster("n0 gpus=3");
  const auto hold = [&cluster](std::uint64_t id, std::uint16_t gpu, std::uint32_t share) {
    Job job;
    job.id = JobId{id};
    NodePart part{NodeId{1}};
    part.gpus = {gpu};
    part.gpu_share = share;
    job.last.edit().placement = {part};
    cluster.scheduler.add_holding(job, false, cluster.now);
    cluster.jobs[job.id] = job;
  };
  hold(1, 2, 500'000);
  hold(2, 1, 300'000);
  hold(3, 2, 400'000);
  const std::vector<GpuShare> expected{
      {1, JobId{2}, 300'000}, {2, JobId{1}, 500'000}, {2, JobId{3}, 400'000}};
  EXPECT_EQ(cluster.scheduler.gpu_sharers(NodeId{1}), expected);
  cluster.submit("a gpus=1 percent=70; b gpus=1; c gpus=1 percent=10");
  EXPECT_EQ(cluster.plan(), "start a on n0[1]; start b on n0[0]; start c on n0[2]");
}

TEST(SchedulerShare, WhatIsLeftIsWholeAgain) {
  Cluster cluster("n0 gpus=1");
  for (std::uint64_t id = 1; id < 40; id += 4) {
    cluster.submit(
        "a gpus=1 percent=50; b gpus=1 percent=50; whole gpus=1; part gpus=1 percent=20");
    EXPECT_EQ(cluster.plan(), "start a on n0[0]; start b on n0[0]");
    cluster.end_job(id);
    cluster.end_job(id + 1);
    EXPECT_EQ(cluster.plan(), "start whole on n0[0]");
    EXPECT_EQ(cluster.scheduler.node(NodeId{1}).shared.size(), 0u);
    cluster.end_job(id + 2);
    EXPECT_EQ(cluster.plan(), "start part on n0[0]");
    cluster.end_job(id + 3);
  }
}

TEST(SchedulerShare, AGpuThatIsGoneIsNotShared) {
  Cluster cluster("n0 gpus=2");
  cluster.submit("a gpus=1 percent=50");
  EXPECT_EQ(cluster.plan(), "start a on n0[0]");
  const NodeInventory inventory{64, 1000, {gpu_of_32_gib(), gpu_of_32_gib()}};
  cluster.scheduler.put_node(NodeId{1}, "n0", inventory, {true, false}, true);
  cluster.submit("b gpus=1 percent=50; c gpus=1");
  EXPECT_EQ(cluster.plan(), "start b on n0[1]");
  cluster.end_job(1);
  EXPECT_EQ(cluster.plan(), "");
  cluster.end_job(2);
  EXPECT_EQ(cluster.plan(), "start c on n0[1]");
}

TEST(SchedulerOrder, WhatCannotFitHoldsNobodyUp) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=16 down", "never gpus=99; later gpus=16; small gpus=1"),
            "start small on n0[0]");
  EXPECT_EQ(waits_of("n0 gpus=8; n1 gpus=16 down", "never gpus=99; later gpus=16"),
            "never=ReqNodeNotAvail later=ReqNodeNotAvail ");
}

TEST(SchedulerOrder, EqualShapesStartInOrderOfArrival) {
  EXPECT_EQ(plan_of("n0 gpus=4", "a gpus=1; b gpus=2; c gpus=1; d gpus=1"),
            "start a on n0[0]; start b on n0[1-2]; start c on n0[3]");
  EXPECT_EQ(waits_of("n0 gpus=1", "a gpus=1; b gpus=1; c gpus=1"), "b=Resources c=Priority ");
}

TEST(SchedulerOrder, HigherPriorityFirst) {
  EXPECT_EQ(plan_of("n0 gpus=1", "low gpus=1; high gpus=1 priority=60"), "start high on n0[0]");
}

// Both projects are promised half. What one borrowed goes back as soon as the other asks.
// Within a priority the users' order counts before age, for those who start and for those who go.
TEST(SchedulerOrder, UsersOfAProjectTakeTurns) {
  Cluster cluster("n0 gpus=2", "a quota=1; b quota=1");
  const auto submit = [&](const std::string& text, const std::string& user) {
    cluster.user = user;
    cluster.submit(text);
  };
  submit("ada1 gpus=1 in=a", "ada");
  submit("bob1 gpus=1 in=a", "bob");
  submit("eve1 gpus=1 priority=40 in=a", "eve");
  cluster.scheduler.rank_users("a", {{"ada", 2}, {"bob", 1}});
  EXPECT_EQ(cluster.plan(), "start ada1 on n0[1]; start bob1 on n0[0]");
  submit("ada2 gpus=1 in=a", "ada");
  submit("bob2 gpus=1 in=a", "bob");
  submit("taker gpus=1 in=b", "dan");
  EXPECT_EQ(cluster.plan(), "evict ada1 for taker");
  cluster.end_job(1);
  EXPECT_EQ(cluster.plan(), "start taker on n0[1]");
  cluster.scheduler.rank_users("a", {{"ada", 1}, {"bob", 2}});
  cluster.end_job(2);
  EXPECT_EQ(cluster.plan(), "start ada2 on n0[0]");
}

TEST(SchedulerQuota, LentGpusComeBack) {
  Cluster cluster("n0 gpus=4; n1 gpus=4", "a quota=4; b quota=4");
  cluster.submit("a1 gpus=4 in=a; a2 gpus=4 in=a");
  EXPECT_EQ(cluster.plan(), "start a1 on n0[0-3]; start a2 on n1[0-3]");
  cluster.submit("b1 gpus=4 in=b");
  EXPECT_EQ(cluster.plan(), "evict a2 for b1");
  EXPECT_EQ(cluster.waits(), "b1=Preempting ");
  EXPECT_EQ(cluster.plan(), "");  // nobody is evicted twice
  cluster.return_job(2);
  EXPECT_EQ(cluster.plan(), "start b1 on n1[0-3]");
  EXPECT_EQ(cluster.waits(), "a2=Resources ");
}

TEST(SchedulerQuota, AGangGoesAsAWhole) {
  Cluster cluster("n0 gpus=4; n1 gpus=4", "a quota=4; b quota=4");
  cluster.submit("gang gpus=4 tasks=2 nodes=2 in=a");
  EXPECT_EQ(cluster.plan(), "start gang on n0[0-3] n1[0-3]");
  cluster.submit("b1 gpus=1 in=b");
  EXPECT_EQ(cluster.plan(), "evict gang for b1");
  cluster.return_job(1);
  EXPECT_EQ(cluster.plan(), "start b1 on n0[0]");
}

TEST(SchedulerQuota, MinimumRuntimeProtectsAndThenEnds) {
  Cluster cluster("n0 gpus=4", "a quota=0 safe=60; b quota=4");
  cluster.submit("a1 gpus=4 in=a");
  cluster.plan();
  cluster.now += 10;
  cluster.submit("b1 gpus=4 in=b");
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.scheduler.next_look(), 1060);
  cluster.now = 1060;
  EXPECT_EQ(cluster.plan(), "evict a1 for b1");
}

TEST(SchedulerQuota, PreemptionDelayIsWaitedFor) {
  Cluster cluster("n0 gpus=4", "a quota=0; b quota=4 delay=30");
  cluster.submit("a1 gpus=4 in=a");
  cluster.plan();
  cluster.submit("b1 gpus=4 in=b");
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.scheduler.next_look(), 1030);
  cluster.now = 1030;
  EXPECT_EQ(cluster.plan(), "evict a1 for b1");
}

TEST(SchedulerQuota, LimitsAndQuotasAreNamed) {
  Cluster cluster("n0 gpus=8", "a quota=2 limit=4");
  cluster.submit("a1 gpus=4 in=a; a2 gpus=1 in=a; firm gpus=3 in=a firm");
  EXPECT_EQ(cluster.plan(), "start a1 on n0[0-3]");
  EXPECT_EQ(cluster.waits(), "a2=ProjectLimit firm=ProjectLimit ");
  EXPECT_EQ(cluster.why(2),
            "needs 1 GPU, 1 task of 1 CPU: project 'a' holds 4 GPUs, its limit is 4 GPUs");
  cluster.end_job(1);
  EXPECT_EQ(cluster.plan(), "start a2 on n0[0]");
  EXPECT_EQ(cluster.why(3),
            "needs 3 GPUs, 1 task of 1 CPU and cannot be preempted, so it must fit the quota: "
            "project 'a' has 0 GPUs of its quota of 2 GPUs in such jobs");
}

TEST(SchedulerQuota, HigherPriorityPreemptsInItsProject) {
  Cluster cluster("n0 gpus=2", "a quota=2");
  cluster.submit("low gpus=2 in=a");
  cluster.plan();
  cluster.submit("high gpus=1 priority=80 in=a");
  EXPECT_EQ(cluster.plan(), "evict low for high");
}

// What does not fit in the background may fit in front of it, pass after pass.
TEST(SchedulerBackground, WhoWaitsThereStopsNobodyElse) {
  Cluster c("n0 gpus=1");
  c.submit("b1 gpus=1 background");
  EXPECT_EQ(c.plan(), "start b1 on n0[0]");
  c.submit("b2 gpus=1 background");
  EXPECT_EQ(c.plan(), "");
  EXPECT_EQ(c.plan(), "");
  c.submit("job gpus=1");
  EXPECT_EQ(c.plan(), "evict b1 for job");
  EXPECT_EQ(c.plan(), "");
  c.return_job(1);
  EXPECT_EQ(c.plan(), "start job on n0[0]");
  EXPECT_EQ(c.waits(), "b1=Resources b2=Resources ");
  c.end_job(3);
  c.jobs.erase(JobId{3});
  c.now += 100;
  EXPECT_EQ(c.plan(), "start b1 on n0[0]");
}

TEST(SchedulerTime, PlacesAreKeptForTheFirstThatWait) {
  Cluster cluster("n0 gpus=4");
  cluster.submit("run gpus=3 limit=100");
  cluster.plan();
  cluster.submit("big gpus=4 limit=10; late gpus=1 limit=101; soon gpus=1 limit=50");
  EXPECT_EQ(cluster.plan(), "start soon on n0[3]");
  EXPECT_EQ(cluster.waits(), "big=Resources late=Priority ");
  EXPECT_EQ(cluster.why(3), "needs 1 GPU, 1 task of 1 CPU: it would delay job 2");
}

/// Ten GPUs' worth of small jobs on eight: there is never a free moment. When a gang of all eight
/// that comes after 500 s starts, and what bounds that: those who came before it go first, eight at
/// a time, and then what runs ends. 0: it does not start.
struct GangStart {
  std::int64_t second = 0, bound = 0;
};
GangStart gang_in_a_stream(const Policy& policy, std::uint64_t limit) {
  Cluster cluster("n0 gpus=4; n1 gpus=4", "", policy);
  std::map<std::uint64_t, std::int64_t> ends;
  std::uint64_t gang = 0, started = 0;
  GangStart found;
  for (std::int64_t second = 0; second <= 3000 && found.second == 0; second += 10) {
    cluster.now = 1000 + second;
    for (auto at = ends.begin(); at != ends.end();) {
      const bool is_over = at->second <= cluster.now;
      if (is_over) cluster.end_job(at->first);
      at = is_over ? ends.erase(at) : std::next(at);
    }
    cluster.submit("small gpus=1 limit=" + std::to_string(limit));
    if (second == 500) {
      const auto before = static_cast<std::int64_t>(cluster.jobs.size() - started);
      found.bound = 500 + ((before + 7) / 8 + 1) * 100;
      cluster.submit("gang gpus=4 tasks=2 nodes=2 limit=50");
      gang = cluster.jobs.size();
    }
    for (const Start& start : cluster.starts()) {
      ++started;
      ends[start.job.value] = cluster.now + 100;
      if (start.job.value == gang) found.second = second;
    }
  }
  return found;
}

// c2 had to make way for d1, waits again and has the second place in time, on n1; d2 comes before
// it, so it takes back what it is owed even there.
TEST(SchedulerTime, APlaceKeptForALaterJobBindsNoEarlierOne) {
  Cluster cluster("n0 gpus=2; n1 gpus=2", "b quota=1; c quota=1; d quota=2");
  cluster.submit("c1 gpus=1 in=c; c2 gpus=1 in=c");
  EXPECT_EQ(cluster.plan(), "start c1 on n0[0]; start c2 on n0[1]");
  cluster.submit("b1 gpus=1 in=b; b2 gpus=1 in=b");
  EXPECT_EQ(cluster.plan(), "start b1 on n1[0]; start b2 on n1[1]");
  cluster.now += 10;
  cluster.submit("d1 gpus=1 in=d");
  EXPECT_EQ(cluster.plan(), "evict c2 for d1");
  cluster.return_job(2);
  EXPECT_EQ(cluster.plan(), "start d1 on n0[1]");
  cluster.submit("d2 gpus=1 in=d");
  EXPECT_EQ(cluster.plan(), "evict b2 for d2");
}

// The two of old are kept places for; what is left is filled with the shortest first, whoever is
// older, but never against a priority.
// b takes back a GPU on n1, where the last of a would run longest. Once that is free, the large job
// of c, which may not take from others yet, is planned on n1 instead of n0, because it can start
// sooner there: now the taker would delay it, and a short job could fill the gap.
TEST(SchedulerTime, APlaceThatOthersLeftIsTheTakers) {
  Cluster cluster("n0 gpus=2; n1 gpus=2", "a quota=0; b quota=1; c quota=3 delay=9999");
  cluster.submit("a1 gpus=1 limit=100 in=a; a2 gpus=1 limit=100 in=a");
  cluster.submit("a3 gpus=1 limit=50 in=a; a4 gpus=1 limit=300 in=a");
  EXPECT_EQ(cluster.plan(),
            "start a1 on n0[0]; start a2 on n0[1]; start a3 on n1[0]; start a4 on n1[1]");
  cluster.submit(
      "large gpus=2 limit=900 in=c; taker gpus=1 limit=900 in=b; gap gpus=1 limit=30 in=a");
  EXPECT_EQ(cluster.plan(), "evict a4 for taker");
  cluster.return_job(4);
  EXPECT_EQ(cluster.plan(), "start taker on n1[1]");
}

TEST(SchedulerTime, GapsAreFilledWithTheShortestFirst) {
  Policy policy = live_policy();
  policy.reservations_max = 1;
  Cluster cluster("n0 gpus=4", "", policy);
  cluster.submit("base gpus=2 limit=1000");
  EXPECT_EQ(cluster.plan(), "start base on n0[0-1]");
  cluster.submit(
      "first gpus=4 limit=50; long gpus=1 limit=900; short gpus=1 limit=10; mid gpus=1 limit=300");
  EXPECT_EQ(cluster.plan(), "start short on n0[2]; start mid on n0[3]");
  cluster.submit("urgent gpus=1 limit=600 priority=60; brief gpus=1 limit=20");
  cluster.end_job(4);
  EXPECT_EQ(cluster.plan(), "start urgent on n0[2]");
}

// One GPU is idle on each of two nodes. A move makes room for two, at the cost of the work done so
// far by the one that moves; without it the two would start when the others are over, at 2000.
TEST(SchedulerTime, AMoveMustSaveMoreThanItLoses) {
  const auto plan_at = [](std::int64_t time) {
    Cluster cluster("n0 gpus=2; n1 gpus=2");
    cluster.submit("x gpus=1; y gpus=1 limit=1000; z gpus=1 limit=1000");
    EXPECT_EQ(cluster.plan(), "start x on n0[0]; start y on n0[1]; start z on n1[0]");
    cluster.end_job(1);
    EXPECT_EQ(cluster.plan(), "");
    cluster.now = time;
    cluster.submit("two gpus=2 limit=10");
    const std::string plan = cluster.plan();
    // Where it does not pay, it is looked at again after a while, though nothing else happens.
    EXPECT_EQ(cluster.scheduler.next_look() == time + 60, plan.empty());
    return plan;
  };
  EXPECT_EQ(plan_at(1600), "evict y for two");  // 600 GPU seconds against 800
  EXPECT_EQ(plan_at(1700), "");                 // 700 against 600
}

// Whoever has moved once is on a full node: for the second it is another's turn, though only one
// may be looked at.
TEST(SchedulerTime, MovesGoOnWithThoseInTheWay) {
  Policy policy = live_policy();
  policy.consolidate_jobs_max = 1;
  Cluster cluster("n0 gpus=2; n1 gpus=2; n2 gpus=2; n3 gpus=2", "", policy);
  for (int i = 1; i <= 8; ++i) cluster.submit("s" + std::to_string(i) + " gpus=1 limit=5000");
  cluster.plan();
  for (const std::uint64_t id : {2, 4, 6, 8}) cluster.end_job(id);
  cluster.now += 1;
  cluster.submit("big1 gpus=2 limit=100; big2 gpus=2 limit=100");
  EXPECT_EQ(cluster.plan(), "evict s7 for big1");
  cluster.return_job(7);
  EXPECT_EQ(cluster.plan(), "start s7 on n0[1]; start big1 on n3[0-1]; evict s5 for big2");
  cluster.return_job(5);
  EXPECT_EQ(cluster.plan(), "start s5 on n1[1]; start big2 on n2[0-1]");
}

TEST(SchedulerTime, AStreamOfSmallJobsNeverStarvesAGang) {
  for (const std::uint64_t limit : {100, 0}) {  // 0: nobody says how long it takes
    const GangStart gang = gang_in_a_stream(live_policy(), limit);
    EXPECT_GT(gang.second, 500);
    EXPECT_LE(gang.second, gang.bound);
    Policy nothing_kept = live_policy();
    nothing_kept.reservations_max = 0;
    EXPECT_EQ(gang_in_a_stream(nothing_kept, limit).second, 0);
  }
}

TEST(SchedulerOrg, ProjectsMoveWithWhatTheyHold) {
  Cluster cluster("n0 gpus=8", "a quota=4; b quota=4");
  cluster.submit("a1 gpus=3 in=a; b1 gpus=2 in=b; a2 gpus=8 in=a");
  cluster.plan();
  Org org;
  org.departments = {
      {.name = "inner", .parent = "outer", .quota = {}, .preemption = {}, .serial = 9},
      {.name = "outer", .parent = "", .quota = {}, .preemption = {}, .serial = 8}};
  Project a, b;
  a.name = "a";
  a.department = "inner";
  b.name = "b";
  b.department = "outer";
  org.projects = {a, b};
  normalize(org);
  cluster.scheduler.set_org(org);
  EXPECT_EQ(cluster.scheduler.department("inner").held[Resource::gpu], 3 * one_gpu);
  EXPECT_EQ(cluster.scheduler.department("outer").held[Resource::gpu], 5 * one_gpu);
  EXPECT_EQ(cluster.scheduler.department("outer").waiting[Resource::gpu], 8 * one_gpu);
  EXPECT_EQ(cluster.scheduler.project("a").depth, 3u);
  // The other way round, and then without.
  org.departments[0].parent = "";
  org.departments[1].parent = "inner";
  cluster.scheduler.set_org(org);
  EXPECT_EQ(cluster.scheduler.department("inner").held[Resource::gpu], 5 * one_gpu);
  EXPECT_EQ(cluster.scheduler.department("outer").held[Resource::gpu], 2 * one_gpu);
  org.departments.clear();
  for (Project& project : org.projects) project.department = "";
  cluster.scheduler.set_org(org);
  EXPECT_EQ(cluster.scheduler.department("").held[Resource::gpu], 5 * one_gpu);
  EXPECT_EQ(cluster.scheduler.project("a").depth, 1u);
}

TEST(SchedulerDeathTest, HoldingAGpuTwiceIsABug) {
  Cluster cluster("n0 gpus=2 used=1");
  Job job;
  job.id = JobId{1};
  NodePart part{NodeId{1}};
  part.gpus = {0};
  job.last.edit().placement = {part};
  EXPECT_DEATH(cluster.scheduler.add_holding(job, false, 0), "assertion failed");
}

}  // namespace
}  // namespace rota::sched
