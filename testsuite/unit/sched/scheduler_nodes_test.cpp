// testsuite/unit/sched/scheduler_nodes_test.cpp - jobs that may only run on some of the nodes: how
// they are placed, take back, move and wait.
#include <gtest/gtest.h>

#include <map>

#include "common/format.h"
#include "common/hostlist.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

/// Nodes n0, n1 ... with GPUs of a model each; n0 and n1 are the group "lab".
class Cluster {
 public:
  explicit Cluster(const std::vector<std::string>& models, std::size_t gpus = 4,
                   const Policy& policy = live_policy())
      : scheduler_(policy, {{"lab", *hostlist_expand("n[0-1]")}}), gpus_(gpus) {
    set_org();
    for (const std::string& model : models) join(model);
  }

  void join(const std::string& model, bool usable = true) {
    const auto id = static_cast<std::uint32_t>(++node_count_);
    put(id, model, usable);
  }
  void put(std::uint32_t id, const std::string& model, bool usable) {
    NodeInventory inventory;
    inventory.cpu_count = 64;
    inventory.memory_bytes = 1000;
    for (std::size_t i = 0; i < gpus_; ++i) {
      Gpu& gpu = inventory.gpus.emplace_back();
      gpu.model = model;
      gpu.memory_bytes = std::uint64_t{32} << 30;
    }
    scheduler_.put_node(NodeId{id}, format("n{}", id - 1), inventory, std::vector<bool>(gpus_),
                        usable);
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
    Queue& wide = org.queues.emplace_back();
    wide.name = "wide";
    wide.placement = placement;
    normalize(org);
    if (scheduler_.set_org(org))
      for (const auto& [id, job] : jobs_)
        if (job.state == JobState::pending) scheduler_.renew(job);
  }

  void submit(const std::string& name, std::uint32_t gpus, const std::string& constraint = "",
              const std::string& project = "default", std::uint32_t nodes = 0,
              std::int64_t limit = 0) {
    Job& job = jobs_[JobId{jobs_.size() + 1}];
    job.id = JobId{jobs_.size()};
    job.spec.name = name;
    job.spec.project = project;
    job.spec.task.gpu_count = gpus;
    job.spec.task_count = job.spec.node_count = nodes;
    if (nodes == 0) job.spec.task_count = 1;
    job.spec.time_limit_seconds = limit;
    if (!constraint.empty()) job.spec.nodes.edit().constraint = constraint;
    job.spec.queue = queue;
    job.spec.task.gpu_share = share;
    scheduler_.add_waiting(job, now);
  }

  std::string plan() {
    const Plan plan = scheduler_.plan(now);
    std::string text;
    for (const Start& start : plan.starts) {
      Job& job = jobs_.at(start.job);
      job.state = JobState::running;
      job.last.edit().placement = start.placement;
      text += (text.empty() ? "" : "; ") + job.spec.name + " on";
      for (const NodePart& part : start.placement) text += format(" n{}", part.node.value - 1);
    }
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
  std::string why(std::uint64_t id) const {
    const Wait wait = scheduler_.wait_of(jobs_.at(JobId{id}));
    return format("{}: {}", name_of(wait.why), wait.text);
  }
  void submit_tasks(const std::string& name, std::uint32_t tasks, std::uint32_t gpus,
                    const std::string& constraint = "", std::uint64_t memory_per_node = 0) {
    submit(name, gpus, constraint);
    Job& job = jobs_.rbegin()->second;
    job.spec.task_count = tasks;
    job.spec.node.memory_bytes = memory_per_node;
    scheduler_.renew(job);
  }
  void resize_next(std::size_t gpus) { gpus_ = gpus; }
  std::size_t gpus_shared() const {
    std::size_t count = 0;
    for (const FleetNode& node : scheduler_.world().fleet.nodes()) count += node.shared.size();
    return count;
  }
  Fit fit(const std::string& constraint, std::uint32_t gpus) const {
    JobSpec spec;
    spec.task.gpu_count = gpus;
    spec.nodes.edit().constraint = constraint;
    return scheduler_.fit_of(spec);
  }
  std::optional<std::int64_t> expected(std::uint64_t id) const {
    return scheduler_.expected_start(JobId{id});
  }

  std::int64_t now = 1000;
  QueuePlacement placement = QueuePlacement::spread;  // of the queue "wide"
  std::string queue;                                  // of jobs that are submitted
  std::uint32_t share = 0;                            // of each of their GPUs

 private:
  Scheduler scheduler_;
  std::size_t gpus_;
  std::size_t node_count_ = 0;
  Org org_;
  std::map<JobId, Job> jobs_;
};

TEST(SchedulerNodes, JobsGoWhereTheyMay) {
  Cluster cluster({"V100", "V100", "A100", "A100"});
  cluster.submit("any", 4);
  cluster.submit("a", 2, "a100");
  cluster.submit("both", 4, "", "default", 2);
  cluster.submit("lab", 1, "lab");
  EXPECT_EQ(cluster.plan(), "any on n0; a on n2; both on n1 n3");
  EXPECT_EQ(cluster.why(4),
            "Resources: needs 1 GPU, 1 task of 1 CPU: may run on nodes with 'lab'; 0 GPUs and 126 "
            "CPUs are free there, at most 0 GPUs on one node");
  cluster.end(1);
  EXPECT_EQ(cluster.plan(), "lab on n0");
}

// Tasks that lie on as few nodes as possible keep to theirs too.
TEST(SchedulerNodes, SoDoTasksThatShareNodes) {
  Cluster cluster({"A100", "V100", "V100"}, 2);
  cluster.submit("wide", 2, "v100", "default", 2);
  EXPECT_EQ(cluster.plan(), "wide on n1 n2");
}

TEST(SchedulerNodes, ANodeThatJoinsLaterServesThoseWhoWait) {
  Cluster cluster({"V100"});
  cluster.submit("a", 1, "h100");
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(1),
            "ReqNodeNotAvail: needs 1 GPU, 1 task of 1 CPU: no node with 'h100' is known");
  cluster.join("H100", false);
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(1),
            "ReqNodeNotAvail: needs 1 GPU, 1 task of 1 CPU: nodes with 'h100' that are down now "
            "would have it");
  cluster.put(2, "H100", true);
  EXPECT_EQ(cluster.plan(), "a on n1");
}

