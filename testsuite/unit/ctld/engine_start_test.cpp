// testsuite/unit/ctld/engine_start_test.cpp - jobs that a node could not start.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

using std::chrono::seconds;

/// An engine with nodes of two GPUs; what it launches, as text.
struct Fixture {
  explicit Fixture(Snapshot snapshot = {}) : engine({}, std::move(snapshot), at) {}

  NodeId join(const std::string& name) {
    NodeJoined event;
    event.identity.name = name;
    event.inventory.cpu_count = 16;
    for (int i = 0; i < 2; ++i) event.inventory.gpus.emplace_back().uuid = format("{}-{}", name, i);
    return engine.node_joined(std::move(event), at);
  }
  JobId submit(std::uint32_t gpus = 1, std::uint32_t nodes = 0, bool requeue = true) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.task.gpu_count = gpus;
    event.spec.node_count = nodes;
    event.spec.task_count = std::max(1u, nodes);
    event.spec.requeue = requeue;
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    return *engine.submit(std::move(event), at);
  }
  std::string launches() {
    engine.schedule(at);
    std::string text;
    last = engine.take_effects();
    for (const NodeOrder& order : last.orders)
      if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message))
        text += format("{}{}.{}@{}", text.empty() ? "" : " ", launch->run.job.value,
                       launch->run.restart, engine.nodes().at(order.node).identity.name);
    return text;
  }
  void fail(NodeId node, JobId job, bool by_node = true, const std::string& why = "disk full") {
    RunEnd end{.cause = EndCause::launch_failed, .detail = why};
    end.by_node = by_node;
    engine.run_ended(node, {job, engine.find(job)->restarts}, end, {}, at);
  }
  /// Time goes on, the node is heard, the engine ticks.
  std::string after(int count) {
    at.mono = at.mono + seconds(count);
    for (const auto& [id, node] : engine.nodes()) engine.node_heard(id, {}, at);
    engine.tick(at);
    return launches();
  }
  std::string state(JobId job) { return std::string(name_of(engine.find(job)->state)); }
  std::string why(JobId job) {
    const JobView view = engine.view(*engine.find(job));
    return format("{}: {}", name_of(view.wait), view.reason);
  }

  Now at{{1'000'000'000}, {1'000'000}};
  Engine engine;
  Effects last;
};

TEST(EngineStart, AJobIsTriedAgainElsewhereAfterAPause) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.join("n1");
  const JobId job = f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0");
  f.fail(n0, job);
  EXPECT_EQ(f.launches(), "");
  EXPECT_EQ(f.state(job), "PENDING");
  EXPECT_EQ(f.why(job), "StartFailed: start failed on n0: disk full; tried again in 10 s");
  EXPECT_EQ(f.after(4), "");
  EXPECT_EQ(f.why(job), "StartFailed: start failed on n0: disk full; tried again in 6 s");
  EXPECT_EQ(f.after(6), "1.1@n1");  // though n0 comes first
  EXPECT_EQ(f.submit().value, 2u);
  EXPECT_EQ(f.launches(), "2.0@n1");  // others are packed as ever
}

TEST(EngineStart, ThePauseGrowsAndTheCountIsBounded) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0");
  f.fail(n0, job);
  EXPECT_EQ(f.after(9), "");
  EXPECT_EQ(f.after(1), "1.1@n0");  // there is no other
  f.fail(n0, job);
  EXPECT_EQ(f.after(19), "");
  EXPECT_EQ(f.after(1), "1.2@n0");
  f.fail(n0, job, true, "no memory");
  EXPECT_EQ(f.why(job),
            "StartFailed: start failed 3 times, last on n0: no memory; tried again in 40 s");
  EXPECT_EQ(f.after(40), "1.3@n0");
  f.fail(n0, job);
  EXPECT_EQ(f.state(job), "LAUNCH_FAILED");
  EXPECT_EQ(f.why(job), "None: start failed 4 times, last on n0: disk full");
  EXPECT_EQ(f.after(3600), "");
}

TEST(EngineStart, TheJobsOwnMistakeEndsItAtOnce) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId first = f.submit(), second = f.submit(1, 0, false);
  f.launches();
  f.fail(n0, first, false, "no such command");
  EXPECT_EQ(f.state(first), "LAUNCH_FAILED");
  EXPECT_EQ(f.why(first), "None: no such command");
  f.fail(n0, second);  // may not start a second time
  EXPECT_EQ(f.state(second), "LAUNCH_FAILED");
}

