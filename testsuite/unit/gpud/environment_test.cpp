// testsuite/unit/gpud/environment_test.cpp - the variables of a job, as it would print them.
#include "gpud/launch/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/counts.h"

namespace rota::gpud {
namespace {

proto::LaunchRun sample() {
  proto::LaunchRun launch;
  launch.run = {JobId{42}, 0};
  launch.spec.name = "train it";
  launch.spec.project = "vision";
  launch.spec.task_count = 5;
  launch.spec.task.cpu_count = 4;
  launch.spec.task.gpu_count = 1;
  launch.spec.time_limit_seconds = 3600;
  launch.owner = {1000, 100, "ada"};
  launch.part.task_first = 2;
  launch.part.task_count = 2;
  launch.part.gpus = {3, 5};
  launch.part.cpu_count = 8;
  launch.part.memory_bytes = std::uint64_t{3} << 30;
  launch.gpu_uuids = {"GPU-a", "GPU-b"};
  launch.node_index = 1;
  launch.nodes = {"n1", "n2", "n3"};
  launch.tasks_per_node = {2, 2, 1};
  launch.payload.mode = LaunchMode::tasks;
  launch.payload.working_directory = "/home/ada";
  launch.payload.submit_host = "login";
  return launch;
}

struct Env {
  NodeSettings settings;
  proto::LaunchRun launch = sample();
  Env() { settings.cluster_name = "east"; }

