// ctld/engine_nodes.cpp - nodes: joining, leaving, and what they say of the runs they have.
#include <algorithm>
#include <chrono>

#include "common/assert.h"
#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {

using proto::RunPhase;
using sched::JobEvent;

namespace {

/// Beyond the node's own fence: it may notice the cut late, and needs the kill wait to end its
/// runs.
constexpr auto fence_margin = std::chrono::seconds(10);
constexpr auto user_rank_period = std::chrono::seconds(10);
/// For how long a node that was cut off is thought to come back at once.
constexpr auto contact_patience = std::chrono::seconds(10);

/// What the job holds on the node; none: nothing.
const NodePart* part_on(const Job& job, NodeId id) {
  const Placement& placement = job.last->placement;
  const auto part = std::find_if(placement.begin(), placement.end(),
                                 [id](const NodePart& each) { return each.node == id; });
  return part == placement.end() ? nullptr : &*part;
}

/// The part that the run on that node is; none: it is of no job that holds one there, or of an
/// earlier part.
const NodePart* part_of(const Job& job, RunId run, NodeId id) {
  const NodePart* part = part_on(job, id);
  return part != nullptr && job.run(*part) == run ? part : nullptr;
}

bool has_started(const Job& job, NodeId id) {
  const auto& started = job.last->started;
  return std::find(started.begin(), started.end(), id) != started.end();
}

}  // namespace

const Engine::Node* Engine::find_node(const std::string& name) const {
  const auto at = node_names_.find(name);
  return at == node_names_.end() ? nullptr : &nodes_.at(at->second);
}

NodeId Engine::node_joined(NodeJoined event, Now now) {
  const auto [name, is_new] = node_names_.try_emplace(event.identity.name);
  if (is_new) name->second = NodeId{static_cast<std::uint32_t>(nodes_.size() + 1)};
  Node& node = nodes_[name->second];
  node.id = name->second;
  const StoredNode before = stored(node);
  node.identity = std::move(event.identity);
  merge_inventory(node, std::move(event.inventory));
  const StoredNode after = stored(node);
  if (is_new || !(before == after)) effects_.rows.push_back(NodePut{after});
  node.connected = true;
  ++node.joins;
  node.unwanted.clear();
  node.reason.clear();
  node.since = now.wall;
  node.heard = now.mono;
  set_health(node, std::move(event.health), std::move(event.node_reason));
  put_in_scheduler(node);
  forget_images(node);
  renew_avoiding();
  awaited_.erase(node.id);

  std::set<RunId> reported;
  for (const auto& report : event.runs) reported.insert(report.run);
  // First what the node does not have: a part that was lost ends its job before the parts that are
  // there are looked at, and they are then ended with it.
  const bool rebooted = !is_new && before.identity.boot_id != after.identity.boot_id;
  settle_unreported(node, reported, rebooted, now);
  for (const auto& report : event.runs) settle_reported(node, report, now);
  return node.id;
}

void Engine::merge_inventory(Node& node, NodeInventory inventory) {
  std::vector<Gpu> gpus = std::move(node.inventory.gpus);
  std::vector<bool> absent(gpus.size(), true);
  for (Gpu& gpu : inventory.gpus) {
    const auto known = std::find_if(gpus.begin(), gpus.end(),
                                    [&gpu](const Gpu& old) { return old.uuid == gpu.uuid; });
    if (known == gpus.end()) {
      gpus.push_back(std::move(gpu));
      absent.push_back(false);
    } else {
      absent[static_cast<std::size_t>(known - gpus.begin())] = false;
      *known = std::move(gpu);
    }
  }
  inventory.gpus = std::move(gpus);
  node.inventory = std::move(inventory);
  node.gpu_absent = std::move(absent);
}

void Engine::settle_unreported(Node& node, const std::set<RunId>& reported, bool rebooted,
                               Now now) {
  std::vector<JobId> held;
  for (const auto& [id, since] : node.jobs) held.push_back(id);
  for (const JobId id : held) {
    Job& job = jobs_.at(id);
    const NodePart& part = *part_on(job, node.id);
    const RunId run = job.run(part);
    if (reported.contains(run)) continue;
    const bool starts = !is_ending(job.state) && !part.leaving && !has_started(job, node.id);
    // After a reboot without its spool nobody knows whether a launch had reached the node.
    if (has_started(job, node.id) || (rebooted && starts)) {
      run_ended(
          node.id, run,
          {.cause = EndCause::node_failed, .detail = format("node {} lost it", node.identity.name)},
          {}, now);
    } else if (starts) {
      launch(job, part);
    } else {
      // Ending before the launch had reached this node, and now it never will.
      run_ended(node.id, run,
                {.cause = EndCause::cancelled,
                 .detail = format("it had not started on {}", node.identity.name)},
                {}, now);
    }
  }
}