// How many nodes it needs is known only when they are there.
TEST(SchedulerNodes, ItsNumberOfNodesFollowsThoseThatJoin) {
  Cluster cluster({"V100"});
  cluster.submit_tasks("wide", 4, 2, "h100", 100);
  EXPECT_EQ(cluster.plan(), "");
  cluster.join("H100");
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(1),
            "ReqNodeNotAvail: needs 8 GPUs, 4 tasks of 1 CPU: more than all known nodes with "
            "'h100' have");
  cluster.join("H100");
  EXPECT_EQ(cluster.plan(), "wide on n1 n2");
}

TEST(SchedulerNodes, WhetherItEverFitsIsAskedOfTheseNodes) {
  Cluster cluster({"V100"}, 4);
  EXPECT_EQ(cluster.fit("v100", 4), Fit::yes);
  EXPECT_EQ(cluster.fit("v100", 5), Fit::never);
  EXPECT_EQ(cluster.fit("a100", 1), Fit::no_node);
  EXPECT_EQ(cluster.fit("v100&lab", 1), Fit::yes);
}

TEST(SchedulerNodes, TheOrganisationsRulesReachThoseWhoWait) {
  Cluster cluster({"V100", "A100"});
  Project& team = cluster.project("team", 4);
  team.kinds = {{JobKind::train, {"h100"}, {}}};
  cluster.set_org();
  cluster.submit("t", 4, "", "team");
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(1),
            "ReqNodeNotAvail: needs 4 GPUs, 1 task of 1 CPU: no node of type h100 is known");
  team.kinds = {{JobKind::train, {"a100", "h100"}, {}}};
  cluster.set_org();
  EXPECT_EQ(cluster.plan(), "t on n1");
}

// The owner gets back what it may use; who runs elsewhere is left alone.
TEST(SchedulerNodes, WhatIsTakenBackIsOfUse) {
  for (const std::string type : {"a100", "v100", "h100"}) {
    Cluster cluster({"V100", "A100"});
    cluster.project("owner", 4);
    cluster.project("guest", 0);
    cluster.set_org();
    cluster.submit("on-a100", 4, "a100", "guest");
    cluster.submit("on-v100", 4, "v100", "guest");
    EXPECT_EQ(cluster.plan(), "on-a100 on n1; on-v100 on n0");
    cluster.now += 10;
    cluster.submit("mine", 4, type, "owner");
    EXPECT_EQ(cluster.plan(), type == "h100" ? "" : format("on-{} makes way for mine", type));
  }
}

// A gang of two nodes of a type, while others hold nodes of both.
TEST(SchedulerNodes, AGangTakesBackSeveralNodes) {
  Cluster cluster({"V100", "A100", "V100", "A100", "A100"}, 2);
  cluster.project("owner", 4);
  cluster.project("guest", 0);
  cluster.set_org();
  for (int i = 0; i < 5; ++i) cluster.submit(format("g{}", i), 2, "", "guest");
  EXPECT_EQ(cluster.plan(), "g0 on n0; g1 on n1; g2 on n2; g3 on n3; g4 on n4");
  cluster.now += 10;
  cluster.submit("gang", 2, "v100", "owner", 2);
  EXPECT_EQ(cluster.plan(), "g0 makes way for gang; g2 makes way for gang");
}

// Nobody moves to a place where it may not be: n1 has room, but not for this one.
TEST(SchedulerNodes, NobodyIsMovedWhereItMayNotRun) {
  Policy policy = live_policy();
  policy.reservations_max = 0;
  for (const bool may_move : {true, false}) {
    Cluster cluster({"V100", "V100", "A100"}, 4, policy);
    cluster.submit("x", 3, may_move ? "v100" : "v100&lab");
    cluster.submit("fill", 4, "v100&lab");
    cluster.plan();
    cluster.join("V100");
    cluster.submit("big", 4, "lab");
    // Where "x" may go to n3, "big" gets all of n0.
    EXPECT_EQ(cluster.plan(), may_move ? "x makes way for big" : "") << may_move;
  }
}

