// model/job.cpp - the words of a job's states, and what a job may ask.
#include "model/job.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/door.h"
#include "model/output_path.h"
#include "model/secret.h"
#include "model/sources.h"

namespace rota {
namespace {

struct StateWords {
  JobState state;
  std::string_view name;
  std::string_view code;
};
constexpr std::array state_words{
    StateWords{JobState::pending, "PENDING", "PD"},
    StateWords{JobState::starting, "STARTING", "CF"},
    StateWords{JobState::running, "RUNNING", "R"},
    StateWords{JobState::completing, "COMPLETING", "CG"},
    StateWords{JobState::preempted, "PREEMPTED", "PR"},
    StateWords{JobState::suspended, "SUSPENDED", "S"},
    StateWords{JobState::completed, "COMPLETED", "CD"},
    StateWords{JobState::failed, "FAILED", "F"},
    StateWords{JobState::cancelled, "CANCELLED", "CA"},
    StateWords{JobState::timeout, "TIMEOUT", "TO"},
    StateWords{JobState::node_fail, "NODE_FAIL", "NF"},
    StateWords{JobState::out_of_memory, "OUT_OF_MEMORY", "OOM"},
    StateWords{JobState::launch_failed, "LAUNCH_FAILED", "LF"},
    StateWords{JobState::deadline, "DEADLINE", "DL"},
};

struct KindWord {
  JobKind kind;
  std::string_view name;
};
constexpr std::array kind_words{KindWord{JobKind::train, "train"},
                                KindWord{JobKind::interactive, "interactive"},
                                KindWord{JobKind::inference, "inference"}};

struct PriorityWord {
  std::string_view name;
  std::int32_t priority;
};
constexpr std::array priority_words{PriorityWord{"very-low", 25},    PriorityWord{"low", 40},
                                    PriorityWord{"medium-low", 65},  PriorityWord{"medium", 80},
                                    PriorityWord{"medium-high", 90}, PriorityWord{"high", 125},
                                    PriorityWord{"very-high", 150}};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

Error invalid(std::string detail) { return {Errc::job_invalid, std::move(detail)}; }

Result<void> check_word(std::string_view what, std::string_view text, bool may_be_empty) {
  if (text.empty() && !may_be_empty) return invalid(format("{} is empty", what));
  if (text.size() > JobBounds::name_bytes_max)
    return invalid(format("{} has {} bytes, at most {} are allowed", what, text.size(),
                          JobBounds::name_bytes_max));
  const auto bad =
      std::find_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (bad != text.end())
    return invalid(format("{} has a control character at byte {}", what, bad - text.begin() + 1));
  return {};
}

Result<void> check_count(std::string_view what, std::uint64_t count, std::uint64_t min,
                         std::uint64_t max) {
  if (count < min || count > max)
    return invalid(format("{} is {}, it must be {} to {}", what, count, min, max));
  return {};
}

Result<void> check_pattern(std::string_view what, const std::string& pattern) {
  if (pattern.size() > JobBounds::path_bytes_max)
    return invalid(format("{} has {} bytes, at most {} are allowed", what, pattern.size(),
                          JobBounds::path_bytes_max));
  if (auto path = output_path(pattern, OutputContext{}, "/"); !path)
    return invalid(format("{}: {}", what, path.error().detail));
  return {};
}

}  // namespace

std::string_view name_of(JobState state) {
  for (const auto& words : state_words)
    if (words.state == state) return words.name;
  return "UNKNOWN";
}

std::string_view code_of(JobState state) {
  for (const auto& words : state_words)
    if (words.state == state) return words.code;
  return "?";
}

std::optional<JobState> job_state_from(std::string_view text) {
  for (const auto& words : state_words)
    if (same_word(text, words.name) || same_word(text, words.code)) return words.state;
  return std::nullopt;
}

std::string_view name_of(JobKind kind) {
  for (const auto& word : kind_words)
    if (word.kind == kind) return word.name;
  return "unknown";
}

std::optional<JobKind> job_kind_from(std::string_view text) {
  for (const auto& word : kind_words)
    if (same_word(text, word.name)) return word.kind;
  return std::nullopt;
}

namespace {
constexpr std::array<std::string_view, 4> preemptibility_names{"by-kind", "preemptible",
                                                               "non-preemptible", "semi"};
}  // namespace

std::string_view name_of(Preemptibility preemptibility) {
  const auto number = static_cast<std::size_t>(preemptibility);
  return number < preemptibility_names.size() ? preemptibility_names[number] : "unknown";
}

std::optional<Preemptibility> preemptibility_from(std::string_view text) {
  for (std::size_t i = 1; i < preemptibility_names.size(); ++i)
    if (text == preemptibility_names[i]) return static_cast<Preemptibility>(i);
  return std::nullopt;
}

std::optional<std::int32_t> priority_from(std::string_view text) {
  for (const auto& word : priority_words)
    if (same_word(text, word.name)) return word.priority;
  const auto number = number_parse(text, JobBounds::priority_max);
  if (!number || *number == 0) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

static std::int32_t priority_of_kind(const JobSpec& spec) {
  switch (spec.kind) {
    case JobKind::interactive:
      return spec.preemptibility_or_kinds() == Preemptibility::yes ? 75 : 100;
    case JobKind::inference:
      return 125;
    default:
      return 50;
  }
}

std::int32_t JobSpec::priority_or_kinds() const {
  const std::int32_t own = priority != 0 ? priority : priority_of_kind(*this);
  return std::clamp(own - rules->nice, 1, JobBounds::priority_max);
}

std::string_view name_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::none:
      return "None";
    case WaitReason::resources:
      return "Resources";
    case WaitReason::priority:
      return "Priority";
    case WaitReason::node_down:
      return "ReqNodeNotAvail";
    case WaitReason::limit:
      return "ProjectLimit";
    case WaitReason::quota:
      return "ProjectQuota";
    case WaitReason::promised:
      return "Preempting";
    case WaitReason::start_failed:
      return "StartFailed";
    case WaitReason::held_by_user:
      return "JobHeldUser";
    case WaitReason::held_by_admin:
      return "JobHeldAdmin";
    case WaitReason::dependency:
      return "Dependency";
    case WaitReason::dependency_never:
      return "DependencyNeverSatisfied";
    case WaitReason::begin_time:
      return "BeginTime";
    case WaitReason::array_limit:
      return "JobArrayTaskLimit";
  }
  return "Unknown";
}

