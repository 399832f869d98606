// testsuite/unit/sched/scheduler_topology_test.cpp - jobs that ask to lie close
// together: where they are placed, take back and wait.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "common/format.h"
#include "common/hostlist.h"
#include "sched/scheduler.h"
#include "sched/topology_wish.h"

namespace rota::sched {
namespace {

/// Nodes n0, n1 ... in racks of `rack_size`, two racks to a block; the site
/// knows 12 of them.
class Cluster {
 public:
  explicit Cluster(std::uint32_t nodes, std::uint32_t rack_size = 2, std::uint32_t gpus = 4,
                   const Policy& policy = live_policy(), std::uint32_t named = 0)
      : scheduler_(policy, {}, site(named == 0 ? nodes : named, rack_size)) {
    set_org();
    for (std::uint32_t i = 0; i < nodes; ++i) join(gpus);
  }

  static NetworkTopology site(std::uint32_t nodes, std::uint32_t rack_size) {
    NetworkTopology made;
    made.levels = {"block", "rack"};
    for (std::uint32_t first = 0; first < nodes; first += rack_size) {
      const std::uint32_t rack = first / rack_size;
      NetworkPlace& place = made.places.emplace_back();
      place.path = {format("b{}", rack / 2), format("r{}", rack)};
      for (std::uint32_t i = first; i < std::min(first + rack_size, nodes); ++i)
        place.nodes.push_back(format("n{}", i));
    }
    return made;
  }

  void join(std::uint32_t gpus, bool usable = true) { put(node_count_++, gpus, usable); }
  void put(std::uint32_t index, std::uint32_t gpus, bool usable) {
    NodeInventory inventory;
    inventory.cpu_count = 64;
    inventory.memory_bytes = 1000;
    inventory.gpus.resize(gpus);
    for (Gpu& gpu : inventory.gpus) gpu.memory_bytes = std::uint64_t{32} << 30;
    scheduler_.put_node(NodeId{index + 1}, format("n{}", index), inventory, std::vector<bool>(gpus),
                        usable);
  }
  void project(const std::string& name, std::int64_t quota) {
    Project& made = org_.projects.emplace_back();
    made.name = name;
    made.quota.gpu_quota = quota * gpu_unit;
    made.serial = org_.projects.size();
    set_org();
  }
  void set_org() {
    Org org = org_;
    normalize(org);
    scheduler_.set_org(org);
  }

  /// `nodes` 0: as few as do for the tasks.
  static JobSpec spec_of(const std::string& topology, std::uint32_t tasks, std::uint32_t nodes,
                         std::uint32_t gpus) {
    JobSpec spec;
    spec.name = "job";
    spec.task_count = tasks;
    spec.node_count = nodes;
    spec.task.gpu_count = gpus;
    const auto request = topology_parse(topology);
    EXPECT_TRUE(request);
    if (request && !request->empty()) spec.topology.edit() = *request;
    return spec;
  }
  std::uint64_t submit(JobSpec spec, const std::string& project = "default",
                       std::int64_t limit = 0) {
    const JobId id{++job_last_};
    Job& job = jobs_[id];
    job.id = id;
    job.spec = std::move(spec);
    job.spec.project = project;
    job.spec.time_limit_seconds = limit;
    scheduler_.add_waiting(job, now);
    return job.id.value;
  }
  /// A job that takes GPUs of this node; `firm`: and cannot be preempted.
  std::uint64_t pin(std::uint32_t node, std::uint32_t gpus = 4,
                    const std::string& project = "default", std::int64_t limit = 0,
                    bool firm = false) {
    JobSpec spec = spec_of("none", 1, 1, gpus);
    spec.nodes.edit().only = format("n{}", node);
    if (firm) spec.preemptibility = Preemptibility::no;
    return submit(std::move(spec), project, limit);
  }
  std::uint64_t gang(const std::string& topology, std::uint32_t nodes, std::uint32_t gpus = 4,
                     const std::string& project = "default", std::int64_t limit = 0) {
    return submit(spec_of(topology, nodes, nodes, gpus), project, limit);
  }

