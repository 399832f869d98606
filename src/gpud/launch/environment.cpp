// gpud/launch/environment.cpp - names as Slurm's users know them, under both prefixes.
#include "gpud/launch/environment.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "common/assert.h"
#include "common/counts.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"
#include "model/job.h"

namespace rota::gpud {
namespace {

/// Every name that a job of ours or of Slurm's may carry after its prefix. From the submitter's
/// environment they are dropped: they speak of the job from which this one was submitted.
constexpr std::array<std::string_view, 70> job_names = {"ARRAY_JOB_ID",
                                                        "ARRAY_TASK_COUNT",
                                                        "ARRAY_TASK_ID",
                                                        "ARRAY_TASK_MAX",
                                                        "ARRAY_TASK_MIN",
                                                        "ARRAY_TASK_STEP",
                                                        "CLUSTER_NAME",
                                                        "CPUS_ON_NODE",
                                                        "CPUS_PER_TASK",
                                                        "GPUS",
                                                        "GPUS_ON_NODE",
                                                        "GPUS_PER_NODE",
                                                        "GPUS_PER_TASK",
                                                        "GPU_FRACTION",
                                                        "GRACE_SECONDS",
                                                        "GTIDS",
                                                        "JOBID",
                                                        "JOB_ACCOUNT",
                                                        "JOB_CPUS_PER_NODE",
                                                        "JOB_END_TIME",
                                                        "JOB_GID",
                                                        "JOB_GPUS",
                                                        "JOB_ID",
                                                        "JOB_MIG",
                                                        "JOB_NAME",
                                                        "JOB_NODELIST",
                                                        "JOB_NUM_NODES",
                                                        "JOB_PARTITION",
                                                        "JOB_QOS",
                                                        "JOB_RESERVATION",
                                                        "JOB_SEGMENT_SIZE",
                                                        "JOB_START_TIME",
                                                        "JOB_UID",
                                                        "JOB_USER",
                                                        "KIND",
                                                        "LOCALID",
                                                        "MASTER_ADDR",
                                                        "MASTER_PORT",
                                                        "MEM_PER_NODE",
                                                        "NNODES",
                                                        "NODEID",
                                                        "NODELIST",
                                                        "NODENAME",
                                                        "NPROCS",
                                                        "NTASKS",
                                                        "NTASKS_PER_NODE",
                                                        "PREEMPT_COUNT",
                                                        "PROCID",
                                                        "PROJECT",
                                                        "RESTART_COUNT",
                                                        "RUN",
                                                        "SECRETS_DIR",
                                                        "STEPID",
                                                        "STEP_GPUS",
                                                        "STEP_ID",
                                                        "STEP_NODELIST",
                                                        "STEP_NUM_NODES",
                                                        "STEP_NUM_TASKS",
                                                        "STEP_TASKS_PER_NODE",
                                                        "SUBMIT_DIR",
                                                        "SUBMIT_HOST",
                                                        "SUBMIT_TIME",
                                                        "TASKS_PER_NODE",
                                                        "TASK_PID",
                                                        "TIME_LIMIT",
                                                        "TOPOLOGY_ADDR",
                                                        "TOPOLOGY_ADDR_PATTERN",
                                                        "TRES_PER_TASK",
                                                        "WORKING_CLUSTER",
                                                        "WORKING_DIR"};
static_assert(std::is_sorted(job_names.begin(), job_names.end()));

bool is_ours(std::string_view variable, bool slurm) {
  const std::string_view name = variable.substr(0, variable.find('='));
  if (name.size() == variable.size()) return true;  // no value: not a variable at all
  for (const std::string_view other :
       {"CUDA_DEVICE_ORDER", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_LOG_DIRECTORY",
        "CUDA_MPS_PIPE_DIRECTORY", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DRIVER_CAPABILITIES", "SLURMD_NODENAME"})
    if (name == other) return true;
  for (const std::string_view prefix : {"ROTA_", "SLURM_"}) {
    if (!name.starts_with(prefix) || (prefix == "SLURM_" && !slurm)) continue;
    return std::binary_search(job_names.begin(), job_names.end(), name.substr(prefix.size()));
  }
  return false;
}

/// How the processes of a job find each other, as PyTorch and its like know it. What somebody has
/// asked for by name (--env) stays; what only happened to be there does not.
constexpr std::array<std::string_view, 2> meeting_names = {"MASTER_ADDR", "MASTER_PORT"};
constexpr std::array<std::string_view, 3> rank_names = {"LOCAL_RANK", "RANK", "WORLD_SIZE"};

bool is_wanted(std::string_view name, const JobPayload& payload) {
  return std::ranges::any_of(payload.container.environment, [name](const std::string& variable) {
    return variable.substr(0, variable.find('=')) == name;
  });
}

bool is_of_meeting(std::string_view variable, const proto::LaunchRun& launch, std::uint16_t port) {
  const std::string_view name = variable.substr(0, variable.find('='));
  if (std::ranges::find(rank_names, name) != rank_names.end())
    return launch.payload.mode == LaunchMode::tasks;
  return port != 0 && std::ranges::find(meeting_names, name) != meeting_names.end() &&
         !is_wanted(name, launch.payload);
}

/// Sets a name under ROTA_ and, where wished, under SLURM_.
class Variables {
 public:
  Variables(std::vector<std::string>& list, bool slurm) : list_(list), slurm_(slurm) {}

  template <class Value>
  void both(std::string_view name, const Value& value) {
    rota(name, value);
    slurm(name, value);
  }
  template <class Value>
  void rota(std::string_view name, const Value& value) {
    // Else a job that is submitted from within this one would carry it on.
    ROTA_ASSERT(std::binary_search(job_names.begin(), job_names.end(), name));
    list_.push_back(format("ROTA_{}={}", name, value));
  }
  template <class Value>
  void slurm(std::string_view name, const Value& value) {
    if (slurm_) list_.push_back(format("SLURM_{}={}", name, value));
  }
  void plain(std::string_view name, std::string_view value) {
    list_.push_back(format("{}={}", name, value));
  }

 private:
  std::vector<std::string>& list_;
  bool slurm_;
};

std::string joined(const std::vector<std::string>& words) {
  return format("{}", fmt::join(words, ","));
}

/// Of a job that has its nodes to itself: they are taken to be as large as this one.
std::vector<std::uint32_t> cpus_per_node(const proto::LaunchRun& launch) {
  std::vector<std::uint32_t> cpus;
  if (launch.spec.rules->exclusive) {
    cpus.assign(launch.tasks_per_node.size(), launch.part.cpu_count);
    return cpus;
  }
  for (const std::uint32_t tasks : launch.tasks_per_node)
    cpus.push_back(tasks * launch.spec.task.cpu_count);
  return cpus;
}

void add_job(Variables& set, const proto::LaunchRun& launch, const EnvironmentContext& context) {
  const std::int64_t start_seconds = context.start_time.microseconds / 1'000'000;
  set.both("JOB_ID", launch.run.job.value);
  set.both("JOBID", launch.run.job.value);
  set.both("JOB_NAME", launch.spec.name);
  set.both("JOB_ACCOUNT", launch.spec.project);
  if (!launch.spec.queue.empty()) set.both("JOB_PARTITION", launch.spec.queue);
  set.both("JOB_QOS", "normal");  // there is one, for scripts that print it
  set.both("JOB_USER", launch.owner.user);
  set.both("JOB_UID", launch.owner.uid);
  set.both("JOB_GID", launch.owner.gid);
  set.both("JOB_START_TIME", start_seconds);
  if (launch.spec.time_limit_seconds > 0)
    set.both("JOB_END_TIME", start_seconds + launch.spec.time_limit_seconds);
  set.both("SUBMIT_DIR", launch.payload.working_directory);
  set.both("SUBMIT_HOST", launch.payload.submit_host);
  set.both("CLUSTER_NAME", context.settings.cluster_name);
  set.rota("RESTART_COUNT", launch.run.restart);
  // Slurm leaves it out in the first run, and scripts ask whether it is there.
  if (launch.run.restart > 0) set.slurm("RESTART_COUNT", launch.run.restart);
  if (launch.array.of) {
    set.both("ARRAY_JOB_ID", launch.array.of.value);
    set.both("ARRAY_TASK_ID", launch.array.index);
    set.both("ARRAY_TASK_COUNT", launch.array.count);
    set.both("ARRAY_TASK_MIN", launch.array.first);
    set.both("ARRAY_TASK_MAX", launch.array.last);
    set.both("ARRAY_TASK_STEP", launch.array.step);
  }
  set.rota("PREEMPT_COUNT", launch.preemptions);
  set.rota("PROJECT", launch.spec.project);
  set.rota("KIND", name_of(launch.spec.kind));
  set.rota("RUN", context.token);
  if (launch.spec.grace_seconds >= 0) set.rota("GRACE_SECONDS", launch.spec.grace_seconds);
}

/// Of the whole job, as large as it is now.
std::uint64_t task_count_of(const proto::LaunchRun& launch) {
  const auto& tasks = launch.tasks_per_node;
  return std::accumulate(tasks.begin(), tasks.end(), std::uint64_t{0});
}

void add_shape(Variables& set, const proto::LaunchRun& launch) {
  const auto& tasks = launch.tasks_per_node;
  const std::string nodes = hostlist_fold(launch.nodes);
  const std::uint64_t task_count = task_count_of(launch);
  set.both("JOB_NODELIST", nodes);
  set.both("NODELIST", nodes);
  set.both("JOB_NUM_NODES", launch.nodes.size());
  set.both("NNODES", launch.nodes.size());
  set.both("NTASKS", task_count);
  set.both("NPROCS", task_count);
  set.both("TASKS_PER_NODE", repeated_list(tasks));
  if (!tasks.empty() &&
      std::adjacent_find(tasks.begin(), tasks.end(), std::not_equal_to<>()) == tasks.end())
    set.both("NTASKS_PER_NODE", tasks.front());
  set.both("CPUS_PER_TASK", launch.spec.task.cpu_count);
  set.both("CPUS_ON_NODE", launch.part.cpu_count);
  set.both("JOB_CPUS_PER_NODE", repeated_list(cpus_per_node(launch)));
  if (launch.part.memory_bytes > 0) set.both("MEM_PER_NODE", launch.part.memory_bytes >> 20);
  if (const auto segment = launch.spec.topology->segment; segment > 0)
    set.both("JOB_SEGMENT_SIZE", segment);
  // Else each of several tasks on a node would start a thread for every CPU of the node.
  const auto is_of_openmp = [](const std::string& each) {
    return each.starts_with("OMP_NUM_THREADS=");
  };
  if (task_count > launch.nodes.size() &&
      std::ranges::none_of(launch.payload.environment, is_of_openmp))
    set.plain("OMP_NUM_THREADS", std::to_string(launch.spec.task.cpu_count));
}

/// Of a task of its own: GPUs, or instances where the part has such.
std::size_t gpus_per_task(const proto::LaunchRun& launch) {
  const NodePart& part = launch.part;
  if (part.mig.empty()) return launch.spec.task.gpu_count;
  return part.task_count > 0 ? part.mig.size() / part.task_count : 0;
}

/// An instance counts as a GPU: that is what programs take it for.
void add_instance_counts(Variables& set, const proto::LaunchRun& launch) {
  std::set<std::uint16_t> gpus;
  std::vector<std::string> profiles;
  for (const MigSlot& slot : launch.part.mig) {
    gpus.insert(slot.gpu);
    profiles.push_back(slot.profile);
  }
  const std::size_t each = gpus_per_task(launch);
  set.both("GPUS", each * task_count_of(launch));
  set.both("GPUS_ON_NODE", profiles.size());
  set.both("GPUS_PER_TASK", each);
  set.both("JOB_GPUS", format("{}", fmt::join(gpus, ",")));
  set.rota("JOB_MIG", joined(profiles));
}

void add_gpu_counts(Variables& set, const proto::LaunchRun& launch) {
  if (!launch.part.mig.empty()) return add_instance_counts(set, launch);
  const JobSpec& spec = launch.spec;
  const std::uint64_t total = task_count_of(launch) * spec.task.gpu_count +
                              launch.nodes.size() * std::uint64_t{spec.node.gpu_count};
  if (total == 0 && !spec.rules->exclusive) return;
  set.both("GPUS", std::max<std::uint64_t>(total, launch.part.gpus.size()));
  set.both("GPUS_ON_NODE", launch.part.gpus.size());
  if (spec.node.gpu_count > 0) set.both("GPUS_PER_NODE", spec.node.gpu_count);
  if (spec.task.gpu_count > 0) set.both("GPUS_PER_TASK", spec.task.gpu_count);
  set.both("JOB_GPUS", format("{}", fmt::join(launch.part.gpus, ",")));
  if (launch.part.gpu_share > 0) set.rota("GPU_FRACTION", decimal_format(launch.part.gpu_share, 6));
}

void add_node(Variables& set, const proto::LaunchRun& launch, const EnvironmentContext& context) {
  set.both("NODEID", launch.node_index);
  set.rota("NODENAME", context.node);
  if (!context.secrets_dir.empty()) set.rota("SECRETS_DIR", context.secrets_dir);
  if (context.settings.slurm_environment) set.plain("SLURMD_NODENAME", context.node);
}

/// The GPUs of one task: the part lists those of the tasks first, then those that all share.
std::vector<std::string> gpus_of(const proto::LaunchRun& launch, std::uint32_t local) {
  const std::vector<std::string>& all = launch.gpu_uuids;
  const std::size_t each = gpus_per_task(launch);
  const std::size_t own = each * launch.part.task_count;
  if (launch.payload.mode != LaunchMode::tasks || each == 0 || own > all.size()) return all;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(each * local);
  std::vector<std::string> gpus(first, first + static_cast<std::ptrdiff_t>(each));
  // Who has the node to itself may have more than anybody asked for: those are nobody's.
  const std::size_t end = std::min(all.size(), own + launch.spec.node.gpu_count);
  gpus.insert(gpus.end(), all.begin() + static_cast<std::ptrdiff_t>(own),
              all.begin() + static_cast<std::ptrdiff_t>(end));
  return gpus;
}

/// Of a task with one GPU: whose MPS daemon it is a client of, and how much it may use.
void add_mps(Variables& set, const std::vector<std::string>& gpus,
             const std::vector<MpsSeat>& seats) {
  for (const MpsSeat& seat : seats) {
    if (gpus.size() != 1 || seat.access.gpu != gpus.front()) continue;
    set.plain("CUDA_MPS_PIPE_DIRECTORY", seat.access.pipe_directory);
    set.plain("CUDA_MPS_LOG_DIRECTORY", seat.access.log_directory);
    set.plain("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", format("{}", seat.percent));
  }
}

}  // namespace

std::vector<std::string> job_environment(const proto::LaunchRun& launch,
                                         const EnvironmentContext& context) {
  const bool slurm = context.settings.slurm_environment;
  std::vector<std::string> list;
  list.reserve(launch.payload.environment.size() + 80);
  for (const std::string& variable : launch.payload.environment)
    if (!is_ours(variable, slurm) && !is_of_meeting(variable, launch, context.meeting_port))
      list.push_back(variable);
  Variables set(list, slurm);
  add_job(set, launch, context);
  add_shape(set, launch);
  add_gpu_counts(set, launch);
  add_node(set, launch, context);
  if (context.meeting_port == 0) return list;
  // Once more under our own names: who finds the two different knows that somebody chose.
  const std::string port = std::to_string(context.meeting_port);
  set.rota("MASTER_ADDR", launch.first_host);
  set.rota("MASTER_PORT", port);
  if (!is_wanted("MASTER_ADDR", launch.payload)) set.plain("MASTER_ADDR", launch.first_host);
  if (!is_wanted("MASTER_PORT", launch.payload)) set.plain("MASTER_PORT", port);
  return list;
}

std::vector<std::string> task_environment(const proto::LaunchRun& launch,
                                          const EnvironmentContext& context, std::uint32_t local) {
  const bool batch = launch.payload.mode != LaunchMode::tasks;
  std::vector<std::string> list;
  Variables set(list, context.settings.slurm_environment);
  set.both("PROCID", batch ? 0 : launch.part.task_first + local);
  set.both("LOCALID", local);
  if (batch) {
    set.both("GTIDS", 0);
  } else {
    std::vector<std::uint32_t> tasks(launch.part.task_count);
    std::iota(tasks.begin(), tasks.end(), launch.part.task_first);
    set.both("GTIDS", format("{}", fmt::join(tasks, ",")));
    set.both("STEP_ID", 0);
    set.both("STEPID", 0);
    set.both("STEP_NODELIST", hostlist_fold(launch.nodes));
    set.both("STEP_NUM_NODES", launch.nodes.size());
    set.both("STEP_NUM_TASKS", task_count_of(launch));
    set.both("STEP_TASKS_PER_NODE", repeated_list(launch.tasks_per_node));
    set.plain("RANK", std::to_string(launch.part.task_first + local));
    set.plain("LOCAL_RANK", std::to_string(local));
    set.plain("WORLD_SIZE", std::to_string(task_count_of(launch)));
  }
  const std::vector<std::string> gpus = gpus_of(launch, local);
  set.plain("CUDA_DEVICE_ORDER",
            "PCI_BUS_ID");  // NVML's order; by itself CUDA has the fastest first
  set.plain("CUDA_VISIBLE_DEVICES", joined(gpus));
  set.plain("NVIDIA_VISIBLE_DEVICES", gpus.empty() ? "void" : joined(gpus));
  set.plain("NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
  add_mps(set, gpus, context.mps);
  return list;
}

}  // namespace rota::gpud
