// testsuite/unit/ctld/engine_test.cpp - single steps of the engine; whole lives are in
// testsuite/sim.
#include "ctld/engine.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "order_run.h"

namespace rota::ctld {
namespace {

using std::chrono::seconds;

/// An engine with one or two 4-GPU nodes, and its orders as text.
struct Fixture {
  explicit Fixture(EngineSettings settings = {}, Snapshot snapshot = {})
      : engine(settings, std::move(snapshot), at) {}

  NodeId join(const std::string& name, std::vector<proto::RunReport> runs = {},
              const std::string& boot = "b1") {
    NodeJoined event;
    event.identity.name = name;
    event.identity.boot_id = boot;
    event.inventory.cpu_count = 16;
    event.inventory.memory_bytes = 1000;
    for (int i = 0; i < 4; ++i) {
      Gpu gpu;
      gpu.uuid = format("{}-gpu{}", name, i);
      event.inventory.gpus.push_back(gpu);
    }
    event.runs = std::move(runs);
    return engine.node_joined(std::move(event), at);
  }
  Result<JobId> submit(std::uint32_t gpus, std::uint32_t nodes = 0,
                       LaunchMode mode = LaunchMode::batch, std::uint32_t uid = 1000) {
    JobSubmitted event;
    event.owner = {uid, uid, format("u{}", uid)};
    event.spec.name = "job";
    event.spec.task.gpu_count = gpus;
    event.spec.node_count = nodes;
    event.spec.task_count = std::max(1u, nodes);
    event.payload.mode = mode;
    event.payload.script = "#!/bin/sh\n";
    event.payload.arguments = {"true"};
    event.payload.working_directory = "/";
    return engine.submit(std::move(event), at);
  }
  void submit_to(const std::string& project, std::uint32_t gpus) {
    JobSubmitted event;
    event.owner = {1000, 1000, "u1000"};
    event.spec.name = "job";
    event.spec.project = project;
    event.spec.task.gpu_count = gpus;
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    ASSERT_TRUE(engine.submit(std::move(event), at));
  }
  /// Plans and says what leaves: "launch 1.0@n0 end 1.0@n1".
  std::string orders() {
    engine.schedule(at);
    std::string text;
    last = engine.take_effects();
    for (const auto& order : last.orders) {
      const char* verb[] = {"launch", "end", "forget", "signal"};
      const RunId run = run_of(order);
      if (!run.job) continue;
      text += format("{}{} {}.{}@{}", text.empty() ? "" : " ", verb[order.message.index()],
                     run.job.value, run.restart, engine.nodes().at(order.node).identity.name);
    }
    return text;
  }
  std::string state(std::uint64_t job) {
    return std::string(name_of(engine.find(JobId{job})->state));
  }
  void end(NodeId node, std::uint64_t job, std::uint32_t restart = 0, int code = 0,
           EndCause cause = EndCause::exited) {
    RunEnd end;
    end.cause = cause;
    end.exit_code = code;
    engine.run_ended(node, {JobId{job}, restart}, end, {}, at);
  }