  /// "1 on n0 n1; 2 makes way for 3".
  std::string plan() {
    const Plan plan = scheduler_.plan(now);
    std::string text;
    for (const Start& start : plan.starts) {
      started(start);
      text += format("{}{} on", text.empty() ? "" : "; ", start.job.value);
      for (const NodePart& part : start.placement) text += format(" n{}", part.node.value - 1);
    }
    for (const Eviction& eviction : plan.evictions)
      text += format("{}{} makes way for {}", text.empty() ? "" : "; ", eviction.job.value,
                     eviction.taker.value);
    return text;
  }
  void started(const Start& start) {
    jobs_.at(start.job).state = JobState::running;
    jobs_.at(start.job).last.edit().placement = start.placement;
  }
  void end(std::uint64_t id) {
    for (const NodePart& part : jobs_.at(JobId{id}).last->placement)
      scheduler_.release(JobId{id}, part.node);
    scheduler_.remove(JobId{id});
    jobs_.erase(JobId{id});
  }
  std::string why(std::uint64_t id) const {
    const Wait wait = scheduler_.wait_of(jobs_.at(JobId{id}));
    return format("{}: {}", name_of(wait.why), wait.text);
  }
  Scheduler& scheduler() { return scheduler_; }
  const std::map<JobId, Job>& jobs() const { return jobs_; }

  std::int64_t now = 1000;

 private:
  Scheduler scheduler_;
  std::uint32_t node_count_ = 0;
  std::uint64_t job_last_ = 0;
  Org org_;
  std::map<JobId, Job> jobs_;
};

// n0 has least left, and n1 less than the others: packed, the pair would lie
// across two racks.
TEST(SchedulerTopology, ARequiredLevelIsKept) {
  for (const std::string topology : {"none", "required:rack"}) {
    Cluster cluster(4);
    cluster.submit(Cluster::spec_of("none", 1, 1, 4));
    EXPECT_EQ(cluster.plan(), "1 on n0");
    cluster.gang(topology, 2);
    EXPECT_EQ(cluster.plan(), topology == "none" ? "2 on n1 n2" : "2 on n2 n3");
  }
}

TEST(SchedulerTopology, ItWaitsForARackRatherThanStraddle) {
  Cluster cluster(4);
  cluster.pin(0);
  cluster.pin(2);
  EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n2");
  cluster.gang("required:rack", 2);
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(3),
            "Resources: needs 8 GPUs, 2 tasks of 1 CPU on 2 "
            "nodes in one rack: no rack has room for "
            "all of it; 8 GPUs and 254 CPUs are free, at most "
            "4 GPUs in one rack, at most 4 GPUs "
            "on one node");
  cluster.end(1);
  EXPECT_EQ(cluster.plan(), "3 on n0 n1");
}

// Rack by rack, block by block, then anywhere; and on as few racks as can be.
TEST(SchedulerTopology, APreferredLevelClimbs) {
  Cluster cluster(12);
  cluster.gang("rack", 2);
  cluster.gang("rack", 3);
  EXPECT_EQ(cluster.plan(),
            "1 on n0 n1; 2 on n6 n7 n4");  // r0; no rack has three: block b1
  cluster.gang("rack", 5);
  EXPECT_EQ(cluster.plan(), "3 on n10 n11 n8 n9 n2");
  cluster.gang("required:rack,preferred:rack", 2);
  EXPECT_EQ(cluster.plan(), "");
}

TEST(SchedulerTopology, RequiredBoundsWherePreferredClimbs) {
  Cluster cluster(8);
  cluster.gang("required:block,preferred:rack", 3);
  EXPECT_EQ(cluster.plan(), "1 on n2 n3 n0");
  cluster.gang("required:block,preferred:rack", 4);
  EXPECT_EQ(cluster.plan(), "2 on n6 n7 n4 n5");
  cluster.gang("required:block,preferred:rack", 2);
  EXPECT_EQ(cluster.plan(), "");
}

JobSpec segmented(const std::string& topology, std::uint32_t nodes, std::uint32_t segment) {
  JobSpec spec = Cluster::spec_of(topology, nodes, nodes, 4);
  spec.topology.edit().segment = segment;
  return spec;
}

// What follows is worked out from quota.md 9 and 10: segments are sets of the gang, placed one
// after the other. Of the places that could hold one, those that become fullest come first (asked /
// free, from the widest level down), then the smaller name. Where a group has to leave its
// preferred level, places of it with more room come first, and of those with as much the later
// name.

// Racks of two: packed, a gang of four would lie on n1 to n4, of three racks. Job 1 has n0. The
// first group of 8 GPUs: b0 has 12 free (8/12), b1 16 (8/16), so b0 goes first; there r0 has one
// node and r1 two: n2 n3. The second: b0 has only n1 left; in b1 r2 and r3 are both 8/8, r2 by
// name: n4 n5. Then n1, n6 and n7 are free, 12 GPUs and 512 - 1 - 4 CPUs: one rack, and two are
// needed. When n0 is free too, b0 and b1 are both 8/8: r0 by name, then r3.
TEST(SchedulerSegments, EachInOneRackByDefault) {
  Cluster cluster(8);
  cluster.pin(0);
  EXPECT_EQ(cluster.plan(), "1 on n0");
  cluster.submit(segmented("none", 4, 2));
  EXPECT_EQ(cluster.plan(), "2 on n2 n3 n4 n5");
  cluster.submit(segmented("none", 4, 2));
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(3),
            "Resources: needs 16 GPUs, 4 tasks of 1 CPU on 4 nodes, 2 together: too few places "
            "have 2 nodes free together in one rack; 12 GPUs and 507 CPUs are free, at most 4 GPUs "
            "on one node");
  cluster.end(1);
  EXPECT_EQ(cluster.plan(), "3 on n0 n1 n6 n7");
}

