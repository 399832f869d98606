// testsuite/unit/gpud/plan_test.cpp - what rstepd is told to do for a launch.
#include "gpud/launch/plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace rota::gpud {
namespace {

const std::vector<std::string> gpu_uuids = {"GPU-00000000-0000-0000-0000-000000000001",
                                            "GPU-00000000-0000-0000-0000-000000000002"};

proto::LaunchRun sample(LaunchMode mode, std::uint32_t tasks) {
  proto::LaunchRun launch;
  launch.run = {JobId{9}, 0};
  launch.spec.name = "job";
  launch.spec.task_count = tasks;
  launch.owner = {::geteuid(), ::getegid(), "ada"};
  launch.part.task_count = tasks;
  launch.nodes = {"n1"};
  launch.tasks_per_node = {tasks};
  launch.payload.mode = mode;
  launch.payload.arguments = {"true"};
  launch.payload.working_directory = "/w";
  return launch;
}

Result<StepOrder> plan(proto::LaunchRun launch, std::vector<std::uint32_t> cpus = {},
                       bool binds_cpus = true, const Provision& provision = {}) {
  NodeFacts facts;
  facts.name = "n1";
  facts.boot_id = "boot";
  facts.spool_dir = "/spool";
  facts.scripts_dir = "/spool/scripts";
  facts.cgroups.node_directory = "n1.0000abcd";
  facts.cgroups.tracking = "/cg/rota/n1.0000abcd";
  facts.binds_cpus = binds_cpus;
  facts.shares.shim_dir = "/shim";
  facts.shares.driver = {"/lib/libcuda.so.1", "/lib/libnvidia-ml.so.1"};
  facts.gpus.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    facts.gpus[i].uuid = gpu_uuids[i];
    facts.gpus[i].memory_bytes = 32'510ull << 20;
  }
  NodeSettings settings;
  settings.kill_wait_ms = 77;
  return plan_step(std::move(launch), std::move(cpus), {5, 6}, facts, settings, WallTime{1},
                   provision);
}

/// "out>/w/a err>/w/b+": the sign tells whether the file is appended to.
std::string files_of(const StepOrder& order) {
  std::string text;
  for (const TaskOrder& task : order.tasks) {
    text += "out>" + task.stdout_path + (task.stdout_truncated ? "" : "+");
    if (!task.stderr_path.empty())
      text += " err>" + task.stderr_path + (task.stderr_truncated ? "" : "+");
    text += "\n";
  }
  return text;
}

TEST(Plan, ABatchScriptIsOneTask) {
  const auto order = plan(sample(LaunchMode::batch, 4));
  ASSERT_TRUE(order);
  EXPECT_EQ(files_of(*order), "out>/w/rota-9.out\n");
  EXPECT_EQ(order->script_path, "/spool/scripts/9.0");
  EXPECT_EQ(order->cgroups.tracking, "/cg/rota/n1.0000abcd/9.0");
  EXPECT_EQ(order->kill_wait_ms, 77);
  EXPECT_EQ(order->groups, (std::vector<std::uint32_t>{5, 6}));
}

TEST(Plan, WholeGpusAreNotShared) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.gpu_uuids = gpu_uuids;
  const auto order = plan(launch);
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->share.empty());
}

TEST(Plan, PartsOfGpusHaveTheirBytes) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.gpu_uuids = gpu_uuids;
  launch.part.gpu_share = 500'000;
  auto order = plan(launch);
  ASSERT_TRUE(order);
  ASSERT_EQ(order->share.gpus.size(), 2);
  EXPECT_EQ(order->share.gpus[1].uuid, gpu_uuids[1]);
  EXPECT_EQ(order->share.gpus[1].limit_bytes, 16'255ull << 20);
  EXPECT_EQ(order->share.directory, "/spool/scripts/9.0.gpu");
  EXPECT_EQ(order->share.shim_dir, "/shim");
  EXPECT_EQ(order->share.real_cuda, "/lib/libcuda.so.1");
  launch.part.gpu_memory_mib = 4096;
  order = plan(launch);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->share.gpus[0].limit_bytes, 4096ull << 20);
}