  Now at{{1'000'000'000}, {1'000'000}};
  Engine engine;
  Effects last;
};

TEST(Engine, AJobFromSubmissionToItsEnd) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  ASSERT_EQ(*f.submit(2), JobId{1});
  EXPECT_EQ(f.state(1), "PENDING");
  EXPECT_EQ(f.orders(), "launch 1.0@n0");
  EXPECT_EQ(f.state(1), "STARTING");
  f.engine.run_started(n0, {JobId{1}, 0}, {5}, f.at);
  EXPECT_EQ(f.state(1), "RUNNING");
  f.end(n0, 1, 0, 3);
  EXPECT_EQ(f.orders(), "forget 1.0@n0");
  EXPECT_EQ(f.state(1), "FAILED");
  EXPECT_EQ(f.engine.view(*f.engine.find(JobId{1})).reason, "exit code 3");
}

TEST(Engine, EveryChangeHasItsRow) {
  Fixture f;
  f.join("n0");
  (void)f.submit(1);
  f.orders();
  std::string rows;
  for (const auto& row : f.last.rows) rows += format("{} ", row.index());
  EXPECT_EQ(rows, "3 1 6 10 0 ");  // the node, the payload, the allocation, the usage, the job
  EXPECT_EQ(f.orders(), "");
  EXPECT_TRUE(f.last.empty());
}

// Who has used less comes first, after a restart of the controller too; then who came first.
TEST(Engine, UsersOfAProjectTakeTurns) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  (void)f.submit(4, 0, LaunchMode::batch, 1001);
  EXPECT_EQ(f.orders(), "launch 1.0@n0");
  std::vector<StoredUsage> usage;
  for (const Row& row : f.last.rows)
    if (const auto* put = std::get_if<UsagePut>(&row)) usage.push_back(put->usage);
  ASSERT_EQ(usage.size(), 1u);
  f.at.mono = f.at.mono + seconds(20);
  f.at.wall.microseconds += 20'000'000;
  (void)f.submit(4, 0, LaunchMode::batch, 1001);
  (void)f.submit(4, 0, LaunchMode::batch, 1002);
  f.engine.tick(f.at);
  f.end(n0, 1);
  EXPECT_EQ(f.orders(), "forget 1.0@n0 launch 3.0@n0");

  Snapshot snapshot;
  usage.front().gpu_us = 400'000'000;
  snapshot.usage = usage;
  Fixture next({}, std::move(snapshot));
  next.join("n0");
  (void)next.submit(4, 0, LaunchMode::batch, 1001);
  (void)next.submit(4, 0, LaunchMode::batch, 1002);
  EXPECT_EQ(next.orders(), "launch 2.0@n0");
}

// Two projects without quota that want all of it: the one that had all of it of late now gets less.
TEST(Engine, ThePastCountsWhenTheSurplusIsDivided) {
  const auto shares_with = [](double weight, std::vector<PastRun> past) {
    Snapshot snapshot;
    for (const char* name : {"a", "b"}) {
      Project project;
      project.name = name;
      project.quota.weight = gpu_unit;
      snapshot.org.projects.push_back(project);
    }
    StoredNode node{NodeId{1}, {}, {}};
    node.identity.name = "n0";
    node.inventory = {16, 1000, std::vector<Gpu>(4)};
    snapshot.nodes = {node};
    snapshot.past = std::move(past);
    EngineSettings settings;
    settings.policy.history_weight = weight;
    Fixture f(settings, std::move(snapshot));
    f.join("n0");
    for (const char* name : {"a", "b"})
      for (int i = 0; i < 4; ++i) f.submit_to(name, 1);
    f.orders();
    std::string text;
    for (const char* name : {"a", "b"})
      text += format(
          "{} ", f.engine.scheduler().project(name).fair_share[sched::Resource::gpu] / gpu_unit);
    return text;
  };
  const PastRun all{"a", 4 * gpu_unit, 16, 1000, {-899'000'000}, {1'000'000}};
  EXPECT_EQ(shares_with(0, {all}), "2 2 ");
  EXPECT_EQ(shares_with(1, {}), "2 2 ");
  EXPECT_EQ(shares_with(1, {all}), "0 4 ");
}

// A gang: the first node's end is the job's in batch mode, and takes the others with it.
TEST(Engine, BatchEndsWithItsFirstNode) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  (void)f.submit(4, 2);
  EXPECT_EQ(f.orders(), "launch 1.0@n0 launch 1.0@n1");
  f.engine.run_started(n0, {JobId{1}, 0}, {5}, f.at);
  EXPECT_EQ(f.state(1), "STARTING");
  f.engine.run_started(n1, {JobId{1}, 0}, {5}, f.at);
  EXPECT_EQ(f.state(1), "RUNNING");
  f.end(n0, 1);
  EXPECT_EQ(f.orders(), "forget 1.0@n0 end 1.0@n1");
  EXPECT_EQ(f.state(1), "COMPLETING");
  f.end(n1, 1, 0, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(1), "COMPLETED");
}

TEST(Engine, TasksEndWhenAllHave) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  (void)f.submit(1, 2, LaunchMode::tasks);
  f.orders();
  f.end(n0, 1);
  EXPECT_EQ(f.orders(), "forget 1.0@n0");
  f.end(n1, 1, 0, 7);
  EXPECT_EQ(f.state(1), "FAILED");
}