// Three nodes are more than a rack has: then each group has a block. It asks for 12 GPUs; b0 and b1
// have 12 free, b2 has 16: b0 by name, then b1.
TEST(SchedulerSegments, TheNarrowestLevelThatIsLargeEnough) {
  Cluster cluster(12);
  cluster.pin(0);
  cluster.pin(4);
  EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n4");
  cluster.submit(segmented("none", 6, 3));
  EXPECT_EQ(cluster.plan(), "3 on n1 n2 n3 n5 n6 n7");
}

TEST(SchedulerSegments, LevelsThatAreNamed) {
  {  // required: of each group. b0 and b1 are both 8/16: b0. Then b0 is 8/8 and b1 8/16: b0 again
    Cluster cluster(8);
    cluster.submit(segmented("required:block", 4, 2));
    EXPECT_EQ(cluster.plan(), "1 on n0 n1 n2 n3");
  }
  {  // preferred: a group climbs where it has to. No rack has two nodes, b0 has; of its racks, with
     // one free node each, the later name comes first: n3 of r1, then n1
    Cluster cluster(4);
    cluster.pin(0);
    cluster.pin(2);
    EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n2");
    cluster.submit(segmented("rack", 2, 2));
    EXPECT_EQ(cluster.plan(), "3 on n3 n1");
  }
  {  // both: groups in racks, all of it in one block. Each block has three nodes free; then b1 has
     // four, and its racks are both 8/8: r2 by name, then r3
    Cluster cluster(8);
    cluster.pin(0);
    cluster.pin(5);
    EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n5");
    cluster.submit(segmented("required:block,preferred:rack", 4, 2));
    EXPECT_EQ(cluster.plan(), "");
    cluster.end(2);
    EXPECT_EQ(cluster.plan(), "3 on n4 n5 n6 n7");
  }
}

