// common/config_table.cpp - the one table of rota.yaml's keys, and what each may hold.
#include "common/config_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <variant>

#include "common/assert.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"

namespace rota {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t string_bytes_max = 1024;
constexpr std::size_t groups_max = 1'000;
constexpr std::size_t chosen_name_bytes_max = 64;
/// Of all groups together, a node counted in each: what a controller looks through for every node.
constexpr std::size_t grouped_nodes_max = 200'000;

/// Whether a text is a good value beyond its type; the error is "must be ...".
using TextCheck = Result<void> (*)(std::string_view text);

Error must(std::string what) { return {Errc::config_invalid, std::move(what)}; }

Result<void> any_text(std::string_view) { return {}; }

Result<void> is_name_of(std::string_view text, std::size_t bytes_max) {
  const bool good = !text.empty() && text.size() <= bytes_max &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (!good) return must(format("must be 1 to {} letters, digits, '-', '_' or '.'", bytes_max));
  return {};
}
Result<void> is_cluster_name(std::string_view text) { return is_name_of(text, 64); }

Result<void> is_node_name_or_empty(std::string_view text) {
  return text.empty() ? any_text(text) : is_name_of(text, 200);
}

Result<void> is_not_empty(std::string_view text) {
  if (text.empty()) return must("must not be empty");
  return {};
}

Result<void> is_mail_address(std::string_view text) {
  const bool good =
      !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("@._+-").find(c) != std::string_view::npos;
      });
  if (!good) return must("must be a mail address: name or name@host");
  return {};
}

Result<void> is_path(std::string_view text) {
  if (text.empty() || text.front() != '/')
    return must("must be an absolute path, such as /var/lib/rota");
  return {};
}

Result<void> is_path_or_empty(std::string_view text) {
  return text.empty() ? any_text(text) : is_path(text);
}

Result<void> is_log_file(std::string_view text) {
  if (text.empty() || text == "-" || text.front() == '/') return {};
  return must("must be an absolute path, or '' for standard error");
}

/// A piece of the cgroup tree: relative, and no way out of it.
Result<void> is_cgroup(std::string_view text) {
  const bool good = !text.empty() && text.front() != '/' && text.back() != '/' &&
                    text.find("..") == std::string_view::npos &&
                    text.find("//") == std::string_view::npos;
  if (!good) return must("must be a path below the cgroup root, such as rota or system.slice/rota");
  return {};
}

/// "host:port", "1.2.3.4:port" or "[::1]:port". Port 0 means something only to who listens.
Result<void> is_address_from(std::string_view text, std::uint64_t port_min) {
  const auto error = must(
      format("must be host:port, such as ctl1:7117 or [::1]:7117, with a port from {} to 65535",
             port_min));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return error;
  const auto port = number_parse(text.substr(colon + 1), 65535);
  if (!port || *port < port_min) return error;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool good =
      host.size() <= 253 && std::all_of(host.begin(), host.end(), [&](unsigned char c) {
        if (bracketed)
          return std::isxdigit(c) || c == ':' || c == '.' || c == '%' || std::isalnum(c);
        return std::isalnum(c) || c == '-' || c == '.' || c == '_';
      });
  if (!good) return error;
  return {};
}

Result<void> is_address(std::string_view text) { return is_address_from(text, 1); }
Result<void> is_listen_address(std::string_view text) { return is_address_from(text, 0); }
Result<void> is_public_address(std::string_view text) {
  return text.empty() ? any_text(text) : is_listen_address(text);
}

/// "https://login.example.org:8443": scheme, host and port; the host may begin with "*.".
Result<void> is_web_address(std::string_view text) {
  if (text.empty()) return {};
  const auto error = must(
      "must be http:// or https:// and a host, such as https://login1:8443, or https://*.jobs.org");
  std::string_view rest = text;
  if (rest.starts_with("https://"))
    rest.remove_prefix(8);
  else if (rest.starts_with("http://"))
    rest.remove_prefix(7);
  else
    return error;
  if (rest.starts_with("*.")) rest.remove_prefix(2);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::string host =
      rest.find(':') == std::string_view::npos ? format("{}:1", rest) : std::string(rest);
  if (!is_address(host)) return error;
  return {};
}

