// testsuite/unit/ctld/engine_usage_test.cpp - what jobs do with their GPUs, and jobs that do
// nothing with them.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"
#include "model/org_yaml.h"

namespace rota::ctld {
namespace {

using std::chrono::seconds;

/// An engine with two 2-GPU nodes; interactive jobs of team-a may be idle for two minutes.
struct Fixture {
  explicit Fixture(EngineSettings settings = {}) : engine(settings, {}, at) {
    for (const std::string name : {"n1", "n2"}) {
      NodeJoined event;
      event.identity.name = name;
      event.inventory.cpu_count = 16;
      for (int i = 0; i < 2; ++i)
        event.inventory.gpus.emplace_back().uuid = format("{}-{}", name, i);
      engine.node_joined(std::move(event), at);
    }
    auto org = org_parse(
        "projects: {team-a: {quota: 4, interactive_idle_limit: 2m}, team-b: {quota: 0, "
        "train_idle_limit: 0}}",
        "p.yaml");
    EXPECT_TRUE(org) << org.error().detail;
    EXPECT_TRUE(engine.apply_org({{0, 0, "root"}, true}, *std::move(org), false, std::nullopt));
  }
  /// Submits, starts on all its nodes.
  JobId start(JobKind kind, const std::string& project, std::uint32_t gpus,
              std::uint32_t nodes = 1) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.kind = kind;
    event.spec.project = project;
    event.spec.task.gpu_count = gpus;
    event.spec.node_count = event.spec.task_count = nodes;
    event.payload.mode = LaunchMode::tasks;
    event.payload.arguments = {"true"};
    event.payload.working_directory = "/";
    const auto id = engine.submit(std::move(event), at);
    EXPECT_TRUE(id) << id.error().detail;
    engine.schedule(at);
    for (const NodePart& part : engine.find(*id)->last->placement)
      engine.run_started(part.node, run(*id), at.wall, at);
    engine.take_effects();
    return *id;
  }
  static RunId run(JobId id) { return {id, 0, 0}; }
  bool hear(std::uint32_t node, JobId id, RunUsage usage) {
    return engine.runs_heard(NodeId{node}, {{run(id), usage}}, at);
  }
  bool hear_idle(std::uint32_t node, JobId id, std::int64_t idle_seconds) {
    return hear(node, id, {.sampled_ms = 1, .idle_ms = idle_seconds * 1000});
  }
  JobView view(JobId id) { return engine.view(*engine.find(id)); }
  std::string ends() {
    std::string text;
    last = engine.take_effects();
    for (const NodeOrder& order : last.orders)
      if (std::holds_alternative<proto::EndRun>(order.message))
        text += format("{}n{}", text.empty() ? "" : " ", order.node.value);
    return text;
  }

