// gpud/daemon.cpp - what rgpud is made of, in the order in which it must come up.
#include "gpud/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "common/names.h"
#include "common/notify.h"
#include "common/units.h"
#include "common/version.h"
#include "gpud/container/host.h"
#include "gpud/inventory/inventory.h"
#include "gpud/launch/secrets.h"
#include "gpud/launch/spawn.h"
#include "gpud/share/driver.h"
#include "gpud/share/driver_limit.h"
#include "net/address.h"
#include "net/ticket.h"

namespace rota::gpud {
namespace {

constexpr std::uint64_t command_sessions_max = 4096;
/// A heartbeat is a small message; no node has more GPUs than this.
constexpr std::size_t usage_max = 512;

Result<std::uint32_t> uid_of(const std::string& user) {
  ROTA_TRY(const auto uid, uid_of_user(user));
  if (uid) return *uid;
  if (const auto number = number_parse(user, UINT32_MAX - 1))
    return static_cast<std::uint32_t>(*number);
  return Error{Errc::config_invalid, format("controller.user '{}' is no user of this host", user)};
}

std::string boot_id() {
  std::string id = file_read("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

/// Whether the driver has made files for these GPUs; the fake one has none.
bool has_device_files(const std::vector<Gpu>& gpus) {
  const auto has_file = [](const Gpu& gpu) {
    return ::access(format("/dev/nvidia{}", gpu.minor).c_str(), F_OK) == 0;
  };
  return std::any_of(gpus.begin(), gpus.end(), has_file);
}

/// What the facts say of closing GPUs' files to jobs that do not have them.
Result<void> settle_gates(const std::string& wish, NodeFacts& facts) {
  facts.closes_gpus = wish == "always" || (wish == "auto" && has_device_files(facts.gpus));
  if (!facts.closes_gpus || !facts.cgroups.devices.empty()) return {};
  const std::string& why = facts.cgroups.device_trouble;
  if (wish == "always")
    return Error{Errc::config_invalid,
                 format("node.close_gpus is always, but GPUs cannot be closed to jobs: {}", why)};
  log::warning("jobs can open the device files of all GPUs: {}", why);
  facts.closes_gpus = false;
  return {};
}

}  // namespace

Result<std::string> node_name(const Config& config) {
  std::string name = config.node_name;
  if (name.empty()) {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    name = host;
    name.resize(std::min(name.find('.'), name.size()));
  }
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || name.size() > 200 || name.front() == '.' ||
      !std::all_of(name.begin(), name.end(), is_plain))
    return Error{Errc::config_invalid,
                 format("node name '{}': give it 1 to 200 letters, digits, dots, dashes or "
                        "underscores, with --name or node.name",
                        name)};
  return name;
}

Result<net::ConnectOptions> controller_options(const Config& config) {
  net::ConnectOptions options;
  options.address = config.controller_address;
  options.munge_socket = config.munge_socket;
  ROTA_TRY(options.peer_uid, uid_of(config.controller_user));
  return options;
}

std::string public_address(const Config& config, const std::string& name, std::uint16_t port) {
  const std::string& wanted =
      config.node_address.empty() ? config.node_listen : config.node_address;
  const auto parsed = net::parse_host_port(wanted);
  if (!parsed) return format("{}:{}", name, port);
  const bool is_any = parsed->host == "0.0.0.0" || parsed->host == "::" || parsed->host.empty();
  const std::string host = is_any ? name : parsed->host;
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::uint16_t shown =
      config.node_address.empty() || parsed->port == 0 ? port : parsed->port;
  return is_v6 ? format("[{}]:{}", host, shown) : format("{}:{}", host, shown);
}

Daemon::Daemon(boost::asio::any_io_executor executor, Config config, int ready_fd)
    : executor_(executor), config_(std::move(config)), ready_fd_(ready_fd) {}

Result<void> Daemon::start() {
  ROTA_CHECK(make_shell());
  ROTA_CHECK(listen());
  ROTA_CHECK(shell_->start());
  ROTA_CHECK(dial());
  // A node whose controller is away has started all the same: systemd must not wait for both.
  if (const auto told = notify_ready(); !told) log::warning("{}", told.error().message());
  return {};
}

Result<void> Daemon::make_shell() {
  ROTA_TRY(const std::string name, node_name(config_));
  ROTA_TRY(Spool spool, Spool::open(config_.node_spool_dir));
  nvml_.emplace(config_.node_nvml);
  ROTA_TRY(Inventory inventory, read_inventory(*nvml_));

  NodeFacts facts;
  facts.name = name;
  facts.boot_id = boot_id();
  facts.spool_dir = spool.directory();
  facts.scripts_dir = spool.scripts_directory();
  facts.binds_cpus = inventory.this_system;
  facts.gpus = inventory.node.gpus;
  facts.shares.shim_dir = shim_directory();
  facts.shares.driver = find_driver(config_.node_nvml);
  facts.caps = MigMinors::load();
  facts.cgroups = cgroup_prepare(cgroup_mounts(file_read("/proc/mounts"), config_.node_cgroup),
                                 config_.node_cgroup_parent, name + '.' + spool.id());
  facts.shares.driver_limits = ::geteuid() == 0 && facts.cgroups.tracking_v2 &&
                               !facts.shares.shim_dir.empty() && !facts.gpus.empty() &&
                               has_driver_limits(facts.shares.shim_dir, facts.shares.driver.nvml);
  if (facts.shares.driver_limits) log::info("the driver itself limits parts of GPUs");
  if (config_.node_cgroup == "none")
    log::info("node.cgroup is none: jobs are not confined to their memory and CPUs");
  else if (!facts.cgroups.trouble.empty())
    log::warning("{}", facts.cgroups.trouble);

  facts.cpus = inventory.cpus;
  facts.bind_memory = config_.node_bind_memory;
  facts.burst_grace = config_.node_burst_grace;
  facts.session_linger = config_.node_session_linger;
  facts.unkillable_after = config_.node_unkillable_after;
  facts.git_limit = config_.node_git_limit;
  facts.git_bytes_max = config_.node_git_size_max << 20;
  ROTA_CHECK(settle_gates(config_.node_close_gpus, facts));
  ROTA_TRY(facts.containers, container_facts(config_, facts.spool_dir));
  facts.containers.node = facts.cgroups.node_directory;
  facts.containers.shm_bytes = inventory.node.memory_bytes / 2;

  facts.secrets_base = secrets_base(facts.cgroups.node_directory);

  make_mig(spool.directory(), inventory.node.gpus);

  Shell::Options options;
  options.mig = mig_ ? &*mig_ : nullptr;
  options.mig_seen = nvml_->last_instances();
  options.identity.name = name;
  options.identity.version = version();
  options.identity.boot_id = facts.boot_id;
  options.inventory = std::move(inventory.node);
  options.cpus = std::move(inventory.cpus);
  options.ticket_key = net::make_ticket_key();
  options.dcgm_dir = config_.node_dcgm_dir;
  options.jobstats_dir = config_.node_jobstats_dir;
  options.mps_program = config_.node_mps_control;
  options.images.logins_path = spool.directory() + "/logins";
  options.images.engines.node = facts.containers.node;
  options.images.engines.docker_socket = facts.containers.docker_socket;
  options.images.engines.podman = facts.containers.podman;
  options.images.engines.enroot = facts.containers.enroot;
  options.images.engines.kept_max = config_.node_container_kept_max;
  options.images.engines.enroot_dir = facts.containers.enroot_dir;
  options.images.engines.enroot_account = facts.containers.enroot_account;
  options.images.cache_path = facts.spool_dir + "/images";
  options.images.prefetch_max = static_cast<unsigned>(config_.node_prefetch);
  options.images.cache_bytes.reset();
  if (config_.node_image_cache != "auto") {
    ROTA_TRY(options.images.cache_bytes, size_parse(config_.node_image_cache));
  }
  options.prologs = prolog_options(config_);
  options.prologs.directory = facts.spool_dir + "/prolog";
  options.prologs.node = name;
  options.prologs.boot_id = facts.boot_id;
  log::info("rgpud {} on node {}: {} CPUs, {} memory, {} GPUs", version(), name,
            options.inventory.cpu_count, size_format(options.inventory.memory_bytes),
            options.inventory.gpus.size());
  ROTA_TRY(Monitor::Options health, monitor_options(config_));
  health.gpus = facts.gpus;
  health.boot_id = facts.boot_id;
  health.record_path = facts.spool_dir + "/health";
  health.cgroup_directory = facts.cgroups.node_directory;
  health.step_program = step_program();
  shell_.emplace(executor_, std::move(options), std::move(spool), std::move(facts), step_program());
  shell_->watch_health(std::move(health), [this] {
    nvml_->refresh();
    if (mig_nvml_) mig_nvml_->refresh();
  });
  shell_->gpu_holders = [this] { return nvml_->last_holders(); };
  shell_->gpu_samples = [this](std::set<std::string> shared) {
    auto samples = nvml_->last_samples();
    nvml_->set_shared(std::move(shared));
    nvml_->sample();  // for the next one
    return samples;
  };
  return {};
}

/// Cutting has a worker of its own: it takes seconds, and samples shall not wait for it.
void Daemon::make_mig(const std::string& spool_dir, std::vector<Gpu>& gpus) {
  const auto can_be_cut = [](const Gpu& gpu) { return gpu.mig.can_be_cut(); };
  if (std::ranges::none_of(gpus, can_be_cut)) return;
  if (::geteuid() != 0) {
    log::info("GPUs are not cut into MIG instances: only root may do that");
    for (Gpu& gpu : gpus) gpu.mig.profiles.clear();
    return;
  }
  mig_nvml_.emplace(config_.node_nvml);
  MigKeeper::Options options;
  options.ledger_path = spool_dir + "/mig";
  options.gpus = gpus;
  options.hold = config_.node_mig_hold;
  options.ends_strangers = config_.node_mig_strangers == "destroy";
  mig_.emplace(executor_, *mig_nvml_, std::move(options));
  mig_->on_switched = [this] { nvml_->refresh(); };
}

Result<void> Daemon::listen() {
  logs_.emplace(executor_, *shell_, wall_now());
  shell_->on_run_ended = [this](RunId run) { logs_->run_ended(run); };
  net::ListenerOptions options;
  options.address = config_.node_listen;
  options.munge_socket = config_.munge_socket;
  options.sessions_max = command_sessions_max;
  ROTA_TRY(listener_, net::Listener::start(executor_, std::move(options),
                                           [this](std::shared_ptr<net::Connection> connection) {
                                             logs_->serve(std::move(connection));
                                           }));
  const std::string& asked = config_.node_listen;
  listening_ = format("{}{}", asked.substr(0, asked.rfind(':') + 1), listener_->port());
  shell_->set_address(public_address(config_, shell_->identity().name, listener_->port()));
  log::info("listens on {}, reached at {}", listening_, shell_->identity().address);
  return {};
}

Result<void> Daemon::dial() {
  ROTA_TRY(const net::ConnectOptions options, controller_options(config_));
  link_.emplace(
      executor_, [executor = executor_, options] { return net::connect(executor, options); },
      link_events(), BackOff(config_.node_reconnect_max, std::random_device()()));
  link_->start();
  return {};
}

Link::Events Daemon::link_events() {
  Link::Events events;
  events.connected = [this](std::shared_ptr<net::Connection> controller) {
    shell_->connected(std::move(controller));
  };
  events.welcomed = [this](const proto::NodeWelcome& welcome) {
    shell_->welcomed(welcome);
    ready();
  };
  events.received = [this](const proto::Frame& frame) { return shell_->received(frame); };
  events.disconnected = [this] { shell_->disconnected(); };
  events.in_contact = [this](MonoTime sent) { shell_->in_contact(sent); };
  events.heartbeat = [this] {
    proto::Heartbeat beat;
    beat.usage = nvml_->last_usage();
    if (beat.usage.size() > usage_max) beat.usage.resize(usage_max);
    beat.runs = shell_->usage_reports();
    nvml_->sample();  // for the next one
    return beat;
  };
  return events;
}

void Daemon::ready() {
  if (std::exchange(is_ready_, true)) return;
  if (ready_fd_ < 0) return;
  if (const auto told = notify_ready_fd(ready_fd_, listening_); !told)
    log::warning("{}", told.error().message());
}

void Daemon::stop() {
  static_cast<void>(notify_stopping());
  if (link_) link_->stop();
  if (listener_) listener_->stop();
  if (shell_) shell_->stop();
}

}  // namespace rota::gpud
