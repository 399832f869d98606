// testsuite/unit/sched/victims_test.cpp - of victims that may as well go, those that lose least.
#include <gtest/gtest.h>

#include "common/format.h"
#include "sched/scheduler.h"
#include "unit/sched/small_world.h"

namespace rota::sched {
namespace {

/// The owner of a full node takes one GPU back from two jobs of a borrower.
std::string taken_from(const std::string& one, const std::string& two) {
  return decide("n0 gpus=2", "owner quota=2; guest quota=0 weight=1",
                format("one guest on=n0 {}; two guest on=n0 {}; mine owner age=1", one, two));
}

TEST(LostWork, WhoStartedLastGoesFirst) {
  EXPECT_EQ(taken_from("age=90 ran=10", "age=10 ran=80"), "evict one; promise mine on n0");
  EXPECT_EQ(taken_from("age=90 ran=80", "age=10 ran=10"), "evict two; promise mine on n0");
  // As long as each other: the younger, as ever.
  EXPECT_EQ(taken_from("age=90 ran=10", "age=80 ran=10"), "evict two; promise mine on n0");
}

TEST(LostWork, WhatWasSavedIsNotLost) {
  EXPECT_EQ(taken_from("age=90 ran=80 saved=5", "age=10 ran=10"), "evict one; promise mine on n0");
  EXPECT_EQ(taken_from("age=90 ran=80 saved=20", "age=10 ran=10"), "evict two; promise mine on n0");
  // Of an earlier run: nothing of this one.
  EXPECT_EQ(taken_from("age=90 ran=20 saved=85", "age=10 ran=10"), "evict two; promise mine on n0");
}

TEST(LostWork, ComesAfterPriorityAndWhatIsAboveAMinimum) {
  EXPECT_EQ(taken_from("ran=10 priority=60", "ran=80"), "evict two; promise mine on n0");
  EXPECT_EQ(decide("n0 gpus=3", "owner quota=3; guest quota=0 weight=1",
                   "one guest on=n0,n0 min=1 ran=80; two guest on=n0 ran=10; mine owner age=1"),
            "evict one; promise mine on n0");
}

// Who is most over its share gives first, however much it loses.
TEST(LostWork, ComesAfterTheOrderOfProjects) {
  EXPECT_EQ(decide("n0 gpus=4", "owner quota=2; b quota=1; c quota=1",
                   "b1 b on=n0 ran=5; c1 c on=n0 ran=900; c2 c on=n0 ran=900; c3 c on=n0 ran=900; "
                   "mine owner gpus=1 age=1"),
            "evict c3; promise mine on n0");
}

TEST(LostWork, DecidesInsideAProjectToo) {
  EXPECT_EQ(decide("n0 gpus=2", "a quota=2",
                   "one a on=n0 age=90 ran=10; two a on=n0 age=10 ran=80; urgent a priority=60"),
            "evict one; promise urgent on n0");
}

// A whole node is needed. On n0 everybody has run for 100 s; on n1 one for 110 s, and three have
// just begun: the first node to be complete is not the one that loses least.
TEST(LostWork, NodesAreComparedByTheSum) {
  const std::string nodes = "n0 gpus=4; n1 gpus=4", projects = "owner quota=8; guest weight=1";
  const std::string old = "a guest gpus=2 on=n0 ran=100; b guest gpus=2 on=n0 ran=100; ";
  EXPECT_EQ(decide(nodes, projects,
                   old + "c guest on=n1 ran=110; d guest gpus=3 on=n1 ran=1; mine owner gpus=4"),
            "evict c; evict d; promise mine on n1");
  EXPECT_EQ(decide(nodes, projects,
                   old + "c guest on=n1 ran=500; d guest gpus=3 on=n1 ran=1; mine owner gpus=4"),
            "evict a; evict b; promise mine on n0");
}

// Both nodes have to be cleared for a gang, and then one GPU is left over: of the two that it would
// do for, the one that would lose more gets it, though the other is served first.
TEST(LostWork, WhoWouldLoseMostComesBackFirst) {
  EXPECT_EQ(decide("n0 gpus=4; n1 gpus=3", "owner quota=6; guest weight=1",
                   "p guest on=n0 ran=10 age=90; q guest on=n0 ran=20 age=10; "
                   "r guest gpus=2 on=n0 ran=30; s guest gpus=3 on=n1 ran=40; "
                   "gang owner gpus=3 tasks=2"),
            "evict p; evict r; evict s; promise gang on n0,n1");
}

Job job_of(std::uint64_t id, const std::string& project) {
  Job job;
  job.id = JobId{id};
  job.spec.project = project;
  job.spec.task.gpu_count = 1;
  return job;
}

// As a controller tells it: two jobs run, the older says that it has saved, and so it goes.
TEST(LostWork, AJobSaysThatItHasSaved) {
  const auto evicted = [](bool has_saved) {
    Scheduler scheduler(live_policy());
    Org org;
    for (const char* name : {"guest", "owner"}) {
      Project& project = org.projects.emplace_back();
      project.name = name;
      project.quota.gpu_quota = project.name == "owner" ? 2 * gpu_unit : 0;
      project.quota.weight = gpu_unit;
      project.serial = org.projects.size();
    }
    scheduler.set_org(org);
    NodeInventory inventory;
    inventory.cpu_count = 8;
    inventory.memory_bytes = std::uint64_t{1} << 36;
    inventory.gpus.resize(2);
    scheduler.put_node(NodeId{1}, "n1", inventory, {false, false}, true);
    scheduler.add_waiting(job_of(1, "guest"), 0);
    EXPECT_EQ(scheduler.plan(0).starts.size(), 1u);
    scheduler.add_waiting(job_of(2, "guest"), 100);
    EXPECT_EQ(scheduler.plan(100).starts.size(), 1u);
    if (has_saved) scheduler.note_saved(JobId{1}, 150);
    scheduler.add_waiting(job_of(3, "owner"), 200);
    const Plan plan = scheduler.plan(200);
    return plan.evictions.size() == 1 ? plan.evictions.front().job.value : 0;
  };
  EXPECT_EQ(evicted(false), 2u);
  EXPECT_EQ(evicted(true), 1u);
}

// A move ends a run as well: not before its minimum runtime.
TEST(Moves, LeaveAloneWhoHasNotRunForItsMinimum) {
  const auto moved = [](const char* keep, int ran) {
    return decide("n0 gpus=2; n1 gpus=2", format("a quota=4 {}; b quota=0 weight=1", keep),
                  format("one a on=n0 ran={0}; two a on=n1 ran={0}; large b gpus=2", ran));
  };
  const std::string move = "move two to n0; promise large on n1";
  EXPECT_EQ(moved("", 30), move);
  EXPECT_EQ(moved("keep=60", 30), "");
  EXPECT_EQ(moved("keep=30", 30), move);
  // Whichever of the two it is.
  EXPECT_EQ(moved("reclaim_keep=60", 30), "");
  EXPECT_EQ(moved("preempt_keep=60", 30), "");
}

}  // namespace
}  // namespace rota::sched