TEST(Engine, CancelWaitingAndRunning) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  (void)f.submit(4);
  (void)f.submit(4);
  f.orders();
  const Caller owner{{1000, 1000, "u1000"}, false};
  JobFilter both;
  both.jobs = {JobId{1}, JobId{2}, JobId{7}};
  const auto reply = f.engine.cancel(owner, both, 0, f.at);
  EXPECT_EQ(reply->done, (std::vector{JobId{1}, JobId{2}}));
  ASSERT_EQ(reply->refused.size(), 1u);
  EXPECT_EQ(static_cast<Errc>(reply->refused[0].code), Errc::no_such_job);
  EXPECT_EQ(f.state(2), "CANCELLED");
  EXPECT_EQ(f.state(1), "COMPLETING");
  EXPECT_EQ(f.orders(), "end 1.0@n0");
  f.end(n0, 1, 0, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(1), "CANCELLED");
}

// The order may reach the other node first, and a script that waits for its step there goes on to
// its end.
TEST(Engine, WhatEndsBecauseItsOtherNodeHeardFirstIsCancelled) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  (void)f.submit(4, 2);
  f.orders();
  JobFilter filter;
  filter.jobs = {JobId{1}};
  const Caller owner{{1000, 1000, "u1000"}, false};
  ASSERT_TRUE(f.engine.cancel(owner, filter, 0, f.at));
  f.end(n0, 1);
  f.end(n1, 1, 0, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(1), "CANCELLED");
  (void)f.submit(4, 2);
  f.orders();
  f.end(n0, 2);
  EXPECT_EQ(f.state(2), "COMPLETING");
  filter.jobs = {JobId{2}};
  ASSERT_TRUE(f.engine.cancel(owner, filter, 0, f.at));
  f.end(n1, 2, 0, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(2), "COMPLETED") << "it was done before";
}

// The same for one that is put back, or preempted: it has not failed.
TEST(Engine, WhatEndsBecauseItsOtherNodeMadeWayStartsAgain) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  for (const int code : {1, 0}) {
    (void)f.submit(4, 2);
    const std::uint64_t id = code == 1 ? 1 : 2;
    f.orders();
    proto::JobChangeRequest request;
    request.verb = proto::JobVerb::requeue;
    request.filter.jobs = {JobId{id}};
    ASSERT_TRUE(f.engine.change({{1000, 1000, "u1000"}, false}, request, f.at));
    f.end(n0, id, 0, code);
    f.end(n1, id, 0, 0, EndCause::cancelled);
    EXPECT_EQ(f.engine.find(JobId{id})->restarts, 1u);
    EXPECT_FALSE(is_final(f.engine.find(JobId{id})->state)) << f.state(id);
    JobFilter filter;
    filter.jobs = {JobId{id}};
    ASSERT_TRUE(f.engine.cancel({{1000, 1000, "u1000"}, false}, filter, 0, f.at));
    f.orders();
    f.end(n0, id, 1, 0, EndCause::cancelled);
    f.end(n1, id, 1, 0, EndCause::cancelled);
  }
}