TEST(SchedulerSegments, WhatNoPlaceHoldsIsRefused) {
  Cluster cluster(8);
  const Topology& topology = cluster.scheduler().topology();
  const auto refusal = [&](const JobSpec& spec) {
    const auto checked = check(*spec.topology, topology);
    return checked ? std::string() : checked.error().detail;
  };
  EXPECT_EQ(refusal(segmented("none", 8, 4)), "");
  EXPECT_EQ(refusal(segmented("required:rack", 8, 4)),
            "a segment of 4 nodes must lie in one rack, and the largest has 2");
  EXPECT_EQ(refusal(segmented("none", 8, 8)),
            "a segment of 8 nodes must lie in one block, and the largest has 4");
  EXPECT_EQ(cluster.scheduler().fit_of(segmented("none", 8, 4)), Fit::yes);
  // A block of four has one group of three: three blocks have three of them, not four, although
  // there are twelve nodes.
  EXPECT_EQ(cluster.scheduler().fit_of(segmented("none", 6, 3)), Fit::yes);
  Cluster larger(12);
  EXPECT_EQ(larger.scheduler().fit_of(segmented("none", 9, 3)), Fit::yes);
  EXPECT_EQ(larger.scheduler().fit_of(segmented("none", 12, 3)), Fit::never);
  const NetworkTopology flat;
  const auto checked = check(*segmented("none", 2, 2).topology, Topology(flat));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().detail,
            "rota.yaml of the controller says nothing of a topology, so no job can ask for "
            "segments");
}

// The place that is kept for it has groups too: n1 (1100) and n2 (1200) come free first, and are no
// rack. r1 is free when n3 is, at 1500; r0 when n0 is, at 2000.
TEST(SchedulerSegments, APlaceKeptInTimeIsOfWholeGroups) {
  Cluster cluster(4);
  cluster.pin(0, 4, "default", 1000);
  cluster.pin(1, 4, "default", 100);
  cluster.pin(2, 4, "default", 200);
  cluster.pin(3, 4, "default", 500);
  EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n1; 3 on n2; 4 on n3");
  cluster.submit(segmented("none", 2, 2));
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.scheduler().expected_start(JobId{5}), 1500);
}

// Tasks without a number of nodes, on as few as possible: of one rack, and of
// few racks.
TEST(SchedulerTopology, TasksThatLieOnFewNodes) {
  Cluster cluster(4);
  cluster.pin(1, 2);
  EXPECT_EQ(cluster.plan(), "1 on n1");
  // Six GPUs are left in the fuller rack.
  cluster.submit(Cluster::spec_of("required:rack", 6, 0, 1));
  EXPECT_EQ(cluster.plan(), "2 on n0 n1");
  cluster.submit(Cluster::spec_of("required:rack", 3, 0, 1));
  EXPECT_EQ(cluster.plan(), "3 on n2");
  cluster.submit(Cluster::spec_of("required:rack", 6, 0, 1));
  EXPECT_EQ(cluster.plan(), "");
  cluster.submit(Cluster::spec_of("rack", 5, 0, 1));
  EXPECT_EQ(cluster.plan(), "5 on n3 n2");
}

// No block has room for eight tasks: two whole racks, not the three that are
// used already.
TEST(SchedulerTopology, FewNodesOfFewRacks) {
  Cluster cluster(12, 2, 2);
  for (const std::uint32_t node : {0, 4, 8}) cluster.pin(node, 1);
  EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n4; 3 on n8");
  cluster.submit(Cluster::spec_of("rack", 6, 0, 1));
  EXPECT_EQ(cluster.plan(), "4 on n1 n2 n3");
  cluster.submit(Cluster::spec_of("rack", 8, 0, 1));
  EXPECT_EQ(cluster.plan(), "5 on n6 n7 n10 n11");
}

