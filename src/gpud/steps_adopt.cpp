// gpud/steps_adopt.cpp - runs without their rstepd: what an earlier rgpud left, what a kill left.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <filesystem>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "gpud/launch/cgroup.h"
#include "gpud/launch/process_tree.h"
#include "gpud/launch/secrets.h"
#include "gpud/share/driver_limit.h"
#include "gpud/steps.h"
#include "net/log_end.h"

namespace rota::gpud {
namespace {

constexpr Duration pause_first = std::chrono::milliseconds(5);
constexpr Duration pause_max = std::chrono::milliseconds(500);

RunEnd node_failed(std::string why) { return {EndCause::node_failed, 0, 0, 0, std::move(why)}; }

/// Kills once and tells who is still there.
std::vector<pid_t> kill_rest(const RunCgroups& cgroups, bool tracked, const std::string& token,
                             std::uint32_t uid) {
  cgroups.kill();
  // Looking into every process is slow, and one that hangs may make us wait: only without a cgroup.
  std::vector<pid_t> left = tracked ? cgroups.processes() : carriers_of("ROTA_RUN=" + token, uid);
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  return left;
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(path, error))
    if (item.is_directory(error)) names.push_back(item.path().filename());
  return names;
}

}  // namespace

/// The port that an earlier rgpud gave to a run which is still there.
std::uint16_t Steps::adopt_port(const std::vector<std::string>& environment) {
  constexpr std::string_view name = "ROTA_MASTER_PORT=";
  for (const std::string& variable : environment) {
    if (!variable.starts_with(name)) continue;
    const auto port = number_parse(variable.substr(name.size()), 65'535);
    if (!port || *port == 0) return 0;
    ports_.adopt(static_cast<std::uint16_t>(*port));
    return static_cast<std::uint16_t>(*port);
  }
  return 0;
}

std::vector<AdoptedRun> Steps::adopt() {
  std::vector<AdoptedRun> adopted;
  for (Spool::Found& found : spool_.scan()) adopt_one(std::move(found), adopted);
  remove_strays();
  sweep_secrets(facts_.secrets_base, [this](RunId run) { return steps_.contains(run); });
  return adopted;
}

void Steps::adopt_one(Spool::Found found, std::vector<AdoptedRun>& adopted) {
  const RunId run = found.run;
  AdoptedRun known;
  known.launch.run = run;
  Step step;
  step.state = State::detached;
  step.cgroups = facts_.cgroups.plan_for(run_name(run));
  const bool is_good = found.trouble.empty();
  if (is_good) {
    step.uid = found.record.order->launch.owner.uid;
    step.cgroups = std::move(found.record.order->cgroups);
    step.image_digest = found.record.order->container.digest;
    step.container = found.record.order->container.name;
    known.image_digest = step.image_digest;
    if (!found.record.end) burst_.adopt(run, found.record.order->share.gpus);
    for (GpuShare& gpu : found.record.order->share.gpus)
      step.shared_gpus.push_back(std::move(gpu.uuid));
    known.launch = std::move(found.record.order->launch);
    if (known.launch.node_index == 0 && !found.record.end)
      step.port = adopt_port(known.launch.payload.environment);
    known.launch.payload = {};  // rstepd has it; nobody here asks for it again
    known.cpus = std::move(found.record.order->cpus);
  }
  if (found.record.start) {
    known.start_time = found.record.start->start_time;
    known.phase = proto::RunPhase::running;
    step.started = true;
  }
  if (found.record.end) {
    known.phase = proto::RunPhase::ended;
    known.end = std::move(found.record.end->end);
    adopted.push_back(std::move(known));
    return;
  }
  if (is_good && found.record.order->boot_id != facts_.boot_id) {
    log::warning("job {} was running when this node went down", run_name(run));
    known.phase = proto::RunPhase::ended;
    known.end = node_failed("the node was restarted under the job");
    burst_.remove(run);
    adopted.push_back(std::move(known));
    return;
  }
  adopted.push_back(std::move(known));
  steps_.emplace(run, std::move(step));
  if (!is_good)
    begin_clean(run, format("its record was damaged: {}", found.trouble));
  else if (!found.is_alive)
    begin_clean(run, "rstepd was killed");
}

/// A cgroup without a record: an end was told although something could not be killed then.
void Steps::remove_strays() {
  for (const std::string& base : {facts_.cgroups.tracking, facts_.cgroups.memory,
                                  facts_.cgroups.cpuset, facts_.cgroups.devices}) {
    if (base.empty()) continue;
    for (const std::string& name : directories_in(base)) {
      const auto run = run_from_name(name);
      if (run && steps_.contains(*run)) continue;
      boost::asio::co_spawn(executor_, clean_stray(base + '/' + name), net::log_end("clean-up"));
    }
  }
}

boost::asio::awaitable<void> Steps::clean_stray(std::string path) {
  const MonoTime give_up = mono_now() + facts_.unkillable_after;
  boost::asio::steady_timer timer(executor_);
  std::vector<std::string> uuids;
  for (const Gpu& gpu : facts_.gpus) uuids.push_back(gpu.uuid);
  const Fd clearing = clear_limits(path, uuids);
  for (Duration pause = pause_first; mono_now() < give_up; pause = std::min(2 * pause, pause_max)) {
    cgroup_kill(path);
    if (is_cleared(clearing) && cgroup_remove(path)) co_return;
    timer.expires_after(pause);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  log::warning("{} is left over and cannot be removed", path);
}

/// What the driver keeps for a cgroup is given back before it goes.
Fd Steps::clear_limits(const std::string& cgroup, const std::vector<std::string>& uuids) const {
  if (!facts_.shares.driver_limits || !cgroup.starts_with(facts_.cgroups.tracking)) return Fd();
  return begin_clear_driver_limits(facts_.shares.shim_dir, facts_.shares.driver.nvml, cgroup,
                                   uuids);
}

void Steps::begin_clean(RunId run, std::string why) {
  log::warning("job {}: {}; ending what it left", run_name(run), why);
  steps_[run].state = State::cleaning;
  boost::asio::co_spawn(executor_, clean(run, std::move(why)),
                        net::log_end("clean-up of job " + run_name(run)));
}

boost::asio::awaitable<void> Steps::clean(RunId run, std::string why) {
  const Step& step = steps_[run];
  const std::uint32_t uid = step.uid;
  const bool tracked = !step.cgroups.tracking.empty();
  const Fd clearing = clear_limits(step.cgroups.tracking, step.shared_gpus);
  RunCgroups cgroups(step.cgroups);
  const std::string token = run_token(facts_, run);
  const MonoTime give_up = mono_now() + facts_.unkillable_after;
  boost::asio::steady_timer timer(executor_);
  Duration pause = pause_first;
  std::vector<ProcessName> unkilled;
  for (;;) {
    // Once before the first look, too: an event must not come from within adopt().
    timer.expires_after(pause);
    co_await timer.async_wait(boost::asio::use_awaitable);
    pause = std::min(2 * pause, pause_max);
    const std::vector<pid_t> left = kill_rest(cgroups, tracked, token, uid);
    if (left.empty() && is_cleared(clearing) && cgroups.remove()) break;
    if (mono_now() < give_up) continue;
    why += format("; {} processes could not be killed", left.size());
    unkilled = process_names(left);
    break;
  }
  remove_secrets_of(run);
  RunEnd end = node_failed(std::move(why));
  end.left = std::move(unkilled);
  if (!steps_[run].container.empty() && events_.container_lost) events_.container_lost();
  finish(run, std::move(end), {});
}

}  // namespace rota::gpud
