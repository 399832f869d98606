// commands/submit_options.cpp - reads the values of rsubmit's options.
#include "commands/submit_options.h"

#include <algorithm>
#include <array>

#include "commands/container_options.h"
#include "commands/gpu_options.h"
#include "commands/rule_options.h"
#include "commands/secret_options.h"
#include "commands/service_options.h"
#include "commands/signals.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/output_path.h"

namespace rota::commands {
namespace {

enum : int {
  id_name = option_own,
  id_project,
  id_gpus,
  id_gpus_per_node,
  id_gpus_per_task,
  id_gpu_memory,
  id_gpu_devices,
  id_mig,
  id_mps,
  id_nodes,
  id_tasks,
  id_tasks_per_node,
  id_cpus_per_task,
  id_memory,
  id_memory_per_cpu,
  id_memory_per_gpu,
  id_cpus_per_gpu,
  id_tasks_per_gpu,
  id_time,
  id_output,
  id_error,
  id_directory,
  id_kind,
  id_interactive,
  id_inference,
  id_queue,
  id_priority,
  id_preemptible,
  id_non_preemptible,
  id_preemptibility,
  id_background,
  id_signal,
  id_grace,
  id_nodelist,
  id_exclude,
  id_constraint,
  id_topology,
  id_segment,
  id_requeue,
  id_no_requeue,
  id_secret,
  id_port,
  id_url,
  id_export,
  id_external_url,
  id_wrap,
  id_wait,
  id_parsable,
  id_json,
  id_quiet,
  id_strict,
  id_slurm,
  id_template,
  id_input,
};

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr auto job = Scope::script;
constexpr auto table = std::to_array<Option>({
    {id_name, 'J', "job-name", "NAME", "name of the job; default: the script's or command's name",
     job, "name"},
    {id_project, 'A', "project", "NAME", "project that the job belongs to", job, "account"},
    {id_queue, 'p', "queue", "NAME", "queue that the job goes through; default: the project's", job,
     "partition"},
    {id_gpus, 'G', "gpus", "N|TYPE:N", "GPUs of the whole job; a100:4: of this type", job},
    {id_gpus_per_node, 0, "gpus-per-node", "N|TYPE:N", "GPUs on each node", job},
    {id_gpus_per_task, 'g', "gpus-per-task", "N",
     "GPUs of each task, or a share of one (0.5), or a share and a limit above it (0.25:0.8)", job,
     "gpu"},
    {id_gpu_memory, 0, "gpu-memory", "SIZE[:LIMIT]",
     "of a GPU for each task, instead of all of it: MiB, or with a unit (20G)", job},
    {id_gpu_devices, 0, "gpu-devices", "N",
     "with a share or --gpu-memory: of so many GPUs; default: 1", job},
    {id_mig, 0, "mig", "PROFILE[:N]",
     "N MIG instances for each task (3g.20gb:2); auto: as a share or --gpu-memory asks", job},
    {id_mps, 0, "mps", "[PERCENT]",
     "at most so much of the GPU's compute for each task, by MPS; default: as much as its part of "
     "the GPU is",
     job},
    {id_nodes, 'N', "nodes", "N[-MAX]",
     "number of nodes; 4-8: at least 4, grows to 8; default: as few as possible", job},
    {id_tasks, 'n', "ntasks", "N", "number of tasks", job},
    {id_tasks_per_node, 0, "ntasks-per-node", "N", "tasks on each node", job},
    {id_cpus_per_task, 'c', "cpus-per-task", "N", "CPUs of each task; default: 1", job},
    {id_memory, 0, "mem", "SIZE", "memory on each node: MiB, or with a unit (32G)", job},
    {id_memory_per_cpu, 0, "mem-per-cpu", "SIZE", "memory for each CPU, instead of --mem", job},
    {id_memory_per_gpu, 0, "mem-per-gpu", "SIZE", "memory for each GPU, instead of --mem", job},
    {id_cpus_per_gpu, 0, "cpus-per-gpu", "N", "CPUs for each GPU, instead of --cpus-per-task", job},
    {id_tasks_per_gpu, 0, "ntasks-per-gpu", "N", "tasks for each GPU, instead of --ntasks", job},
    {id_nodelist, 'w', "nodelist", "NODES", "only these nodes: dgx[1-4],n7", job},
    {id_exclude, 'x', "exclude", "NODES", "not these nodes", job},
    {id_constraint, 'C', "constraint", "LIST",
     "only nodes of these types or groups: a100|h100 (or), lab&v100 (and)", job},
    {id_topology, 0, "topology", "LEVELS",
     "how close together: required:LEVEL, preferred:LEVEL, or both with ',' between; LEVEL alone "
     "is "
     "preferred",
     job},
    {id_segment, 0, "segment", "S",
     "the nodes in groups of S, each inside one place of the topology; 0: not in groups", job},
    {id_time, 't', "time", "TIME", "time limit: minutes, h:m:s, d-h:m:s, or with units (1h30m)",
     job},
    {id_output, 'o', "output", "FILE", "file for the output; default: rota-%j.out", job},
    {id_error, 'e', "error", "FILE", "file for errors; default: the output's", job},
    {id_input, 'i', "input", "FILE", "file that the job reads as its input; default: none", job},
    {id_directory, 'D', "chdir", "DIR", "working directory of the job; default: this one", job},
    {id_kind, 0, "kind", "KIND", "train (default), interactive or inference", job},
    {id_interactive, 0, "interactive", "", "the same as --kind=interactive: a person waits for it",
     job},
    {id_inference, 0, "inference", "", "the same as --kind=inference: it serves others", job},
    {id_priority, 0, "priority", "N",
     "a number, or very-low, low, medium-low, medium, medium-high, high, very-high; default: by "
     "kind",
     job},
    {id_preemptible, 0, "preemptible", "",
     "others may take its resources back; the default for train", job},
    {id_non_preemptible, 0, "non-preemptible", "",
     "nobody takes its resources back; the default for the other kinds", job},
    {id_preemptibility, 0, "preemptibility", "HOW",
     "preemptible, non-preemptible, or semi: what an elastic job has above its minimum may be "
     "taken "
     "back",
     job},
    {id_background, 0, "background", "",
     "only fills gaps: charged to no quota, and gives way to every other job", job},
    {id_signal, 0, "signal", "SIGNAL[@TIME]",
     "tells the job that it has to make way, and TIME before its limit; default: TERM; with "
     "B: before it only the script hears the latter",
     job},
    {id_grace, 0, "grace", "TIME",
     "time from that signal to its end when it has to make way; default: the project's", job},
    {id_requeue, 0, "requeue", "", "start the job again when its node fails (default)", job},
    {id_no_requeue, 0, "no-requeue", "", "never start the job a second time", job},
    {id_array, 'a', "array", "TASKS[%N]",
     "many jobs alike: 0-99, 1,3,5 or 0-15:4; at most N of them at a time", job},
    {id_runs, 0, "runs", "N", "an array is over when N of its tasks have ended well", job,
     "completions"},
    {id_parallelism, 0, "parallelism", "N", "at most N tasks of an array at a time", job},
    {id_dependency, 'd', "dependency", "LIST",
     "starts after other jobs: afterok:12, afterany:12:13, after:12+5, singleton, ...", job},
    {id_kill_on_invalid, 0, "kill-on-invalid-dep", "yes|no",
     "cancel the job when its dependency can no longer come true; default: no", job},
    {id_begin, 'b', "begin", "DATE", "does not start before: 16:00, tomorrow, now+2hours, ...",
     job},
    {id_deadline, 0, "deadline", "DATE", "is ended, or never started, at this date", job},
    {id_hold, 'H', "hold", "", "does not start before 'rota release'", job},
    {id_nice, 0, "nice", "[N]", "so much below its priority; default: 100", job},
    {id_exclusive, 0, "exclusive", "[node]", "have its nodes to itself, with all GPUs and CPUs",
     job},
    {id_retries, 0, "retries", "N", "start the job again up to N times when it fails", job,
     "backoff-limit"},
    {id_comment, 0, "comment", "TEXT", "for people", job},
    {id_label, 0, "label", "KEY=VALUE", "to find it by; may be repeated", job},
    {id_mail_type, 0, "mail-type", "LIST", "mail at BEGIN, END, FAIL, REQUEUE, ...; ALL, NONE",
     job},
    {id_mail_user, 0, "mail-user", "ADDRESS", "who gets it; default: you", job},
    {id_webhook, 0, "webhook", "URL", "told of the same events; default: END and FAIL", job},
    {id_export, 0, "export", "LIST",
     "of your variables the job gets: ALL (default), NONE, or names, and NAME=VALUE", job},
    {id_image, 0, "image", "IMAGE", "container image that the job runs in: registry/name:tag", job,
     "container-image"},
    {id_mounts, 0, "container-mounts", "LIST",
     "what the container sees of the node: SOURCE[:TARGET][:ro], with ',' between", job, "volume"},
    {id_container_workdir, 0, "container-workdir", "DIR",
     "working directory in the container; default: the image's", job, "working-dir"},
    {id_mount_home, 0, "container-mount-home", "", "the container sees your home directory", job},
    {id_container_writable, 0, "container-writable", "",
     "the job may change the container's files (default)", job},
    {id_container_readonly, 0, "container-readonly", "", "it may not", job},
    {id_entrypoint, 0, "entrypoint", "", "the command is what the image's entry point is given",
     job, "args"},
    {id_no_entrypoint, 0, "no-entrypoint", "",
     "the command runs by itself, without the image's entry point (default)", job, "command"},
    {id_entrypoint, 0, "container-entrypoint", "", "the same as --entrypoint", job},
    {id_no_entrypoint, 0, "no-container-entrypoint", "", "the same as --no-entrypoint", job},
    {id_env, 0, "env", "VARIABLE",
     "NAME=VALUE for the job, which wins over the image's; NAME alone: as it is here", job,
     "environment"},
    {id_container_env, 0, "container-env", "NAMES",
     "variables whose values here win over the image's, with ',' between", job},
    {id_shm_size, 0, "shm-size", "SIZE", "size of the container's /dev/shm: MiB, or with a unit",
     job},
    {id_large_shm, 0, "large-shm", "", "a large /dev/shm, which is the default here", job},
    {id_pull, 0, "pull", "WHEN", "the image: always, missing (default) or never", job,
     "image-pull-policy"},
    {id_local_image, 0, "local-image", "", "the same as --pull=never: the nodes have the image",
     job},
    {id_data, 0, "data", "NAME[:DIR][:ro]",
     "a volume of the site's that the container sees, at DIR or where the site says", job, "pvc"},
    {id_git, 0, "git", "URL[@REV]:DIR", "sources that the job finds in DIR when it starts", job,
     "git-sync"},
    {id_container_name, 0, "container-name", "NAME",
     "keep the container's files on the node, for your next job with this name", job},
    {id_container_save, 0, "container-save", "FILE",
     "save the container's files to FILE when the job has ended", job},
    {id_runtime, 0, "runtime", "NAME", "what runs the image: docker, podman, enroot, or none", job},
    {id_no_remap_root, 0, "no-container-remap-root", "",
     "you are who you are outside, as always here", job},
    {id_remap_root, 0, "container-remap-root", "", "refused: nobody is root in a container", job},
    {id_unshare, 0, "container-unshare", "LIST", "refused: namespaces are the site's to choose",
     job},
    {id_secret, 0, "secret", "LIST",
     "secrets of yours that the job gets: NAME, as a variable, or NAME:FILE", job},
    {id_port, 0, "port", "LIST", "ports that the job listens on, with ',' between", job},
    {id_url, 0, "url", "[users:LIST]",
     "browsers find these ports: yours, and those of the users named", job},
    {id_external_url, 0, "external-url", "LIST",
     "container=PORT[,authusers=A;B]: the same as --port=PORT --url=users:A,B", job},
    {id_template, 0, "template", "NAME",
     "options that the site or the project keeps under this name; all others win over them", job},
    {id_wrap, 0, "wrap", "COMMAND", "run this shell command line instead of a script",
     Scope::command_line},
    {id_wait, 'W', "wait", "", "wait for the end of the job and return its exit code", job},
    {id_parsable, 'P', "parsable", "", "print only the job's number"},
    {id_json, 0, "json", "", "print the answer as JSON"},
    {id_quiet, 'Q', "quiet", "", "print only errors"},
    {id_strict, 0, "strict", "", "an #SBATCH option that has no meaning here is an error"},
    {id_slurm, 0, "slurm", "",
     "as sbatch has it, and every script with #SBATCH lines: output goes to slurm-%j.out, and the "
     "job finds srun"},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 3> synopses{
    "[OPTION...] [SCRIPT [ARGUMENT...]]",
    "[OPTION...] --wrap=COMMAND",
    "[OPTION...] -- COMMAND [ARGUMENT...]",
};

constexpr Command command{
    .name = "rsubmit",
    .synopses = synopses,
    .summary = "Queue a job: a script, a shell command line, or a command to run once per task.",
    .options = table,
    .environment_prefix = "ROTA_SUBMIT_",
    .options_anywhere = false,
};

/// The value of a parser of common/units, its error with the option's name.
template <class T>
Result<T> value_of(const Given& given, Result<T> parsed) {
  if (!parsed) return bad_value(given, parsed.error().detail);
  return parsed;
}

Result<std::uint32_t> count_from(const Given& given) {
  ROTA_TRY(const auto number, value_of(given, number_parse(given.value, UINT32_MAX)));
  return static_cast<std::uint32_t>(number);
}

/// "4", or "4-8": at least 4, and up to 8 as they are free.
Result<void> apply_nodes(const Given& given, ShapeRequest& shape) {
  const std::string_view text = given.value;
  const std::size_t dash = text.find('-', 1);
  shape.nodes_max.reset();
  if (dash == std::string_view::npos) {
    ROTA_TRY(shape.nodes, count_from(given));
    return {};
  }
  const auto least = number_parse(text.substr(0, dash), JobBounds::node_count_max);
  const auto most = number_parse(text.substr(dash + 1), JobBounds::node_count_max);
  if (!least || !most || *least == 0 || *least > *most)
    return bad_value(given, format("{} is no range of nodes; write 4-8 for at least 4 and up to 8, "
                                   "at most {}",
                                   quoted(given.value), JobBounds::node_count_max));
  shape.nodes = static_cast<std::uint32_t>(*least);
  if (*most > *least) shape.nodes_max = static_cast<std::uint32_t>(*most);
  return {};
}

Result<std::string> text_from(const Given& given) {
  if (given.value.empty()) return bad_value(given, "the value is empty");
  return given.value;
}

/// A file's name with % letters that the node will know how to fill in.
Result<std::string> pattern_from(const Given& given) {
  ROTA_TRY(std::string text, text_from(given));
  if (auto path = output_path(text, OutputContext{}, "/"); !path)
    return bad_value(given, path.error().detail);
  return text;
}

Result<JobKind> kind_from(const Given& given) {
  if (const auto kind = job_kind_from(given.value)) return *kind;
  return bad_value(given, format("{} is no kind of job; known are train, interactive, inference",
                                 quoted(given.value)));
}

Result<std::int32_t> priority_of(const Given& given) {
  if (const auto priority = priority_from(given.value)) return *priority;
  return bad_value(given, format("{} is no priority; write 1 to {}, or very-low (25), low (40), "
                                 "medium-low (65), medium (80), medium-high (90), high (125), "
                                 "very-high (150)",
                                 quoted(given.value), JobBounds::priority_max));
}

/// Rounded up; what is beyond `max` stays beyond it, for the check that names the bound.
std::int32_t seconds_within(Duration time, std::int32_t max) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return static_cast<std::int32_t>(std::min<std::int64_t>(seconds, std::int64_t{max} + 1));
}

/// "USR1" or "USR1@120": Slurm's form, for the whole job; "B:USR1@120" for the script alone.
Result<void> apply_signal(const Given& given, SubmitOptions& options) {
  std::string_view text = given.value;
  options.rules.signal_batch_only = text.starts_with("B:");
  if (options.rules.signal_batch_only) text.remove_prefix(2);
  const auto at = text.find('@');
  auto signal = signal_from(text.substr(0, at));
  if (!signal) return bad_value(given, signal.error().detail);
  options.signal = *signal;
  if (at == std::string_view::npos) return {};
  // Slurm's bare number is seconds here, though a bare time limit is minutes.
  const std::string_view before = text.substr(at + 1);
  if (const auto seconds = number_parse(before, JobBounds::signal_seconds_max)) {
    options.signal_seconds = static_cast<std::int32_t>(*seconds);
    return {};
  }
  ROTA_TRY(const Duration time, value_of(given, duration_parse(std::string(before))));
  options.signal_seconds = seconds_within(time, JobBounds::signal_seconds_max);
  return {};
}

/// Where the number of an option goes.
std::optional<std::uint32_t>& slot_of(int id, ShapeRequest& shape) {
  switch (id) {
    case id_gpus:
      return shape.gpus;
    case id_gpus_per_node:
      return shape.gpus_per_node;
    case id_gpu_devices:
      return shape.gpu_devices;
    case id_tasks:
      return shape.tasks;
    case id_tasks_per_node:
      return shape.tasks_per_node;
    case id_tasks_per_gpu:
      return shape.tasks_per_gpu;
    case id_cpus_per_gpu:
      return shape.cpus_per_gpu;
    default:
      return shape.cpus_per_task;
  }
}

Result<void> apply_count(const Given& given, ShapeRequest& shape) {
  const int id = given.option->id;
  const bool gpus = id == id_gpus || id == id_gpus_per_node;
  ROTA_TRY(slot_of(id, shape), gpus ? gpus_from(given, shape) : count_from(given));
  return {};
}

Result<void> apply_size(const Given& given, std::optional<std::uint64_t>& size) {
  ROTA_TRY(size, value_of(given, size_parse(given.value, mebibyte)));
  return {};
}

Result<void> apply_text(const Given& given, SubmitOptions& options) {
  const int id = given.option->id;
  ROTA_TRY(std::string text, id == id_output || id == id_error || id == id_input
                                 ? pattern_from(given)
                                 : text_from(given));
  switch (id) {
    case id_name:
      options.name = std::move(text);
      break;
    case id_project:
      options.project = std::move(text);
      break;
    case id_queue:
      options.queue = std::move(text);
      break;
    case id_output:
      options.output = std::move(text);
      break;
    case id_error:
      options.error = std::move(text);
      break;
    case id_input:
      options.input = std::move(text);
      break;
    case id_directory:
      options.directory = std::move(text);
      break;
    default:
      options.wrap = std::move(text);
  }
  return {};
}

/// Names of nodes, types or groups; whether there are such is for the controller to say.
Result<void> apply_wish(const Given& given, NodeWish& wish) {
  ROTA_TRY(std::string text, text_from(given));
  NodeWish part;
  std::string NodeWish::*const field = given.option->id == id_nodelist  ? &NodeWish::only
                                       : given.option->id == id_exclude ? &NodeWish::except
                                                                        : &NodeWish::constraint;
  part.*field = text;
  if (auto valid = validate(part); !valid) return bad_value(given, valid.error().detail);
  wish.*field = std::move(text);
  return {};
}

}  // namespace

const Command& submit_command() { return command; }

Result<void> apply(const Given& given, SubmitOptions& options) {
  if (is_rule(*given.option)) return apply_rule(given, options.rules, wall_now());
  switch (given.option->id) {
    case id_export:
      options.exported = given.value;
      return {};
    case id_name:
    case id_project:
    case id_queue:
    case id_output:
    case id_error:
    case id_input:
    case id_directory:
    case id_wrap:
      return apply_text(given, options);
    case id_nodelist:
    case id_exclude:
    case id_constraint:
      return apply_wish(given, options.nodes);
    case id_topology: {
      ROTA_TRY(options.topology, value_of(given, topology_parse(given.value)));
      return {};
    }
    case id_segment: {
      ROTA_TRY(options.segment, count_from(given));
      return {};
    }
    case id_gpus:
    case id_gpus_per_node:
    case id_gpu_devices:
    case id_tasks:
    case id_tasks_per_node:
    case id_tasks_per_gpu:
    case id_cpus_per_task:
    case id_cpus_per_gpu:
      return apply_count(given, options.shape);
    case id_nodes:
      return apply_nodes(given, options.shape);
    case id_gpus_per_task:
      return apply_gpus_per_task(given, options.shape);
    case id_gpu_memory:
      return apply_gpu_memory(given, options.shape);
    case id_mig:
      return apply_mig(given, options.shape);
    case id_mps:
      return apply_mps(given, options.shape);
    case id_memory:
      return apply_size(given, options.shape.memory_per_node_bytes);
    case id_memory_per_cpu:
      return apply_size(given, options.shape.memory_per_cpu_bytes);
    case id_memory_per_gpu:
      return apply_size(given, options.shape.memory_per_gpu_bytes);
    case id_time: {
      ROTA_TRY(options.time_limit, value_of(given, time_limit_parse(given.value)));
      return {};
    }
    case id_kind: {
      ROTA_TRY(options.kind, kind_from(given));
      return {};
    }
    case id_interactive:
    case id_inference:
      options.kind = given.option->id == id_interactive ? JobKind::interactive : JobKind::inference;
      return {};
    case id_priority: {
      ROTA_TRY(options.priority, priority_of(given));
      return {};
    }
    case id_preemptible:
    case id_non_preemptible:
      options.preemptibility =
          given.option->id == id_preemptible ? Preemptibility::yes : Preemptibility::no;
      return {};
    case id_background:
      options.background = true;
      return {};
    case id_preemptibility:
      options.preemptibility = preemptibility_from(given.value);
      if (!options.preemptibility)
        return bad_value(given, "write preemptible, non-preemptible or semi");
      return {};
    case id_signal:
      return apply_signal(given, options);
    case id_grace: {
      ROTA_TRY(const Duration time, value_of(given, duration_parse(given.value)));
      options.grace_seconds = seconds_within(time, JobBounds::grace_seconds_max);
      return {};
    }
    case id_requeue:
    case id_no_requeue:
      options.requeue = given.option->id == id_requeue;
      return {};
    case id_secret:
      return apply_secrets(given, options.secrets);
    case id_port:
      return apply_ports(given, options.service);
    case id_url:
      return apply_url(given, options.service);
    case id_external_url:
      return apply_external_url(given, options.service);
    case id_wait:
      options.wait = true;
      return {};
    case id_parsable:
      options.parsable = true;
      return {};
    case id_json:
      options.json = true;
      return {};
    case id_quiet:
      options.quiet = true;
      return {};
    case id_template: {
      ROTA_TRY(options.template_name, text_from(given));
      return {};
    }
    case id_strict:
      options.strict = true;
      return {};
    case id_slurm:
      options.slurm = true;
      return {};
    default:
      // Or one of every command: seen by program_main.
      return apply_container(given, options.image, options.container, options.sources);
  }
}

Result<JobSpec> job_spec_from(const SubmitOptions& options, std::string_view default_name) {
  JobSpec spec;
  spec.name = options.name.value_or(std::string(default_name));
  spec.project = options.project.value_or("");  // the controller knows the user's default
  spec.kind = options.kind.value_or(JobKind::train);
  spec.requeue = options.requeue.value_or(true);
  spec.queue = options.queue.value_or("");
  spec.priority = options.priority.value_or(0);
  spec.signal = static_cast<std::uint8_t>(options.signal.value_or(0));
  spec.signal_seconds = options.signal_seconds.value_or(0);
  spec.grace_seconds = options.grace_seconds.value_or(-1);
  if (options.preemptibility) spec.preemptibility = *options.preemptibility;
  spec.background = options.background;
  if (options.time_limit) {
    // A limit of half a second is a limit: rounded up, it does not become "none".
    spec.time_limit_seconds = std::chrono::ceil<std::chrono::seconds>(*options.time_limit).count();
  }
  if (!options.nodes.empty()) spec.nodes.edit() = options.nodes;
  if (const std::string& type = options.shape.gpu_type; !type.empty()) {
    std::string& constraint = spec.nodes.edit().constraint;
    constraint += (constraint.empty() ? "" : "&") + type;
  }
  if (!options.topology.empty()) spec.topology.edit() = options.topology;
  if (options.segment > 0) spec.topology.edit().segment = options.segment;
  spec.image = options.image;
  if (options.service != ServiceWish{}) spec.service.edit() = options.service;
  if (options.rules != JobRules{}) spec.rules.edit() = options.rules;
  ROTA_CHECK(resolve_shape(options.shape, spec));
  // What the controller would refuse as a bad job is here a mistake in the options.
  if (auto valid = validate(spec); !valid) return Error{Errc::usage, valid.error().detail};
  return spec;
}

}  // namespace rota::commands
