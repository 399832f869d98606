// gpud/health/monitor.cpp - one tick a second; everything else comes by itself.
#include "gpud/health/monitor.h"

#include <algorithm>
#include <chrono>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/owner.h"
#include "gpud/launch/process_tree.h"

namespace rota::gpud {
namespace {

/// A question that is open for so long has missed its time.
constexpr Duration answer_limit = std::chrono::seconds(10);
constexpr std::size_t checks_max = 32;

Now now() { return {mono_now(), wall_now()}; }

HealthRecord load(const std::string& path) {
  auto record = health_record_read(path);
  if (record) return *std::move(record);
  // Without it a GPU that was closed is open again: people have to know.
  if (record.error().code != Errc::not_found)
    log::error("what was known of the GPUs' health is lost: {}", record.error().message());
  return {};
}

/// Numbers of processes come back, so the whole name has to be there.
bool is_there(const ProcessName& process) {
  return process_name(static_cast<pid_t>(process.pid)) == process;
}

/// A run whose instances are not there yet counts for all of their GPUs.
std::map<std::string, std::vector<GpuTenant>> tenants_of(
    const std::map<RunId, Agent::Run>& runs, const std::vector<Gpu>& gpus,
    const std::function<std::vector<MigDevice>(RunId)>& instances_of) {
  std::map<std::string, std::vector<GpuTenant>> tenants;
  for (const auto& [id, run] : runs) {
    if (run.phase == proto::RunPhase::ended) continue;
    std::vector<MigDevice> instances;
    if (!run.launch.part.mig.empty() && instances_of) instances = instances_of(id);
    for (const MigDevice& each : instances)
      if (each.gpu < gpus.size()) tenants[gpus[each.gpu].uuid].push_back({id, each.instance});
    for (const std::string& uuid : run.launch.gpu_uuids) {
      const bool is_there = std::any_of(instances.begin(), instances.end(), [&](const auto& each) {
        return each.gpu < gpus.size() && gpus[each.gpu].uuid == uuid;
      });
      if (!is_there) tenants[uuid].push_back({.run = id});
    }
  }
  for (auto& [uuid, list] : tenants) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return tenants;
}

Result<std::vector<std::string>> paths_from(const std::string& text) {
  std::vector<std::string> paths;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" ,", at)) != std::string::npos) {
    const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
    std::string path = text.substr(at, end - at);
    at = end;
    if (path.front() != '/')
      return Error{Errc::config_invalid,
                   format("node.health_checks: {} is not an absolute path", path)};
    if (std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(std::move(path));
  }
  if (paths.size() > checks_max)
    return Error{Errc::config_invalid,
                 format("node.health_checks: more than {} programs", checks_max)};
  return paths;
}

}  // namespace

Result<Monitor::Options> monitor_options(const Config& config) {
  Monitor::Options options;
  ROTA_CHECK(options.policy.change(config.node_health_policy));
  ROTA_TRY(options.checks, paths_from(config.node_health_checks));
  options.library = config.node_nvml;
  options.kernel_log = config.node_kernel_log;
  options.poll = config.node_health_poll;
  options.reset_program = config.node_gpu_reset_program;
  options.test_program = config.node_gpu_test_program;
  options.program_limit = config.node_gpu_program_limit;
  options.check_interval = config.node_health_check_interval;
  options.check_limit = config.node_health_check_limit;
  options.checks_jobs = config.node_health_check_jobs;
  options.programs = {config.node_prolog, config.node_epilog};
  return options;
}

Monitor::Monitor(boost::asio::any_io_executor executor, Options options, Events events)
    : executor_(executor),
      options_(std::move(options)),
      events_(std::move(events)),
      loaded_(load(options_.record_path)),
      health_(options_.policy, options_.gpus, loaded_, options_.boot_id, now()),
      kernel_log_(executor, [this](const LoggedXid& xid) { logged(xid); }),
      timer_(executor) {}

void Monitor::start(const std::map<RunId, Agent::Run>& runs) {
  if (!loaded_.events.empty()) logged_sequence_ = loaded_.events.back().sequence;
  std::set<std::string> kept(options_.checks.begin(), options_.checks.end());
  kept.insert(options_.programs.begin(), options_.programs.end());
  health_.keep_checks(kept, now());
  std::vector<std::string> uuids;
  for (const Gpu& gpu : options_.gpus) uuids.push_back(gpu.uuid);
  HealthWatch::Events events;
  events.answered = [this](const std::string& uuid, const Result<GpuVitals>& vitals,
                           bool after_reset) { answered(uuid, vitals, after_reset); };
  events.told = [this](const GpuEvent& event) {
    if (event.xid == 0) return ask(event.uuid);
    health_.seen({.uuid = event.uuid, .xid = event.xid, .instance = event.instance}, now());
    carry_out();
  };
  events.alarmed = [this] { poll(); };
  watch_.emplace(executor_, options_.library, std::move(uuids), std::move(events));
  if (!options_.kernel_log.empty() && !options_.gpus.empty())
    if (const auto opened = kernel_log_.open(options_.kernel_log, health_.kmsg_sequence()); !opened)
      log::warning("Xids in the kernel's log are not seen: {}", opened.error().detail);
  runs_changed(runs);
  poll();
  tick();
}

