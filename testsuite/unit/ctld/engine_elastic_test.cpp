// testsuite/unit/ctld/engine_elastic_test.cpp - jobs that grow and shrink while they run.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"
#include "order_run.h"

namespace rota::ctld {
namespace {

/// An engine with nodes of two GPUs and two projects; its orders as text.
struct Fixture {
  explicit Fixture(Snapshot snapshot = {}) : engine({}, std::move(snapshot), at) {
    if (find_project(engine.org(), "owner") != nullptr) return;
    Org org;
    for (const auto& [name, quota] : {std::pair("owner", 4), {"guest", 2}}) {
      Project project;
      project.name = name;
      project.quota.gpu_quota = quota * gpu_unit;
      org.projects.push_back(project);
    }
    EXPECT_TRUE(engine.apply_org({.is_admin = true}, org, false, {}));
  }

  NodeId join(const std::string& name, std::vector<proto::RunReport> runs = {}) {
    NodeJoined event;
    event.identity.name = name;
    event.inventory.cpu_count = 16;
    for (int i = 0; i < 2; ++i) event.inventory.gpus.emplace_back().uuid = format("{}-{}", name, i);
    event.runs = std::move(runs);
    return engine.node_joined(std::move(event), at);
  }
  /// All GPUs of its nodes.
  JobId submit(const std::string& project, std::uint32_t nodes, std::uint32_t nodes_max = 0,
               LaunchMode mode = LaunchMode::tasks) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.project = project;
    event.spec.node_count = event.spec.task_count = nodes;
    event.spec.node_count_max = nodes_max;
    event.spec.node.gpu_count = 2;
    event.payload.mode = mode;
    event.payload.script = "#!/bin/sh\n";
    event.payload.arguments = {"true"};
    event.payload.working_directory = "/";
    const auto job = engine.submit(std::move(event), at);
    EXPECT_TRUE(job) << job.error().message();
    return *job;
  }
  /// Plans and says what leaves: "launch 1.0.0@n0 end 1.0.1@n1".
  std::string orders() {
    engine.schedule(at);
    std::string text;
    last = engine.take_effects();
    for (const auto& order : last.orders) {
      const char* verb[] = {"launch", "end", "forget", "signal"};
      const RunId run = run_of(order);
      if (!run.job) continue;
      text += format("{}{} {}.{}.{}@{}", text.empty() ? "" : " ", verb[order.message.index()],
                     run.job.value, run.restart, run.growth,
                     engine.nodes().at(order.node).identity.name);
    }
    return text;
  }
  void started(NodeId node, JobId job, std::uint32_t growth = 0) {
    engine.run_started(node, {job, 0, growth}, {5}, at);
  }
  void end(NodeId node, JobId job, std::uint32_t growth = 0, EndCause cause = EndCause::exited,
           int code = 0) {
    engine.run_ended(node, {job, 0, growth}, {.cause = cause, .exit_code = code, .by_node = true},
                     {}, at);
  }
  /// "RUNNING n0,n1".
  std::string state(JobId job) {
    const JobView view = engine.view(*engine.find(job));
    std::string text(name_of(view.state));
    for (const std::string& node : view.nodes)
      text += (&node == view.nodes.data() ? " " : ",") + node;
    return text;
  }
  const proto::LaunchRun& launch(std::size_t index) {
    return std::get<proto::LaunchRun>(last.orders.at(index).message);
  }