void Engine::settle_reported(Node& node, const proto::RunReport& report, Now now) {
  if (report.phase == RunPhase::ended) {
    run_ended(node.id, report.run, report.end, report.start_time, now);
    return;
  }
  const auto at = jobs_.find(report.run.job);
  const NodePart* part = at == jobs_.end() ? nullptr : part_of(at->second, report.run, node.id);
  if (part == nullptr) {
    order_end_of_unwanted(node, report.run);
    return;
  }
  if (is_ending(at->second.state) || part->leaving) {
    order(node.id, end_order(at->second, *part));
    return;
  }
  if (report.phase != RunPhase::running) return;
  run_image(node.id, report.run, report.image_digest);
  // What it heard last may be older than what holds now.
  if (at->second.last->limit_changed)
    order(node.id, proto::LimitRun{report.run, at->second.spec.time_limit_seconds});
  run_started(node.id, report.run, report.start_time, now);
}

void Engine::order_end_of_unwanted(Node& node, RunId run) {
  node.unwanted.insert(run);
  update_usable(node);
  order(node.id, proto::EndRun{run});
}

void Engine::update_usable(const Node& node) {
  scheduler_.set_usable(node.id, is_usable(node));
  plan_needed_ = true;
}

void Engine::node_left(NodeId id, std::string reason, Now now) {
  Node& node = nodes_.at(id);
  if (!node.connected) return;
  node.connected = false;
  node.left = now.mono;
  node.reason = std::move(reason);
  node.since = now.wall;
  node.usage.clear();
  node.unwanted.clear();  // it tells again what it runs when it comes back
  forget_images(node);
  awaited_[id] =
      now.mono +
      std::min<Duration>(contact_patience, std::chrono::milliseconds(settings_.node.lost_after_ms));
  update_usable(node);
}

void Engine::node_heard(NodeId id, std::vector<GpuUsage> usage, Now now) {
  Node& node = nodes_.at(id);
  node.heard = now.mono;
  node.usage = std::move(usage);
}

void Engine::run_started(NodeId id, RunId run, WallTime start_time, Now now) {
  Node& node = nodes_.at(id);
  node.heard = now.mono;
  const auto at = jobs_.find(run.job);
  if (at == jobs_.end() || part_of(at->second, run, id) == nullptr) {
    order_end_of_unwanted(node, run);
    return;
  }
  Job& job = at->second;
  if (has_started(job, id)) return;
  LastRun& last = job.last.edit();
  last.started.push_back(id);
  if (run.growth == 0) last.start_time = std::max(last.start_time, start_time);
  note(job);
  // What it said of its image has been taken before this; if that is nothing, nobody waits for it.
  if (job.last->image_digest.empty() && id == last.nodes.front()) launch_others(job);
  note_started(job, now);
}

/// It runs once all of it has started.
void Engine::note_started(Job& job, Now now) {
  if (job.state != JobState::starting || job.last->started.size() < job.last->nodes.size()) return;
  advance(job, JobEvent::started);
  tell_people(job, mail_begin);
  mark_time(job, now);
  wake_dependents(job.id, now);
  progress_.erase(job.id);
  job.start_failures = 0;
  LastRun& last = job.last.edit();
  last.start_failed_on.clear();
  last.start_failure.clear();
}

/// Another node of the job that is away, or was a moment ago: what the job does without it is not
/// its own fault. One that has not come yet since the controller started may be well.
const Engine::Node* Engine::lost_beside(const Job& job, NodeId id, Now now) const {
  for (const NodePart& part : job.last->placement) {
    const Node& node = nodes_.at(part.node);
    if (part.node == id || !node.left) continue;
    if (!node.connected || now.mono - *node.left < contact_patience) return &node;
  }
  return nullptr;
}

