// gpud/steps.cpp - one entry per run, from the Agent's order to the end that it is told.
#include "gpud/steps.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/cgroup.h"
#include "gpud/launch/packet.h"
#include "gpud/launch/secrets.h"
#include "gpud/user_call.h"
#include "proto/codec.h"

namespace rota::gpud {

using boost::system::error_code;

namespace {

/// Enough for a stream of short jobs; each is a small process that sleeps.
constexpr std::size_t idle_max = 16;
constexpr Duration idle_for = std::chrono::seconds(10);
/// Kept for an rstepd that has not called yet.
constexpr std::size_t unheard_max = 64;

Result<std::pair<Fd, Fd>> make_line() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{Errc::io_failed, format("cannot make a socket: {}", strerrordesc_np(errno))};
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

RunEnd launch_failed(const Error& error) {
  const bool plain = error.code == Errc::launch_failed || error.code == Errc::unsupported;
  const bool by_job = error.code == Errc::launch_failed || error.code == Errc::job_invalid;
  return {EndCause::launch_failed, 0, 0, 0, plain ? error.detail : error.message(), !by_job};
}

}  // namespace

Steps::Steps(boost::asio::any_io_executor executor, Spool spool, NodeFacts facts,
             std::string step_program, Events events)
    : executor_(executor),
      spool_(std::move(spool)),
      facts_(std::move(facts)),
      events_(std::move(events)),
      groups_(executor),
      nursery_(executor, std::move(step_program), facts_.name),
      listening_(executor),
      burst_(facts_.burst_grace) {
  for (const Gpu& gpu : facts_.gpus) burst_.set_gpu(gpu.uuid, gpu.memory_bytes);
}

Result<void> Steps::open() {
  ROTA_CHECK(nursery_.start());
  ROTA_TRY(Fd socket, spool_.listen());
  listening_.assign(socket.release());
  accept();
  return {};
}

void Steps::accept() {
  listening_.async_wait(boost::asio::posix::descriptor_base::wait_read, [this](error_code error) {
    if (error) return;
    for (;;) {
      Fd socket(::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) break;
      new_line(std::move(socket));
    }
    accept();
  });
}

std::shared_ptr<StepLine> Steps::new_line(Fd socket) {
  auto line = std::make_shared<StepLine>(executor_, std::move(socket));
  line->open([this](const auto& from, StepReport report) { reported(from, std::move(report)); },
             [this](const auto& from) { line_closed(from); });
  return line;
}

void Steps::start(StartStep effect, const NodeSettings& settings) {
  const RunId run = effect.launch.run;
  steps_[run].uid = effect.launch.owner.uid;
  last_start_ = mono_now();
  if (!events_.before_start) return find_groups(std::move(effect), settings);
  auto shared = std::make_shared<StartStep>(std::move(effect));
  events_.before_start(shared->launch, [this, run, shared, settings](Result<void> checked) {
    if (!is_preparing(run)) return;  // it was ended
    if (checked) return find_groups(std::move(*shared), settings);
    finish_later(run, launch_failed(checked.error()));
  });
}

void Steps::find_groups(StartStep effect, const NodeSettings& settings) {
  if (::geteuid() != 0) return prepare(std::move(effect), settings, {});
  // The answer is often there already; then this is a plain call.
  auto shared = std::make_shared<StartStep>(std::move(effect));
  groups_.find(shared->launch.owner.uid, shared->launch.owner.gid, last_start_,
               [this, shared, settings](const GroupCache::Groups& groups) {
                 prepare(std::move(*shared), settings, groups);
               });
}

bool Steps::is_preparing(RunId run) const {
  const auto step = steps_.find(run);
  return step != steps_.end() && step->second.state == State::preparing;
}

void Steps::prepare(StartStep effect, const NodeSettings& settings,
                    std::vector<std::uint32_t> groups) {
  if (!is_preparing(effect.launch.run)) return;
  if (!events_.prepare) return launch(std::move(effect), settings, std::move(groups), {});
  auto shared = std::make_shared<StartStep>(std::move(effect));
  events_.prepare(shared->launch, groups,
                  [this, shared, settings, groups](const Result<Provision>& provision) {
                    const RunId run = shared->launch.run;
                    if (!is_preparing(run)) return;
                    if (!provision) return finish_later(run, launch_failed(provision.error()));
                    launch(std::move(*shared), settings, groups, *provision);
                  });
}

/// Where the run's processes meet. A script or a node that is alone looks for any port; those of
/// tasks on several nodes are started at the same time and have to know without asking.
Result<std::uint16_t> Steps::find_port(const proto::LaunchRun& launch, Step& step) {
  const bool is_shared = launch.payload.mode == LaunchMode::tasks &&
                         (launch.nodes.size() > 1 || launch.spec.is_elastic());
  if (launch.node_index > 0)
    return is_shared ? MeetingPorts::first_choice(launch.run) : std::uint16_t{0};
  ROTA_TRY(step.port, is_shared ? ports_.take_first_choice(launch.run) : ports_.take(launch.run));
  return step.port;
}

void Steps::launch(StartStep effect, const NodeSettings& settings,
                   std::vector<std::uint32_t> groups, Provision provision) {
  const RunId run = effect.launch.run;
  const auto step = steps_.find(run);
  auto port = find_port(effect.launch, step->second);
  if (!port) return finish_later(run, launch_failed(port.error()));
  provision.meeting_port = *port;
  auto order = plan_step(std::move(effect.launch), std::move(effect.cpus), std::move(groups),
                         facts_, settings, wall_now(), provision);
  if (!order) return finish_later(run, launch_failed(order.error()));
  burst_.add(run, order->share.gpus);
  if (!burst_.may_start(run)) {
    log::info("job {} waits for memory of its GPUs that another holds beyond its request",
              run_name(run));
    step->second.waiting = *std::move(order);
    return;
  }
  if (const auto handed = hand_over(run, step->second, *std::move(order)); !handed)
    finish_later(run, launch_failed(handed.error()));
}

Result<void> Steps::hand_over(RunId run, Step& step, StepOrder order) {
  ROTA_TRY(Fd secrets, take_secrets_out(order));
  ROTA_TRY(Fd record, spool_.create(order));
  step.cgroups = std::move(order.cgroups);
  step.image_digest = std::move(order.container.digest);
  step.container = std::move(order.container.name);
  for (GpuShare& gpu : order.share.gpus) step.shared_gpus.push_back(std::move(gpu.uuid));
  step.state = State::attached;
  burst_.started(run);
  while (!idle_.empty()) {
    step.line = std::move(idle_.back());
    idle_.pop_back();
    step.line->run = run;
    if (step.line->send_run(record.get(), secrets.get())) return {};
    step.line->close();
  }
  auto ends = make_line();
  if (!ends) {
    record.reset();
    spool_.remove(run);
    return std::move(ends).error();
  }
  step.line = new_line(std::move(ends->first));
  step.line->run = run;
  nursery_.send(NurseryOrder::run, secrets ? run_with_secrets : "", std::move(record),
                std::move(ends->second), std::move(secrets));
  return {};
}

void Steps::end(const EndStep& effect) {
  const proto::EndRun& order = effect.order;
  const auto found = steps_.find(order.run);
  if (found == steps_.end()) return;
  Step& step = found->second;
  StepCommand command{
      .signal = 0, .end_signal = order.signal, .grace_ms = order.grace_ms, .held = {}};
  command.cause = effect.cause;
  command.detail = effect.detail;
  if (step.end_wanted) {  // the first word says why
    command.cause = step.end_wanted->cause;
    command.detail = step.end_wanted->detail;
  }
  step.end_wanted = command;
  if (step.state == State::attached) step.line->send(*step.end_wanted);
  if (step.state == State::preparing)
    finish_later(order.run, {command.cause, 0, 0, 0,
                             command.detail.empty() ? "it had not started yet" : command.detail});
}

void Steps::signal(RunId run, int signal) {
  if (signal <= 0 || signal > SIGRTMAX) return;
  StepCommand command;
  command.signal = signal;
  pass_on(run, std::move(command));
}

void Steps::tell(RunId run, std::string text) {
  StepCommand command;
  // An rstepd from before an upgrade knows no such thing: to that one it is a signal without harm.
  command.signal = SIGCONT;
  command.tell = std::move(text);
  if (command.tell.size() > tell_bytes_max) command.tell.resize(tell_bytes_max);
  pass_on(run, std::move(command));
}

void Steps::limit(RunId run, std::int64_t seconds) {
  StepCommand command;
  command.signal = SIGCONT;  // as above
  command.limit_seconds = seconds;
  pass_on(run, std::move(command));
}

void Steps::pass_on(RunId run, StepCommand command) {
  const auto found = steps_.find(run);
  if (found == steps_.end()) return;
  Step& step = found->second;
  if (step.state == State::attached)
    step.line->send(command);
  else if (step.state == State::detached && step.unheard.size() < unheard_max)
    step.unheard.push_back(std::move(command));
}

void Steps::drop(RunId run) { spool_.remove(run); }

/// Of a run whose rstepd cannot do it any more.
void Steps::remove_secrets_of(RunId run) const {
  if (!facts_.secrets_base.empty()) remove_secrets(facts_.secrets_base + '/' + run_name(run));
}

void Steps::reported(const std::shared_ptr<StepLine>& line, StepReport report) {
  using Kind = StepReport::Kind;
  if (report.kind == Kind::hello) return greeted(line, report.run);
  if (!line->run) return;
  const RunId run = *line->run;
  switch (report.kind) {
    case Kind::started: {
      const auto step = steps_.find(run);
      if (step == steps_.end() || std::exchange(step->second.started, true)) return;
      events_.started(run, report.start_time, step->second.image_digest);
      return;
    }
    case Kind::note:
      return log::warning("job {}: {}", run_name(run), report.detail);
    case Kind::left:
      log::warning("job {}: {}", run_name(run), report.detail);
      if (const auto step = steps_.find(run); step != steps_.end()) step->second.has_left_it = true;
      return;
    case Kind::ended:
      line->run.reset();
      if (report.is_free && idle_.size() < idle_max)
        idle_.push_back(line);
      else
        line->close();
      return finish(run, std::move(report.end), report.start_time);
    case Kind::hello:
      return;
  }
}

/// An rstepd of an earlier rgpud, or one whose line broke.
void Steps::greeted(const std::shared_ptr<StepLine>& line, RunId run) {
  const auto found = steps_.find(run);
  if (found == steps_.end() || found->second.state != State::detached) {
    log::warning("an rstepd calls for job {}, which has no record here: it is told to end",
                 run_name(run));
    return line->send(StepCommand{});
  }
  Step& step = found->second;
  line->run = run;
  step.line = line;
  step.state = State::attached;
  log::info("job {} goes on: its rstepd has called", run_name(run));
  for (const StepCommand& command : std::exchange(step.unheard, {})) line->send(command);
  if (step.end_wanted) line->send(*step.end_wanted);
}

void Steps::line_closed(const std::shared_ptr<StepLine>& line) {
  std::erase(idle_, line);
  if (line->run) lost(*line->run);
}

/// Nobody is on the line any more. The record knows whether the run has ended, the lock whether its
/// rstepd lives.
void Steps::lost(RunId run) {
  const auto found = steps_.find(run);
  if (found == steps_.end() || found->second.state == State::cleaning) return;
  found->second.line.reset();
  found->second.state = State::detached;
  const Spool::Found now = spool_.look(run);
  if (now.record.end) return finish(run, now.record.end->end, now.record.end->start_time);
  if (!now.is_alive) begin_clean(run, "rstepd was killed");
}

void Steps::finish(RunId run, RunEnd end, WallTime start_time) {
  const auto step = steps_.find(run);
  if (step == steps_.end()) return;
  const bool started = step->second.started;
  const std::string digest = std::move(step->second.image_digest);
  ports_.release(step->second.port);
  const bool has_left_it = step->second.has_left_it;
  steps_.erase(step);
  if (has_left_it && events_.container_lost) events_.container_lost();
  if (events_.release) events_.release(run);
  burst_.remove(run);
  // The record of a run that ended while nobody listened may hold a start that was never told.
  if (!started && start_time) events_.started(run, start_time, digest);
  events_.ended(run, std::move(end));
}

void Steps::finish_later(RunId run, RunEnd end) {
  if (const auto step = steps_.find(run); step != steps_.end()) {
    ports_.release(step->second.port);
    steps_.erase(step);
  }
  if (events_.release) events_.release(run);
  burst_.remove(run);
  boost::asio::post(executor_, [this, run, end = std::move(end)]() mutable {
    events_.ended(run, std::move(end));
  });
}

/// Each run that shares GPUs hears who holds what of them, and judges for itself.
void Steps::tell_holders() {
  std::optional<std::vector<GpuHolders>> all;
  for (const auto& [run, step] : steps_) {
    if (step.state != State::attached || !step.started || step.shared_gpus.empty()) continue;
    if (!all) all = events_.gpu_holders ? events_.gpu_holders() : std::vector<GpuHolders>{};
    StepCommand news;
    for (const GpuHolders& gpu : *all)
      if (std::ranges::find(step.shared_gpus, gpu.uuid) != step.shared_gpus.end())
        news.held.push_back(gpu);
    if (news.held.empty()) continue;
    news.ceilings = burst_.ceilings(run);
    step.line->send(news);
  }
}

void Steps::settle_burst(MonoTime now) {
  if (!burst_.is_needed() || !events_.gpu_held) return;
  std::set<RunId> deaf;
  for (const auto& [run, step] : steps_)
    if (step.state != State::attached) deaf.insert(run);
  burst_.settle(events_.gpu_held(now), now, deaf);
  for (const BurstEviction& eviction : burst_.take_evictions()) {
    const auto step = steps_.find(eviction.run);
    if (step == steps_.end() || step->second.end_wanted) continue;
    log::warning("job {} is ended: {}", run_name(eviction.run), eviction.why);
    StepCommand command;
    command.cause = EndCause::out_of_memory;
    command.detail = eviction.why;
    step->second.end_wanted = command;  // told again when its rstepd calls
    if (step->second.state == State::attached) step->second.line->send(command);
  }
}

/// Runs whose room has been given back meanwhile.
void Steps::start_waiting() {
  std::vector<RunId> ready;
  for (const auto& [run, step] : steps_)
    if (step.waiting && burst_.may_start(run)) ready.push_back(run);
  for (const RunId run : ready) {
    Step& step = steps_.at(run);
    StepOrder order = *std::exchange(step.waiting, std::nullopt);
    if (const auto handed = hand_over(run, step, std::move(order)); !handed)
      finish_later(run, launch_failed(handed.error()));
  }
}

bool Steps::has_container(const std::string& name) const {
  return std::ranges::any_of(steps_, [&name](const auto& each) {
    return each.second.container == name && each.second.state != State::cleaning;
  });
}

void Steps::tick(MonoTime now) {
  settle_burst(now);
  tell_holders();
  start_waiting();
  std::vector<RunId> silent;
  for (const auto& [run, step] : steps_)
    if (step.state == State::detached && !spool_.is_alive(run)) silent.push_back(run);
  for (const RunId run : silent) lost(run);
  if (now - last_start_ < idle_for) return;
  for (const auto& line : std::exchange(idle_, {})) line->close();
}

boost::asio::awaitable<Result<std::string>> Steps::run_as(UserOrder order) {
  const std::string program = order.words.empty() ? "" : order.words.front();
  const std::chrono::milliseconds limit(order.limit_ms);
  auto ends = make_line();
  if (!ends) co_return std::move(ends).error();
  nursery_.send(NurseryOrder::user, proto::encode(order), std::move(ends->second));
  co_return co_await user_call_end(executor_, std::move(ends->first), program, limit);
}

void Steps::open_log(LogOrder order, LogOpened opened, Fd masks) {
  const auto hidden = std::make_shared<Fd>(std::move(masks));
  const auto open_now = [this, order, opened, hidden](const GroupCache::Groups& groups) mutable {
    order.groups = groups;
    auto ends = make_line();
    if (!ends) return opened(std::move(ends).error());
    nursery_.send(NurseryOrder::log, proto::encode(order), std::move(ends->second),
                  std::move(*hidden));
    opened(std::move(ends->first));
  };
  if (::geteuid() != 0) return std::function<void(const GroupCache::Groups&)>(open_now)({});
  groups_.find(order.owner.uid, order.owner.gid, mono_now(), open_now);
}

Result<Fd> Steps::open_exec(RunId run, const ExecOrder& order) {
  const auto step = steps_.find(run);
  if (step == steps_.end() || !step->second.started)
    return Error{Errc::job_ended, format("job {} does not run here (any more)", run.job.value)};
  if (step->second.state != State::attached)
    return Error{Errc::io_failed,
                 format("the rstepd of job {} has not called yet; try again", run.job.value)};
  const std::string bytes = proto::encode(order);
  if (bytes.size() > exec_order_bytes_max)
    return Error{Errc::too_large, format("the command has {} bytes, at most {} are possible",
                                         bytes.size(), exec_order_bytes_max)};
  ROTA_TRY(auto ends, make_line());
  if (!packet_send(ends.first.get(), bytes, {}, MSG_DONTWAIT) ||
      !step->second.line->send_exec(ends.second.get()))
    return Error{Errc::io_failed, format("the rstepd of job {} does not listen: {}", run.job.value,
                                         strerrordesc_np(errno))};
  return std::move(ends.first);
}

}  // namespace rota::gpud