  Now at{{1'000'000'000}, {1'000'000}};
  Engine engine;
  Effects last;
};

/// What a controller that starts again would find.
Snapshot snapshot_of(const Engine& engine) {
  Snapshot snapshot;
  snapshot.org = engine.org();
  for (const auto& [id, job] : engine.jobs()) snapshot.jobs.push_back(job);
  for (const auto& [id, node] : engine.nodes())
    snapshot.nodes.push_back({id, node.identity, node.inventory});
  return snapshot;
}

TEST(EngineElastic, ItStartsWithItsMinimumAndGrowsAsNodesCome) {
  Fixture f;
  const JobId job = f.submit("owner", 1, 3);
  const NodeId n0 = f.join("n0");
  EXPECT_EQ(f.orders(), "launch 1.0.0@n0");
  f.started(n0, job);
  EXPECT_EQ(f.state(job), "RUNNING n0");
  const NodeId n1 = f.join("n1");
  EXPECT_EQ(f.orders(), "launch 1.0.1@n1");
  EXPECT_EQ(f.launch(0).part.task_first, 1u);
  EXPECT_EQ(f.launch(0).nodes, (std::vector<std::string>{"n0", "n1"}));
  EXPECT_EQ(f.state(job), "RUNNING n0,n1");
  EXPECT_EQ(f.engine.view(*f.engine.find(job)).gpu_count, 4u);
  f.started(n1, job, 1);
  f.join("n2");
  EXPECT_EQ(f.orders(), "launch 1.0.2@n2");
  f.join("n3");
  EXPECT_EQ(f.orders(), "");  // as many as it wanted
}

TEST(EngineElastic, AllThatIsFreeAtTheStartIsOneStart) {
  Fixture f;
  f.join("n0");
  f.join("n1");
  const JobId job = f.submit("owner", 1, 3);
  EXPECT_EQ(f.orders(), "launch 1.0.0@n0 launch 1.0.0@n1");
  EXPECT_EQ(f.state(job), "STARTING n0,n1");
}

TEST(EngineElastic, ItShrinksBeforeAnythingOfItsMinimumIsTakenAndGrowsAgain) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1"), n2 = f.join("n2");
  const JobId job = f.submit("guest", 1, 3);
  f.orders();
  for (const NodeId id : {n0, n1, n2}) f.started(id, job);
  const JobId mine = f.submit("owner", 1);
  EXPECT_EQ(f.orders(), "end 1.0.0@n2");
  EXPECT_EQ(f.state(job), "RUNNING n0,n1,n2");
  EXPECT_EQ(f.engine.view(*f.engine.find(job)).reason,
            "shrinks by 1 node: makes way for job 2 of project 'owner', which held 0 of its share "
            "of 4 GPUs; project 'guest' held 6 of its share of 4 GPUs");
  EXPECT_EQ(f.orders(), "");
  f.end(n2, job, 0, EndCause::cancelled);
  EXPECT_EQ(f.orders(), "forget 1.0.0@n2 launch 2.0.0@n2");
  EXPECT_EQ(f.state(job), "RUNNING n0,n1");
  f.engine.run_ended(n2, {mine, 0}, {}, {}, f.at);
  EXPECT_EQ(f.orders(), "forget 2.0.0@n2 launch 1.0.1@n2");
  // What the node says once more of the former part is not about this one.
  f.end(n2, job, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(job), "RUNNING n0,n1,n2");
  EXPECT_EQ(f.orders(), "forget 1.0.0@n2");
}

TEST(EngineElastic, ItGoesOnWithoutANodeThatIsLostButNotWithoutTheFirst) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1"), n2 = f.join("n2");
  const JobId job = f.submit("owner", 2, 3);
  f.orders();
  for (const NodeId id : {n0, n1, n2}) f.started(id, job);
  f.engine.node_left(n1, "gone", f.at);
  f.end(n1, job, 0, EndCause::node_failed);
  EXPECT_EQ(f.orders(), "");
  EXPECT_EQ(f.state(job), "RUNNING n0,n2");
  f.join("n3");
  EXPECT_EQ(f.orders(), "launch 1.0.1@n3");
  EXPECT_EQ(f.launch(0).part.task_first, 1u);  // the number that is free
  EXPECT_EQ(f.launch(0).nodes, (std::vector<std::string>{"n0", "n3", "n2"}));
  f.end(n0, job, 0, EndCause::node_failed);
  EXPECT_EQ(f.orders(), "forget 1.0.0@n0 end 1.0.1@n3 end 1.0.0@n2");
}

TEST(EngineElastic, BelowItsMinimumItIsOver) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  const JobId job = f.submit("owner", 2, 3);
  f.orders();
  f.started(n0, job);
  f.started(n1, job);
  f.end(n1, job, 0, EndCause::node_failed);
  EXPECT_EQ(f.orders(), "forget 1.0.0@n1 end 1.0.0@n0");
  f.end(n0, job, 0, EndCause::cancelled);
  EXPECT_EQ(f.orders(), "forget 1.0.0@n0 launch 1.1.0@n0 launch 1.1.0@n1");
}

TEST(EngineElastic, WhatCannotStartIsDoneWithout) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit("owner", 1, 2);
  f.orders();
  f.started(n0, job);
  const NodeId n1 = f.join("n1");
  EXPECT_EQ(f.orders(), "launch 1.0.1@n1");
  f.end(n1, job, 1, EndCause::launch_failed);
  EXPECT_EQ(f.orders(), "forget 1.0.1@n1");  // and nothing again
  EXPECT_EQ(f.state(job), "RUNNING n0");
}

TEST(EngineElastic, OnceATaskHasEndedItDoesNotGrow) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  const JobId job = f.submit("owner", 1, 3);
  f.orders();
  f.started(n0, job);
  f.started(n1, job);
  f.end(n1, job);
  EXPECT_EQ(f.orders(), "forget 1.0.0@n1");
  Fixture next(snapshot_of(f.engine));  // a new controller knows it too
  next.join("n0", {{.run = {job, 0}, .phase = proto::RunPhase::running}});
  next.join("n1");
  EXPECT_EQ(next.orders(), "");
  next.end(n0, job);
  EXPECT_EQ(next.state(job), "COMPLETED n0,n1");
}