void Engine::run_ended(NodeId id, RunId run, RunEnd end, WallTime start_time, Now now) {
  order(id, proto::ForgetRun{run});
  if (Node& node = nodes_.at(id); node.unwanted.erase(run) > 0) update_usable(node);
  const auto at = jobs_.find(run.job);
  if (at == jobs_.end()) return;
  Job& job = at->second;
  const NodePart* part = part_of(job, run, id);
  if (part == nullptr) return;
  // A node that was lost does not say; then what it said before is all there is.
  if (!end.usage.empty()) note_usage(job, *part, end.usage);
  if (goes_on_without(job, *part, end)) return lose_part(job, *part, end, now);
  // A step on a lost node fails, and its script with it.
  if (!is_ending(job.state) && end.cause == EndCause::exited && !sched::ended_well(end))
    if (const Node* lost = lost_beside(job, id, now)) {
      end.cause = EndCause::node_failed;
      end.detail = format("node {} was lost, and the job ended with {}", lost->identity.name,
                          end.exit_signal != 0 ? format("signal {}", end.exit_signal)
                                               : format("code {}", end.exit_code));
    }
  LastRun& last = job.last.edit();
  const bool first_node = last.nodes.front() == id;
  if (run.growth == 0) last.start_time = std::max(last.start_time, start_time);
  last.elapsed_ms = std::max(last.elapsed_ms, end.elapsed_ms);
  release(job, *part, false, now);
  if (sched::start_failed_by_node(end) || end.cause == EndCause::gpu_failed)
    note_failure_on(job, nodes_.at(id), end);
  // What happens to a job that is making way is its own doing only if it was over by itself. On
  // several nodes that cannot be: the order may reach another one first, and a script ends with
  // its steps there.
  const bool by_order = job.state == JobState::preempted &&
                        (end.cause == EndCause::cancelled || end.cause == EndCause::node_failed ||
                         end.cause == EndCause::gpu_failed ||
                         (end.cause == EndCause::exited && last.nodes.size() > 1));
  if (job.state != JobState::completing && !by_order) {
    const bool goes_on = sched::ended_well(end) && staying_count(last.placement) > 0 &&
                         !(first_node && job.mode != LaunchMode::tasks);
    if (goes_on) {
      if (first_node && last.image_digest.empty()) launch_others(job);
      return scheduler_.end_growth(job.id);
    }
    begin_ending(job);
    last.end = std::move(end);
    order_end_everywhere(job);
  } else if (last.end && sched::was_made_to_end(*last.end, end, job.cancel_requested)) {
    // How the first to report ended stays its code; why is another matter.
    last.end->cause = end.cause;
    last.end->detail = std::move(end.detail);
  } else if (!last.end || (first_node && end.cause == last.end->cause)) {
    last.end = std::move(end);  // the first node's, whoever is faster
  }
  if (last.placement.empty()) finish(job, now);
}

void Engine::stop_waiting_for_lost(Now now) {
  const bool lost =
      std::erase_if(awaited_, [now](const auto& each) { return now.mono >= each.second; }) > 0;
  if (lost && awaited_.empty()) plan_needed_ = true;
}

void Engine::tick(Now now) {
  const auto lost_after = std::chrono::milliseconds(settings_.node.lost_after_ms);
  const auto fence_after = std::chrono::milliseconds(settings_.node.fence_after_ms);
  const auto kill_wait = std::chrono::milliseconds(settings_.node.kill_wait_ms);
  for (auto& [id, node] : nodes_) {
    const auto silence = now.mono - node.heard;
    if (node.connected && silence > lost_after) {
      effects_.silent.push_back(id);
      node_left(id, "does not answer", now);
    }
    if (node.connected || fence_after.count() == 0) continue;
    if (silence < lost_after + fence_after + kill_wait + fence_margin) continue;
    // By now the node has ended everything itself, if it still lives.
    std::vector<JobId> held;
    for (const auto& [job, since] : node.jobs) held.push_back(job);
    for (const JobId job : held)
      run_ended(id, jobs_.at(job).run(*part_on(jobs_.at(job), id)),
                {.cause = EndCause::node_failed,
                 .detail = format("node {} did not come back", node.identity.name)},
                {}, now);
  }
  ticked_at_ = now;
  stop_waiting_for_lost(now);
  if (now.mono - ranked_at_ >= user_rank_period) rank_users(now);
  end_rests(now);
  open_gates(now);
  // A minimum runtime or a preemption delay may be over.
  if (seconds_of(now) >= scheduler_.next_look()) plan_needed_ = true;
  drop_old_records(now);
}

}  // namespace rota::ctld