  std::vector<std::string> job() const {
    return job_environment(launch,
                           {settings, "n2", "n2.0000abcd/42.0", WallTime{1'000'000'000'000}});
  }
  std::vector<std::string> task(std::uint32_t local) const {
    return task_environment(launch, {settings, "n2", "", {}}, local);
  }
};

/// Sorted lines that begin with `prefix`, without it.
std::string with(const std::vector<std::string>& list, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& variable : list)
    if (variable.starts_with(prefix)) found.push_back(variable.substr(prefix.size()));
  std::sort(found.begin(), found.end());
  std::string text;
  for (const std::string& line : found) text += line + "\n";
  return text;
}

// Instances count as GPUs; a task sees its own.
TEST(Environment, InstancesAreTheGpusOfAJob) {
  Env env;
  env.launch.spec.task.gpu_count = 0;
  env.launch.part.gpus.clear();
  env.launch.part.mig = {{0, 4, 4, 0, "3g.20gb"}, {1, 0, 1, 0, "1g.5gb"}};
  env.launch.gpu_uuids = {"MIG-a", "MIG-b"};
  EXPECT_EQ(with(env.job(), "ROTA_GPUS"), "=5\n_ON_NODE=2\n_PER_TASK=1\n");
  EXPECT_EQ(with(env.job(), "SLURM_JOB_GPUS="), "0,1\n");
  EXPECT_EQ(with(env.job(), "ROTA_JOB_MIG="), "3g.20gb,1g.5gb\n");
  EXPECT_EQ(with(env.task(1), "CUDA_VISIBLE_DEVICES="), "MIG-b\n");
  EXPECT_EQ(with(env.task(0), "NVIDIA_VISIBLE_DEVICES="), "MIG-a\n");
}

TEST(Environment, TellsTheJobUnderOurNames) {
  EXPECT_EQ(
      with(Env().job(), "ROTA_"),
      "CLUSTER_NAME=east\nCPUS_ON_NODE=8\nCPUS_PER_TASK=4\nGPUS=5\nGPUS_ON_NODE=2\n"
      "GPUS_PER_TASK=1\nJOBID=42\nJOB_ACCOUNT=vision\nJOB_CPUS_PER_NODE=8(x2),4\n"
      "JOB_END_TIME=1003600\nJOB_GID=100\nJOB_GPUS=3,5\nJOB_ID=42\nJOB_NAME=train it\n"
      "JOB_NODELIST=n[1-3]\nJOB_NUM_NODES=3\nJOB_QOS=normal\nJOB_START_TIME=1000000\nJOB_UID=1000\n"
      "JOB_USER=ada\nKIND=train\nMEM_PER_NODE=3072\nNNODES=3\nNODEID=1\nNODELIST=n[1-3]\n"
      "NODENAME=n2\nNPROCS=5\nNTASKS=5\nPREEMPT_COUNT=0\nPROJECT=vision\nRESTART_COUNT=0\n"
      "RUN=n2.0000abcd/42.0\nSUBMIT_DIR=/home/ada\nSUBMIT_HOST=login\n"
      "TASKS_PER_NODE=2(x2),1\n");
}

TEST(Environment, TasksOfOneNodeDoNotStartThreadsForAllOfIt) {
  Env env;
  EXPECT_EQ(with(env.job(), "OMP_NUM_THREADS="), "4\n") << "five tasks on three nodes";
  env.launch.payload.environment = {"OMP_NUM_THREADS=7"};
  EXPECT_EQ(with(env.job(), "OMP_NUM_THREADS="), "7\n");
  env.launch.payload.environment.clear();
  env.launch.tasks_per_node = {1, 1, 1};
  EXPECT_EQ(with(env.job(), "OMP_NUM_THREADS="), "");
}

TEST(Environment, SegmentsAndGraceAreToldWhereTheyWereAsked) {
  Env env;
  EXPECT_EQ(with(env.job(), "ROTA_GRACE_SECONDS="), "");
  env.launch.spec.grace_seconds = 90;
  env.launch.spec.topology.edit().segment = 8;
  EXPECT_EQ(with(env.job(), "ROTA_GRACE_SECONDS="), "90\n");
  EXPECT_EQ(with(env.job(), "SLURM_JOB_SEGMENT_SIZE="), "8\n");
}

TEST(Environment, TellsTheQueueWhereThereIsOne) {
  Env env;
  env.launch.spec.queue = "short";
  EXPECT_EQ(with(env.job(), "ROTA_JOB_PART"), "ITION=short\n");
  EXPECT_EQ(with(env.job(), "SLURM_JOB_PART"), "ITION=short\n");
}

TEST(Environment, TellsItUnderSlurmsNamesWhereWished) {
  Env env;
  EXPECT_EQ(
      with(env.job(), "SLURM_"),
      "CLUSTER_NAME=east\nCPUS_ON_NODE=8\nCPUS_PER_TASK=4\nGPUS=5\nGPUS_ON_NODE=2\n"
      "GPUS_PER_TASK=1\nJOBID=42\nJOB_ACCOUNT=vision\nJOB_CPUS_PER_NODE=8(x2),4\n"
      "JOB_END_TIME=1003600\nJOB_GID=100\nJOB_GPUS=3,5\nJOB_ID=42\nJOB_NAME=train it\n"
      "JOB_NODELIST=n[1-3]\nJOB_NUM_NODES=3\nJOB_QOS=normal\nJOB_START_TIME=1000000\nJOB_UID=1000\n"
      "JOB_USER=ada\nMEM_PER_NODE=3072\nNNODES=3\nNODEID=1\nNODELIST=n[1-3]\nNPROCS=5\n"
      "NTASKS=5\nSUBMIT_DIR=/home/ada\nSUBMIT_HOST=login\nTASKS_PER_NODE=2(x2),1\n");
  EXPECT_EQ(with(env.job(), "SLURMD_"), "NODENAME=n2\n");
  env.launch.run.restart = 2;
  EXPECT_EQ(with(env.job(), "SLURM_RESTART"), "_COUNT=2\n");
  env.settings.slurm_environment = false;
  EXPECT_EQ(with(env.job(), "SLURM"), "");
  EXPECT_EQ(with(env.task(0), "SLURM"), "");
}

TEST(Environment, EveryTaskHasItsNumbersAndItsGpus) {
  Env env;
  EXPECT_EQ(with(env.task(1), "ROTA_"),
            "GTIDS=2,3\nLOCALID=1\nPROCID=3\nSTEPID=0\nSTEP_ID=0\nSTEP_NODELIST=n[1-3]\n"
            "STEP_NUM_NODES=3\nSTEP_NUM_TASKS=5\nSTEP_TASKS_PER_NODE=2(x2),1\n");
  EXPECT_EQ(with(env.task(0), "CUDA_VISIBLE_DEVICES="), "GPU-a\n");
  EXPECT_EQ(with(env.task(1), "CUDA_VISIBLE_DEVICES="), "GPU-b\n");
  EXPECT_EQ(with(env.task(1), "CUDA_DEVICE_ORDER="), "PCI_BUS_ID\n");
  EXPECT_EQ(with(env.task(1), "NVIDIA_"),
            "DRIVER_CAPABILITIES=compute,utility\nVISIBLE_DEVICES=GPU-b\n");
}

TEST(Environment, TasksAreToldHowTheyMeet) {
  Env env;
  EXPECT_EQ(with(env.task(1), "RANK="), "3\n");
  EXPECT_EQ(with(env.task(1), "LOCAL_RANK="), "1\n");
  EXPECT_EQ(with(env.task(1), "WORLD_SIZE="), "5\n");
  env.launch.first_host = "10.0.0.1";
  env.launch.payload.environment = {"MASTER_PORT=1", "RANK=9", "MASTER=x"};
  const auto job = [&env] {
    EnvironmentContext context{env.settings, "n2", "", {}};
    context.meeting_port = 12345;
    return job_environment(env.launch, context);
  };
  EXPECT_EQ(with(job(), "MASTER"), "=x\n_ADDR=10.0.0.1\n_PORT=12345\n");
  EXPECT_EQ(with(job(), "ROTA_MASTER"), "_ADDR=10.0.0.1\n_PORT=12345\n");
  EXPECT_EQ(with(job(), "RANK="), "");
  env.launch.payload.container.environment = {"MASTER_PORT=1"};
  EXPECT_EQ(with(job(), "MASTER_"), "ADDR=10.0.0.1\nPORT=1\n");
  env.launch.payload.mode = LaunchMode::batch;
  EXPECT_EQ(with(job(), "RANK="), "9\n");
}

TEST(Environment, SharedGpusAreSeenByEveryTask) {
  Env env;
  env.launch.spec.node.gpu_count = 1;
  env.launch.gpu_uuids = {"GPU-a", "GPU-b", "GPU-c"};
  EXPECT_EQ(with(env.task(1), "CUDA_VISIBLE_DEVICES="), "GPU-b,GPU-c\n");
  env.launch.spec.task.gpu_count = 0;
  EXPECT_EQ(with(env.task(1), "CUDA_VISIBLE_DEVICES="), "GPU-a,GPU-b,GPU-c\n");
}

// It has all GPUs of the node, and its tasks what they asked for.
TEST(Environment, AJobWithItsNodesToItself) {
  Env env;
  env.launch.spec.rules.edit().exclusive = true;
  env.launch.part.gpus = {0, 1, 2, 3};
  env.launch.part.cpu_count = 64;
  env.launch.gpu_uuids = {"GPU-a", "GPU-b", "GPU-c", "GPU-d"};
  EXPECT_EQ(with(env.job(), "ROTA_GPUS"), "=5\n_ON_NODE=4\n_PER_TASK=1\n");
  EXPECT_EQ(with(env.job(), "ROTA_JOB_CPUS_PER_NODE="), "64(x3)\n");
  EXPECT_EQ(with(env.task(1), "CUDA_VISIBLE_DEVICES="), "GPU-b\n");
  env.launch.spec.task.gpu_count = 0;
  EXPECT_EQ(with(env.job(), "ROTA_GPUS"), "=4\n_ON_NODE=4\n");
  EXPECT_EQ(with(env.task(1), "CUDA_VISIBLE_DEVICES="), "GPU-a,GPU-b,GPU-c,GPU-d\n");
}

TEST(Environment, AScriptSeesAllGpusOfItsNode) {
  Env env;
  env.launch.payload.mode = LaunchMode::batch;
  EXPECT_EQ(with(env.task(0), "CUDA_VISIBLE_DEVICES="), "GPU-a,GPU-b\n");
  EXPECT_EQ(with(env.task(0), "ROTA_"), "GTIDS=0\nLOCALID=0\nPROCID=0\n");
}

TEST(Environment, WithoutGpusNoneIsVisible) {
  Env env;
  env.launch.spec.task.gpu_count = 0;
  env.launch.gpu_uuids.clear();
  EXPECT_EQ(with(env.task(0), "CUDA_VISIBLE_DEVICES="), "\n");
  EXPECT_EQ(with(env.task(0), "NVIDIA_VISIBLE_DEVICES="), "void\n");
  EXPECT_EQ(with(env.job(), "ROTA_GPUS"), "");
}

// Submitted from inside another job: what speaks of that job must not reach this one.
TEST(Environment, TheSubmittersVariablesStayButNotThoseOfAnotherJob) {
  Env env;
  env.launch.payload.environment = {"HOME=/home/ada",         "SLURM_JOB_ID=7", "SLURM_STEP_ID=3",
                                    "ROTA_CONFIG=/etc/r",     "ROTA_JOB_ID=7",  "SLURM_CONF=/etc/s",
                                    "CUDA_VISIBLE_DEVICES=0", "no value",       "EMPTY="};
  const auto list = env.job();
  const std::vector<std::string> kept(list.begin(), list.begin() + 4);
  EXPECT_EQ(kept, (std::vector<std::string>{"HOME=/home/ada", "ROTA_CONFIG=/etc/r",
                                            "SLURM_CONF=/etc/s", "EMPTY="}));
  EXPECT_EQ(with(list, "ROTA_JOB_ID="), "42\n");
  EXPECT_EQ(with(list, "SLURM_JOB_ID="), "42\n");
  EXPECT_EQ(with(list, "SLURM_STEP"), "");
  EXPECT_EQ(with(list, "CUDA_"), "");
}

TEST(Environment, RepeatedNumbersAreFolded) {
  EXPECT_EQ(repeated_list({}), "");
  EXPECT_EQ(repeated_list({4}), "4");
  EXPECT_EQ(repeated_list({2, 2, 2, 1}), "2(x3),1");
  EXPECT_EQ(repeated_list({1, 2, 2, 1, 1}), "1,2(x2),1(x2)");
}

TEST(Environment, AClientOfMpsFindsTheDaemonOfItsOwnGpu) {
  Env env;
  env.launch.payload.environment = {"CUDA_MPS_PIPE_DIRECTORY=/mine",
                                    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100",
                                    "CUDA_MPS_LOG_DIRECTORY=/mine", "CUDA_MPS_CLIENT_PRIORITY=1"};
  EXPECT_EQ(with(env.job(), "CUDA_"), "MPS_CLIENT_PRIORITY=1\n") << "a job's own daemon is gone";
  EXPECT_EQ(with(env.task(0), "CUDA_MPS"), "");
  const std::vector<MpsSeat> seats = {{{"GPU-a", "/s/a/pipe", "/s/a/log"}, 30},
                                      {{"GPU-b", "/s/b/pipe", "/s/b/log"}, 70}};
  const auto of = [&](std::uint32_t local) {
    return with(task_environment(env.launch, {env.settings, "n2", "", {}, seats}, local),
                "CUDA_MPS_");
  };
  EXPECT_EQ(of(0),
            "ACTIVE_THREAD_PERCENTAGE=30\nLOG_DIRECTORY=/s/a/log\nPIPE_DIRECTORY=/s/a/pipe\n");
  EXPECT_EQ(of(1),
            "ACTIVE_THREAD_PERCENTAGE=70\nLOG_DIRECTORY=/s/b/log\nPIPE_DIRECTORY=/s/b/pipe\n");
}

}  // namespace
}  // namespace rota::gpud