TEST(EngineElastic, NorWhenItThenLosesANode) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1"), n2 = f.join("n2");
  const JobId job = f.submit("owner", 1, 3);
  f.orders();
  for (const NodeId node : {n0, n1, n2}) f.started(node, job);
  f.end(n0, job);
  f.end(n1, job, 0, EndCause::node_failed);
  f.join("n3");
  EXPECT_EQ(f.orders(), "forget 1.0.0@n0 forget 1.0.0@n1");
  f.end(n2, job);
  EXPECT_EQ(f.state(job).substr(0, 9), "COMPLETED");
}

TEST(EngineElastic, ItIsOverWhenOnlyWhatLeavesIsLeft) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1");
  const JobId job = f.submit("guest", 1, 2);
  f.orders();
  f.started(n0, job);
  f.started(n1, job);
  f.submit("owner", 1);
  EXPECT_EQ(f.orders(), "end 1.0.0@n1");
  f.end(n0, job);
  EXPECT_EQ(f.state(job), "COMPLETING n0,n1");
  f.end(n1, job, 0, EndCause::cancelled);
  EXPECT_EQ(f.state(job), "COMPLETED n0,n1");
}

TEST(EngineElastic, ANewControllerKnowsWhatIsLeavingAndWhatIsToCome) {
  Fixture f;
  const NodeId n0 = f.join("n0"), n1 = f.join("n1"), n2 = f.join("n2");
  const JobId job = f.submit("guest", 1, 4);
  f.orders();
  for (const NodeId id : {n0, n1, n2}) f.started(id, job);
  f.submit("owner", 1);
  EXPECT_EQ(f.orders(), "end 1.0.0@n2");
  f.engine.node_left(n2, "cut", f.at);
  Fixture next(snapshot_of(f.engine));
  const auto running = [&](std::uint32_t growth) {
    return std::vector<proto::RunReport>{
        {.run = {job, 0, growth}, .phase = proto::RunPhase::running}};
  };
  next.join("n0", running(0));
  next.join("n1", running(0));
  next.join("n2", running(0));
  EXPECT_EQ(next.orders(), "end 1.0.0@n2");
  next.end(n2, job, 0, EndCause::cancelled);
  EXPECT_EQ(next.orders(), "forget 1.0.0@n2 launch 2.0.0@n2");
  next.join("n3");
  EXPECT_EQ(next.orders(), "launch 1.0.1@n3");
  // The launch never arrived: the node says it has nothing.
  next.join("n3");
  EXPECT_EQ(next.orders(), "launch 1.0.1@n3");
  EXPECT_EQ(next.state(job), "RUNNING n0,n1,n3");
}

TEST(EngineContact, NobodyMakesWayBeforeTheNodesAreBack) {
  Fixture f;
  f.join("n0");
  f.join("n1");
  const JobId job = f.submit("default", 1);
  EXPECT_EQ(f.orders(), "launch 1.0.0@n0");
  const std::vector<proto::RunReport> runs{{.run = {job, 0}, .phase = proto::RunPhase::running}};
  Fixture all_back(snapshot_of(f.engine)), one_lost(snapshot_of(f.engine));
  for (Fixture* next : {&all_back, &one_lost}) {
    next->join("n0", runs);
    next->submit("owner", 1);
    EXPECT_EQ(next->orders(), "");
  }
  all_back.join("n1");
  EXPECT_EQ(all_back.orders(), "launch 2.0.0@n1");
  one_lost.at.mono = one_lost.at.mono + std::chrono::seconds(59);
  one_lost.engine.node_heard(NodeId{1}, {}, one_lost.at);
  one_lost.engine.tick(one_lost.at);
  EXPECT_EQ(one_lost.orders(), "");
  one_lost.at.mono = one_lost.at.mono + std::chrono::seconds(1);
  one_lost.engine.tick(one_lost.at);
  EXPECT_EQ(one_lost.orders(), "end 1.0.0@n0");
}

TEST(EngineContact, ACutOfAMomentCostsNobodyItsPlace) {
  Fixture f;
  f.join("n0");
  const NodeId n1 = f.join("n1");
  f.submit("default", 1);
  EXPECT_EQ(f.orders(), "launch 1.0.0@n0");
  f.engine.node_left(n1, "cut", f.at);
  f.submit("owner", 1);
  EXPECT_EQ(f.orders(), "");
  f.at.mono = f.at.mono + std::chrono::seconds(10);
  f.engine.tick(f.at);
  EXPECT_EQ(f.orders(), "end 1.0.0@n0");
}

}  // namespace
}  // namespace rota::ctld