std::string gpu_part_text(const TaskRequest& task) {
  if (task.gpu_share > 0) return format("{} of ", decimal_format(task.gpu_share, 6));
  if (task.gpu_memory_mib > 0)
    return format("{} of ", size_format(std::uint64_t{task.gpu_memory_mib} << 20));
  return {};
}

std::string mps_text(const TaskRequest& task) {
  if (!task.uses_mps()) return {};
  if (task.mps_percent == TaskRequest::mps_by_memory) return "by memory";
  return format("{}%", task.mps_percent);
}

/// A part of GPUs belongs to tasks, and is asked for in one way.
static Result<void> check_share(const JobSpec& spec) {
  const TaskRequest& task = spec.task;
  if (!task.shares_gpus()) {
    if (task.gpu_share_limit > 0 || task.gpu_memory_limit_mib > 0)
      return invalid("a limit stands above a part of a GPU: ask for a part as well");
    return {};
  }
  if (task.gpu_share > 0 && task.gpu_memory_mib > 0)
    return invalid("a part of a GPU is asked for both as a share and as memory: leave one out");
  if (task.gpu_share > 0 &&
      (task.gpu_share < JobBounds::gpu_share_min || task.gpu_share >= gpu_unit))
    return invalid(format("the share of a GPU is {}, it must be {} or more and less than 1",
                          decimal_format(task.gpu_share, 6),
                          decimal_format(JobBounds::gpu_share_min, 6)));
  if (task.gpu_memory_mib > JobBounds::gpu_memory_mib_max)
    return invalid(format("the memory of a GPU is {} MiB, it must be 1 to {}", task.gpu_memory_mib,
                          JobBounds::gpu_memory_mib_max));
  if (task.gpu_share_limit > 0 && (task.gpu_share == 0 || task.gpu_share_limit < task.gpu_share ||
                                   task.gpu_share_limit > gpu_unit))
    return invalid(
        format("the limit above a share of a GPU is {}, it must be the share or more and "
               "at most 1",
               decimal_format(task.gpu_share_limit, 6)));
  if (task.gpu_memory_limit_mib > 0 &&
      (task.gpu_memory_mib == 0 || task.gpu_memory_limit_mib < task.gpu_memory_mib ||
       task.gpu_memory_limit_mib > JobBounds::gpu_memory_mib_max))
    return invalid(
        format("the limit above the memory of a GPU is {} MiB, it must be what is asked for or "
               "more, and at most {}",
               task.gpu_memory_limit_mib, JobBounds::gpu_memory_mib_max));
  if (task.gpu_count == 0 || spec.node.gpu_count > 0)
    return invalid("a part of a GPU is asked for by tasks: give GPUs per task, none per node");
  return {};
}