void Monitor::stop() {
  is_stopped_ = true;
  timer_.cancel();
  kernel_log_.close();
  programs_.clear();
  watch_.reset();
}

void Monitor::runs_changed(const std::map<RunId, Agent::Run>& runs) {
  if (is_stopped_ || !watch_) return;  // before the start nothing can be carried out
  health_.set_tenants(tenants_of(runs, options_.gpus, events_.instances_of), now());
  carry_out();
}

void Monitor::left_behind(const std::vector<std::string>& uuids,
                          std::vector<ProcessName> processes) {
  // A run may have ended long ago, or before a reboot.
  std::erase_if(processes, [](const ProcessName& each) { return !is_there(each); });
  if (processes.empty() || is_stopped_ || !watch_) return;
  for (const std::string& uuid : uuids) health_.left_behind(uuid, processes, now());
  carry_out();
}

void Monitor::look_for_left() {
  std::vector<ProcessName> gone = health_.left();
  std::erase_if(gone, is_there);
  if (!gone.empty()) health_.gone(gone, now());
}

void Monitor::retry(const std::string& uuid) {
  health_.retry(uuid, now());
  if (uuid.empty())
    for (auto& [path, at] : check_at_) at = {};
  carry_out();
}

void Monitor::program_failed(const std::string& path, const Error& why) {
  if (is_stopped_) return;
  health_.checked(path, why, now());
  carry_out();
}

// ---- sources ----

void Monitor::tick() {
  timer_.expires_after(std::chrono::seconds(1));
  timer_.async_wait([this](boost::system::error_code error) {
    if (error || is_stopped_) return;
    const Now at = now();
    if (at.mono >= poll_at_) poll();
    health_.tick(at);
    look_for_left();
    for (const std::string& path : options_.checks)
      if (at.mono >= check_at_[path] && !programs_.contains(path)) run_check(path);
    carry_out();
    tick();
  });
}

void Monitor::poll() {
  const Now at = now();
  poll_at_ = at.mono + options_.poll;
  for (const Gpu& gpu : options_.gpus) {
    const auto since = watch_->asked_at(gpu.uuid);
    MonoTime& missed_at = missed_at_[gpu.uuid];
    if (since && at.mono - std::max(*since, missed_at) >= answer_limit) {
      missed_at = at.mono;
      health_.missed(gpu.uuid, at);
    }
    ask(gpu.uuid);
  }
  carry_out();
}

void Monitor::ask(const std::string& uuid) {
  if (watch_ && find(uuid) != nullptr) watch_->ask(uuid);
}

void Monitor::logged(const LoggedXid& xid) {
  const auto gpu = std::find_if(options_.gpus.begin(), options_.gpus.end(),
                                [&xid](const Gpu& each) { return is_at(xid, each.pci_bus_id); });
  if (gpu == options_.gpus.end()) return;
  XidSeen seen{.uuid = gpu->uuid, .xid = xid.xid, .source = XidSeen::Source::log};
  if (xid.pid != 0) {
    const ProcessOwner culprit =
        owner_of_process(xid.pid, options_.cgroup_directory, options_.step_program);
    seen.run = culprit.run;
    seen.is_foreign = culprit.is_alive && !culprit.run;
  }
  health_.set_kmsg_sequence(std::max(health_.kmsg_sequence(), xid.sequence));
  health_.seen(seen, now());
  carry_out();
}

void Monitor::answered(const std::string& uuid, const Result<GpuVitals>& vitals, bool after_reset) {
  if (is_stopped_) return;
  // The answer to an older question says nothing of the GPU after its reset.
  if (testing_.contains(uuid) && !after_reset) return watch_->ask(uuid, true);
  if (testing_.erase(uuid) > 0) {
    if (vitals && !options_.test_program.empty() && !vitals->lost) {
      if (!vitals->in_mig_mode) return run_test_program(uuid, *vitals);
      log::info("{} is in MIG mode: node.gpu_test_program could not use it, so NVML's word counts",
                uuid);
    }
    health_.test_done(uuid, vitals, now());
  } else if (vitals) {
    health_.polled(uuid, *vitals, now());
  } else {
    log::debug("{} does not tell how it is: {}", uuid, vitals.error().message());
    health_.missed(uuid, now());
  }
  carry_out();
}

// ---- effects ----

void Monitor::carry_out() {
  // On the disk first: after a crash the same is done again, not forgotten.
  const bool has_news = health_.take_news();
  if (has_news) {
    log_events();
    save();
  }
  for (const HealthEffect& effect : health_.take_effects()) {
    if (const auto* end = std::get_if<EndTenant>(&effect))
      events_.end_run(end->run, end->cause, end->detail);
    else if (const auto* reset_gpu = std::get_if<ResetGpu>(&effect))
      reset(reset_gpu->uuid);
    else if (const auto* test_gpu = std::get_if<TestGpu>(&effect))
      test(test_gpu->uuid);
    else
      ask(std::get<PollGpu>(effect).uuid);
  }
  if (has_news) events_.report(health_.report());
}

