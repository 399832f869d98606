// testsuite/unit/sched/plan_test.cpp - one pass of the scheduler: text in, text out.
#include "sched/plan.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/idset.h"
#include "sched/trial.h"

namespace rota::sched {
namespace {

/// "n0 gpus=8 used=4; n1 gpus=8 down" and "small gpus=4; gang tasks=2 nodes=2 gpus=8".
struct Case {
  Cluster cluster;
  Queue queue;
  std::map<JobId, std::string> names;
};

std::map<std::string, std::uint64_t> words_of(const std::string& item, std::string& name) {
  std::map<std::string, std::uint64_t> words;
  std::istringstream in(item);
  in >> name;
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    words[word.substr(0, equals)] =
        equals == std::string::npos ? 1 : std::stoull(word.substr(equals + 1));
  }
  return words;
}

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ';');) items.push_back(item);
  return items;
}

void read_nodes(Case& c, const std::string& text) {
  std::uint32_t id = 0;
  for (const auto& item : items_of(text)) {
    std::string name;
    auto words = words_of(item, name);
    NodeInventory inventory;
    inventory.cpu_count = words.contains("cpus") ? static_cast<std::uint32_t>(words["cpus"]) : 64;
    inventory.memory_bytes = words.contains("mem") ? words["mem"] : 1000;
    inventory.gpus.resize(words["gpus"]);
    c.cluster.put(NodeId{++id}, inventory, std::vector<bool>(inventory.gpus.size()),
                  !words.contains("down"));
    NodePart held{NodeId{id}};
    for (std::uint16_t i = 0; i < words["used"]; ++i) held.gpus.push_back(i);
    held.cpu_count = static_cast<std::uint32_t>(words["cpus_used"]);
    c.cluster.take(JobId{99}, held);
  }
}

void read_jobs(Case& c, const std::string& text) {
  std::uint64_t id = 0;
  for (const auto& item : items_of(text)) {
    std::string name;
    auto words = words_of(item, name);
    JobSpec spec;
    spec.task.gpu_count = static_cast<std::uint32_t>(words["gpus"]);
    if (words.contains("cpus")) spec.task.cpu_count = static_cast<std::uint32_t>(words["cpus"]);
    spec.task.memory_bytes = words["mem"];
    spec.node.gpu_count = static_cast<std::uint32_t>(words["gpus_per_node"]);
    if (words.contains("tasks")) spec.task_count = static_cast<std::uint32_t>(words["tasks"]);
    spec.node_count = static_cast<std::uint32_t>(words["nodes"]);
    c.names[JobId{++id}] = name;
    c.queue.push(JobId{id}, spec);
  }
}

std::string text_of(const Case& c, const Plan& plan) {
  std::string text;
  for (const auto& start : plan.starts) {
    text += (text.empty() ? "start " : "; start ") + c.names.at(start.job) + " on";
    for (const auto& part : start.placement) {
      std::vector<std::uint32_t> gpus(part.gpus.begin(), part.gpus.end());
      text += " n" + std::to_string(part.node.value - 1) + "[" + idset_format(gpus) + "]";
      if (part.task_count != 1) text += "x" + std::to_string(part.task_count);
    }
  }
  return text;
}

std::string plan_of(const std::string& nodes, const std::string& jobs) {
  Case c;
  read_nodes(c, nodes);
  read_jobs(c, jobs);
  return text_of(c, plan(c.cluster, c.queue));
}

std::string waits_of(const std::string& nodes, const std::string& jobs) {
  Case c;
  read_nodes(c, nodes);
  read_jobs(c, jobs);
  plan(c.cluster, c.queue);
  std::string text;
  for (const auto& [shape, waiting] : c.queue.classes())
    for (const JobId job : waiting.jobs)
      text += c.names.at(job) + "=" + std::string(name_of(waiting.why)) + " ";
  return text;
}

// Two 8-GPU nodes, n0 half used. The 4-GPU job fills n0, so n1 is whole for the gang behind it.
TEST(PlanPack, FillsTheHalfUsedNodeFirst) {
  EXPECT_EQ(plan_of("n0 gpus=8 used=4; n1 gpus=8", "small gpus=4; gang gpus=8"),
            "start small on n0[4-7]; start gang on n1[0-7]");
}