TEST(SchedulerTopology, PartsOfGpusAndSingleTasks) {
  Cluster cluster(4, 2, 1);
  JobSpec parts = Cluster::spec_of("required:rack", 2, 0, 1);
  parts.task.gpu_share = 500'000;
  cluster.submit(parts);
  EXPECT_EQ(cluster.plan(), "1 on n0 n1");
  cluster.submit(Cluster::spec_of("required:rack", 1, 0, 1));
  EXPECT_EQ(cluster.plan(), "2 on n2");
}

// Outside of the topology is in no place, but good enough for those who only
// prefer one.
TEST(SchedulerTopology, NodesWithoutAPlace) {
  Cluster cluster(4, 2, 4, live_policy(), 2);
  cluster.gang("required:block", 2);
  EXPECT_EQ(cluster.plan(), "1 on n0 n1");
  cluster.gang("required:block", 1);
  cluster.gang("rack", 2);
  EXPECT_EQ(cluster.plan(), "3 on n2 n3");
  EXPECT_EQ(cluster.scheduler().topology().path_of(
                cluster.scheduler().place_of_all({NodeId{1}, NodeId{2}})),
            "b0/r0");
  EXPECT_EQ(cluster.scheduler().place_of_all({NodeId{2}, NodeId{3}}), 0u);
}

TEST(SchedulerTopology, WishesForNodesCountToo) {
  Cluster cluster(8);
  JobSpec spec = Cluster::spec_of("required:rack", 2, 2, 4);
  spec.nodes.edit().except = "n0,n3,n4";
  cluster.submit(spec);
  EXPECT_EQ(cluster.plan(), "1 on n6 n7");
  JobSpec tasks = Cluster::spec_of("required:rack", 4, 0, 1);
  tasks.nodes.edit().except = "n0";
  Cluster small(4);
  small.submit(tasks);
  EXPECT_EQ(small.plan(), "1 on n1");  // what is left of r0 becomes full
}

// What a node that joins brings is there for those who wait.
TEST(SchedulerTopology, ANodeThatJoinsCompletesItsRack) {
  Cluster cluster(1, 2, 4, live_policy(), 4);
  cluster.gang("required:rack", 2);
  EXPECT_EQ(cluster.plan(), "");
  cluster.join(4, false);
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.why(1),
            "ReqNodeNotAvail: needs 8 GPUs, 2 tasks of 1 CPU "
            "on 2 nodes in one rack: a rack would "
            "have it with nodes that are not up now");
  cluster.put(1, 4, true);
  EXPECT_EQ(cluster.plan(), "1 on n0 n1");
}

TEST(SchedulerTopology, OnlyWhatCanNeverBeIsRefused) {
  const auto fit = [](Cluster& cluster, const JobSpec& spec) {
    return cluster.scheduler().fit_of(spec);
  };
  Cluster cluster(4);
  EXPECT_EQ(fit(cluster, Cluster::spec_of("required:rack", 2, 2, 4)), Fit::yes);
  EXPECT_EQ(fit(cluster, Cluster::spec_of("required:rack", 3, 3, 1)), Fit::never);
  EXPECT_EQ(fit(cluster, Cluster::spec_of("rack", 3, 3, 1)), Fit::yes);
  EXPECT_EQ(fit(cluster, Cluster::spec_of("required:block", 3, 3, 1)), Fit::yes);
  EXPECT_EQ(fit(cluster, Cluster::spec_of("required:rack", 9, 0, 1)), Fit::never);
  EXPECT_EQ(fit(cluster, Cluster::spec_of("required:rack", 8, 0, 1)), Fit::yes);
  EXPECT_EQ(cluster.scheduler().never_text(Cluster::spec_of("required:rack", 3, 3, 1)),
            "needs 3 GPUs, 3 tasks of 1 CPU on 3 nodes in one rack; the cluster has "
            "4 nodes, the "
            "largest with 4 GPUs and 64 CPUs; a rack has at most 2 nodes and 8 GPUs");
  // Two racks of four; of the second, two nodes have not joined: who knows what
  // they have.
  Cluster partly(6, 4, 4, live_policy(), 8);
  EXPECT_EQ(fit(partly, Cluster::spec_of("required:rack", 5, 5, 1)), Fit::never);
  EXPECT_EQ(fit(partly, Cluster::spec_of("required:rack", 18, 0, 1)), Fit::when_up);
  EXPECT_EQ(fit(partly, Cluster::spec_of("required:rack", 25, 0, 1)), Fit::never);
  partly.join(4);
  partly.join(4);
  EXPECT_EQ(fit(partly, Cluster::spec_of("required:rack", 18, 0, 1)), Fit::never);
}

