// testsuite/unit/ctld/engine_health_test.cpp - GPUs and nodes that are closed to new jobs.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

using proto::NodeVerb;
using std::chrono::seconds;

/// An engine with nodes of two GPUs, what it launches, and a store that remembers its rows.
struct Fixture {
  explicit Fixture(Snapshot snapshot = {}) : engine({}, std::move(snapshot), at) {}

  NodeId join(const std::string& name, std::vector<GpuHealth> health = {},
              const std::string& reason = "") {
    NodeJoined event;
    event.identity.name = name;
    event.inventory.cpu_count = 16;
    for (std::uint32_t i = 0; i < 2; ++i) {
      Gpu& gpu = event.inventory.gpus.emplace_back();
      gpu.uuid = format("{}-{}", name, i);
      gpu.index = i;
    }
    event.health = std::move(health);
    event.node_reason = reason;
    return engine.node_joined(std::move(event), at);
  }
  Result<JobId> try_submit(std::uint32_t gpus) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.task.gpu_count = gpus;
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    return engine.submit(std::move(event), at);
  }
  JobId submit(std::uint32_t gpus = 1) { return *try_submit(gpus); }
  /// "1.0@n0:0" for each launch: job, restart, node and GPUs.
  std::string launches() {
    engine.schedule(at);
    std::string text;
    last = engine.take_effects();
    for (const NodeOrder& order : last.orders) {
      const auto* launch = std::get_if<proto::LaunchRun>(&order.message);
      if (launch == nullptr) continue;
      text += format("{}{}.{}@{}:{}", text.empty() ? "" : " ", launch->run.job.value,
                     launch->run.restart, engine.nodes().at(order.node).identity.name,
                     fmt::join(launch->part.gpus, ","));
    }
    return text;
  }
  void report(NodeId node, GpuCondition first, const std::string& reason = "",
              std::vector<HealthEvent> events = {}) {
    proto::GpuHealthReport report;
    const std::string name = engine.nodes().at(node).identity.name;
    report.gpus = {health(name + "-0", first), health(name + "-1", GpuCondition::ok)};
    report.events = std::move(events);
    report.node_reason = reason;
    engine.node_health(node, std::move(report), at);
  }
  static GpuHealth health(const std::string& uuid, GpuCondition condition) {
    GpuHealth health;
    health.uuid = uuid;
    health.condition = condition;
    if (condition != GpuCondition::ok) health.reason = "Xid 48";
    return health;
  }
  static HealthEvent event(std::uint64_t sequence, const std::string& text) {
    HealthEvent event;
    event.sequence = sequence;
    event.text = text;
    return event;
  }
  std::string change(NodeVerb verb, const std::string& node, const std::string& gpu = "",
                     const std::string& reason = "cable") {
    proto::NodeChangeRequest request;
    request.verb = verb;
    request.nodes = {node};
    request.gpu = gpu;
    request.reason = reason;
    const auto lines = engine.change_nodes(admin, request, at);
    return lines ? lines->front() : lines.error().message();
  }
  void end(NodeId node, JobId job, EndCause cause, const std::string& why) {
    engine.run_ended(node, {job, engine.find(job)->restarts}, {.cause = cause, .detail = why}, {},
                     at);
  }
  void started(NodeId node, JobId job) {
    engine.run_started(node, {job, engine.find(job)->restarts}, at.wall, at);
  }
  std::string node_text(NodeId id) {
    const NodeView view = engine.view(engine.nodes().at(id));
    std::string text = view.state == NodeState::up        ? "up"
                       : view.state == NodeState::drained ? "drained"
                                                          : "down";
    if (!view.reason.empty()) text += ": " + view.reason;
    for (const GpuHealth& gpu : view.health)
      text += format("; {} {}: {}", gpu.uuid, name_of(gpu.condition), gpu.reason);
    return text;
  }

  Now at{{1'000'000'000}, {1'000'000}};
  Caller admin{.owner = {0, 0, "root"}, .is_admin = true};
  Engine engine;
  Effects last;
};

TEST(EngineHealth, AClosedGpuTakesNoJobsAndTheOtherDoes) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.report(n0, GpuCondition::draining);
  f.submit(), f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0:1");
  EXPECT_EQ(f.node_text(n0), "up; n0-0 draining: Xid 48");
  f.report(n0, GpuCondition::ok);
  EXPECT_EQ(f.launches(), "2.0@n0:0");
  EXPECT_EQ(f.node_text(n0), "up");
}

TEST(EngineHealth, ASuspectGpuTakesJobs) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.report(n0, GpuCondition::suspect);
  f.submit(2);
  EXPECT_EQ(f.launches(), "1.0@n0:0,1");
}

