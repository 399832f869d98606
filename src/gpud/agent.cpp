// gpud/agent.cpp - the node's side of the promise that a run starts once and its end is not lost.
#include "gpud/agent.h"

#include <algorithm>

#include "common/assert.h"
#include "proto/codec.h"

namespace rota::gpud {

using proto::RunPhase;

namespace {
/// How many forgotten runs are remembered. A late copy of a launch is at most one session old, and
/// a session carries launches in order, so this only has to outlast what is under way.
constexpr std::size_t forgotten_max = 100'000;
}  // namespace

Agent::Agent(NodeInventory inventory, std::vector<Cpu> cpus)
    : inventory_(std::move(inventory)), cpus_(std::move(cpus)) {}

void Agent::adopt(AdoptedRun adopted) {
  Run run{.launch = std::move(adopted.launch),
          .cpus = std::move(adopted.cpus),
          .phase = adopted.phase,
          .start_time = adopted.start_time,
          .end = std::move(adopted.end),
          .image_digest = std::move(adopted.image_digest)};
  if (run.phase != RunPhase::ended) cpus_held_.insert(run.cpus.begin(), run.cpus.end());
  const RunId id = run.launch.run;
  ROTA_ASSERT(runs_.emplace(id, std::move(run)).second);
}

std::vector<proto::RunReport> Agent::connected() {
  // Messages of an older session cannot reach us any more, so neither can a late launch of it.
  forgotten_.clear();
  forgotten_order_.clear();
  std::vector<proto::RunReport> reports;
  for (const auto& [id, run] : runs_)
    reports.push_back({.run = id,
                       .phase = run.phase,
                       .end = run.end,
                       .start_time = run.start_time,
                       .image_digest = run.image_digest});
  return reports;
}

void Agent::welcomed(const NodeSettings& settings) { settings_ = settings; }

void Agent::apply(proto::LaunchRun launch) {
  const RunId id = launch.run;
  if (forgotten_.contains(id)) return;
  if (const auto known = runs_.find(id); known != runs_.end()) {
    report(known->second);
    return;
  }
  Run run{.launch = std::move(launch)};
  run.cpus = pick_cpus(run.launch);
  cpus_held_.insert(run.cpus.begin(), run.cpus.end());
  effects_.emplace_back(StartStep{run.launch, run.cpus});
  // Who starts it has them; nobody asks for them again.
  run.launch.secrets.clear();
  run.launch.login = {};
  runs_.emplace(id, std::move(run));
}

template <class Order>
Result<bool> Agent::take_as(const proto::Frame& frame) {
  ROTA_TRY(auto order, proto::decode<Order>(frame.body));
  apply(std::move(order));
  return true;
}

Result<bool> Agent::take(const proto::Frame& frame) {
  switch (frame.type) {
    case proto::LaunchRun::number:
      return take_as<proto::LaunchRun>(frame);
    case proto::EndRun::number:
      return take_as<proto::EndRun>(frame);
    case proto::SignalRun::number:
      return take_as<proto::SignalRun>(frame);
    case proto::LimitRun::number:
      return take_as<proto::LimitRun>(frame);
    case proto::TellRun::number:
      return take_as<proto::TellRun>(frame);
    case proto::ForgetRun::number:
      return take_as<proto::ForgetRun>(frame);
    default:
      return false;
  }
}

void Agent::apply(const proto::EndRun& order) {
  if (forgotten_.contains(order.run)) {
    const RunEnd end{.cause = EndCause::cancelled, .detail = "it was over and forgotten"};
    effects_.emplace_back(ToController{proto::RunEnded{order.run, end, {}}});
    return;
  }
  auto known = runs_.find(order.run);
  if (known == runs_.end()) {
    // Never heard of it. Keep it as ended, so that a launch which comes after this order finds it
    // over instead of starting what nobody wants any more.
    Run run;
    run.launch.run = order.run;
    run.phase = RunPhase::ended;
    run.end = {.cause = EndCause::cancelled, .detail = "it had not started on this node"};
    known = runs_.emplace(order.run, std::move(run)).first;
    report(known->second);
    return;
  }
  end(known->second, order);
}

void Agent::apply(const proto::SignalRun& order) {
  const auto known = runs_.find(order.run);
  if (known == runs_.end() || known->second.phase == RunPhase::ended) return;
  effects_.emplace_back(SignalStep{order.run, order.signal});
}

void Agent::apply(const proto::LimitRun& order) {
  const auto known = runs_.find(order.run);
  if (known == runs_.end() || known->second.phase == RunPhase::ended) return;
  if (order.time_limit_seconds < 0 || order.time_limit_seconds > JobBounds::time_limit_seconds_max)
    return;
  effects_.emplace_back(LimitStep{order.run, order.time_limit_seconds});
}

void Agent::apply(const proto::TellRun& order) {
  const auto known = runs_.find(order.run);
  if (known == runs_.end() || known->second.phase == RunPhase::ended) return;
  effects_.emplace_back(TellStep{order.run, order.text});
}

void Agent::apply(const proto::ForgetRun& order) {
  const auto known = runs_.find(order.run);
  if (known == runs_.end() || known->second.phase != RunPhase::ended) return;
  effects_.emplace_back(DropStep{order.run});
  runs_.erase(known);
  remember_forgotten(order.run);
}

void Agent::condemn(RunId id, EndCause cause, std::string detail) {
  const auto known = runs_.find(id);
  if (known == runs_.end() || known->second.phase == RunPhase::ended || known->second.end_grace_ms)
    return;
  known->second.end_grace_ms = settings_.kill_wait_ms;
  effects_.emplace_back(EndStep{proto::EndRun{id}, cause, std::move(detail)});
}

void Agent::started(RunId id, WallTime start_time, std::string image_digest) {
  const auto known = runs_.find(id);
  if (known == runs_.end() || known->second.phase != RunPhase::starting) return;
  known->second.phase = RunPhase::running;
  known->second.start_time = start_time;
  known->second.image_digest = std::move(image_digest);
  report(known->second);
}

void Agent::ended(RunId id, RunEnd end) {
  const auto known = runs_.find(id);
  if (known == runs_.end() || known->second.phase == RunPhase::ended) return;
  Run& run = known->second;
  run.phase = RunPhase::ended;
  run.end = std::move(end);
  for (const auto cpu : run.cpus) cpus_held_.erase(cpu);
  run.cpus.clear();
  report(run);
}

std::vector<AgentEffect> Agent::take_effects() {
  std::vector<AgentEffect> effects;
  effects.swap(effects_);
  return effects;
}

void Agent::end(Run& run, const proto::EndRun& order) {
  if (run.phase == RunPhase::ended) {
    report(run);
    return;
  }
  const std::int64_t grace_ms = order.grace_ms < 0 ? settings_.kill_wait_ms : order.grace_ms;
  if (run.end_grace_ms && grace_ms >= *run.end_grace_ms) return;  // only less would be news
  run.end_grace_ms = grace_ms;
  effects_.emplace_back(EndStep{order});
}

void Agent::report(const Run& run) {
  const RunId id = run.launch.run;
  if (run.phase == RunPhase::running)
    effects_.emplace_back(ToController{proto::RunStarted{id, run.start_time, run.image_digest}});
  if (run.phase == RunPhase::ended)
    effects_.emplace_back(ToController{proto::RunEnded{id, run.end, run.start_time}});
}

void Agent::remember_forgotten(RunId run) {
  if (!forgotten_.insert(run).second) return;
  forgotten_order_.push_back(run);
  if (forgotten_order_.size() <= forgotten_max) return;
  forgotten_.erase(forgotten_order_.front());
  forgotten_order_.pop_front();
}

std::vector<std::uint32_t> Agent::pick_cpus(const proto::LaunchRun& launch) {
  if (cpus_.empty()) return {};
  std::set<std::int32_t> near;
  const auto add = [&](std::size_t gpu) {
    if (gpu < inventory_.gpus.size()) near.insert(inventory_.gpus[gpu].numa_node);
  };
  for (const auto gpu : launch.part.gpus) add(gpu);
  for (const MigSlot& slot : launch.part.mig) add(slot.gpu);
  std::vector<std::uint32_t> picked;
  // First the free cores next to the job's GPUs, then any free one.
  for (const bool only_near : {true, false}) {
    for (const Cpu& cpu : cpus_) {
      if (picked.size() == launch.part.cpu_count) break;
      if (cpus_held_.contains(cpu.index) || near.contains(cpu.numa_node) != only_near) continue;
      picked.push_back(cpu.index);
    }
  }
  // Fewer than asked only when cores went away under the controller's count: then do not bind.
  if (picked.size() < launch.part.cpu_count) return {};
  std::sort(picked.begin(), picked.end());
  return picked;
}

}  // namespace rota::gpud