/// MIG instances belong to tasks, and stand in the place of GPUs.
static Result<void> check_mig(const JobSpec& spec) {
  const TaskRequest& task = spec.task;
  if (!task.uses_mig()) {
    if (task.mig_count > 0) return invalid("MIG instances are asked for without their profile");
    return {};
  }
  if (task.mig_profile == TaskRequest::mig_auto) {
    if (task.mig_count > 0 || !task.shares_gpus())
      return invalid(
          "MIG auto is for a part of a GPU: give a share, as 0.5, or an amount of GPU memory");
    if (task.gpu_share_limit > 0 || task.gpu_memory_limit_mib > 0)
      return invalid("a MIG instance has one size: a limit above the part cannot be had of it");
    return {};
  }
  if (!MigName::parse(task.mig_profile))
    return invalid(format("{} is not the name of a MIG profile; one is written as 3g.20gb",
                          quoted(task.mig_profile.str())));
  ROTA_CHECK(
      check_count("MIG instances per task", task.mig_count, 1, JobBounds::gpus_per_task_max));
  if (task.gpu_count > 0 || spec.node.gpu_count > 0 || task.shares_gpus())
    return invalid("MIG instances and GPUs are asked for together: leave one out");
  return {};
}

/// A share of the compute is of one GPU: a program speaks to one MPS daemon, and each serves one.
static Result<void> check_mps(const JobSpec& spec) {
  const TaskRequest& task = spec.task;
  if (!task.uses_mps()) return {};
  if (task.uses_mig())
    return invalid(
        "a compute share by MPS and MIG instances are asked for together: leave one out");
  if (spec.node.gpu_count > 0)
    return invalid("a compute share by MPS is of the GPU of each task: give none per node");
  if (task.gpu_count != 1)
    return invalid(
        format("a compute share by MPS is for tasks with one GPU or a part of one, and "
               "these have {}",
               task.gpu_count));
  if (task.mps_percent == TaskRequest::mps_by_memory && task.gpu_memory_mib > 0) return {};
  return check_count("the compute share by MPS in percent", task.mps_percent, 1,
                     JobBounds::mps_percent_max);
}

/// It grows and shrinks by nodes that are all alike.
static Result<void> check_elastic(const JobSpec& spec) {
  if (!spec.is_elastic()) return {};
  if (spec.node_count == 0)
    return invalid("an elastic job says how many nodes it needs at least: 1 or more");
  ROTA_CHECK(check_count("the largest number of nodes", spec.node_count_max, spec.node_count + 1,
                         JobBounds::node_count_max));
  if (spec.task_count % spec.node_count != 0)
    return invalid(
        format("an elastic job has the same number of tasks on every node; {} tasks do "
               "not divide into {} nodes",
               spec.task_count, spec.node_count));
  const std::uint64_t most = std::uint64_t{spec.tasks_per_node()} * spec.node_count_max;
  if (most > JobBounds::task_count_max)
    return invalid(format("{} nodes with {} tasks each are {} tasks, at most {} are allowed",
                          spec.node_count_max, spec.tasks_per_node(), most,
                          JobBounds::task_count_max));
  return {};
}

/// It gets all GPUs of its nodes, so a part of one is not what it wants.
static Result<void> check_exclusive(const JobSpec& spec) {
  if (!spec.rules->exclusive || (!spec.task.shares_gpus() && !spec.task.uses_mig())) return {};
  return invalid(
      "a job that has its nodes to itself gets whole GPUs: ask for whole ones, or leave out "
      "--exclusive");
}

/// Nodes in groups of one size.
static Result<void> check_segment(const JobSpec& spec) {
  const std::uint32_t size = spec.topology->segment;
  if (size == 0) return {};
  ROTA_CHECK(check_count("the number of nodes in a segment", size, 1, JobBounds::node_count_max));
  if (spec.is_elastic())
    return invalid(
        format("segments of {} nodes cannot grow from {} to {} nodes; ask for one number "
               "of nodes",
               size, spec.node_count, spec.node_count_max));
  if (spec.node_count == 0)
    return invalid(
        format("segments of {} nodes need a number of nodes: {}, or a multiple of it", size, size));
  if (spec.node_count % size == 0) return {};
  const std::uint32_t less = spec.node_count / size * size;
  return invalid(format("{} nodes do not divide into segments of {}; ask for {} nodes",
                        spec.node_count, size,
                        less == 0 ? format("{}", size) : format("{} or {}", less, less + size)));
}

