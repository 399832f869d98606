// common/config.h - rota.yaml: every key once, read and checked.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace rota {

/// A name for some of the nodes; they need not be there.
struct NamedNodes {
  std::string name;
  std::vector<std::string> nodes;  // ascending, each once
};

/// Where some of the nodes lie: one name for each level, wide to narrow.
struct NetworkPlace {
  std::vector<std::string> path;
  std::vector<std::string> nodes;  // ascending, each once and in no other place
};

/// The places of the network that nodes lie in. Nodes that no place names are outside of it.
struct NetworkTopology {
  std::vector<std::string> levels;  // wide to narrow; none: the site has not said
  std::vector<NetworkPlace> places;
};

/// A directory of the nodes that jobs may have in their containers by a name: rsubmit --data.
struct DataVolume {
  std::string name;
  std::string path;    // on the node
  std::string target;  // in containers of jobs that name no other place
  bool read_only = false;
  std::vector<std::string> projects;  // whose jobs may have it; none: those of all
};

/// All of rota.yaml as values. A key that the file leaves out keeps the default shown here.
struct Config {
  std::string cluster_name = "rota";

  std::string controller_address = "localhost:7117";
  std::string controller_listen = "0.0.0.0:7117";
  std::string controller_user = "root";
  std::string controller_state_dir = "/var/lib/rota";
  std::uint64_t controller_sessions_max = 16'000;
  std::uint64_t controller_half_open_max = 512;

  std::string munge_socket;

  Duration nodes_heartbeat = std::chrono::seconds(5);
  Duration nodes_lost_after = std::chrono::seconds(60);
  Duration nodes_fence_after{};

  Duration jobs_kill_wait = std::chrono::seconds(30);
  std::uint64_t jobs_restarts_max = 3;
  Duration jobs_launch_backoff = std::chrono::seconds(10);
  std::uint64_t jobs_count_max = 2'000'000;
  std::uint64_t jobs_ended_kept = 10'000;
  Duration jobs_time_limit_default{};
  Duration jobs_time_limit_max{};
  bool jobs_root_allowed = false;
  bool jobs_slurm_environment = true;
  std::string jobs_template_dir = "/etc/rota/templates.d";
  Duration jobs_idle_window = std::chrono::seconds(30);
  Duration jobs_interactive_idle_limit{};
  Duration jobs_train_idle_limit{};

  std::uint64_t scheduler_reservations = 4;
  Duration scheduler_limit_assumed = std::chrono::hours(24);
  Duration scheduler_min_runtime_reclaim{};
  Duration scheduler_min_runtime_preempt{};
  Duration scheduler_preemption_delay{};
  std::uint64_t scheduler_consolidate_max = 16;
  std::string scheduler_packing = "fullest";
  std::int64_t scheduler_history_weight = 0;  // millionths
  Duration scheduler_history_window = std::chrono::hours(7 * 24);
  Duration scheduler_history_half_life{};

  std::vector<NamedNodes> node_groups;  // by name, in any case of letters
  NetworkTopology topology;
  std::vector<DataVolume> data;  // ascending by name

  std::string node_name;
  std::string node_listen = "0.0.0.0:7118";
  std::string node_address;
  std::string node_spool_dir = "/var/spool/rota";
  std::string node_nvml = "libnvidia-ml.so.1";
  std::string node_cgroup = "auto";
  std::string node_cgroup_parent = "rota";
  std::string node_close_gpus = "auto";
  Duration node_burst_grace = std::chrono::seconds(10);
  Duration node_session_linger = std::chrono::minutes(5);
  Duration node_unkillable_after = std::chrono::seconds(30);
  std::string node_bind_memory = "prefer";
  std::string node_dcgm_dir;
  std::string node_jobstats_dir;
  Duration node_mig_hold = std::chrono::minutes(5);
  std::string node_mig_strangers = "keep";
  std::string node_mps_control = "nvidia-cuda-mps-control";
  std::string node_container_runtime = "auto";
  std::string node_container_gpus = "nvidia";
  std::string node_container_network = "host";
  std::string node_container_ipc = "private";
  std::string node_container_mounts;
  Duration node_container_start_limit = std::chrono::minutes(5);
  std::string node_docker_socket = "/run/docker.sock";
  std::string node_docker_runtime;
  std::string node_podman = "podman";
  std::string node_enroot = "enroot";
  std::string node_enroot_dir;
  std::string node_enroot_user = "nobody";
  std::uint64_t node_container_kept_max = 10;
  Duration node_container_save_limit = std::chrono::minutes(30);
  Duration node_git_limit = std::chrono::minutes(10);
  std::uint64_t node_git_size_max = 20'480;  // MiB
  std::string node_image_cache = "auto";
  std::uint64_t node_prefetch = 2;
  Duration node_reconnect_max = std::chrono::seconds(30);
  Duration node_health_poll = std::chrono::seconds(15);
  std::string node_health_policy;
  std::string node_kernel_log = "/dev/kmsg";
  std::string node_gpu_reset_program;
  std::string node_gpu_test_program;
  Duration node_gpu_program_limit = std::chrono::minutes(5);
  std::string node_health_checks;
  Duration node_health_check_interval = std::chrono::minutes(5);
  Duration node_health_check_limit = std::chrono::seconds(60);
  bool node_health_check_jobs = false;
  std::string node_prolog;
  std::string node_epilog;
  Duration node_prolog_limit = std::chrono::minutes(5);
  std::string node_prolog_failure = "drain";
  std::string node_epilog_failure = "drain";

  std::string proxy_listen = "127.0.0.1:7119";
  std::string proxy_url;
  std::string proxy_certificate;
  std::string proxy_key;
  bool proxy_plain = false;
  Duration proxy_token_life = std::chrono::hours(12);
  Duration proxy_idle_limit = std::chrono::hours(1);
  std::uint64_t proxy_connections_max = 4096;
  std::uint64_t proxy_user_connections_max = 256;

  std::string notify_sendmail = "/usr/sbin/sendmail";
  std::string notify_from = "rota";
  std::string notify_curl = "/usr/bin/curl";
  std::string notify_webhooks;
  Duration notify_limit = std::chrono::seconds(30);

  std::string log_file;
  std::string log_level = "info";
};

/// One key of the file, for the reader, the man page, etc/rota.yaml and the test that compares
/// them.
struct ConfigKey {
  std::string_view name;          // "nodes.lost_after"
  std::string_view type;          // "string", "number", "duration", "bool", "address", "choice"
  std::string_view default_text;  // as it would be written in the file
  std::string_view help;          // one line
};
std::span<const ConfigKey> config_keys();
/// Sections in which names stand that the site chooses, and host lists.
inline constexpr std::string_view config_groups_section = "node_groups";
inline constexpr std::string_view config_topology_section = "topology";
inline constexpr std::string_view config_data_section = "data";

/// Reads and checks `path`. Errors carry file, line, column, what is wrong and, for an unknown key,
/// the nearest known one: "rota.yaml:12:3: unknown key 'nodes.hartbeat'; did you mean
/// 'nodes.heartbeat'?".
Result<Config> config_load(const std::string& path);
/// The same for text that is already here; `name` stands where the file's name would.
Result<Config> config_parse(std::string_view text, const std::string& name);

/// Where the commands and daemons look when no file is named: $ROTA_CONFIG, then sysconfdir's
/// rota/rota.yaml if it exists; without either, the defaults. $ROTA_CONTROLLER and
/// $ROTA_MUNGE_SOCKET win over the file's controller.address and munge.socket.
Result<Config> config_default();

}  // namespace rota