  Now at{MonoTime{seconds(1'000'000).count()}, WallTime{1'700'000'000'000'000}};
  Engine engine;
  Effects last;
};

TEST(EngineUsage, NodesAddUp) {
  Fixture f;
  const JobId id = f.start(JobKind::train, "team-a", 2, 2);
  EXPECT_TRUE(f.view(id).usage.empty());
  EXPECT_FALSE(f.hear(1, id,
                      {.sampled_ms = 4000,
                       .busy_ms = 2000,
                       .energy_mj = 500,
                       .power_mw = 100,
                       .utilization_percent = 50,
                       .memory_bytes = 10,
                       .memory_max_bytes = 12}));
  EXPECT_FALSE(f.hear(2, id,
                      {.sampled_ms = 6000,
                       .busy_ms = 6000,
                       .energy_mj = 700,
                       .power_mw = 300,
                       .utilization_percent = 100,
                       .memory_bytes = 20,
                       .memory_max_bytes = 24}));
  EXPECT_EQ(f.view(id).usage, (RunUsage{.sampled_ms = 10000,
                                        .busy_ms = 8000,
                                        .energy_mj = 1200,
                                        .power_mw = 400,
                                        .utilization_percent = 75,
                                        .memory_bytes = 30,
                                        .memory_max_bytes = 36}));
  EXPECT_TRUE(f.engine.take_effects().rows.empty());  // the live value is not stored
  // Another run, another node: not what this job holds.
  f.engine.runs_heard(NodeId{1}, {{RunId{id, 7, 0}, {.sampled_ms = 99}}}, f.at);
  f.engine.runs_heard(NodeId{1}, {{RunId{JobId{99}, 0, 0}, {.sampled_ms = 99}}}, f.at);
  EXPECT_EQ(f.view(id).usage.sampled_ms, 10000);
}

TEST(EngineUsage, GoesIntoTheLedgerWithTheEnd) {
  Fixture f;
  const JobId id = f.start(JobKind::train, "team-a", 1, 2);
  f.hear(1, id, {.sampled_ms = 4000, .busy_ms = 2000, .energy_mj = 500});
  f.hear(2, id, {.sampled_ms = 4000, .busy_ms = 1000, .energy_mj = 400, .power_mw = 5});
  // One node has the last word; of the other, which is lost, what it had said is all there is.
  f.engine.run_ended(
      NodeId{1}, f.run(id),
      {.cause = EndCause::exited, .usage = {.sampled_ms = 5000, .busy_ms = 2500, .energy_mj = 600}},
      {}, f.at);
  f.engine.run_ended(NodeId{2}, f.run(id), {.cause = EndCause::exited}, {}, f.at);
  std::string ledger;
  for (const Row& row : f.engine.take_effects().rows)
    if (const auto* put = std::get_if<AllocationPut>(&row))
      ledger += format("n{} {}/{} {};", put->node.value, put->usage.busy_ms, put->usage.sampled_ms,
                       put->usage.energy_mj);
  EXPECT_EQ(ledger, "n1 2500/5000 600;n2 1000/4000 400;");
  EXPECT_EQ(f.view(id).state, JobState::completed);
  EXPECT_EQ(f.view(id).usage, (RunUsage{.sampled_ms = 9000, .busy_ms = 3500, .energy_mj = 1000}));
}

TEST(EngineUsage, IsIdleOnceAllItsNodesAre) {
  Fixture f;
  const JobId id = f.start(JobKind::train, "team-a", 2, 2);
  EXPECT_FALSE(f.hear_idle(1, id, 90));
  EXPECT_FALSE(f.view(id).idle_since);
  EXPECT_TRUE(f.hear_idle(2, id, 30));
  EXPECT_EQ(f.view(id).idle_since, WallTime{f.at.wall.microseconds - 30'000'000});
  EXPECT_EQ(f.view(id).reason, "its GPUs are idle since 2023-11-14T22:12:50Z");
  EXPECT_EQ(f.engine.take_effects().changed, std::vector<JobId>{id});
  EXPECT_FALSE(f.hear_idle(2, id, 60));  // nothing new
  EXPECT_TRUE(f.hear_idle(1, id, 0));
  EXPECT_FALSE(f.view(id).idle_since);
  EXPECT_EQ(f.view(id).reason, "");
}

TEST(EngineUsage, EndsWhatIsIdleForTooLong) {
  Fixture f;
  const JobId id = f.start(JobKind::interactive, "team-a", 2, 2);
  f.hear_idle(1, id, 150);
  f.hear_idle(2, id, 90);
  EXPECT_EQ(f.view(id).reason,
            "its GPUs are idle since 2023-11-14T22:11:50Z, the project allows 2:00");
  EXPECT_EQ(f.ends(), "");
  EXPECT_TRUE(f.hear_idle(2, id, 120));
  EXPECT_EQ(f.ends(), "n1 n2");
  EXPECT_EQ(f.last.notes,
            std::vector<std::string>{
                "job 1 is ended: its GPUs were idle for 2:00, the project allows 2:00"});
  EXPECT_FALSE(f.hear_idle(2, id, 150));  // it is told once
  for (const std::uint32_t node : {1u, 2u})
    f.engine.run_ended(NodeId{node}, f.run(id), {.cause = EndCause::cancelled, .exit_signal = 15},
                       {}, f.at);
  EXPECT_EQ(f.view(id).state, JobState::timeout);
  EXPECT_EQ(f.view(id).reason, "its GPUs were idle for 2:00, the project allows 2:00");
}

// Once in a spell of idleness, at half time, on the node of its first task.
TEST(EngineUsage, WarnsWhatWillBeEnded) {
  Fixture f;
  const JobId id = f.start(JobKind::interactive, "team-a", 1, 2);
  const auto heard = [&](std::int64_t idle_seconds) {
    std::string text;
    for (const std::uint32_t node : {2u, 1u}) f.hear_idle(node, id, idle_seconds);
    for (const NodeOrder& order : f.engine.take_effects().orders)
      if (const auto* told = std::get_if<proto::TellRun>(&order.message))
        text += format("n{} {}: {}", order.node.value, told->run.job.value, told->text);
    return text;
  };
  const auto first = f.engine.find(id)->last->placement.front().node.value;
  const auto line = [&](const char* idle) {
    return format(
        "n{} 1: the GPUs of job 1 have been idle for {}; it is ended when they are for 2:00", first,
        idle);
  };
  EXPECT_EQ(heard(30), "");
  EXPECT_EQ(heard(60), line("1:00"));
  EXPECT_EQ(heard(90), "");
  EXPECT_EQ(heard(0), "");
  EXPECT_EQ(heard(90), line("1:30"));
  const JobId unruled = f.start(JobKind::train, "team-b", 1);
  f.hear_idle(f.engine.find(unruled)->last->placement.front().node.value, unruled, 100'000);
  for (const NodeOrder& order : f.engine.take_effects().orders)
    EXPECT_FALSE(std::holds_alternative<proto::TellRun>(order.message));
}

TEST(EngineUsage, TheSiteRulesWhereTheProjectDoesNot) {
  EngineSettings settings;
  settings.train_idle_limit_seconds = 60;
  settings.interactive_idle_limit_seconds = 60;
  Fixture f(settings);
  const JobId site = f.start(JobKind::train, "team-a", 1);
  const JobId own = f.start(JobKind::train, "team-b", 1);           // 0: for ever
  const JobId serving = f.start(JobKind::inference, "team-a", 1);   // no rule at all
  const JobId longer = f.start(JobKind::interactive, "team-a", 1);  // the project allows more
  for (const JobId id : {site, own, serving, longer})
    f.hear_idle(f.engine.find(id)->last->placement.front().node.value, id, 100);
  EXPECT_EQ(f.view(site).reason, "its GPUs were idle for 1:40, the site allows 1:00");
  EXPECT_EQ(f.view(site).state, JobState::completing);
  for (const JobId id : {own, serving, longer}) EXPECT_EQ(f.view(id).state, JobState::running);
}

// The scheduler counts what is asked for; the node hears of the limit above it.
TEST(EngineUsage, TheNodeHearsOfALimitAboveTheShare) {
  Fixture f;
  JobSubmitted event;
  event.owner = {1000, 1000, "ada"};
  event.spec.name = "job";
  event.spec.project = "team-a";
  event.spec.task.gpu_count = 1;
  event.spec.task.gpu_share = 250'000;
  event.spec.task.gpu_share_limit = 800'000;
  event.payload.script = "#!/bin/sh\n";
  event.payload.working_directory = "/";
  const auto id = f.engine.submit(std::move(event), f.at);
  ASSERT_TRUE(id) << id.error().detail;
  f.engine.schedule(f.at);
  std::string launched;
  for (const NodeOrder& order : f.engine.take_effects().orders)
    if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message))
      launched += format("{}:{}", launch->part.gpu_share, launch->spec.task.gpu_share_limit);
  EXPECT_EQ(launched, "250000:800000");
  EXPECT_EQ(f.view(*id).gpu_amount, 250'000);
}

// A job whose end has begun is not judged any more.
TEST(EngineUsage, WhatIsCancelledIsNotIdle) {
  Fixture f;
  const JobId id = f.start(JobKind::interactive, "team-a", 1);
  JobFilter filter;
  filter.jobs = {id};
  ASSERT_TRUE(f.engine.cancel({{0, 0, "root"}, true}, filter, 0, f.at));
  f.hear_idle(1, id, 1000);
  f.hear_idle(2, id, 1000);
  EXPECT_NE(f.view(id).state, JobState::running);
  f.engine.run_ended(f.engine.find(id)->last->placement.front().node, f.run(id),
                     {.cause = EndCause::cancelled}, {}, f.at);
  EXPECT_EQ(f.view(id).state, JobState::cancelled);
}

}  // namespace
}  // namespace rota::ctld