TEST(EngineStart, OnceItRunsAllIsForgotten) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit();
  f.launches();
  f.fail(n0, job);
  EXPECT_EQ(f.after(10), "1.1@n0");
  f.engine.run_started(n0, {job, 1}, {5}, f.at);
  EXPECT_EQ(f.engine.find(job)->start_failures, 0u);
  EXPECT_EQ(f.engine.find(job)->last->start_failure, "");
  f.engine.run_ended(n0, {job, 1}, {.cause = EndCause::node_failed, .detail = "lost"}, {}, f.at);
  EXPECT_EQ(f.launches(), "1.2@n0");  // no pause: it did run
}

// The node is no longer kept off after a while, and meanwhile it is said.
TEST(EngineStart, AfterAWhileTheNodeIsTriedAgain) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0@n0");
  f.fail(n0, job);
  const JobId other = f.submit(2), third = f.submit(2);
  EXPECT_EQ(f.launches(), "2.0@n0 3.0@n1");
  EXPECT_EQ(f.after(10), "");
  EXPECT_EQ(f.why(job),
            "Resources: needs 2 GPUs, 1 task of 1 CPU: 0 GPUs and 30 CPUs are free, at most 0 GPUs "
            "on one node; start failed on n0: disk full; keeps off n0; starts by "
            "1970-01-01T23:59:51Z");
  f.engine.run_started(n0, {other, 0}, {5}, f.at);
  f.engine.run_started(n1, {third, 0}, {5}, f.at);
  f.engine.run_ended(n0, {other, 0}, {}, {}, f.at);
  EXPECT_EQ(f.after(1), "");
  EXPECT_EQ(f.after(600), "1.1@n0");
}

TEST(EngineStart, AGangKeepsOffEveryNodeThatFailed) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  for (const char* name : {"n2", "n3"}) f.join(name);
  const JobId job = f.submit(2, 2);
  EXPECT_EQ(f.launches(), "1.0@n0 1.0@n1");
  f.fail(n0, job);
  EXPECT_EQ(f.state(job), "COMPLETING");
  f.fail(n1, job, true, "no cgroup");
  EXPECT_EQ(f.engine.find(job)->start_failures, 1u);
  EXPECT_EQ(f.after(10), "1.1@n2 1.1@n3");
}

TEST(EngineStart, ARestedJobCanBeCancelledAndTheRulesMayChange) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit();
  f.launches();
  f.fail(n0, job);
  EXPECT_TRUE(f.engine.rests(job));
  Org org;
  org.projects.emplace_back().name = "default";
  org.projects.back().kinds = {{JobKind::train, {"a100"}, {}}};
  ASSERT_TRUE(f.engine.apply_org({{0, 0, "root"}, true}, org, false, std::nullopt));
  EXPECT_EQ(f.engine.waiting_count(), 1u);
  JobFilter filter;
  filter.jobs = {job};
  ASSERT_TRUE(f.engine.cancel({{1000, 1000, "ada"}, false}, filter, 0, f.at));
  EXPECT_EQ(f.state(job), "CANCELLED");
  EXPECT_EQ(f.engine.waiting_count(), 0u);
  EXPECT_EQ(f.after(100), "");
}

// The pause begins again; the count, the nodes and the reason are on record.
TEST(EngineStart, ARestartedControllerKeepsThePause) {
  Fixture first;
  const NodeId n0 = first.join("n0");
  first.join("n1");
  const JobId job = first.submit();
  first.launches();
  first.fail(n0, job);
  Snapshot snapshot;
  snapshot.jobs = {*first.engine.find(job)};
  snapshot.job_last = job;
  for (const auto& [id, node] : first.engine.nodes())
    snapshot.nodes.push_back({id, node.identity, node.inventory});
  Fixture f(std::move(snapshot));
  f.join("n0");
  f.join("n1");
  EXPECT_EQ(f.why(job), "StartFailed: start failed on n0: disk full; tried again in 10 s");
  EXPECT_EQ(f.after(9), "");
  EXPECT_EQ(f.after(1), "1.1@n1");
}

}  // namespace
}  // namespace rota::ctld
