// gpud/shell.cpp - events to the Agent, its effects to the steps and the controller.
#include "gpud/shell.h"

#include <variant>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/fence.h"

namespace rota::gpud {
namespace {

/// One sentence for people; it travels in a small message and stays in the store.
constexpr std::size_t detail_bytes_max = 4096;

template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;  // clang 14 does not find it by itself

}  // namespace

Shell::Shell(boost::asio::any_io_executor executor, Options options, Spool spool, NodeFacts facts,
             std::string step_program)
    : executor_(executor),
      options_(std::move(options)),
      spool_dir_(spool.directory()),
      agent_(options_.inventory, options_.cpus),
      job_map_(options_.dcgm_dir, options_.jobstats_dir, options_.inventory),
      steps_(executor, std::move(spool), std::move(facts), std::move(step_program), step_events()),
      timer_(executor) {}

Steps::Events Shell::step_events() {
  return {[this](RunId run, WallTime start_time) {
            agent_.started(run, start_time);
            carry_out();
            runs_changed();
          },
          [this](RunId run, RunEnd end) {
            if (end.detail.size() > detail_bytes_max) end.detail.resize(detail_bytes_max);
            agent_.ended(run, std::move(end));
            carry_out();
            runs_changed();
            if (on_run_ended) on_run_ended(run);
          },
          [this] { return gpu_holders ? gpu_holders() : std::vector<GpuHolders>{}; },
          [this](std::function<void(Result<void>)> done) {
            if (!health_) return done({});
            health_->check_start(std::move(done));
          }};
}

Result<void> Shell::start() {
  std::size_t running = 0;
  for (AdoptedRun& run : steps_.adopt()) {
    running += run.phase != proto::RunPhase::ended ? 1 : 0;
    agent_.adopt(std::move(run));
  }
  if (!agent_.runs().empty())
    log::info("found {} runs in the spool, {} of them not ended", agent_.runs().size(), running);
  job_map_.update(job_holders(agent_.runs()));
  ROTA_CHECK(steps_.open());
  if (health_) health_->start(agent_.runs());
  tick();
  return {};
}

void Shell::watch_health(Monitor::Options options, std::function<void()> was_reset) {
  Monitor::Events events;
  events.end_run = [this](RunId run, EndCause cause, std::string detail) {
    agent_.condemn(run, cause, std::move(detail));
    carry_out();
  };
  events.report = [this](const proto::GpuHealthReport& report) {
    if (controller_) controller_->send(report);
  };
  events.was_reset = std::move(was_reset);
  health_.emplace(executor_, std::move(options), std::move(events));
}

void Shell::stop() {
  if (health_) health_->stop();
}

void Shell::runs_changed() {
  job_map_.update(job_holders(agent_.runs()));
  if (health_) health_->runs_changed(agent_.runs());
}

void Shell::tick() {
  timer_.expires_after(std::chrono::seconds(1));
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    steps_.tick(mono_now());
    tick();
  });
}

void Shell::connected(std::shared_ptr<net::Connection> controller) {
  controller_ = std::move(controller);
  proto::NodeHello hello;
  hello.identity = options_.identity;
  hello.inventory = options_.inventory;
  hello.runs = agent_.connected();
  hello.ticket_key = options_.ticket_key;
  if (health_) {
    proto::GpuHealthReport report = health_->report();
    hello.health = std::move(report.gpus);
    hello.node_reason = std::move(report.node_reason);
  }
  controller_->send(hello, 1);
  carry_out();
}

void Shell::welcomed(const proto::NodeWelcome& welcome) {
  agent_.welcomed(welcome.settings);
  // With what the last session has not taken.
  if (health_ && controller_) controller_->send(health_->report());
  carry_out();
}

void Shell::disconnected() { controller_.reset(); }

void Shell::in_contact(MonoTime sent) {
  const NodeSettings& settings = agent_.settings();
  const auto lease = std::chrono::milliseconds(settings.lost_after_ms + settings.fence_after_ms);
  write_fence(spool_dir_,
              settings.fence_after_ms == 0 ? std::nullopt : std::optional<MonoTime>(sent + lease));
}

template <class Order>
Result<void> Shell::apply(const proto::Frame& frame) {
  ROTA_TRY(auto order, proto::decode<Order>(frame.body));
  agent_.apply(std::move(order));
  carry_out();
  // From its launch on a run has its GPUs, whatever becomes of it.
  if constexpr (std::is_same_v<Order, proto::LaunchRun>)
    if (health_) health_->runs_changed(agent_.runs());
  return {};
}

Result<void> Shell::received(const proto::Frame& frame) {
  switch (frame.type) {
    case proto::LaunchRun::number:
      return apply<proto::LaunchRun>(frame);
    case proto::EndRun::number:
      return apply<proto::EndRun>(frame);
    case proto::SignalRun::number:
      return apply<proto::SignalRun>(frame);
    case proto::ForgetRun::number:
      return apply<proto::ForgetRun>(frame);
    case proto::GpuHealthTaken::number: {
      ROTA_TRY(const auto taken, proto::decode<proto::GpuHealthTaken>(frame.body));
      if (health_) health_->taken(taken.sequence);
      return {};
    }
    case proto::HealthOrder::number: {
      ROTA_TRY(const auto order, proto::decode<proto::HealthOrder>(frame.body));
      if (health_) health_->retry(order.uuid);
      return {};
    }
    default:
      return Error{Errc::protocol_mismatch,
                   format("the controller sent a message of type {}", frame.type)};
  }
}

void Shell::carry_out() {
  for (AgentEffect& effect : agent_.take_effects()) carry_out_one(effect);
}

void Shell::carry_out_one(AgentEffect& effect) {
  std::visit(overloaded{
                 [this](StartStep& step) { steps_.start(std::move(step), agent_.settings()); },
                 [this](const EndStep& step) { steps_.end(step); },
                 [this](const SignalStep& step) { steps_.signal(step.run, step.signal); },
                 [this](const DropStep& step) { steps_.drop(step.run); },
                 [this](const ToController& message) {
                   if (!controller_) return;
                   std::visit([this](const auto& report) { controller_->send(report); }, message);
                 },
             },
             effect);
}

std::size_t Shell::running_count() const {
  std::size_t count = 0;
  for (const auto& [id, run] : agent_.runs()) count += run.phase != proto::RunPhase::ended ? 1 : 0;
  return count;
}

bool Shell::is_over(RunId run) const {
  const auto found = agent_.runs().find(run);
  return found == agent_.runs().end() || found->second.phase == proto::RunPhase::ended;
}

}  // namespace rota::gpud