// Two nodes would do, but they are in different racks: three of one.
TEST(SchedulerTopology, TheNumberOfNodesIsThatOfOnePlace) {
  Cluster cluster(0, 3, 0, live_policy(), 6);
  for (const std::uint32_t gpus : {4, 2, 2, 4, 2, 2}) cluster.join(gpus);
  JobSpec wide = Cluster::spec_of("required:rack", 6, 0, 1);
  wide.node.memory_bytes = 10;
  EXPECT_EQ(cluster.scheduler().fit_of(wide), Fit::yes);
  cluster.submit(wide);
  EXPECT_EQ(cluster.plan(), "1 on n1 n2 n0");
  wide.task_count = 9;
  EXPECT_EQ(cluster.scheduler().fit_of(wide), Fit::never);
  wide.topology.reset();
  EXPECT_EQ(cluster.scheduler().fit_of(wide), Fit::yes);
}

TEST(SchedulerTopology, LevelsAreChecked) {
  const Topology topology(Cluster::site(4, 2));
  const auto said = [&topology](std::string_view text) {
    const auto good = check(*topology_parse(text), topology);
    return good ? "good" : good.error().message();
  };
  EXPECT_EQ(said("none"), "good");
  EXPECT_EQ(said("Rack"), "good");
  EXPECT_EQ(said("required:block,preferred:rack"), "good");
  EXPECT_EQ(said("required:rack,preferred:rack"), "good");
  EXPECT_EQ(said("required:rak"),
            "not found: the topology has no level 'rak'; did you mean 'rack'?");
  EXPECT_EQ(said("pod"), "not found: the topology has no level 'pod'; known are block, rack");
  EXPECT_EQ(said("required:rack,preferred:block"),
            "invalid job: a job in one rack is in one block as well, so "
            "'preferred:block' says "
            "nothing; prefer a level that is narrower than the one required: "
            "block > rack");
  EXPECT_EQ(check(*topology_parse("rack"), Topology(NetworkTopology{})).error().message(),
            "not supported here: rota.yaml of the controller says nothing of a "
            "topology, so no job "
            "can ask for 'preferred:rack'");
}

// A level may be gone when a stored job is looked at again.
TEST(SchedulerTopology, ALevelThatIsGone) {
  Cluster cluster(4);
  cluster.gang("required:pod", 1);
  cluster.gang("pod", 1);
  EXPECT_EQ(cluster.plan(), "2 on n0");
  EXPECT_EQ(cluster.why(1),
            "ReqNodeNotAvail: needs 4 GPUs, 1 task of 1 CPU on "
            "1 node in one pod: rota.yaml has no "
            "level 'pod' in its topology now");
}

// One rack is taken back, not half of two: the two guests that came last are in
// different ones. It is the rack of the one who came last.
TEST(SchedulerTopology, WhatIsTakenBackIsOnePlace) {
  Cluster cluster(4);
  cluster.project("owner", 8);
  cluster.project("guest", 0);
  for (const std::uint32_t node : {0, 2, 1, 3}) cluster.pin(node, 4, "guest");
  EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n2; 3 on n1; 4 on n3");
  cluster.now += 1000;
  cluster.gang("required:rack", 2, 4, "owner");
  EXPECT_EQ(cluster.plan(), "2 makes way for 5; 4 makes way for 5");
}

