// gpud/launch/plan.cpp - output files, variables and cgroups of a run, before anything is started.
#include "gpud/launch/plan.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "common/escape.h"
#include "common/format.h"
#include "common/idset.h"
#include "gpud/launch/environment.h"
#include "gpud/launch/record.h"
#include "gpud/launch/secrets.h"
#include "gpud/share/books.h"
#include "model/output_path.h"
#include "model/secret.h"

namespace rota::gpud {
namespace {

Result<void> check(const proto::LaunchRun& launch) {
  const auto refuse = [](std::string why) { return Error{Errc::unsupported, std::move(why)}; };
  if (::geteuid() != 0 && launch.owner.uid != ::geteuid())
    return refuse(
        format("rgpud runs as uid {} and cannot start a job of uid {}: it must run as root",
               ::geteuid(), launch.owner.uid));
  if (launch.node_index >= launch.nodes.size())
    return refuse(format("this node is number {} of {}", launch.node_index, launch.nodes.size()));
  const JobPayload& payload = launch.payload;
  if (payload.mode != LaunchMode::batch && payload.mode != LaunchMode::tasks &&
      payload.mode != LaunchMode::hold)
    return refuse("this rgpud does not know how to run it");
  if (payload.mode == LaunchMode::tasks && payload.arguments.empty() && launch.spec.image.empty())
    return Error{Errc::launch_failed, "it names no command"};
  return {};
}

Result<void> check_container(const NodeFacts& facts) {
  if (::geteuid() != 0)
    return Error{Errc::unsupported, "rgpud must run as root to run jobs in containers"};
  if (facts.cgroups.tracking.empty())
    return Error{Errc::unsupported, "this node has no cgroup to keep a container's processes in"};
  return {};
}

std::uint32_t task_count_of(const proto::LaunchRun& launch) {
  if (launch.payload.mode == LaunchMode::tasks) return launch.part.task_count;
  return 1;  // the script, or what steps are put beside
}

Result<std::vector<TaskOrder>> plan_tasks(const proto::LaunchRun& launch,
                                          const EnvironmentContext& context) {
  const JobPayload& payload = launch.payload;
  const bool batch = payload.mode != LaunchMode::tasks;
  // What an earlier run or another node wrote is not ours to wipe out.
  const bool alone = launch.nodes.size() == 1 && !launch.spec.is_elastic();
  const bool fresh = launch.run.restart == 0 && (batch || alone);
  const bool in_array = bool(launch.array.of);
  std::set<std::string> seen;
  std::vector<TaskOrder> tasks(task_count_of(launch));
  for (std::uint32_t local = 0; local < tasks.size(); ++local) {
    TaskOrder& task = tasks[local];
    const OutputContext names{launch.run.job,   launch.run.restart,
                              launch.spec.name, launch.owner.user,
                              context.node,     batch ? 0 : launch.part.task_first + local,
                              launch.array.of,  launch.array.index};
    ROTA_TRY(task.stdout_path,
             output_path(stdout_pattern(payload, in_array), names, payload.working_directory));
    ROTA_TRY(task.stderr_path,
             output_path(stderr_pattern(payload, in_array), names, payload.working_directory));
    if (task.stderr_path == task.stdout_path) task.stderr_path.clear();
    task.stdout_truncated = fresh && seen.insert(task.stdout_path).second;
    task.stderr_truncated =
        fresh && !task.stderr_path.empty() && seen.insert(task.stderr_path).second;
    task.environment = task_environment(launch, context, local);
  }
  return tasks;
}

/// Of an instance both files, and its GPU's own, which all who have a part of it open.
Result<void> open_instance(const MigDevice& instance, const NodeFacts& facts, DeviceGate& gate) {
  if (instance.gpu >= facts.gpus.size())
    return Error{Errc::unsupported, format("this node has no GPU {} to cut", instance.gpu)};
  const std::uint32_t minor = facts.gpus[instance.gpu].minor;
  if (std::ranges::find(gate.open, minor) == gate.open.end()) gate.open.push_back(minor);
  if (gate.caps_major == 0) return {};
  const auto outer = facts.caps.of_instance(minor, instance.instance);
  const auto inner = facts.caps.of_compute(minor, instance.instance, instance.compute);
  if (!outer || !inner)
    return Error{Errc::unsupported,
                 format("the driver names no device file for {}", instance.uuid)};
  gate.caps_open.push_back(*outer);
  gate.caps_open.push_back(*inner);
  return {};
}

Result<DeviceGate> gate_for(const proto::LaunchRun& launch, const std::vector<MigDevice>& instances,
                            const NodeFacts& facts) {
  DeviceGate gate;
  gate.is_closed = facts.closes_gpus;
  if (gate.is_closed) gate.caps_major = facts.caps.major();
  for (const MigDevice& instance : instances) ROTA_CHECK(open_instance(instance, facts, gate));
  std::vector<std::uint32_t> minors;
  const std::vector<std::string>& own = launch.gpu_uuids;
  for (const Gpu& gpu : facts.gpus) {
    minors.push_back(gpu.minor);
    if (std::ranges::find(gate.open, gpu.minor) != gate.open.end()) continue;
    const bool is_own = instances.empty() && std::ranges::find(own, gpu.uuid) != own.end();
    (is_own ? gate.open : gate.shut).push_back(gpu.minor);
  }
  // cgroup v1 has no other way than to name each file; v2 closes the major.
  if (gate.caps_major != 0 && !facts.cgroups.devices_v2) {
    gate.caps_shut = facts.caps.all(minors);
    std::erase_if(gate.caps_shut, [&](std::uint32_t minor) {
      return std::ranges::find(gate.caps_open, minor) != gate.caps_open.end();
    });
  }
  return gate;
}

/// The NUMA nodes of its GPUs and of the cores that it is bound to. Where that is all there are, or
/// nothing is known, nothing is bound.
MemoryBinding plan_memory(const StepOrder& order, const NodeFacts& facts) {
  MemoryBinding binding;
  if (facts.bind_memory == "none" || order.cpu_list.empty()) return binding;
  std::set<std::int32_t> all, near;
  for (const Cpu& cpu : facts.cpus) {
    all.insert(cpu.numa_node);
    if (std::ranges::binary_search(order.cpus, cpu.index)) near.insert(cpu.numa_node);
  }
  for (const Gpu& gpu : facts.gpus)
    if (std::ranges::find(order.launch.gpu_uuids, gpu.uuid) != order.launch.gpu_uuids.end() &&
        all.contains(gpu.numa_node))
      near.insert(gpu.numa_node);
  if (near.contains(-1) || near.size() == all.size()) return binding;
  binding.nodes.assign(near.begin(), near.end());
  binding.strict = facts.bind_memory == "strict";
  return binding;
}

/// The shares of a job that has parts of GPUs; none for one with whole ones.
Result<ShareOrder> plan_share(const proto::LaunchRun& launch, const NodeFacts& facts) {
  ShareOrder share;
  const NodePart& part = launch.part;
  if (!part.mig.empty()) return share;  // the hardware keeps them apart
  if (part.gpu_share == 0 && part.gpu_memory_mib == 0) return share;
  if (facts.shares.shim_dir.empty())
    return Error{Errc::unsupported, "this node cannot limit what a job takes of a GPU's memory"};
  if (launch.gpu_uuids.size() > rota_region_gpu_max)
    return Error{Errc::launch_failed,
                 format("parts of {} GPUs on one node; at most {} are possible",
                        launch.gpu_uuids.size(), int{rota_region_gpu_max})};
  for (const std::string& uuid : launch.gpu_uuids) {
    const auto gpu = std::ranges::find(facts.gpus, uuid, &Gpu::uuid);
    if (gpu == facts.gpus.end() || !uuid_bytes(uuid))
      return Error{Errc::unsupported, format("this node knows no GPU '{}' to share", uuid)};
    GpuShare& own = share.gpus.emplace_back();
    own.uuid = uuid;
    own.limit_bytes = share_limit(gpu->memory_bytes, part.gpu_share, part.gpu_memory_mib);
    const TaskRequest& asked = launch.spec.task;
    if (asked.gpu_share_limit == 0 && asked.gpu_memory_limit_mib == 0) continue;
    own.request_bytes = own.limit_bytes;
    own.limit_bytes =
        std::max(own.request_bytes,
                 share_limit(gpu->memory_bytes, asked.gpu_share_limit, asked.gpu_memory_limit_mib));
  }
  share.directory = facts.scripts_dir + '/' + run_name(launch.run) + share_suffix;
  share.shim_dir = facts.shares.shim_dir;
  share.real_cuda = facts.shares.driver.cuda;
  share.real_nvml = facts.shares.driver.nvml;
  share.driver_limits = facts.shares.driver_limits;
  for (char** variable = environ; share.driver_limits && *variable != nullptr; ++variable)
    share.driver_environment.emplace_back(*variable);
  return share;
}

/// As many percent as it has of the GPU's memory, rounded up.
std::uint32_t percent_by_memory(std::uint64_t memory_bytes, std::uint32_t part_mib) {
  const std::uint64_t total_mib = std::max<std::uint64_t>(memory_bytes >> 20, 1);
  const std::uint64_t percent = (std::uint64_t{part_mib} * 100 + total_mib - 1) / total_mib;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(percent, 1, 100));
}

/// The compute share on each of its GPUs; none for a job that has not asked for it.
Result<std::vector<MpsSeat>> plan_mps(const proto::LaunchRun& launch,
                                      const std::vector<MpsAccess>& doors, const NodeFacts& facts) {
  std::vector<MpsSeat> seats;
  const TaskRequest& task = launch.spec.task;
  if (!task.uses_mps()) return seats;
  for (const std::string& uuid : launch.gpu_uuids) {
    const auto gpu = std::ranges::find(facts.gpus, uuid, &Gpu::uuid);
    const auto door = std::ranges::find(doors, uuid, &MpsAccess::gpu);
    if (gpu == facts.gpus.end() || door == doors.end())
      return Error{Errc::unsupported, format("this node has no MPS daemon for {}", uuid)};
    const bool by_memory = task.mps_percent == TaskRequest::mps_by_memory;
    const std::uint32_t percent =
        by_memory ? percent_by_memory(gpu->memory_bytes, task.gpu_memory_mib) : task.mps_percent;
    seats.push_back({*door, percent});
  }
  return seats;
}

/// Where the files of its secrets are for its processes; "": it has none.
Result<std::string> plan_secrets(const proto::LaunchRun& launch, ContainerKind kind,
                                 const NodeFacts& facts) {
  const JobPayload& payload = launch.payload;
  const bool in_container = kind != ContainerKind::none;
  ROTA_CHECK(validate_secrets(payload.secrets, in_container));
  for (const SecretUse& use : payload.secrets)
    if (secret_value(launch.secrets, use.name) == nullptr)
      return Error{Errc::launch_failed,
                   format("the controller sent no secret {} with it", quoted(use.name))};
  if (!has_secret_files(payload.secrets)) return std::string();
  if (kind == ContainerKind::enroot)
    return Error{Errc::unsupported,
                 "enroot's containers get secrets as variables only: leave out the file's name"};
  if (in_container) return format("{}/{}", box_place, box_secrets);
  if (facts.secrets_base.empty())
    return Error{Errc::unsupported,
                 "this node has no tmpfs at /run or /dev/shm for the files of its secrets"};
  return format("{}/{}", facts.secrets_base, run_name(launch.run));
}

/// Of the variables that the submitter had, those that nobody has asked for and we have not set.
std::vector<std::string> weak_names(const std::vector<std::string>& submitted,
                                    const JobPayload& payload) {
  const auto has = [](const std::vector<std::string>& list, const std::string& variable) {
    return std::ranges::find(list, variable) != list.end();
  };
  std::vector<std::string> names;
  for (const std::string& variable : submitted)
    if (has(payload.environment, variable) && !has(payload.container.environment, variable))
      names.push_back(variable.substr(0, variable.find('=')));
  return names;
}

/// Their credentials are in their home. No helper program is found by a URL, and nobody is asked.
void plan_fetch(const proto::LaunchRun& launch, const NodeFacts& facts, bool in_container,
                FetchOrder& fetch) {
  if (launch.payload.git.empty()) return;
  if (in_container)
    fetch.directory = format("{}/{}{}", facts.scripts_dir, run_name(launch.run), fetch_suffix);
  fetch.limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(facts.git_limit).count();
  fetch.bytes_max = facts.git_bytes_max;
  fetch.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "GIT_TERMINAL_PROMPT=0",
                       "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file", "LC_ALL=C.UTF-8"};
  for (const std::string& variable : launch.payload.environment)
    if (variable.starts_with("HOME=") || variable.starts_with("USER="))
      fetch.environment.push_back(variable);
}

}  // namespace