Result<void> validate(const JobSpec& spec) {
  ROTA_CHECK(check_word("the job's name", spec.name, false));
  ROTA_CHECK(check_word("the project", spec.project, true));
  ROTA_CHECK(check_word("the queue", spec.queue, true));
  if (name_of(spec.kind) == "unknown")
    return invalid("the kind is none of train, interactive, inference");
  if (spec.preemptibility > Preemptibility::semi)
    return invalid("whether it may be preempted is none of by kind, yes, no, semi");
  if (spec.background &&
      (spec.kind != JobKind::train || spec.preemptibility_or_kinds() != Preemptibility::yes))
    return invalid(
        "a job in the background gives way to all others: it is of kind train and preemptible");
  if (spec.is_semi_preemptible() && !spec.is_elastic())
    return invalid(
        "semi-preemptible is a job that can do with fewer nodes: ask for a range, such as -N 4-8");
  if (spec.priority < 0 || spec.priority > JobBounds::priority_max)
    return invalid(format("the priority is {}, it must be 1 to {}, or 0 for its kind's",
                          spec.priority, JobBounds::priority_max));
  ROTA_CHECK(check_count("the number of tasks", spec.task_count, 1, JobBounds::task_count_max));
  ROTA_CHECK(check_count("the number of nodes", spec.node_count, 0, JobBounds::node_count_max));
  if (spec.node_count > spec.task_count)
    return invalid(format("{} nodes for {} task{}: every node needs at least one task",
                          spec.node_count, spec.task_count, spec.task_count == 1 ? "" : "s"));
  ROTA_CHECK(check_elastic(spec));
  ROTA_CHECK(check_count("GPUs per task", spec.task.gpu_count, 0, JobBounds::gpus_per_task_max));
  ROTA_CHECK(check_count("GPUs per node", spec.node.gpu_count, 0, JobBounds::gpus_per_task_max));
  ROTA_CHECK(check_share(spec));
  ROTA_CHECK(check_mig(spec));
  ROTA_CHECK(check_mps(spec));
  ROTA_CHECK(check_count("CPUs per task", spec.task.cpu_count, 1, JobBounds::cpus_per_task_max));
  // 8 TiB a task times a million tasks still fits 64 bits, so no sum over a job can overflow.
  constexpr std::uint64_t memory_max = std::uint64_t{1} << 43;
  ROTA_CHECK(check_count("memory per task", spec.task.memory_bytes, 0, memory_max));
  ROTA_CHECK(check_count("memory per node", spec.node.memory_bytes, 0, memory_max));
  if (spec.time_limit_seconds < 0 || spec.time_limit_seconds > JobBounds::time_limit_seconds_max)
    return invalid(format("the time limit is {} s, it must be 0 to {}", spec.time_limit_seconds,
                          JobBounds::time_limit_seconds_max));
  if (!spec.image.empty()) ROTA_CHECK(validate_image(spec.image));
  ROTA_CHECK(validate(*spec.nodes));
  ROTA_CHECK(validate(*spec.topology));
  ROTA_CHECK(validate(*spec.service));
  ROTA_CHECK(validate(*spec.rules));
  ROTA_CHECK(check_segment(spec));
  ROTA_CHECK(check_exclusive(spec));
  if (spec.signal > JobBounds::signal_max)
    return invalid(format("the signal is {}, it must be 1 to {}, or 0 for SIGTERM", spec.signal,
                          JobBounds::signal_max));
  if (spec.signal_seconds < 0 || spec.signal_seconds > JobBounds::signal_seconds_max)
    return invalid(format("the signal comes {} s before the time limit, it must be 0 to {}",
                          spec.signal_seconds, JobBounds::signal_seconds_max));
  if (spec.grace_seconds < -1 || spec.grace_seconds > JobBounds::grace_seconds_max)
    return invalid(format("the grace is {} s, it must be 0 to {}", spec.grace_seconds,
                          JobBounds::grace_seconds_max));
  return {};
}