// In every rack but one somebody is who cannot be preempted.
TEST(SchedulerTopology, OnlyAPlaceThatCanBeHadIsTaken) {
  Cluster cluster(8);
  cluster.project("owner", 8);
  cluster.project("firm", 16);
  cluster.project("guest", 0);
  for (const std::uint32_t node : {4, 5, 0, 2, 6}) cluster.pin(node, 4, "guest");
  for (const std::uint32_t node : {1, 3, 7}) cluster.pin(node, 4, "firm", 0, true);
  cluster.plan();
  cluster.now += 1000;
  cluster.gang("required:rack", 2, 4, "owner");
  EXPECT_EQ(cluster.plan(), "1 makes way for 9; 2 makes way for 9");
}

// n4 has no place and is free: who is alone in the first rack moves there.
TEST(SchedulerTopology, OneMovesToMakeARackWhole) {
  Cluster cluster(5, 2, 4, live_policy(), 4);
  cluster.gang("none", 1);
  cluster.gang("required:rack", 2);
  EXPECT_EQ(cluster.plan(), "1 on n0; 2 on n2 n3");
  cluster.now += 10;
  cluster.gang("required:rack", 2);
  EXPECT_EQ(cluster.plan(), "1 makes way for 3");
  EXPECT_EQ(cluster.why(3),
            "Preempting: needs 8 GPUs, 2 tasks of 1 CPU on 2 nodes in one rack: others are leaving "
            "that place");
}

// Six tasks are on n0 and half of n1; half of n3 is free, too. Were it not for the rack, they could
// go to n1 and n3 and leave n0 to the other job.
TEST(SchedulerTopology, NobodyIsMovedOutOfItsRack) {
  Policy policy = live_policy();
  policy.reservations_max = 0;
  for (const std::string topology : {"none", "required:rack"}) {
    Cluster cluster(4, 2, 4, policy);
    cluster.project("firm", 8);
    cluster.pin(2, 4, "firm", 0, true);
    cluster.submit(Cluster::spec_of(topology, 6, 0, 1));
    EXPECT_EQ(cluster.plan(), "1 on n2; 2 on n0 n1");
    cluster.pin(3, 2, "firm", 0, true);
    EXPECT_EQ(cluster.plan(), "3 on n3");
    cluster.now += 10;
    cluster.gang("none", 1);
    EXPECT_EQ(cluster.plan(), topology == "none" ? "2 makes way for 4" : "") << topology;
  }
}

// Two tasks of three are on one node: the rack has room for both parts, though
// not for two of two.
TEST(SchedulerTopology, PartsOfDifferentSizesAreCountedAsTheyAre) {
  Cluster cluster(4, 2, 2);
  for (const std::uint32_t node : {1, 2, 3}) cluster.pin(node, 1);
  EXPECT_EQ(cluster.plan(), "1 on n1; 2 on n2; 3 on n3");
  cluster.submit(Cluster::spec_of("required:rack", 3, 2, 1));
  EXPECT_EQ(cluster.plan(), "4 on n0 n1");
}

// The time at which a whole rack is free, not that at which two nodes are.
TEST(SchedulerTopology, PlacesInTimeAreKeptInOnePlace) {
  Cluster cluster(4);
  cluster.pin(0, 4, "default", 100);
  cluster.pin(1, 4, "default", 500);
  cluster.pin(2, 4, "default", 200);
  cluster.pin(3, 4, "default", 400);
  cluster.plan();
  const auto gang = cluster.gang("required:rack", 2);
  EXPECT_EQ(cluster.plan(), "");
  EXPECT_EQ(cluster.scheduler().expected_start(JobId{gang}), 1400);
  // One that ends before goes first; one that would still be there does not.
  cluster.end(3);
  cluster.gang("none", 1, 4, "default", 300);
  cluster.gang("none", 1, 4, "default", 600);
  EXPECT_EQ(cluster.plan(), "6 on n2");
  const auto beyond = cluster.gang("required:pod", 1);
  cluster.plan();
  EXPECT_EQ(cluster.scheduler().expected_start(JobId{beyond}), std::nullopt);
}