TEST(EngineHealth, ANodeSaysWithItsHelloWhatIsClosed) {
  Fixture f;
  f.submit();
  f.join("n0", {Fixture::health("n0-0", GpuCondition::failed),
                Fixture::health("n0-1", GpuCondition::ok)});
  EXPECT_EQ(f.launches(), "1.0@n0:1");
  const NodeId n1 = f.join("n1", {}, "GPU 3 failed 2 times within 7 days");
  f.submit();
  EXPECT_EQ(f.launches(), "");
  EXPECT_EQ(f.node_text(n1), "drained: GPU 3 failed 2 times within 7 days");
}

TEST(EngineHealth, WhatJobsHoldOnAClosedGpuStaysTheirs) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0@n0:0,1");
  f.report(n0, GpuCondition::draining);
  EXPECT_EQ(f.launches(), "");
  EXPECT_EQ(f.engine.view(f.engine.nodes().at(n0)).gpu_holders, (std::vector<JobId>{job, job}));
  f.end(n0, job, EndCause::exited, "");
  f.submit(), f.submit();
  EXPECT_EQ(f.launches(), "2.0@n0:1");
}

TEST(EngineHealth, AJobThatWaitsForAClosedGpuIsNotRefused) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.report(n0, GpuCondition::resetting);
  ASSERT_TRUE(f.try_submit(2));
  EXPECT_EQ(f.launches(), "");
  f.report(n0, GpuCondition::ok);
  EXPECT_EQ(f.launches(), "1.0@n0:0,1");
  EXPECT_FALSE(f.try_submit(3)) << "no node has three";
}

TEST(EngineHealth, AJobThatLostAGpuStartsElsewhereAtOnce) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0:0");
  f.started(n0, job);
  f.report(n0, GpuCondition::draining);
  f.end(n0, job, EndCause::gpu_failed, "GPU 0 failed: Xid 48");
  EXPECT_EQ(f.launches(), "1.1@n1:0") << "though n0 has another GPU";
  f.started(n1, job);
  EXPECT_TRUE(f.engine.find(job)->last->start_failed_on.empty());
}

TEST(EngineHealth, WithNoOtherNodeItStaysWhereItIs) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0:0");
  f.started(n0, job);
  f.report(n0, GpuCondition::draining);
  f.end(n0, job, EndCause::gpu_failed, "GPU 0 failed: Xid 48");
  EXPECT_EQ(f.launches(), "1.1@n0:1");
}

TEST(EngineHealth, AWaitingJobSaysWhatItLost) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit(2), other = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0@n0:0,1 2.0@n1:0,1");
  f.started(n0, job), f.started(n1, other);
  f.report(n0, GpuCondition::draining);
  f.end(n0, job, EndCause::gpu_failed, "GPU 0 failed: Xid 48");
  EXPECT_EQ(f.launches(), "");
  const std::string reason = f.engine.view(*f.engine.find(job)).reason;
  EXPECT_NE(reason.find("lost on n0: GPU 0 failed: Xid 48"), std::string::npos) << reason;
  // A controller that starts again still knows.
  Snapshot snapshot;
  snapshot.jobs = {*f.engine.find(job)};
  snapshot.job_last = other;
  for (const auto& [id, node] : f.engine.nodes())
    snapshot.nodes.push_back({id, node.identity, node.inventory, "", {}});
  Fixture again(std::move(snapshot));
  again.join("n0"), again.join("n1");
  EXPECT_EQ(again.launches(), "1.1@n1:0,1");
}

TEST(EngineHealth, AJobsOwnErrorIsItsEnd) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.join("n1");
  const JobId job = f.submit();
  f.launches();
  f.started(n0, job);
  f.end(n0, job, EndCause::gpu_error, "Xid 13: graphics engine exception on GPU 0");
  EXPECT_EQ(f.launches(), "");
  EXPECT_EQ(f.engine.find(job)->state, JobState::failed);
  EXPECT_EQ(f.engine.view(*f.engine.find(job)).reason,
            "Xid 13: graphics engine exception on GPU 0");
}

TEST(EngineHealth, EventsArePutOnRecordOnceAndThenTaken) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.launches();
  const auto taken = [&f] {
    f.last = f.engine.take_effects();
    std::string text;
    for (const Row& row : f.last.rows)
      if (const auto* put = std::get_if<HealthPut>(&row))
        text += format("{}:{}:{} ", put->serial, put->event.node, put->event.text);
    for (const NodeOrder& order : f.last.orders)
      if (const auto* reply = std::get_if<proto::GpuHealthTaken>(&order.message))
        text += format("taken {}", reply->sequence);
    return text;
  };
  f.report(n0, GpuCondition::ok, "", {Fixture::event(100, "a"), Fixture::event(101, "b")});
  EXPECT_EQ(taken(), "1:n0:a 2:n0:b taken 101");
  f.report(n0, GpuCondition::ok, "", {Fixture::event(101, "b"), Fixture::event(102, "c")});
  EXPECT_EQ(taken(), "3:n0:c taken 102");
  f.report(n0, GpuCondition::ok, "", {Fixture::event(102, "c")});
  EXPECT_EQ(taken(), "taken 102") << "the answer was lost";
  f.report(n0, GpuCondition::ok);
  EXPECT_EQ(taken(), "");
  // As another controller finds it.
  Snapshot snapshot;
  snapshot.nodes.push_back({n0, f.engine.nodes().at(n0).identity, {}, "", {}});
  snapshot.health.assign(f.engine.health_events().begin(), f.engine.health_events().end());
  Fixture again(std::move(snapshot));
  again.join("n0");
  again.launches();
  again.report(n0, GpuCondition::ok, "", {Fixture::event(102, "c"), Fixture::event(103, "d")});
  ASSERT_EQ(again.engine.health_events().size(), 4u);
  EXPECT_EQ(again.engine.health_events().back().serial, 4u);
}