// The hardware keeps instances apart: no shim, and no instance without its device files.
TEST(Plan, InstancesMustHaveBeenMade) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.part.mig.resize(1);
  launch.part.gpu_share = 500'000;
  const auto order = plan(launch);
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().detail, "this node cannot cut GPUs into MIG instances");
}

// Rather no start than one without a limit.
TEST(Plan, APartOfAnUnknownGpuIsRefused) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.gpu_uuids = {"GPU-00000000-0000-0000-0000-000000000003"};
  launch.part.gpu_share = 500'000;
  const auto order = plan(launch);
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().detail,
            "this node knows no GPU 'GPU-00000000-0000-0000-0000-000000000003' to share");
}

// But they are ready for its steps.
TEST(Plan, OtherNodesOfABatchScriptRunNothing) {
  auto launch = sample(LaunchMode::batch, 1);
  launch.nodes = {"n0", "n1"};
  launch.node_index = 1;
  const auto order = plan(launch);
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->holds);
  EXPECT_EQ(order->linger_ms, -1);
  EXPECT_EQ(order->tasks.size(), 1u);
}

TEST(Plan, TasksHaveTheirFiles) {
  auto launch = sample(LaunchMode::tasks, 2);
  launch.part.task_first = 6;
  launch.payload.stdout_pattern = "o.%t";
  launch.payload.stderr_pattern = "/e/%j";
  // The first task begins the file that both write to.
  EXPECT_EQ(files_of(*plan(launch)), "out>/w/o.6 err>/e/9\nout>/w/o.7 err>/e/9+\n");
}

TEST(Plan, WhatOthersWroteIsKept) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.nodes = {"n1", "n2"};
  EXPECT_EQ(files_of(*plan(launch)), "out>/w/rota-9.out+\n");
  launch = sample(LaunchMode::batch, 1);
  launch.nodes = {"n1", "n2"};
  EXPECT_EQ(files_of(*plan(launch)), "out>/w/rota-9.out\n");
  launch.run.restart = 1;
  EXPECT_EQ(files_of(*plan(launch)), "out>/w/rota-9.out+\n");
}

TEST(Plan, StderrThatNamesTheSameFileIsJoined) {
  auto launch = sample(LaunchMode::batch, 1);
  launch.payload.stdout_pattern = "x%j";
  launch.payload.stderr_pattern = "/w/x9";
  EXPECT_EQ(files_of(*plan(launch)), "out>/w/x9\n");
}

TEST(Plan, CpusAreBoundOnlyWhereTheyExist) {
  EXPECT_EQ(plan(sample(LaunchMode::batch, 1), {0, 1, 2, 5})->cpu_list, "0-2,5");
  const auto described = plan(sample(LaunchMode::batch, 1), {0, 1}, false);
  EXPECT_EQ(described->cpu_list, "");
  EXPECT_EQ(described->cpus, (std::vector<std::uint32_t>{0, 1}));
}

TEST(Plan, RefusesWhatCannotRunHere) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.payload.arguments.clear();
  EXPECT_EQ(plan(launch).error().message(), "job could not be started: it names no command");
  launch = sample(LaunchMode::batch, 1);
  launch.payload.stdout_pattern = "x%q";
  EXPECT_TRUE(plan(launch).has_error());
  launch = sample(LaunchMode::batch, 1);
  launch.node_index = 1;
  EXPECT_EQ(plan(launch).error().detail, "this node is number 1 of 1");
  if (::geteuid() == 0) return;
  launch = sample(LaunchMode::batch, 1);
  launch.owner.uid = ::geteuid() + 1;
  EXPECT_EQ(plan(launch).error().code, Errc::unsupported);
}

/// Four cores on each of two NUMA nodes, a GPU near each, and one that nobody knows of.
std::string memory_of(const std::string& wish, std::vector<std::uint32_t> cpus,
                      std::vector<std::string> gpus) {
  NodeFacts facts;
  facts.name = "n1";
  facts.bind_memory = wish;
  for (std::uint32_t i = 0; i < 8; ++i) facts.cpus.push_back({i, i < 4 ? 0 : 1});
  facts.gpus.resize(3);
  for (std::size_t i = 0; i < 3; ++i) {
    facts.gpus[i].uuid = "GPU-" + std::to_string(i);
    facts.gpus[i].numa_node = i < 2 ? static_cast<std::int32_t>(i) : -1;
  }
  auto launch = sample(LaunchMode::tasks, 1);
  launch.gpu_uuids = std::move(gpus);
  const auto order =
      plan_step(std::move(launch), std::move(cpus), {}, facts, NodeSettings{}, WallTime{1});
  if (!order) return order.error().detail;
  std::string text = order->memory.strict ? "strict" : "";
  for (const std::uint32_t node : order->memory.nodes) text += ' ' + std::to_string(node);
  return text;
}