TEST(PlanPack, CpuJobsKeepAwayFromFreeGpus) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8 used=8", "cpu cpus=4"), "start cpu on n1[]");
}

TEST(PlanGang, AllTasksOrNone) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8 used=1", "gang tasks=2 nodes=2 gpus=8"), "");
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8", "gang tasks=2 nodes=2 gpus=8"),
            "start gang on n0[0-7] n1[0-7]");
}

TEST(PlanGang, UnevenTasksGoLargestPartFirst) {
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=4", "gang tasks=3 nodes=2 gpus=2"),
            "start gang on n1[0-3]x2 n0[0-1]");
}

TEST(PlanGang, WithoutNodeCountAsFewNodesAsPossible) {
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=8; n2 gpus=4", "gang tasks=4 gpus=1"),
            "start gang on n2[0-3]x4");
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=8; n2 gpus=4", "gang tasks=10 gpus=1"),
            "start gang on n1[0-7]x8 n0[0-1]x2");
  EXPECT_EQ(plan_of("n0 gpus=2; n1 gpus=8; n2 gpus=4", "gang tasks=15 gpus=1"), "");
}

TEST(PlanGang, GpusPerNodeCountOncePerNode) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=8", "job tasks=8 nodes=2 gpus_per_node=6"),
            "start job on n0[0-5]x4 n1[0-5]x4");
}

TEST(PlanFit, CpusAndMemoryCount) {
  EXPECT_EQ(plan_of("n0 gpus=8 cpus=4", "job gpus=1 cpus=8"), "");
  EXPECT_EQ(plan_of("n0 gpus=8 mem=100; n1 gpus=8 mem=200", "job gpus=1 mem=150"),
            "start job on n1[0]");
  EXPECT_EQ(plan_of("n0 gpus=8 mem=100", "a gpus=1 mem=60; b gpus=1 mem=60"), "start a on n0[0]");
}

// First come, first served: nobody goes past the first job that waits for resources.
TEST(PlanOrder, NobodyPassesTheFirstThatWaits) {
  EXPECT_EQ(plan_of("n0 gpus=8 used=4", "big gpus=8; small gpus=1"), "");
  EXPECT_EQ(waits_of("n0 gpus=8 used=4", "big gpus=8; small gpus=1"),
            "small=Priority big=Resources ");
}

TEST(PlanOrder, WhatCannotFitHoldsNobodyUp) {
  EXPECT_EQ(plan_of("n0 gpus=8; n1 gpus=16 down", "never gpus=99; later gpus=16; small gpus=1"),
            "start small on n0[0]");
  EXPECT_EQ(waits_of("n0 gpus=8; n1 gpus=16 down", "never gpus=99; later gpus=16"),
            "later=ReqNodeNotAvail never=ReqNodeNotAvail ");
}

TEST(PlanOrder, EqualShapesStartInOrderOfArrival) {
  EXPECT_EQ(plan_of("n0 gpus=4", "a gpus=1; b gpus=2; c gpus=1; d gpus=1"),
            "start a on n0[0]; start b on n0[1-2]; start c on n0[3]");
}

TEST(PlanPure, LeavesTheClusterAsItWas) {
  Case c;
  read_nodes(c, "n0 gpus=8 used=3; n1 gpus=8");
  read_jobs(c, "a gpus=5; b gpus=8; d gpus=1");
  const std::string first = text_of(c, plan(c.cluster, c.queue));
  EXPECT_EQ(c.cluster.at(NodeId{1}).gpu_free, 5u);
  EXPECT_EQ(c.cluster.at(NodeId{2}).gpu_free, 8u);
  EXPECT_EQ(text_of(c, plan(c.cluster, c.queue)), first);
}

TEST(ClusterDeathTest, HoldingAGpuTwiceIsABug) {
  Case c;
  read_nodes(c, "n0 gpus=2");
  NodePart part{NodeId{1}};
  part.gpus = {0};
  c.cluster.take(JobId{1}, part);
  EXPECT_DEATH(c.cluster.take(JobId{2}, part), "assertion failed");
}

}  // namespace
}  // namespace rota::sched