Result<void> is_one_of(std::string_view text, std::span<const std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return must(format("must be one of {}", fmt::join(choices, ", ")));
}
Result<void> is_cgroup_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 4> choices{"auto", "v1", "v2", "none"};
  return is_one_of(text, choices);
}
Result<void> is_close_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 3> choices{"auto", "always", "never"};
  return is_one_of(text, choices);
}
Result<void> is_strangers_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 2> choices{"keep", "destroy"};
  return is_one_of(text, choices);
}
Result<void> is_prolog_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 3> choices{"drain", "requeue", "fail"};
  return is_one_of(text, choices);
}
Result<void> is_epilog_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 2> choices{"drain", "ignore"};
  return is_one_of(text, choices);
}
Result<void> is_bind_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 3> choices{"none", "prefer", "strict"};
  return is_one_of(text, choices);
}
Result<void> is_container_runtime_choice(std::string_view text) {
  static constexpr std::array<std::string_view, 5> choices{"auto", "enroot", "docker", "podman",
                                                           "none"};
  return is_one_of(text, choices);
}
Result<void> is_cache_size(std::string_view text) {
  if (text == "auto" || size_parse(text)) return {};
  return must("must be a size such as 200G, 0 for no bound, or auto");
}
Result<void> is_container_gpus(std::string_view text) {
  static constexpr std::array<std::string_view, 3> choices{"nvidia", "cdi", "none"};
  return is_one_of(text, choices);
}
Result<void> is_container_network(std::string_view text) {
  static constexpr std::array<std::string_view, 2> choices{"host", "none"};
  return is_one_of(text, choices);
}
Result<void> is_container_ipc(std::string_view text) {
  static constexpr std::array<std::string_view, 2> choices{"private", "host"};
  return is_one_of(text, choices);
}
Result<void> is_packing(std::string_view text) {
  static constexpr std::array<std::string_view, 2> choices{"fullest", "least-loss"};
  return is_one_of(text, choices);
}
Result<void> is_log_level(std::string_view text) {
  static constexpr std::array<std::string_view, 4> choices{"debug", "info", "warning", "error"};
  return is_one_of(text, choices);
}

struct TextMember {
  std::string Config::*member;
  TextCheck check = any_text;
};
struct NumberMember {
  std::uint64_t Config::*member;
  std::uint64_t min;
  std::uint64_t max;
};
struct DurationMember {
  Duration Config::*member;
  Duration min;
  Duration max;
};
struct BoolMember {
  bool Config::*member;
};
/// Kept in millionths.
struct DecimalMember {
  std::int64_t Config::*member;
  std::int64_t max;
};
using Member = std::variant<TextMember, NumberMember, DurationMember, BoolMember, DecimalMember>;

struct Row {
  ConfigKey key;
  Member member;
};

constexpr Duration year = 365 * 24h;