void Monitor::log_events() {
  const proto::GpuHealthReport report = health_.report();
  for (const HealthEvent& event : report.events) {
    if (event.sequence <= logged_sequence_) continue;
    logged_sequence_ = event.sequence;
    const Gpu* gpu = find(event.uuid);
    const std::string who = event.uuid.empty() ? "this node"
                            : gpu != nullptr   ? format("GPU {} ({})", gpu->index, event.uuid)
                                               : event.uuid;
    const bool is_well = event.after == GpuCondition::ok && event.xid == 0;
    if (is_well)
      log::info("health of {}: {}", who, event.text);
    else
      log::warning("health of {}: {}{}", who, event.text,
                   event.after != event.before ? format(" (now {})", name_of(event.after)) : "");
  }
}

void Monitor::save() {
  const auto saved = health_record_write(options_.record_path, health_.record());
  if (!saved && !save_failed_)
    log::error("the GPUs' health cannot be put on record: {}", saved.error().message());
  save_failed_ = !saved.has_value();
}

const Gpu* Monitor::find(const std::string& uuid) const {
  const auto at = std::find_if(options_.gpus.begin(), options_.gpus.end(),
                               [&uuid](const Gpu& gpu) { return gpu.uuid == uuid; });
  return at == options_.gpus.end() ? nullptr : &*at;
}

ProgramOrder Monitor::gpu_program(const std::string& program, const Gpu& gpu) const {
  ProgramOrder order;
  order.words = {program, gpu.uuid, format("{}", gpu.index), gpu.pci_bus_id};
  order.environment = {format("CUDA_VISIBLE_DEVICES={}", gpu.uuid)};
  order.limit = options_.program_limit;
  return order;
}

void Monitor::reset(const std::string& uuid) {
  const Gpu* gpu = find(uuid);
  if (gpu == nullptr || is_stopped_) return;
  ProgramOrder order = gpu_program(options_.reset_program, *gpu);
  if (options_.reset_program.empty())
    order.words = {"nvidia-smi", "--gpu-reset", format("--id={}", gpu->pci_bus_id)};
  log::info("resets GPU {} ({})", gpu->index, uuid);
  programs_[uuid] = run_program(executor_, std::move(order), [this, uuid](Result<void> result) {
    programs_.erase(uuid);
    if (result) events_.was_reset();
    health_.reset_done(uuid, result, now());
    carry_out();
  });
}

/// NVML first, then the site's program.
void Monitor::test(const std::string& uuid) {
  if (is_stopped_ || !watch_) return;
  testing_.insert(uuid);
  watch_->ask(uuid, true);
}

void Monitor::run_test_program(const std::string& uuid, const GpuVitals& vitals) {
  const Gpu* gpu = find(uuid);
  programs_[uuid] = run_program(
      executor_, gpu_program(options_.test_program, *gpu),
      [this, uuid, vitals](Result<void> result) {
        programs_.erase(uuid);
        health_.test_done(
            uuid, result ? Result<GpuVitals>(vitals) : Result<GpuVitals>(result.error()), now());
        carry_out();
      });
}

void Monitor::run_check(const std::string& path) {
  check_at_[path] = mono_now() + options_.check_interval;
  ProgramOrder order;
  order.words = {path};
  order.limit = options_.check_limit;
  programs_[path] = run_program(executor_, std::move(order), [this, path](Result<void> result) {
    programs_.erase(path);
    health_.checked(path, result, now());
    carry_out();
  });
}

// ---- before a job ----

void Monitor::check_start(std::function<void(Result<void>)> done) {
  if (!options_.checks_jobs || options_.checks.empty()) return done({});
  start_waiting_.push_back(std::move(done));
  begin_round();
}

/// All jobs that came while one round ran share the next.
void Monitor::begin_round() {
  if (round_left_ > 0 || start_waiting_.empty() || is_stopped_) return;
  round_ = std::exchange(start_waiting_, {});
  round_left_ = options_.checks.size();
  round_result_ = {};
  for (const std::string& path : options_.checks) {
    ProgramOrder order;
    order.words = {path};
    order.limit = options_.check_limit;
    programs_["start:" + path] =
        run_program(executor_, std::move(order),
                    [this, path](Result<void> result) { end_of_start_check(path, result); });
  }
}

void Monitor::end_of_start_check(const std::string& path, const Result<void>& result) {
  programs_.erase("start:" + path);
  if (!result && round_result_)
    round_result_ = Error{Errc::io_failed, format("health check: {}", result.error().detail)};
  const bool is_last = --round_left_ == 0;
  health_.checked(path, result, now());
  carry_out();
  if (!is_last) return;
  const Result<void> verdict = round_result_;
  for (const auto& done : std::exchange(round_, {})) done(verdict);
  begin_round();
}

}  // namespace rota::gpud