// A step on the lost node fails, and its script with it: that is the node's failure.
TEST(Engine, AScriptThatFailsWithoutOneOfItsNodesStartsAgain) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  (void)f.submit(4, 2);
  f.orders();
  f.engine.node_left(n1, "cut off", f.at);
  f.end(n0, 1, 0, 69);
  EXPECT_EQ(f.state(1), "COMPLETING");
  EXPECT_EQ(f.engine.find(JobId{1})->last->end->detail,
            "node n1 was lost, and the job ended with code 69");
  f.join("n1");
  f.end(n1, 1, 0, 0, EndCause::cancelled);
  EXPECT_EQ(f.engine.find(JobId{1})->restarts, 1u);
  // It was there all the time, or is back for long: then it is the job's own failure.
  f.orders();
  f.at.mono = f.at.mono + std::chrono::minutes(1);
  f.end(n0, 1, 1, 69);
  f.end(n1, 1, 1, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(1), "FAILED");
}

TEST(Engine, OnlyTheOwnerOrAnAdministratorMayCancel) {
  Fixture f;
  f.join("n0");
  (void)f.submit(1);
  JobFilter filter;
  filter.jobs = {JobId{1}};
  auto reply = f.engine.cancel({{2000, 2000, "other"}, false}, filter, 0, f.at);
  ASSERT_EQ(reply->refused.size(), 1u);
  EXPECT_EQ(static_cast<Errc>(reply->refused[0].code), Errc::denied);
  reply = f.engine.cancel({{0, 0, "root"}, true}, filter, 0, f.at);
  EXPECT_EQ(reply->done.size(), 1u);
  EXPECT_FALSE(f.engine.cancel({{0, 0, "root"}, true}, {}, 0, f.at));  // an empty filter is no job
}

TEST(Engine, RefusesWhatNoNodeCanHold) {
  Fixture f;
  EXPECT_TRUE(f.submit(64));  // nothing is known yet: it waits
  f.join("n0");
  const auto refused = f.submit(5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::never_fits);
}

TEST(Engine, RootNeedsTheSitesWord) {
  Fixture f;
  f.join("n0");
  EXPECT_EQ(f.submit(1, 0, LaunchMode::batch, 0).error().code, Errc::denied);
  EngineSettings settings;
  settings.root_allowed = true;
  Fixture allowed(settings);
  EXPECT_TRUE(allowed.submit(1, 0, LaunchMode::batch, 0));
}

TEST(Engine, ALaunchThatNeverArrivedIsRepeated) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  (void)f.submit(1);
  f.orders();
  f.engine.node_left(n0, "gone", f.at);
  f.join("n0");
  EXPECT_EQ(f.orders(), "launch 1.0@n0");
}

TEST(Engine, ARunThatTheNodeLostStartsAgain) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  (void)f.submit(1);
  f.orders();
  f.engine.run_started(n0, {JobId{1}, 0}, {5}, f.at);
  f.engine.node_left(n0, "gone", f.at);
  f.join("n0", {}, "b2");
  EXPECT_EQ(f.orders(), "forget 1.0@n0 launch 1.1@n0");
}

TEST(Engine, ARunningJobSurvivesItsNodesAbsence) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  (void)f.submit(1);
  f.orders();
  f.engine.run_started(n0, {JobId{1}, 0}, {5}, f.at);
  f.engine.node_left(n0, "gone", f.at);
  EXPECT_EQ(f.state(1), "RUNNING");
  EXPECT_EQ(f.engine.view(*f.engine.find(JobId{1})).reason, "out of contact: n0");
  f.join("n0", {{{JobId{1}, 0}, proto::RunPhase::running, {}, {5}}});
  EXPECT_EQ(f.orders(), "");
  EXPECT_EQ(f.state(1), "RUNNING");
}