/// The one list of keys. Sections in the order of etc/rota.yaml.
constexpr std::array table{
    Row{{"cluster.name", "string", "rota", "Name of the cluster, shown by rinfo and to jobs"},
        TextMember{&Config::cluster_name, is_cluster_name}},

    Row{{"controller.address", "address", "localhost:7117", "Where commands and nodes reach rctld"},
        TextMember{&Config::controller_address, is_address}},
    Row{{"controller.listen", "address", "0.0.0.0:7117",
         "Where rctld listens; port 0 takes any free port"},
        TextMember{&Config::controller_listen, is_listen_address}},
    Row{{"controller.user", "string", "root",
         "User that rctld runs as; commands and nodes talk to nobody else"},
        TextMember{&Config::controller_user, is_not_empty}},
    Row{{"controller.state_dir", "string", "/var/lib/rota",
         "Directory of rctld's store; jobs and accounting live here"},
        TextMember{&Config::controller_state_dir, is_path}},
    Row{{"controller.sessions_max", "number", "16000",
         "Sessions of nodes and commands at one time; more are refused"},
        NumberMember{&Config::controller_sessions_max, 16, 1'000'000}},
    Row{{"controller.half_open_max", "number", "512",
         "Handshakes under way at one time; the oldest makes way for a new one"},
        NumberMember{&Config::controller_half_open_max, 1, 100'000}},

    Row{{"munge.socket", "string", "''", "Socket of munged; '' is libmunge's default"},
        TextMember{&Config::munge_socket, is_path_or_empty}},

    Row{{"nodes.heartbeat", "duration", "5s", "How often a node says that it is there"},
        DurationMember{&Config::nodes_heartbeat, 10ms, 1h}},
    Row{{"nodes.lost_after", "duration", "60s",
         "Silence after which a node counts as down; its jobs are left alone"},
        DurationMember{&Config::nodes_lost_after, 20ms, 24h}},
    Row{{"nodes.fence_after", "duration", "0",
         "Silence after which a node's jobs start elsewhere, and the node ends its own; 0 is "
         "never"},
        DurationMember{&Config::nodes_fence_after, 0s, year}},

    Row{{"jobs.kill_wait", "duration", "30s",
         "Time between SIGTERM and SIGKILL when a job is ended"},
        DurationMember{&Config::jobs_kill_wait, 0s, 24h}},
    Row{{"jobs.restarts_max", "number", "3", "How often a job starts again after its nodes failed"},
        NumberMember{&Config::jobs_restarts_max, 0, 1000}},
    Row{{"jobs.launch_backoff", "duration", "10s",
         "Pause after a node could not start a job, before it is tried again; doubled each time"},
        DurationMember{&Config::jobs_launch_backoff, 0s, 10min}},
    Row{{"jobs.count_max", "number", "2000000",
         "Jobs that wait or run at one time; more are refused"},
        NumberMember{&Config::jobs_count_max, 1, 100'000'000}},
    Row{{"jobs.ended_kept", "number", "10000",
         "Ended jobs that rqueue still shows; the accounting keeps all"},
        NumberMember{&Config::jobs_ended_kept, 0, 10'000'000}},
    Row{{"jobs.time_limit_default", "duration", "0",
         "Time limit of a job that asks for none; 0 is no limit"},
        DurationMember{&Config::jobs_time_limit_default, 0s, 10 * year}},
    Row{{"jobs.time_limit_max", "duration", "0",
         "Longest time limit a job may ask for; 0 is no bound"},
        DurationMember{&Config::jobs_time_limit_max, 0s, 10 * year}},
    Row{{"jobs.root_allowed", "bool", "false", "Whether root may submit jobs that run as root"},
        BoolMember{&Config::jobs_root_allowed}},
    Row{{"jobs.slurm_environment", "bool", "true",
         "Whether jobs get SLURM_* variables beside ROTA_*"},
        BoolMember{&Config::jobs_slurm_environment}},
    Row{{"jobs.template_dir", "string", "/etc/rota/templates.d",
         "Where rsubmit --template finds its files: NAME, or PROJECT/NAME; '' for no templates"},
        TextMember{&Config::jobs_template_dir, is_path_or_empty}},
    Row{{"jobs.idle_window", "duration", "30s",
         "GPUs of a job that do nothing for so long count as idle for so long"},
        DurationMember{&Config::jobs_idle_window, 1s, 1h}},
    Row{{"jobs.interactive_idle_limit", "duration", "0",
         "How long all GPUs of an interactive job may be idle before it is ended; 0 is for ever"},
        DurationMember{&Config::jobs_interactive_idle_limit, 0s, 10 * year}},
    Row{{"jobs.train_idle_limit", "duration", "0",
         "How long all GPUs of a train job may be idle before it is ended; 0 is for ever"},
        DurationMember{&Config::jobs_train_idle_limit, 0s, 10 * year}},

    Row{{"scheduler.reservations", "number", "4",
         "Waiting jobs for which a place is kept in time; others pass them only if they end "
         "before"},
        NumberMember{&Config::scheduler_reservations, 0, 1000}},
    Row{{"scheduler.limit_assumed", "duration", "1d",
         "How long a job without a time limit is taken to run when a place is kept in time"},
        DurationMember{&Config::scheduler_limit_assumed, 1s, year}},
    Row{{"scheduler.min_runtime_reclaim", "duration", "0",
         "How long a job is safe from other projects after its start, unless projects.yaml says"},
        DurationMember{&Config::scheduler_min_runtime_reclaim, 0s, year}},
    Row{{"scheduler.min_runtime_preempt", "duration", "0",
         "How long a job is safe from its own project after its start, unless projects.yaml says"},
        DurationMember{&Config::scheduler_min_runtime_preempt, 0s, year}},
    Row{{"scheduler.preemption_delay", "duration", "0",
         "How long a job waits before it takes from others, unless projects.yaml says"},
        DurationMember{&Config::scheduler_preemption_delay, 0s, year}},
    Row{{"scheduler.consolidate_max", "number", "16",
         "Running jobs looked at for a move that makes room for another; 0 moves none"},
        NumberMember{&Config::scheduler_consolidate_max, 0, 10'000}},
    Row{{"scheduler.packing", "choice", "fullest",
         "Where jobs go: fullest (nodes) or least-loss (where expected jobs lose least room)"},
        TextMember{&Config::scheduler_packing, is_packing}},
    Row{{"scheduler.history_weight", "decimal", "0",
         "How much the past counts when what is left idle is divided; 0: not at all"},
        DecimalMember{&Config::scheduler_history_weight, 100'000'000}},
    Row{{"scheduler.history_window", "duration", "7d", "The past that counts"},
        DurationMember{&Config::scheduler_history_window, 60s, year}},
    Row{{"scheduler.history_half_life", "duration", "0",
         "Time after which the past counts half; 0: all of the window counts the same"},
        DurationMember{&Config::scheduler_history_half_life, 0s, year}},

    Row{{"node.name", "string", "''", "Name of this node; '' is the host's short name"},
        TextMember{&Config::node_name, is_node_name_or_empty}},
    Row{{"node.listen", "address", "0.0.0.0:7118",
         "Where rgpud listens for commands; port 0 takes any free port"},
        TextMember{&Config::node_listen, is_listen_address}},
    Row{{"node.address", "address", "''",
         "Where commands reach this rgpud; '' is derived from node.listen and the node's name"},
        TextMember{&Config::node_address, is_public_address}},
    Row{{"node.spool_dir", "string", "/var/spool/rota",
         "Directory of the records that let rgpud restart under running jobs"},
        TextMember{&Config::node_spool_dir, is_path}},
    Row{{"node.nvml", "string", "libnvidia-ml.so.1",
         "NVIDIA's management library: a name or path that dlopen(3) takes"},
        TextMember{&Config::node_nvml, is_not_empty}},
    Row{{"node.cgroup", "choice", "auto",
         "How jobs are confined: auto, v1, v2 or none (process groups only)"},
        TextMember{&Config::node_cgroup, is_cgroup_choice}},
    Row{{"node.cgroup_parent", "string", "rota", "Cgroup below which each job gets its own"},
        TextMember{&Config::node_cgroup_parent, is_cgroup}},
    Row{{"node.close_gpus", "choice", "auto",
         "Jobs open device files of their own GPUs only: always, never, or auto, where there are "
         "such"},
        TextMember{&Config::node_close_gpus, is_close_choice}},
    Row{{"node.burst_grace", "duration", "10s",
         "How long a job may keep memory of a GPU beyond its request once it is owed to another"},
        DurationMember{&Config::node_burst_grace, 0s, 1h}},
    Row{{"node.session_linger", "duration", "5m",
         "How long an allocation lasts whose rrun or ralloc has gone, and its session for rattach"},
        DurationMember{&Config::node_session_linger, 1s, 24h}},
    Row{{"node.unkillable_after", "duration", "30s",
         "How long SIGKILL may take before a job ends without its processes and its GPUs close"},
        DurationMember{&Config::node_unkillable_after, 1s, 1h}},
    Row{{"node.bind_memory", "choice", "prefer",
         "Memory of jobs near their GPUs and cores: prefer, strict or none"},
        TextMember{&Config::node_bind_memory, is_bind_choice}},
    Row{{"node.dcgm_dir", "string", "''",
         "Directory that tells NVIDIA's DCGM exporter the job of each GPU; '' for none"},
        TextMember{&Config::node_dcgm_dir, is_path_or_empty}},
    Row{{"node.jobstats_dir", "string", "''",
         "The same for jobstats, which reads /run/gpustat; '' for none"},
        TextMember{&Config::node_jobstats_dir, is_path_or_empty}},
    Row{{"node.mig_hold", "duration", "5m",
         "How long a GPU that was put into MIG mode for a job stays so without one"},
        DurationMember{&Config::node_mig_hold, 0s, year}},
    Row{{"node.mig_strangers", "choice", "keep",
         "MIG instances that Rota did not make: keep leaves their slices alone, destroy ends them"},
        TextMember{&Config::node_mig_strangers, is_strangers_choice}},
    Row{{"node.mps_control", "string", "nvidia-cuda-mps-control",
         "NVIDIA's program that controls MPS, for jobs with --mps: a name for the PATH, or a path"},
        TextMember{&Config::node_mps_control, is_not_empty}},
    Row{{"node.container_runtime", "choice", "auto",
         "What runs jobs' images: enroot, docker, podman, none, or auto: the first that is there"},
        TextMember{&Config::node_container_runtime, is_container_runtime_choice}},
    Row{{"node.container_gpus", "choice", "nvidia",
         "How containers get their GPUs: nvidia (its container runtime), cdi, or none"},
        TextMember{&Config::node_container_gpus, is_container_gpus}},
    Row{{"node.container_network", "choice", "host", "The network of containers: host, or none"},
        TextMember{&Config::node_container_network, is_container_network}},
    Row{{"node.container_ipc", "choice", "private",
         "Shared memory and queues of a container: private, or host's"},
        TextMember{&Config::node_container_ipc, is_container_ipc}},
    Row{{"node.container_mounts", "string", "''",
         "What every container sees of the node: SOURCE[:TARGET][:ro], with ',' between"},
        TextMember{&Config::node_container_mounts, any_text}},
    Row{{"node.container_start_limit", "duration", "5m",
         "How long the start of a container may take, once its image is there"},
        DurationMember{&Config::node_container_start_limit, 1s, 1h}},
    Row{{"node.docker_socket", "string", "/run/docker.sock", "Where dockerd listens; '' for none"},
        TextMember{&Config::node_docker_socket, is_path_or_empty}},
    Row{{"node.docker_runtime", "string", "''",
         "Runtime that dockerd is told to use, such as nvidia; '' for its default"},
        TextMember{&Config::node_docker_runtime, any_text}},
    Row{{"node.podman", "string", "podman",
         "The podman program: a name for the PATH, or a path; '' for none"},
        TextMember{&Config::node_podman, any_text}},
    Row{{"node.enroot", "string", "enroot",
         "The enroot program: a name for the PATH, or a path; '' for none"},
        TextMember{&Config::node_enroot, any_text}},
    Row{{"node.enroot_dir", "string", "''",
         "Directory of enroot's images and containers; '' is enroot in node.spool_dir"},
        TextMember{&Config::node_enroot_dir, is_path_or_empty}},
    Row{{"node.enroot_user", "string", "nobody",
         "Who imports images for enroot: an account that may do nothing else"},
        TextMember{&Config::node_enroot_user, is_not_empty}},
    Row{{"node.container_kept_max", "number", "10",
         "How many containers a user may keep on the node by --container-name; 0 for none"},
        NumberMember{&Config::node_container_kept_max, 0, 10'000}},
    Row{{"node.container_save_limit", "duration", "30m",
         "How long a container's files may take to be kept or saved when its job has ended"},
        DurationMember{&Config::node_container_save_limit, 1s, 24h}},
    Row{{"node.git_limit", "duration", "10m", "How long a job's --git may take before it starts"},
        DurationMember{&Config::node_git_limit, 1s, 24h}},
    Row{{"node.git_size_max", "number", "20480",
         "Largest file that --git may make, such as the pack of all that is fetched, in MiB"},
        NumberMember{&Config::node_git_size_max, 1, 1'000'000'000}},
    Row{{"node.image_cache", "string", "auto",
         "Disk space for images that jobs brought, such as 200G; 0 for no bound, auto for half the "
         "disk"},
        TextMember{&Config::node_image_cache, is_cache_size}},
    Row{{"node.prefetch", "number", "2",
         "Images that are pulled at one time for jobs that wait for their GPUs; 0 for none"},
        NumberMember{&Config::node_prefetch, 0, 64}},
    Row{{"node.reconnect_max", "duration", "30s",
         "Longest pause between attempts to reach the controller"},
        DurationMember{&Config::node_reconnect_max, 10ms, 1h}},
    Row{{"node.health_poll", "duration", "15s", "How often the health of each GPU is looked at"},
        DurationMember{&Config::node_health_poll, 100ms, 1h}},
    Row{{"node.health_policy", "string", "''",
         "What is done about which trouble, where not the default: '31=log unknown=gpu'"},
        TextMember{&Config::node_health_policy}},
    Row{{"node.kernel_log", "string", "/dev/kmsg",
         "Where the NVIDIA driver's messages are read, or a fifo; '' for nowhere"},
        TextMember{&Config::node_kernel_log, is_path_or_empty}},
    Row{{"node.gpu_reset_program", "string", "''",
         "Program that resets a GPU, called with UUID, index and PCI address; '' is nvidia-smi"},
        TextMember{&Config::node_gpu_reset_program, is_path_or_empty}},
    Row{{"node.gpu_test_program", "string", "''",
         "Program that tests a GPU before it takes jobs again, called likewise; '' for none"},
        TextMember{&Config::node_gpu_test_program, is_path_or_empty}},
    Row{{"node.gpu_program_limit", "duration", "5m",
         "How long a reset or a test of a GPU may take"},
        DurationMember{&Config::node_gpu_program_limit, 1s, 24h}},
    Row{{"node.health_checks", "string", "''",
         "Programs that say whether this node is well: absolute paths; '' for none"},
        TextMember{&Config::node_health_checks}},
    Row{{"node.health_check_interval", "duration", "5m", "How often they are run"},
        DurationMember{&Config::node_health_check_interval, 100ms, 24h}},
    Row{{"node.health_check_limit", "duration", "60s", "How long each may take"},
        DurationMember{&Config::node_health_check_limit, 1s, 1h}},
    Row{{"node.health_check_jobs", "bool", "false", "Whether they are run before each job, too"},
        BoolMember{&Config::node_health_check_jobs}},
    Row{{"node.prolog", "string", "''", "Program run before each job on the node; '' for none"},
        TextMember{&Config::node_prolog, is_path_or_empty}},
    Row{{"node.epilog", "string", "''", "Program run after each job on the node; '' for none"},
        TextMember{&Config::node_epilog, is_path_or_empty}},
    Row{{"node.prolog_limit", "duration", "5m", "How long each of the two may take"},
        DurationMember{&Config::node_prolog_limit, 1s, 24h}},
    Row{{"node.prolog_failure", "choice", "drain",
         "When the prolog fails: drain (the node; the job goes elsewhere), requeue, or fail"},
        TextMember{&Config::node_prolog_failure, is_prolog_choice}},
    Row{{"node.epilog_failure", "choice", "drain", "When the epilog fails: drain, or ignore"},
        TextMember{&Config::node_epilog_failure, is_epilog_choice}},

    Row{{"proxy.listen", "address", "127.0.0.1:7119",
         "Where rproxy listens for browsers; port 0 takes any free port"},
        TextMember{&Config::proxy_listen, is_listen_address}},
    Row{{"proxy.url", "string", "''",
         "Address of rproxy in browsers: https://HOST[:PORT], or with *. before the HOST; '' for "
         "none"},
        TextMember{&Config::proxy_url, is_web_address}},
    Row{{"proxy.certificate", "string", "''",
         "File of the certificate that rproxy shows, PEM, with those between; '' for no TLS"},
        TextMember{&Config::proxy_certificate, is_path_or_empty}},
    Row{{"proxy.key", "string", "''", "File of its private key, PEM"},
        TextMember{&Config::proxy_key, is_path_or_empty}},
    Row{{"proxy.plain", "bool", "false",
         "Whether rproxy may listen beyond this host without TLS, because another proxy has it"},
        BoolMember{&Config::proxy_plain}},
    Row{{"proxy.token_life", "duration", "12h", "How long an address with a token opens a job"},
        DurationMember{&Config::proxy_token_life, 1s, 30 * 24h}},
    Row{{"proxy.idle_limit", "duration", "1h",
         "Silence after which rproxy closes a connection in the middle of a request"},
        DurationMember{&Config::proxy_idle_limit, 1s, year}},
    Row{{"proxy.connections_max", "number", "4096",
         "Connections of all browsers at one time; more are refused"},
        NumberMember{&Config::proxy_connections_max, 1, 100'000}},
    Row{{"proxy.user_connections_max", "number", "256",
         "Of these, those of one user, and of one address that has not shown a token"},
        NumberMember{&Config::proxy_user_connections_max, 1, 100'000}},

    Row{{"notify.sendmail", "string", "/usr/sbin/sendmail",
         "Program that takes mails for owners of jobs; '' for none"},
        TextMember{&Config::notify_sendmail, is_path_or_empty}},
    Row{{"notify.from", "string", "rota", "Who those mails are from"},
        TextMember{&Config::notify_from, is_mail_address}},
    Row{{"notify.curl", "string", "/usr/bin/curl", "Program that calls webhooks; '' for none"},
        TextMember{&Config::notify_curl, is_path_or_empty}},
    Row{{"notify.webhooks", "string", "''",
         "What webhooks of jobs may begin with, with blanks between; '' allows none"},
        TextMember{&Config::notify_webhooks}},
    Row{{"notify.limit", "duration", "30s", "How long each of these programs may take"},
        DurationMember{&Config::notify_limit, 1s, 1h}},

    Row{{"log.file", "string", "''", "File the daemon appends to; '' is standard error"},
        TextMember{&Config::log_file, is_log_file}},
    Row{{"log.level", "choice", "info",
         "Least important lines shown: debug, info, warning or error"},
        TextMember{&Config::log_level, is_log_level}},
};

const Row* find_row(std::string_view name) {
  for (const Row& row : table)
    if (row.key.name == name) return &row;
  return nullptr;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const auto keys = [] {
    std::array<ConfigKey, table.size()> all;
    std::transform(table.begin(), table.end(), all.begin(), [](const Row& row) { return row.key; });
    return all;
  }();
  return keys;
}

const ConfigKey* config_find(std::string_view name) {
  for (const ConfigKey& key : config_keys())
    if (key.name == name) return &key;
  return nullptr;
}

Result<void> config_assign(Config& config, std::string_view name, const std::string& text) {
  const Row* found = find_row(name);
  ROTA_ASSERT(found != nullptr);
  const Row& row = *found;
  const auto takes = [&](std::string_view what) {
    return must(text.empty() ? format("{} {}", row.key.name, what)
                             : format("{} {}, not {}", row.key.name, what, quoted(text)));
  };
  if (const auto* member = std::get_if<TextMember>(&row.member)) {
    if (text.size() > string_bytes_max)
      return must(format("{} has {} bytes, at most {} are allowed", row.key.name, text.size(),
                         string_bytes_max));
    if (escaped(text) != text)
      return must(format("{} holds control characters: {}", row.key.name, quoted(text)));
    if (auto good = member->check(text); !good) return takes(good.error().detail);
    config.*member->member = text;
  } else if (const auto* member = std::get_if<NumberMember>(&row.member)) {
    const auto number = number_parse(text, member->max);
    if (!number || *number < member->min)
      return takes(format("must be a number from {} to {}", member->min, member->max));
    config.*member->member = *number;
  } else if (const auto* member = std::get_if<DurationMember>(&row.member)) {
    const auto duration = duration_parse(text);
    if (!duration) return must(format("{}: {}", row.key.name, duration.error().detail));
    if (*duration < member->min || *duration > member->max)
      return takes(format("must be from {} to {}", duration_format(member->min),
                          duration_format(member->max)));
    config.*member->member = *duration;
  } else if (const auto* member = std::get_if<DecimalMember>(&row.member)) {
    const auto units = decimal_parse(text, 6, member->max);
    if (!units)
      return takes(format("must be a number from 0 to {}", decimal_format(member->max, 6)));
    config.*member->member = *units;
  } else {
    if (text != "true" && text != "false") return takes("must be true or false");
    config.*std::get<BoolMember>(row.member).member = text == "true";
  }
  return {};
}

Result<void> config_check_group_name(std::string_view name) {
  if (name == "none") return must("'none' means that there is no group; choose another name");
  return config_check_name("a group", name);
}

Result<void> config_check_name(std::string_view what, std::string_view name) {
  if (!name.empty() && !std::isalnum(static_cast<unsigned char>(name.front())))
    return must(format("the name of {} begins with a letter or digit, not {}", what, quoted(name)));
  if (auto good = is_name_of(name, chosen_name_bytes_max); !good)
    return must(format("the name of {} {}, not {}", what, good.error().detail, quoted(name)));
  return {};
}

Result<void> config_add_group(Config& config, const std::string& name, const std::string& hosts) {
  if (config.node_groups.size() >= groups_max)
    return must(format("more than {} groups of nodes", groups_max));
  auto names = hostlist_expand(hosts);
  if (!names) return must(format("node_groups.{}: {}", name, names.error().detail));
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
  std::size_t count = names->size();
  for (const NamedNodes& group : config.node_groups) count += group.nodes.size();
  if (count > grouped_nodes_max)
    return must(format("node_groups.{}: the groups have more than {} nodes in all", name,
                       grouped_nodes_max));
  config.node_groups.push_back({name, *std::move(names)});
  return {};
}

}  // namespace rota