// A job that runs across places, because they were others when it started, may
// stay.
TEST(SchedulerTopology, WhoRunsAcrossPlacesStays) {
  Cluster cluster(4);
  Job job;
  job.id = JobId{50};
  job.spec = Cluster::spec_of("required:rack", 2, 2, 1);
  job.last.edit().placement = {{NodeId{2}, 0, 1, {0}, 1, 0}, {NodeId{3}, 1, 1, {0}, 1, 0}};
  cluster.scheduler().add_holding(job, false, cluster.now);
  EXPECT_EQ(cluster.scheduler().world().job(0).shape->gang.required_topology(), nullptr);
  job.id = JobId{51};
  job.last.edit().placement = {{NodeId{3}, 0, 1, {1}, 1, 0}, {NodeId{4}, 1, 1, {1}, 1, 0}};
  cluster.scheduler().add_holding(job, false, cluster.now);
  EXPECT_NE(cluster.scheduler().world().job(1).shape->gang.required_topology(), nullptr);
}

/// Jobs of all shapes come and go; nodes too. Who requires a level is in one
/// place of it.
TEST(SchedulerTopology, WhoeverRequiresALevelIsInOnePlace) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t from, std::uint64_t to) {
      return static_cast<std::uint32_t>(from + random() % (to - from + 1));
    };
    Cluster cluster(pick(3, 12), pick(1, 4), pick(1, 4), live_policy(), 12);
    cluster.project("owner", pick(2, 12));
    cluster.project("guest", 0);
    const std::vector<std::string> wishes{"none",
                                          "rack",
                                          "block",
                                          "required:rack",
                                          "required:block",
                                          "required:rack",
                                          "required:block,preferred:rack"};
    std::vector<std::uint64_t> running;
    std::size_t started = 0;
    for (int step = 0; step < 60; ++step) {
      cluster.now += pick(1, 200);
      const std::uint32_t nodes = pick(0, 3);
      JobSpec spec =
          Cluster::spec_of(wishes[pick(0, wishes.size() - 1)],
                           nodes > 0 ? nodes * pick(1, 2) : pick(1, 4), nodes, pick(0, 2));
      if (pick(0, 4) == 0 && spec.task.gpu_count > 0) spec.task.gpu_share = 500'000;
      if (pick(0, 4) == 0) spec.node.memory_bytes = 10;
      cluster.submit(spec, pick(0, 1) == 0 ? "owner" : "guest", pick(0, 500));
      const Plan plan = cluster.scheduler().plan(cluster.now);
      for (const Start& start : plan.starts) {
        ++started;
        const Job& job = cluster.jobs().at(start.job);
        std::vector<NodeId> on;
        for (const NodePart& part : start.placement) on.push_back(part.node);
        const Topology& topology = cluster.scheduler().topology();
        const std::string& level = job.spec.topology->required;
        if (!level.empty()) {
          ASSERT_GT(topology.at(cluster.scheduler().place_of_all(on)).depth,
                    *topology.level_named(level))
              << "seed " << seed << " step " << step;
        }
        running.push_back(start.job.value);
        cluster.started(start);
      }
      for (const Eviction& eviction : plan.evictions) {
        std::erase(running, eviction.job.value);
        cluster.end(eviction.job.value);
      }
      if (!running.empty() && pick(0, 1) == 0) {
        const std::size_t at = pick(0, running.size() - 1);
        cluster.end(running[at]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    EXPECT_GT(started, 10u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rota::sched