Result<void> validate(const JobPayload& payload) {
  const bool batch = payload.mode == LaunchMode::batch;
  const bool hold = payload.mode == LaunchMode::hold;
  if (!batch && !hold && payload.mode != LaunchMode::tasks)
    return invalid("the launch mode is unknown");
  if (batch && payload.script.empty()) return invalid("the script is empty");
  if (payload.script.size() > JobBounds::script_bytes_max)
    return invalid(format("the script has {} bytes, at most {} are allowed", payload.script.size(),
                          JobBounds::script_bytes_max));
  if (hold && !payload.arguments.empty()) return invalid("an allocation runs no command itself");
  std::size_t bytes = 0;
  for (const auto& word : payload.arguments) bytes += word.size() + 1;
  for (const auto& variable : payload.environment) {
    bytes += variable.size() + 1;
    const auto equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid(format("environment entry '{}' is not NAME=value", variable.substr(0, 40)));
    if (variable.find('\0') != std::string::npos)
      return invalid(format("environment variable {} has a NUL byte", variable.substr(0, equals)));
  }
  for (const auto& word : payload.arguments)
    if (word.find('\0') != std::string::npos) return invalid("an argument has a NUL byte");
  if (bytes > JobBounds::environment_bytes_max)
    return invalid(format("environment and arguments have {} bytes, at most {} are allowed", bytes,
                          JobBounds::environment_bytes_max));
  if (payload.working_directory.empty() || payload.working_directory.front() != '/' ||
      payload.working_directory.size() > JobBounds::path_bytes_max ||
      payload.working_directory.find('\0') != std::string::npos)
    return invalid("the working directory must be an absolute path");
  if (payload.limits.size() > 64) return invalid("more than 64 resource limits");
  ROTA_CHECK(check_pattern("the output file", payload.stdout_pattern));
  ROTA_CHECK(check_pattern("the error file", payload.stderr_pattern));
  ROTA_CHECK(check_pattern("the input file", payload.stdin_path));
  ROTA_CHECK(validate(payload.container));
  if (payload.container.data.size() > SourceBounds::data_max)
    return invalid(format("{} volumes, at most {} are allowed", payload.container.data.size(),
                          SourceBounds::data_max));
  for (const DataMount& data : payload.container.data) ROTA_CHECK(validate(data));
  if (payload.git.size() > SourceBounds::git_max)
    return invalid(format("{} git sources, at most {} are allowed", payload.git.size(),
                          SourceBounds::git_max));
  for (const GitSource& git : payload.git) ROTA_CHECK(validate(git));
  return check_word("the submit host", payload.submit_host, true);
}

Result<void> validate(const JobSpec& spec, const JobPayload& payload) {
  const ContainerSpec& container = payload.container;
  const bool in_image =
      (!spec.image.empty() || !container.name.empty()) && container.runtime != "none";
  // An image may say itself what it runs.
  if (payload.mode == LaunchMode::tasks && payload.arguments.empty() && !in_image)
    return invalid("there is no command to run");
  if (!in_image && (!container.mounts.empty() || !container.data.empty()))
    return invalid("mounts are for a job with an image: give one, or leave them out");
  if (!in_image && (!container.name.empty() || !container.save.empty()))
    return invalid("only the files of a container can be kept or saved: give an image");
  // Each node would make the same directory.
  if (!in_image && !payload.git.empty() && spec.node_count > 1)
    return invalid("--git without an image is for jobs on one node");
  ROTA_CHECK(validate_secrets(payload.secrets, in_image));
  // A script is one process with the GPUs of all tasks of its node; so is what an allocation holds.
  if (spec.task.uses_mps() && payload.mode != LaunchMode::tasks &&
      spec.task_count > std::max<std::uint32_t>(spec.node_count, 1))
    return invalid(format(
        "a compute share by MPS is of one GPU, and a script has those of all {} tasks; run a "
        "command for each task instead (rsubmit ... -- COMMAND), or one task on each node",
        spec.task_count));
  return {};
}

std::string id_text(const JobView& job) {
  if (job.array.of) return format("{}_{}", job.array.of.value, job.array.index);
  if (job.waiting.empty() || is_final(job.state)) return format("{}", job.id.value);
  ArrayWish left = job.spec.rules->array;
  left.tasks = job.waiting;
  return format("{}_[{}]", job.id.value, text_of(left));
}

/// By its own number, by its array's, or by both.
static bool is_named(const JobFilter& filter, const Job& job) {
  if (!filter.names_jobs()) return true;
  const auto has = [&filter](JobId id) {
    return std::find(filter.jobs.begin(), filter.jobs.end(), id) != filter.jobs.end();
  };
  if (has(job.id) || (job.array->of && has(job.array->of))) return true;
  return std::any_of(filter.tasks.begin(), filter.tasks.end(), [&job](const ArrayTasks& each) {
    // Of those that have not started, the array itself tells.
    return each.array == job.id ||
           (each.array == job.array->of && each.tasks.contains(job.array->index));
  });
}

bool matches(const JobFilter& filter, const Job& job) {
  const auto has = [](const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  if (!is_named(filter, job) || !has(filter.users, job.owner.user) ||
      !has(filter.projects, job.spec.project) || !has(filter.names, job.spec.name) ||
      !has(filter.states, job.state))
    return false;
  return filter.ended_too || !filter.states.empty() || filter.names_jobs() || !is_final(job.state);
}

}  // namespace rota