TEST(EngineHealth, TheHistoryIsBounded) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  std::uint64_t dropped = 0;
  for (std::uint64_t i = 1; i <= 10'500; i += 500) {
    std::vector<HealthEvent> events;
    for (std::uint64_t j = i; j < i + 500; ++j) events.push_back(Fixture::event(j, "x"));
    f.report(n0, GpuCondition::ok, "", std::move(events));
    for (const Row& row : f.engine.take_effects().rows)
      if (const auto* drop = std::get_if<HealthDrop>(&row)) dropped = drop->serial;
  }
  EXPECT_EQ(f.engine.health_events().size(), 10'000u);
  EXPECT_EQ(dropped, 500u);
}

TEST(EngineHealth, AnAdministratorDrainsANodeAndItStaysSo) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit();
  f.launches();
  f.started(n0, job);
  EXPECT_EQ(f.change(NodeVerb::drain, "n0"), "n0 takes no new jobs; it has 1");
  f.submit();
  EXPECT_EQ(f.launches(), "");
  EXPECT_EQ(f.engine.find(job)->state, JobState::running);
  EXPECT_EQ(f.node_text(n0), "drained: cable (root)");
  Snapshot snapshot;
  for (const Row& row : f.last.rows)
    if (const auto* put = std::get_if<NodePut>(&row)) snapshot.nodes = {put->node};
  Fixture again(std::move(snapshot));
  EXPECT_EQ(again.node_text(again.join("n0")), "drained: cable (root)");
  EXPECT_EQ(f.change(NodeVerb::resume, "n0"), "n0 takes jobs again");
  EXPECT_EQ(f.launches(), "2.0@n0:1");
}

TEST(EngineHealth, AnAdministratorDrainsAGpuAndReturnsIt) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  EXPECT_EQ(f.change(NodeVerb::drain_gpu, "n0", "0"), "n0-0 on n0 takes no new jobs");
  f.submit(), f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0:1");
  EXPECT_EQ(f.node_text(n0), "up; n0-0 draining: drained: cable (root)");
  EXPECT_EQ(f.change(NodeVerb::return_gpu, "n0", "n0-0"), "n0-0 on n0 takes jobs again");
  EXPECT_EQ(f.launches(), "2.0@n0:0");
}

TEST(EngineHealth, AGpuThatItsNodeClosedIsForTheNodeToReturn) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.report(n0, GpuCondition::failed);
  f.launches();
  EXPECT_EQ(f.change(NodeVerb::return_gpu, "n0", "0"),
            "n0-0 on n0 is tested, and takes jobs again when it is well");
  f.submit(), f.submit();
  EXPECT_EQ(f.launches(), "1.0@n0:1");
  std::string asked;
  for (const NodeOrder& order : f.last.orders)
    if (const auto* retry = std::get_if<proto::HealthOrder>(&order.message)) asked = retry->uuid;
  EXPECT_EQ(asked, "n0-0");
  f.engine.node_left(n0, "gone", f.at);
  EXPECT_NE(f.change(NodeVerb::return_gpu, "n0", "0").find("n0 is down"), std::string::npos);
}

TEST(EngineHealth, WhatAnAdministratorCannotDo) {
  Fixture f;
  f.join("n0");
  EXPECT_NE(f.change(NodeVerb::drain, "n9").find("n9"), std::string::npos);
  EXPECT_NE(f.change(NodeVerb::drain, "n0", "", "").find("--reason"), std::string::npos);
  EXPECT_NE(f.change(NodeVerb::drain, "n0", "", std::string(300, 'x')).find("256"),
            std::string::npos);
  EXPECT_NE(f.change(NodeVerb::drain, "n0", "", "two\nlines").find("one line"), std::string::npos);
  EXPECT_NE(f.change(NodeVerb::drain_gpu, "n0", "2").find("has no GPU '2'"), std::string::npos);
  EXPECT_NE(f.change(NodeVerb::return_gpu, "n0", "1").find("takes jobs already"),
            std::string::npos);
  f.admin = {.owner = {1000, 1000, "ada"}};
  EXPECT_NE(f.change(NodeVerb::drain, "n0").find("only an administrator"), std::string::npos);
  EXPECT_EQ(f.node_text(NodeId{1}), "up");
}

}  // namespace
}  // namespace rota::ctld
