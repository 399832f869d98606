// ctld/engine_view.cpp - jobs and nodes as people see them.
#include <algorithm>

#include "common/format.h"
#include "common/units.h"
#include "ctld/engine.h"
#include "model/door.h"

namespace rota::ctld {
namespace {

std::string end_text(const RunEnd& end) {
  if (!end.detail.empty()) return end.detail;
  if (end.exit_signal != 0) return format("ended by signal {}", end.exit_signal);
  if (end.exit_code != 0) return format("exit code {}", end.exit_code);
  return {};
}

}  // namespace

std::string Engine::reason_of(const Job& job, const sched::Wait& wait) const {
  if (job.state == JobState::pending)
    return job.last->displaced.empty()
               ? wait.text
               : format("{}; preempted: {}", wait.text, job.last->displaced);
  if (job.state == JobState::preempted || job.state == JobState::suspended)
    return job.last->displaced;
  if (is_final(job.state)) {
    if (job.state == JobState::cancelled && !job.last->end) return "cancelled while it waited";
    return job.last->end ? end_text(*job.last->end) : std::string();
  }
  std::string missing;
  for (const NodePart& part : job.last->placement) {
    const Node& node = nodes_.at(part.node);
    if (!node.connected) missing += (missing.empty() ? "" : ",") + node.identity.name;
  }
  if (!missing.empty()) return format("out of contact: {}", missing);
  if (job.state == JobState::starting) return progress_text(job);
  if (job.state == JobState::completing) return job.last->end ? end_text(*job.last->end) : "ending";
  if (staying_count(job.last->placement) < job.last->placement.size()) return job.last->displaced;
  return idle_text(job);
}

WallTime Engine::expected_start(const Job& job) const {
  JobId known = job.id;
  if (const auto array = arrays_.find(job.id); array != arrays_.end()) {
    if (array->second.heads.empty()) return {};
    known = *array->second.heads.begin();
  } else if (!is_in_line(job)) {
    return {};
  }
  const auto start = scheduler_.expected_start(known);
  if (!start) return {};
  const std::int64_t seconds = std::max<std::int64_t>(0, *start - seconds_of(planned_at_));
  return {planned_at_.wall.microseconds + seconds * 1'000'000};
}

JobView Engine::view(const Job& job) const {
  JobView view;
  view.id = job.id;
  view.spec = job.spec;
  view.owner = job.owner;
  view.state = job.state;
  view.restarts = job.restarts;
  for (const NodePart& part : job.last->placement) {
    view.gpu_count += part.gpus.size() + part.mig.size();
    view.gpu_amount += part.gpu_amount();
  }
  if (job.last->placement.empty()) {
    view.gpu_count =
        job.spec.gpu_devices() + std::uint64_t{job.spec.task_count} * job.spec.task.mig_count;
    view.gpu_amount = scheduler_.gpu_amount(job.spec);
  }
  for (const NodeId id : job.last->nodes) view.nodes.push_back(nodes_.at(id).identity.name);
  if (!job.last->nodes.empty()) {
    const sched::Topology& topology = scheduler_.topology();
    if (const std::uint32_t place = scheduler_.place_of_all(job.last->nodes); place != 0) {
      view.place_level = topology.levels()[topology.at(place).depth - 1];
      view.place = topology.path_of(place);
    }
  }
  view.submit_time = job.submit_time;
  view.start_time = job.last->start_time;
  view.end_time = job.end_time;
  if (job.last->end) {
    view.exit_code = job.last->end->exit_code;
    view.exit_signal = job.last->end->exit_signal;
  }
  view.elapsed_ms = job.last->elapsed_ms;
  sched::Wait wait;
  if (job.state == JobState::pending) {
    wait = wait_of(job);
    view.expected_start = expected_start(job);
    if (view.expected_start) wait.text += "; starts by " + rfc3339(view.expected_start);
  }
  view.wait = wait.why;
  view.reason = reason_of(job, wait);
  view.usage = is_final(job.state) && job.last->end ? job.last->end->usage : usage_of(job);
  if (const auto idle = idle_.find(job.id); idle != idle_.end() && job.state == JobState::running)
    view.idle_since = idle->second.since;
  view.preemptions = job.preemptions;
  view.displaced = job.last->displaced;
  view.image_digest = job.last->image_digest;
  view.array = *job.array;
  if (const auto array = arrays_.find(job.id); array != arrays_.end())
    view.waiting = array->second.waiting;
  view.hold = job.hold;
  view.failures = job.failures;
  view.saved = job.last->saved;
  if (!is_final(job.state)) view.urls = door_urls(settings_.proxy_url, job.id, *job.spec.service);
  return view;
}

std::vector<ShareView> Engine::with_fair_shares(std::vector<ShareView> shares) const {
  const auto gpu = sched::Resource::gpu;
  for (ShareView& share : shares) {
    if (share.kind == ShareKind::project && find_project(org(), share.name) != nullptr)
      share.fair_share = scheduler_.project(share.name).allocatable(gpu);
    if (share.kind == ShareKind::department && find_department(org(), share.name) != nullptr)
      share.fair_share = scheduler_.department(share.name).allocatable(gpu);
  }
  return shares;
}

NodeView Engine::view(const Node& node) const {
  NodeView view;
  view.id = node.id;
  view.identity = node.identity;
  std::string closed = node.drain_reason;
  if (!node.node_reason.empty()) closed += (closed.empty() ? "" : "; ") + node.node_reason;
  view.state = !node.connected  ? NodeState::down
               : closed.empty() ? NodeState::up
                                : NodeState::drained;
  view.reason = node.reason;
  if (!closed.empty()) view.reason += (view.reason.empty() ? "" : "; ") + closed;
  view.since = node.since;
  view.inventory = node.inventory;
  const auto& supply = scheduler_.node(node.id);
  view.cpus_held = static_cast<std::uint32_t>((supply.cpu_milli - supply.cpu_idle) / 1000);
  view.memory_held_bytes = static_cast<std::uint64_t>(supply.memory_bytes - supply.memory_idle);
  view.gpu_holders = scheduler_.gpu_holders(node.id);
  view.gpu_sharers = scheduler_.gpu_sharers(node.id);
  view.mig_holders = scheduler_.mig_holders(node.id);
  view.usage = node.usage;
  view.health = health_view(node);
  view.type = scheduler_.type_of(node.id);
  view.groups = scheduler_.groups_of(node.id);
  view.place = scheduler_.topology().path_of(scheduler_.place_of_all({node.id}));
  return view;
}

}  // namespace rota::ctld