TEST(Plan, MemoryComesFromNearTheGpusAndCores) {
  EXPECT_EQ(memory_of("prefer", {0, 1}, {}), " 0");
  EXPECT_EQ(memory_of("prefer", {4}, {"GPU-1"}), " 1");
  EXPECT_EQ(memory_of("strict", {4}, {"GPU-1"}), "strict 1");
  EXPECT_EQ(memory_of("prefer", {4}, {"GPU-2"}), " 1");  // where that GPU is nobody knows
  EXPECT_EQ(memory_of("prefer", {4}, {"GPU-0"}), "");    // all that there is
  EXPECT_EQ(memory_of("prefer", {3, 4}, {}), "");
  EXPECT_EQ(memory_of("none", {4}, {"GPU-1"}), "");
  EXPECT_EQ(memory_of("strict", {}, {"GPU-1"}), "");  // not bound to cores
}

TEST(Plan, ALimitAboveTheShare) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.gpu_uuids = {gpu_uuids[0]};
  launch.part.gpu_share = 250'000;
  launch.spec.task.gpu_share_limit = 800'000;
  const auto share = plan(launch);
  ASSERT_TRUE(share);
  EXPECT_EQ(share->share.gpus[0].request_bytes >> 20, 8127u);
  EXPECT_EQ(share->share.gpus[0].limit_bytes >> 20, 26008u);
  launch.part.gpu_memory_mib = 1000;
  launch.spec.task.gpu_share_limit = 0;
  launch.spec.task.gpu_memory_limit_mib = 2000;
  const auto memory = plan(launch);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->share.gpus[0].request_bytes >> 20, 1000u);
  EXPECT_EQ(memory->share.gpus[0].limit_bytes >> 20, 2000u);
}

/// The percent of the first task, or why there is none.
std::string compute_share(const TaskRequest& asked, const std::vector<MpsAccess>& doors) {
  auto launch = sample(LaunchMode::tasks, 1);
  launch.gpu_uuids = {gpu_uuids[0]};
  launch.spec.task = asked;
  launch.spec.task.gpu_count = 1;
  launch.part.gpu_memory_mib = asked.gpu_memory_mib;
  Provision provision;
  provision.mps = doors;
  const auto order = plan(std::move(launch), {}, true, provision);
  if (!order) return order.error().detail;
  constexpr std::string_view name = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=";
  for (const std::string& variable : order->tasks.front().environment)
    if (variable.starts_with(name)) return variable.substr(name.size());
  return "none";
}

TEST(Plan, AShareOfTheCompute) {
  const std::vector<MpsAccess> doors = {{gpu_uuids[1], "/b/pipe", "/b/log"},
                                        {gpu_uuids[0], "/a/pipe", "/a/log"}};
  TaskRequest asked;
  EXPECT_EQ(compute_share(asked, doors), "none");
  asked.mps_percent = 30;
  EXPECT_EQ(compute_share(asked, doors), "30");
  EXPECT_EQ(compute_share(asked, {doors[0]}), "this node has no MPS daemon for " + gpu_uuids[0]);
  asked.mps_percent = TaskRequest::mps_by_memory;
  for (const auto& [mib, percent] : std::map<std::uint32_t, std::string>{{1, "1"},
                                                                         {8128, "26"},
                                                                         {16'255, "50"},
                                                                         {16'256, "51"},
                                                                         {32'510, "100"},
                                                                         {40'000, "100"}}) {
    asked.gpu_memory_mib = mib;
    EXPECT_EQ(compute_share(asked, doors), percent) << mib << " of 32510 MiB";
  }
}

}  // namespace
}  // namespace rota::gpud
