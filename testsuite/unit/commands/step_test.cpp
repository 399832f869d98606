// testsuite/unit/commands/step_test.cpp - tasks over nodes, labelled lines, the worst of many
// codes.
#include <gtest/gtest.h>

#include <algorithm>

#include "commands/step_layout.h"
#include "commands/step_output.h"
#include "common/format.h"

namespace rota::commands {
namespace {

/// Three nodes of a job with 2, 2 and 1 tasks, 8 CPUs and 4 GPUs each.
const std::vector<StepNode> job = {{"n1", 2, 8, 4}, {"n2", 2, 8, 4}, {"n3", 1, 8, 4}};

/// "n1:0-1 n2:2-3", or the error.
std::string laid_out(const StepRequest& request) {
  const auto layout = lay_out(request, job);
  if (!layout) return layout.error().detail;
  std::string text;
  for (const auto& place : layout->places)
    text += format("{}{}:{}-{}", text.empty() ? "" : " ", job[place.node].name, place.first,
                   place.first + place.count - 1);
  return text;
}

TEST(StepLayout, IsTheJobsOwnWhereNothingIsSaid) {
  EXPECT_EQ(laid_out({}), "n1:0-1 n2:2-3 n3:4-4");
}

TEST(StepLayout, FewerNodesAreTheFirst) {
  EXPECT_EQ(laid_out({.nodes = 2}), "n1:0-1 n2:2-3");
  EXPECT_EQ(laid_out({.nodes = 1, .tasks = 1}), "n1:0-0");
  EXPECT_EQ(laid_out({.tasks = 2}), "n1:0-0 n2:1-1");
  EXPECT_EQ(laid_out({.nodes = 4}), "4 nodes wanted, and the job has 3");
}

TEST(StepLayout, OtherNumbersAreSpreadEvenly) {
  EXPECT_EQ(laid_out({.tasks = 7}), "n1:0-2 n2:3-4 n3:5-6");
  EXPECT_EQ(laid_out({.tasks = 3}), "n1:0-0 n2:1-1 n3:2-2");
  EXPECT_EQ(laid_out({.nodes = 2, .tasks = 3}), "n1:0-1 n2:2-2");
  EXPECT_EQ(laid_out({.nodes = 3, .tasks = 2}), "3 nodes need at least as many tasks, not 2");
}

TEST(StepLayout, TasksPerNodeAreAMost) {
  EXPECT_EQ(laid_out({.tasks_per_node = 3}), "n1:0-2 n2:3-5 n3:6-8");
  EXPECT_EQ(laid_out({.tasks = 4, .tasks_per_node = 2}), "n1:0-1 n2:2-3");
  EXPECT_EQ(laid_out({.nodes = 1, .tasks = 4, .tasks_per_node = 2}),
            "4 tasks with at most 2 on a node (--ntasks-per-node) need 2 nodes, not 1");
}

TEST(StepLayout, ChosenNodesKeepTheJobsOrder) {
  EXPECT_EQ(laid_out({.nodelist = {"n3", "n1"}}), "n1:0-1 n3:2-2");
  EXPECT_EQ(laid_out({.nodes = 2, .nodelist = {"n2"}}), "2 nodes wanted, and --nodelist names 1");
  EXPECT_EQ(laid_out({.nodelist = {"n9"}}), "n9 is not a node of the job, which has n[1-3]");
}

TEST(StepLayout, HasRoomOnEveryNode) {
  EXPECT_EQ(laid_out({.tasks = 6, .cpus_per_task = 4}), "n1:0-1 n2:2-3 n3:4-5");
  EXPECT_EQ(laid_out({.tasks = 6, .cpus_per_task = 5}),
            "2 tasks with 5 CPUs need 10 CPUs on n1, where the job has 8");
  EXPECT_EQ(laid_out({.nodes = 1, .tasks = 1, .gpus_per_task = 5}),
            "1 task with 5 GPUs need 5 GPUs on n1, where the job has 4");
}

TEST(StepLayout, EveryTaskIsToldItsPlace) {
  const StepRequest request{.tasks = 4, .nodelist = {"n2", "n3"}};
  const auto layout = lay_out(request, job);
  ASSERT_TRUE(layout);
  std::vector<std::string> variables = task_variables(*layout, job, request, 1, 1);
  std::erase_if(variables, [](const std::string& each) { return each.starts_with("SLURM_"); });
  std::sort(variables.begin(), variables.end());
  EXPECT_EQ(format("{}", fmt::join(variables, " ")),
            "LOCAL_RANK=1 RANK=3 ROTA_GTIDS=2,3 ROTA_LOCALID=1 ROTA_NNODES=2 ROTA_NODEID=1 "
            "ROTA_NODELIST=n[2-3] ROTA_NPROCS=4 ROTA_NTASKS=4 ROTA_PROCID=3 "
            "ROTA_STEP_NODELIST=n[2-3] ROTA_STEP_NUM_NODES=2 ROTA_STEP_NUM_TASKS=4 "
            "ROTA_STEP_TASKS_PER_NODE=2(x2) ROTA_TASKS_PER_NODE=2(x2) WORLD_SIZE=4");
}

TEST(StepOutput, LinesAreWholeAndLabelled) {
  LineCutter cutter(task_label(3, 20));
  EXPECT_EQ(cutter.take("one\ntw"), " 3: one\n");
  EXPECT_EQ(cutter.take("o"), "");
  EXPECT_EQ(cutter.take("\n\n"), " 3: two\n 3: \n");
  EXPECT_EQ(cutter.take("end"), "");
  EXPECT_EQ(cutter.finish(), " 3: end\n");
  EXPECT_EQ(cutter.finish(), "");
}

TEST(StepOutput, WithoutALabelNothingIsAdded) {
  LineCutter cutter;
  EXPECT_EQ(cutter.take("a\nb"), "a\n");
  EXPECT_EQ(cutter.finish(), "b");
}

TEST(StepOutput, AnEndlessLineIsNotKept) {
  LineCutter plain, labelled("0: ");
  const std::string much(LineCutter::line_bytes_max, 'x');
  EXPECT_EQ(plain.take(much), much);
  EXPECT_EQ(labelled.take(much), "0: " + much + "\n");
}

TEST(StepOutput, LabelsAreAsWideAsTheLast) {
  EXPECT_EQ(task_label(0, 1), "0: ");
  EXPECT_EQ(task_label(9, 10), "9: ");
  EXPECT_EQ(task_label(9, 11), " 9: ");
}

int worst(std::initializer_list<TaskEnd> ends) {
  WorstCode code;
  for (const TaskEnd& end : ends) code.add(end);
  return code.value();
}

TEST(StepOutput, TheWorstCodeIsTheHighest) {
  EXPECT_EQ(worst({{0}, {3}, {2}}), 3);
  EXPECT_EQ(worst({{0}, {0, 9}, {100}}), 137);
  EXPECT_EQ(worst({}), 0);
}

// The task that failed says what went wrong, not those that were ended for it.
TEST(StepOutput, WhatWeEndedIsNotTheNews) {
  EXPECT_EQ(worst({{7}, {0, 15, true}}), 7);
  EXPECT_EQ(worst({{0}, {0, 15, true}}), 143);
}

}  // namespace
}  // namespace rota::commands
