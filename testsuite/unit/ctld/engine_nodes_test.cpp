// testsuite/unit/ctld/engine_nodes_test.cpp - node types and groups, from rota.yaml, projects and
// jobs to orders and answers.
#include <gtest/gtest.h>

#include "common/format.h"
#include "common/hostlist.h"
#include "ctld/engine.h"
#include "model/org_yaml.h"

namespace rota::ctld {
namespace {

/// An engine whose group "lab" is n1 and n2, and which knows what nodes come to have.
struct Fixture {
  explicit Fixture(Snapshot snapshot = {}) : engine(settings(), std::move(snapshot), at) {}

  static EngineSettings settings() {
    EngineSettings settings;
    settings.node_groups = {{"lab", *hostlist_expand("n[1-2]")}};
    settings.topology.levels = {"block", "rack"};
    settings.topology.places = {{{"b", "r1"}, {"n1", "n2"}}, {{"b", "r2"}, {"n3", "n4"}}};
    return settings;
  }
  NodeId join(const std::string& name, const std::string& model) {
    NodeJoined event;
    event.identity.name = name;
    event.inventory.cpu_count = 16;
    for (int i = 0; i < 2; ++i) {
      Gpu& gpu = event.inventory.gpus.emplace_back();
      gpu.uuid = format("{}-{}-{}", name, model, i);
      gpu.model = model;
    }
    return engine.node_joined(std::move(event), at);
  }
  /// "1", or why not.
  std::string submit(const NodeWish& wish, const std::string& project = "default",
                     std::uint32_t gpus = 1) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.project = project;
    event.spec.task.gpu_count = gpus;
    if (!wish.empty()) event.spec.nodes.edit() = wish;
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    const auto job = engine.submit(std::move(event), at);
    return job ? format("{}", job->value) : job.error().message();
  }
  /// Two nodes with such a wish.
  std::string submit_pair(std::string_view topology) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "pair";
    event.spec.task_count = event.spec.node_count = 2;
    event.spec.task.gpu_count = 1;
    event.spec.topology.edit() = *topology_parse(topology);
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    const auto job = engine.submit(std::move(event), at);
    return job ? format("{}", job->value) : job.error().message();
  }
  std::string orders() {
    engine.schedule(at);
    std::string text;
    last = engine.take_effects();
    for (const NodeOrder& order : last.orders)
      if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message))
        text += format("{}{}@{}", text.empty() ? "" : " ", launch->run.job.value,
                       engine.nodes().at(order.node).identity.name);
    return text;
  }
  std::string why(std::uint64_t job) { return engine.view(*engine.find(JobId{job})).reason; }
  OrgOutcome apply(std::string_view text) {
    auto org = org_parse(text, "p.yaml");
    EXPECT_TRUE(org) << org.error().detail;
    auto outcome = engine.apply_org({{0, 0, "root"}, true}, *std::move(org), false, std::nullopt);
    EXPECT_TRUE(outcome) << outcome.error().detail;
    return outcome ? *outcome : OrgOutcome{};
  }

  Now at{{1'000'000'000}, {1'000'000}};
  Engine engine;
  Effects last;
};

TEST(EngineNodes, ANodesTypeAndGroupsAreShown) {
  Fixture f;
  const NodeId n1 = f.join("n1", "Tesla T4");
  const NodeView view = f.engine.view(f.engine.nodes().at(n1));
  EXPECT_EQ(view.type, "t4");
  EXPECT_EQ(format("{}", fmt::join(view.groups, ",")), "lab");
  // Its cards were replaced: those that are gone do not count.
  f.join("n1", "NVIDIA L4");
  EXPECT_EQ(f.engine.view(f.engine.nodes().at(n1)).type, "l4");
}

TEST(EngineNodes, WhatNobodyKnowsIsRefusedAndTheRestWaits) {
  Fixture f;
  EXPECT_EQ(f.submit({"n7", "", ""}), "1");  // with no node known nothing can be said
  f.join("n0", "T4");
  EXPECT_EQ(f.submit({"n7", "", ""}),
            "no such node: 'n7' in the list of nodes; did you mean 'n0'?");
  EXPECT_EQ(f.submit({"", "", "l4"}),
            "no such node: 'l4' is no type and no group of nodes; did you mean 't4'?");
  EXPECT_EQ(f.submit({"", "", "t4"}, "default", 9),
            "request can never fit this cluster: needs 9 GPUs, 1 task of 1 CPU; the cluster has 1 "
            "node with 't4', the largest with 2 GPUs and 16 CPUs");
  EXPECT_EQ(f.submit({"", "", "lab"}), "2");
  EXPECT_EQ(f.submit({"n2", "", ""}), "3");  // rota.yaml knows it
  EXPECT_EQ(f.orders(), "");
  EXPECT_EQ(f.why(2), "needs 1 GPU, 1 task of 1 CPU: no node with 'lab' is known");
  f.join("n1", "T4");
  EXPECT_EQ(f.orders(), "2@n1");
  f.join("n2", "T4");
  EXPECT_EQ(f.orders(), "3@n2");
}

TEST(EngineNodes, ProjectsAndQueuesRuleAndMayChangeTheirMind) {
  Fixture f;
  f.join("n0", "T4");
  f.join("n1", "L4");
  f.apply("projects: {team: {train_node_groups: [lab], default_queue: q}}\nqueues: {q: {}}");
  EXPECT_EQ(f.submit({"n0", "", ""}, "team"), "1");
  EXPECT_EQ(f.submit({"n0", "", ""}), "2");
  EXPECT_EQ(f.orders(), "2@n0");
  EXPECT_EQ(f.why(1), "needs 1 GPU, 1 task of 1 CPU: no node in group lab of n0 is known");
  f.apply("projects: {team: {default_queue: q}}\nqueues: {q: {node_group: lab}}");
  EXPECT_EQ(f.orders(), "");
  EXPECT_EQ(f.why(1),
            "needs 1 GPU, 1 task of 1 CPU: no node in its queue's group lab of n0 is known");
  f.apply("projects: {team: {train_node_types: [t4]}}\nqueues: {q: {}}");
  EXPECT_EQ(f.orders(), "1@n0");
}

TEST(EngineNodes, AGroupThatIsNotThereIsWarnedOfOnce) {
  Fixture f;
  const auto warnings = [&](std::string_view text) {
    return format("{}", fmt::join(f.apply(text).warnings, "\n"));
  };
  EXPECT_EQ(warnings("projects: {team: {train_node_groups: [labb]}}"),
            "project 'team', train_node_groups: rota.yaml has no node group 'labb', so its jobs "
            "wait; did you mean 'lab'?");
  EXPECT_EQ(warnings("projects: {team: {quota: 1, train_node_groups: [labb]}}"), "");
}

TEST(EngineNodes, PlacesInTheNetworkAreKeptAndShown) {
  Fixture f;
  EXPECT_EQ(f.submit_pair("required:rac"),
            "not found: the topology has no level 'rac'; did you mean 'rack'?");
  for (const char* const name : {"n1", "n3", "n0"}) f.join(name, "T4");
  EXPECT_EQ(f.submit_pair("required:rack"), "1");  // n2 and n4 may yet come
  EXPECT_EQ(f.orders(), "");
  EXPECT_EQ(f.why(1),
            "needs 2 GPUs, 2 tasks of 1 CPU on 2 nodes in one rack: a rack would have it with "
            "nodes that are not up now");
  const NodeId n4 = f.join("n4", "T4");
  EXPECT_EQ(f.orders(), "1@n3 1@n4");
  f.submit_pair("rack");
  f.submit_pair("rack");
  EXPECT_EQ(f.orders(), "2@n3 2@n4 3@n1 3@n0");
  const auto place = [&f](std::uint64_t job) {
    const JobView view = f.engine.view(*f.engine.find(JobId{job}));
    return view.place_level + " " + view.place;
  };
  EXPECT_EQ(place(1), "rack b/r2");
  EXPECT_EQ(place(3), " ");
  EXPECT_EQ(f.engine.view(f.engine.nodes().at(n4)).place, "b/r2");
}

// Its level is gone from rota.yaml: it waits, and the others go on.
TEST(EngineNodes, AStoredJobMayNameALevelThatIsGone) {
  Snapshot snapshot;
  Job job;
  job.id = JobId{1};
  job.spec.name = "job";
  job.spec.topology.edit().required = "pod";
  snapshot.jobs = {job};
  snapshot.job_last = JobId{1};
  Fixture f(std::move(snapshot));
  f.join("n1", "T4");
  EXPECT_EQ(f.submit({}), "2");
  EXPECT_EQ(f.orders(), "2@n1");
  EXPECT_EQ(f.why(1),
            "needs 1 task of 1 CPU in one pod: rota.yaml has no level 'pod' in its topology now");
}

TEST(EngineNodes, ARestartedControllerKeepsToTheRules) {
  Snapshot snapshot;
  Job job;
  job.id = JobId{1};
  job.spec.name = "job";
  job.spec.task.gpu_count = 1;
  job.spec.nodes.edit().except = "n0";
  snapshot.jobs = {job};
  snapshot.job_last = JobId{1};
  Fixture f(std::move(snapshot));
  f.join("n0", "T4");
  EXPECT_EQ(f.orders(), "");
  f.join("n1", "T4");
  EXPECT_EQ(f.orders(), "1@n1");
}

}  // namespace
}  // namespace rota::ctld