// A node that runs what nobody wants takes nothing new until it is gone: the GPUs are in use.
TEST(Engine, UnwantedRunsKeepTheNodeOutOfUse) {
  Fixture f;
  const NodeId n0 = f.join("n0", {{{JobId{77}, 0}, proto::RunPhase::running, {}, {5}}});
  (void)f.submit(1);
  EXPECT_EQ(f.orders(), "end 77.0@n0");
  f.end(n0, 77, 0, 0, EndCause::cancelled);
  EXPECT_EQ(f.orders(), "forget 77.0@n0 launch 1.0@n0");
}

TEST(Engine, AnOrderIsOnlyForTheSessionItWasMadeFor) {
  Fixture f;
  f.join("n0");
  (void)f.submit(1);
  f.orders();
  const auto join = f.last.orders.at(0).join;
  f.join("n0");
  EXPECT_NE(f.engine.nodes().begin()->second.joins, join);
}

TEST(Engine, SilentNodesAreLeftAfterAWhile) {
  Fixture f;
  f.join("n0");
  f.orders();
  f.at.mono = f.at.mono + seconds(59);
  f.engine.tick(f.at);
  f.orders();
  EXPECT_TRUE(f.last.silent.empty());
  f.at.mono = f.at.mono + seconds(2);
  f.engine.tick(f.at);
  f.orders();
  EXPECT_EQ(f.last.silent.size(), 1u);
}

TEST(Engine, FencedNodesGiveTheirJobsBack) {
  EngineSettings settings;
  settings.node.fence_after_ms = 60'000;
  Fixture f(settings);
  const NodeId n0 = f.join("n0");
  (void)f.submit(1);
  f.orders();
  f.engine.run_started(n0, {JobId{1}, 0}, {5}, f.at);
  f.engine.node_left(n0, "gone", f.at);
  f.at.mono = f.at.mono + seconds(60 + 60 + 30 + 9);  // lost, fence, kill wait, almost the margin
  f.engine.tick(f.at);
  EXPECT_EQ(f.state(1), "RUNNING");
  f.at.mono = f.at.mono + seconds(2);
  f.engine.tick(f.at);
  EXPECT_EQ(f.state(1), "PENDING");
  EXPECT_EQ(f.engine.find(JobId{1})->restarts, 1u);
}

// A step of the wall clock by hours changes dates, nothing else.
TEST(Engine, AClockStepChangesOnlyDates) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  (void)f.submit(1);
  f.orders();
  f.at.wall.microseconds += 5 * 3600 * 1'000'000LL;
  f.at.mono = f.at.mono + seconds(2);
  f.engine.tick(f.at);
  f.end(n0, 1);
  f.orders();
  int closed = 0;
  for (const auto& row : f.last.rows) {
    const auto* allocation = std::get_if<AllocationPut>(&row);
    if (allocation == nullptr || !allocation->end) continue;
    EXPECT_EQ(allocation->held_ms, 2000);
    ++closed;
  }
  EXPECT_EQ(closed, 1);
  EXPECT_TRUE(f.last.silent.empty());
}

TEST(Engine, GoesOnFromASnapshot) {
  Fixture before;
  const NodeId n0 = before.join("n0");
  (void)before.submit(3);
  (void)before.submit(3);
  before.orders();
  before.engine.run_started(n0, {JobId{1}, 0}, {5}, before.at);
  before.orders();
  Snapshot snapshot;
  for (const auto& [id, job] : before.engine.jobs()) snapshot.jobs.push_back(job);
  const auto& node = before.engine.nodes().at(n0);
  snapshot.nodes.push_back({node.id, node.identity, node.inventory});
  snapshot.job_last = JobId{2};
  Fixture after({}, std::move(snapshot));
  EXPECT_EQ(after.orders(), "");
  after.join("n0", {{{JobId{1}, 0}, proto::RunPhase::running, {}, {5}}});
  EXPECT_EQ(after.orders(), "");
  after.end(n0, 1);
  EXPECT_EQ(after.orders(), "forget 1.0@n0 launch 2.0@n0");
  EXPECT_EQ(*after.submit(1), JobId{3});
}

}  // namespace
}  // namespace rota::ctld