std::string run_token(const NodeFacts& facts, RunId run) {
  return facts.cgroups.node_directory + '/' + run_name(run);
}

Result<StepOrder> plan_step(proto::LaunchRun launch, std::vector<std::uint32_t> cpus,
                            std::vector<std::uint32_t> groups, const NodeFacts& facts,
                            const NodeSettings& settings, WallTime start_time,
                            const Provision& provision) {
  ROTA_CHECK(check(launch));
  const std::vector<MigDevice>& instances = provision.instances;
  ROTA_TRY(const ContainerKind kind, container_kind(launch, facts.containers));
  StepOrder order;
  const bool is_beside_script = launch.payload.mode == LaunchMode::batch && launch.node_index > 0;
  // Those of the first node are seen here as well, or are of no use here.
  if (is_beside_script && kind == ContainerKind::none) launch.payload.git.clear();
  plan_fetch(launch, facts, kind != ContainerKind::none, order.fetch);
  if (kind != ContainerKind::none) {
    ROTA_CHECK(check_container(facts));
    launch.payload.environment = container_environment(launch.payload, provision.image);
  }
  if (instances.size() != launch.part.mig.size())
    return Error{Errc::unsupported, "this node cannot cut GPUs into MIG instances"};
  const RunId run = launch.run;
  const std::string token = run_token(facts, run);
  ROTA_TRY(std::vector<MpsSeat> seats, plan_mps(launch, provision.mps, facts));
  ROTA_TRY(const std::string secrets_dir, plan_secrets(launch, kind, facts));
  const EnvironmentContext context{settings,
                                   facts.name,
                                   token,
                                   start_time,
                                   std::move(seats),
                                   secrets_dir,
                                   provision.meeting_port};
  if (kind == ContainerKind::none) order.secrets_dir = secrets_dir;
  ROTA_TRY(order.share, plan_share(launch, facts));
  ROTA_TRY(order.devices, gate_for(launch, instances, facts));
  // Its variables name the instances; the record keeps the GPUs that they lie on.
  std::vector<std::string> gpu_uuids = launch.gpu_uuids;
  if (!instances.empty()) launch.gpu_uuids.clear();
  for (const MigDevice& instance : instances) launch.gpu_uuids.push_back(instance.uuid);
  ROTA_TRY(order.tasks, plan_tasks(launch, context));
  const std::vector<std::string> submitted = std::move(launch.payload.environment);
  launch.payload.environment = submitted;
  launch.payload.environment = job_environment(launch, context);
  if (facts.binds_cpus) order.cpu_list = idset_format(cpus);
  order.script_path = facts.scripts_dir + '/' + run_name(run);
  if (kind != ContainerKind::none) {
    const std::string directory = order.script_path + container_suffix;
    ROTA_TRY(order.container, plan_container(launch, kind, provision.image, facts.containers,
                                             directory, order.cpu_list));
    if (is_beside_script) {  // what is kept is the script's container, and that is another one
      order.container.keep.clear();
      order.container.save.clear();
    }
    if (kind == ContainerKind::enroot)
      order.container.weak_names = weak_names(submitted, launch.payload);
    order.script_path = directory + '/' + box_script;
    for (const MpsSeat& seat : context.mps)
      for (const std::string& place : {seat.access.pipe_directory, seat.access.log_directory})
        order.container.mounts.push_back({place, place, false});
    const std::vector<GitSource>& sources = launch.payload.git;
    for (std::size_t i = 0; i < sources.size(); ++i)
      order.container.mounts.push_back(
          {format("{}/{}", order.fetch.directory, i), sources[i].target, false});
  }
  launch.gpu_uuids = std::move(gpu_uuids);
  order.launch = std::move(launch);
  order.groups = std::move(groups);
  order.cpus = std::move(cpus);
  order.cgroups = facts.cgroups.plan_for(run_name(run));
  order.memory_nodes = facts.cgroups.memory_nodes;
  order.memory = plan_memory(order, facts);
  order.boot_id = facts.boot_id;
  order.spool_dir = facts.spool_dir;
  order.kill_wait_ms = settings.kill_wait_ms;
  order.unkillable_after_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(facts.unkillable_after).count();
  order.slurm_environment = settings.slurm_environment;
  const bool is_allocation = order.launch.payload.mode == LaunchMode::hold;
  order.holds = is_allocation || is_beside_script;
  if (is_allocation && order.launch.node_index == 0)
    order.linger_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(facts.session_linger).count();
  return order;
}

}  // namespace rota::gpud
