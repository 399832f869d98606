// testsuite/unit/commands/shape_test.cpp - how large a job is: options in, the scheduler's request
// out.
#include "commands/shape.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/format.h"

namespace rota::commands {
namespace {

std::optional<std::uint32_t>& slot(ShapeRequest& request, const std::string& name) {
  if (name == "-N") return request.nodes;
  if (name == "-n") return request.tasks;
  if (name == "per-node") return request.tasks_per_node;
  if (name == "-G") return request.gpus;
  if (name == "gpus-per-node") return request.gpus_per_node;
  if (name == "-g") return request.gpus_per_task;
  EXPECT_EQ(name, "-c");
  return request.cpus_per_task;
}

/// "-N=2 -G=8" -> "2 nodes, 2 tasks: 4 GPUs a task", or the error.
std::string shape(const std::string& text) {
  ShapeRequest request;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const auto number = static_cast<std::uint32_t>(std::stoul(word.substr(equals + 1)));
    if (word.substr(0, equals) == "mem")
      request.memory_per_node_bytes = number;
    else
      slot(request, word.substr(0, equals)) = number;
  }
  JobSpec spec;
  if (auto resolved = resolve_shape(request, spec); !resolved) return resolved.error().detail;
  std::string out = format("{} nodes, {} tasks:", spec.node_count, spec.task_count);
  if (spec.task.gpu_count != 0) out += format(" {} GPUs a task", spec.task.gpu_count);
  if (spec.node.gpu_count != 0) out += format(" {} GPUs a node", spec.node.gpu_count);
  if (spec.task.cpu_count != 1) out += format(" {} CPUs a task", spec.task.cpu_count);
  if (spec.node.memory_bytes != 0) out += format(" {} bytes a node", spec.node.memory_bytes);
  return out;
}

TEST(Shape, NodesAndTasks) {
  EXPECT_EQ(shape(""), "0 nodes, 1 tasks:");
  EXPECT_EQ(shape("-n=8"), "0 nodes, 8 tasks:");
  EXPECT_EQ(shape("-N=2"), "2 nodes, 2 tasks:");
  EXPECT_EQ(shape("-N=2 -n=8"), "2 nodes, 8 tasks:");
  EXPECT_EQ(shape("per-node=8"), "1 nodes, 8 tasks:");
  EXPECT_EQ(shape("-N=2 per-node=8"), "2 nodes, 16 tasks:");
  EXPECT_EQ(shape("-n=16 per-node=8"), "2 nodes, 16 tasks:");
  EXPECT_EQ(shape("-N=2 -n=16 per-node=8"), "2 nodes, 16 tasks:");
  EXPECT_EQ(shape("-n=2 -c=12 mem=1000"), "0 nodes, 2 tasks: 12 CPUs a task 1000 bytes a node");
}

TEST(Shape, ATotalOfGpusIsSharedByTasksElseByNodes) {
  EXPECT_EQ(shape("-G=1"), "0 nodes, 1 tasks: 1 GPUs a task");
  EXPECT_EQ(shape("-G=8"), "0 nodes, 1 tasks: 8 GPUs a task");
  EXPECT_EQ(shape("-G=8 -n=8"), "0 nodes, 8 tasks: 1 GPUs a task");
  EXPECT_EQ(shape("-G=8 -N=2"), "2 nodes, 2 tasks: 4 GPUs a task");
  EXPECT_EQ(shape("-G=4 -N=2 -n=3"), "2 nodes, 3 tasks: 2 GPUs a node");
  EXPECT_EQ(shape("-G=8 -N=1 -n=16"), "1 nodes, 16 tasks: 8 GPUs a node");
  EXPECT_EQ(shape("-G=0 -n=3"), "0 nodes, 3 tasks:");
}

TEST(Shape, GpusPerNodeAndPerTask) {
  EXPECT_EQ(shape("gpus-per-node=8"), "1 nodes, 1 tasks: 8 GPUs a node");
  EXPECT_EQ(shape("gpus-per-node=8 -N=4"), "4 nodes, 4 tasks: 8 GPUs a node");
  EXPECT_EQ(shape("gpus-per-node=8 per-node=8 -N=4"), "4 nodes, 32 tasks: 8 GPUs a node");
  EXPECT_EQ(shape("-g=1 -n=4"), "0 nodes, 4 tasks: 1 GPUs a task");
  EXPECT_EQ(shape("-g=2 per-node=4 -N=2"), "2 nodes, 8 tasks: 2 GPUs a task");
}

TEST(Shape, TwoNumbersOfGpusFindTheThird) {
  EXPECT_EQ(shape("-G=16 gpus-per-node=8"), "2 nodes, 2 tasks: 8 GPUs a node");
  EXPECT_EQ(shape("-G=8 -g=2"), "0 nodes, 4 tasks: 2 GPUs a task");
  EXPECT_EQ(shape("-g=2 gpus-per-node=8"), "1 nodes, 4 tasks: 2 GPUs a task");
  EXPECT_EQ(shape("-g=2 gpus-per-node=8 -N=3"), "3 nodes, 12 tasks: 2 GPUs a task");
  EXPECT_EQ(shape("-G=8 -g=2 -n=4"), "0 nodes, 4 tasks: 2 GPUs a task");
}

TEST(Shape, ErrorsSayWhichNumbersWouldWork) {
  EXPECT_EQ(
      shape("-G=6 -n=4"),
      "6 GPUs cannot be shared equally by 4 tasks: --gpus=4 or 8, or --ntasks 1, 2, 3 or 6 would "
      "work; with --nodes the tasks of a node share its GPUs");
  EXPECT_EQ(shape("-G=1 -n=4"),
            "1 GPU cannot be shared equally by 4 tasks: --gpus=4, or --ntasks 1 would work; with "
            "--nodes the tasks of a node share its GPUs");
  EXPECT_EQ(
      shape("-G=5 -N=2"),
      "5 GPUs cannot be shared equally by 2 tasks on 2 nodes: --gpus=4 or 6, or --nodes 1 or 5 "
      "would work");
  EXPECT_EQ(shape("-G=10 gpus-per-node=8"),
            "10 GPUs do not divide into nodes of 8 (--gpus-per-node=8); --gpus 8 or 16 would");
  EXPECT_EQ(shape("-n=10 per-node=8"),
            "10 tasks do not divide into nodes of 8 (--ntasks-per-node=8); --ntasks 8 or 16 would");
  EXPECT_EQ(shape("-G=3 -g=2"),
            "3 GPUs cannot be shared by tasks of 2 (--gpus-per-task=2); --gpus 2 or 4 would work");
}

TEST(Shape, ContradictionsAreNamed) {
  EXPECT_EQ(
      shape("-N=4 -n=2"),
      "4 nodes need at least 4 tasks, there are 2: give --ntasks=4 or more, or fewer --nodes");
  EXPECT_EQ(
      shape("-N=2 -n=9 per-node=4"),
      "9 tasks on 2 nodes with --ntasks-per-node=4 would be 8: the three contradict each other, "
      "leave one out");
  EXPECT_EQ(shape("-G=9 -g=2 -n=4"),
            "--gpus=9 contradicts 4 tasks with 2 GPUs each, which are 8: leave one out");
  EXPECT_EQ(shape("-G=9 gpus-per-node=4 -N=2"),
            "--gpus=9 contradicts 2 nodes with 4 GPUs each, which are 8: leave one out");
  EXPECT_EQ(
      shape("-g=3 gpus-per-node=8 -n=2 -N=1"),
      "2 tasks with --gpus-per-task=3 are 6 GPUs, 1 node with --gpus-per-node=8 are 8: leave one "
      "out");
}

TEST(Shape, NumbersOutOfRangeAreRefused) {
  EXPECT_EQ(shape("-N=0"), "--nodes: 0 is out of range, it must be 1 to 100000");
  EXPECT_EQ(shape("-n=1000001"), "--ntasks: 1000001 is out of range, it must be 1 to 1000000");
  EXPECT_EQ(shape("per-node=0"), "--ntasks-per-node: 0 is out of range, it must be 1 to 1000000");
  EXPECT_EQ(shape("-c=0"), "--cpus-per-task: 0 is out of range, it must be 1 to 65536");
  EXPECT_EQ(shape("-g=1025"), "--gpus-per-task: 1025 is out of range, it must be 0 to 1024");
  EXPECT_EQ(shape("-G=1000001"), "--gpus: 1000001 is out of range, it must be 0 to 1000000");
  EXPECT_EQ(
      shape("-N=100000 per-node=1000000"),
      "100000 nodes with 1000000 tasks each are 100000000000 tasks, at most 1000000 are allowed");
}

}  // namespace
}  // namespace rota::commands