// A place in time is kept on nodes that the job may use, and nowhere else.
TEST(SchedulerNodes, PlacesInTimeAreKeptWhereTheyAreOfUse) {
  Cluster cluster({"V100", "A100"});
  cluster.submit("v", 4, "v100", "default", 0, 100);
  cluster.submit("a", 3, "a100", "default", 0, 500);
  EXPECT_EQ(cluster.plan(), "v on n0; a on n1");
  cluster.submit("next", 4, "a100", "default", 0, 100);
  cluster.submit("short", 1, "a100", "default", 0, 400);
  cluster.submit("long", 1, "a100", "default", 0, 600);
  EXPECT_EQ(cluster.plan(), "short on n1");
  EXPECT_EQ(cluster.expected(3), 1500);  // not 1100, when the V100s come free
  cluster.submit("never", 1, "h100", "default", 0, 100);
  cluster.plan();
  EXPECT_EQ(cluster.expected(6), std::nullopt);
}

TEST(SchedulerNodes, ManyNodesAreFoundByTheIndex) {
  std::vector<std::string> models;
  for (int i = 0; i < 200; ++i) models.push_back(i % 2 == 0 ? "V100" : "A100");
  Cluster cluster(models, 2);
  cluster.submit("gang", 2, "a100", "default", 100);
  std::string wanted = "gang on";
  for (int i = 1; i < 200; i += 2) wanted += format(" n{}", i);
  EXPECT_EQ(cluster.plan(), wanted);
  cluster.submit("a", 1, "a100");
  cluster.submit("v", 1, "v100");
  EXPECT_EQ(cluster.plan(), "v on n0");
}

TEST(SchedulerSpread, JobsOfSuchAQueueGoToTheEmptiestNodes) {
  Cluster cluster({"V100", "V100", "V100"});
  cluster.submit("p0", 1);
  cluster.submit("p1", 1);
  EXPECT_EQ(cluster.plan(), "p0 on n0; p1 on n0");
  cluster.queue = "wide";
  for (int i = 0; i < 5; ++i) cluster.submit(format("s{}", i), 1);
  EXPECT_EQ(cluster.plan(), "s0 on n1; s1 on n2; s2 on n1; s3 on n2; s4 on n0");
  cluster.submit("gang", 1, "", "default", 2);
  EXPECT_EQ(cluster.plan(), "gang on n1 n2");
}

// By the part of it that is held: half of eight is not emptier than half of four.
TEST(SchedulerSpread, ALargeNodeIsNotEmptierForBeingLarge) {
  Cluster cluster({"V100"}, 2);
  cluster.resize_next(8);
  cluster.join("A100");
  cluster.submit("a", 4, "a100");
  cluster.queue = "wide";
  cluster.submit("first", 1);   // n0 is empty
  cluster.submit("second", 1);  // both half full: the larger
  EXPECT_EQ(cluster.plan(), "a on n1; first on n0; second on n1");
}

TEST(SchedulerSpread, PartsOfGpusGoToFreshOnes) {
  for (const char* const queue : {"", "wide"}) {
    Cluster cluster({"V100", "V100"}, 2);
    cluster.queue = queue;
    cluster.share = 400'000;
    for (int i = 0; i < 4; ++i) cluster.submit(format("s{}", i), 1);
    EXPECT_EQ(cluster.plan(), *queue == 0 ? "s0 on n0; s1 on n0; s2 on n0; s3 on n0"
                                          : "s0 on n0; s1 on n1; s2 on n0; s3 on n1");
    EXPECT_EQ(cluster.gpus_shared(), *queue == 0 ? 2u : 4u);
  }
}

// The tasks of a job still lie together; the job goes where most is left.
TEST(SchedulerSpread, TasksOfOneJobStayTogether) {
  Cluster cluster({"V100", "V100", "V100"});
  cluster.submit("p", 2);
  cluster.queue = "wide";
  cluster.submit_tasks("pair", 2, 1);
  cluster.submit_tasks("next", 2, 1);
  EXPECT_EQ(cluster.plan(), "p on n0; pair on n1; next on n2");
}

TEST(SchedulerSpread, AQueueThatChangesTakesThoseWhoWaitWithIt) {
  Cluster cluster({"V100", "V100"}, 4);
  cluster.queue = "wide";
  cluster.submit("a", 1);
  cluster.submit("b", 1);
  cluster.placement = QueuePlacement::pack;
  cluster.set_org();
  EXPECT_EQ(cluster.plan(), "a on n0; b on n0");
  cluster.placement = QueuePlacement::spread;
  cluster.submit("c", 1);
  cluster.set_org();
  EXPECT_EQ(cluster.plan(), "c on n1");
}

}  // namespace
}  // namespace rota::sched
