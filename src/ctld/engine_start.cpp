// ctld/engine_start.cpp - jobs that a node could not start: a pause, longer every time, and other
// nodes; and jobs that lost a GPU: other nodes at once.
#include <algorithm>
#include <chrono>

#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

using std::chrono::seconds;

constexpr auto pause_max = std::chrono::minutes(10);
/// How long after the pause a job keeps off nodes that could not start it.
constexpr auto avoids_for = std::chrono::minutes(10);
constexpr std::size_t avoided_max = 8;
/// With more jobs than this the nodes that come back after a restart would have to wait for them.
constexpr std::size_t renewed_max = 1000;

std::chrono::milliseconds pause_after(std::uint32_t failures, std::int64_t first_ms) {
  std::chrono::milliseconds pause(first_ms);
  for (std::uint32_t i = 1; i < failures && pause < pause_max; ++i) pause *= 2;
  return std::min<std::chrono::milliseconds>(pause, pause_max);
}

}  // namespace

bool Engine::rests(JobId id) const {
  const auto setback = setbacks_.find(id);
  return setback != setbacks_.end() && setback->second.rests;
}

void Engine::note_failure_on(Job& job, const Node& node, const RunEnd& end) {
  LastRun& last = job.last.edit();
  std::erase(last.start_failed_on, node.id);
  last.start_failed_on.push_back(node.id);
  if (last.start_failed_on.size() > avoided_max)
    last.start_failed_on.erase(last.start_failed_on.begin());
  last.start_failure = format("on {}: {}", node.identity.name, end.detail);
}

void Engine::rest(const Job& job, Now now) {
  Setback& setback = setbacks_[job.id];
  setback.again_at = now.mono + pause_after(job.start_failures, settings_.launch_backoff_ms);
  setback.avoids_until = setback.again_at + avoids_for;
  setback.rests = true;
}

/// It waits from now on, but keeps off the nodes whose GPUs failed it.
void Engine::avoid(const Job& job, Now now) {
  Setback& setback = setbacks_[job.id];
  setback.again_at = now.mono;
  setback.avoids_until = now.mono + avoids_for;
  setback.rests = false;
  scheduler_.add_waiting(job, seconds_of(now), avoided(job));
  plan_needed_ = true;
}

/// A node has come: others that would do may be there now, where there were none.
void Engine::renew_avoiding() {
  if (setbacks_.size() > renewed_max) return;
  for (const auto& [id, setback] : setbacks_)
    if (!setback.rests) scheduler_.renew(jobs_.at(id), avoided(jobs_.at(id)));
}

void Engine::end_rests(Now now) {
  for (auto at = setbacks_.begin(); at != setbacks_.end();) {
    Job& job = jobs_.at(at->first);
    Setback& setback = at->second;
    const bool is_forgiven = !setback.rests && now.mono >= setback.avoids_until;
    if (setback.rests && now.mono >= setback.again_at) {
      setback.rests = false;
      scheduler_.add_waiting(job, seconds_of(now), avoided(job));
      plan_needed_ = true;
      note(job);
    }
    if (!is_forgiven) {
      ++at;
      continue;
    }
    at = setbacks_.erase(at);
    job.last.edit().start_failed_on.clear();
    scheduler_.renew(job);
    plan_needed_ = true;
    note(job);
  }
}

/// Nodes that could not start it, where others that are up would do.
std::vector<NodeId> Engine::avoided(const Job& job) const {
  const std::vector<NodeId>& nodes = job.last->start_failed_on;
  if (!setbacks_.contains(job.id) || nodes.empty()) return {};
  if (scheduler_.fit_of(job.spec, nodes) != sched::Fit::yes) return {};
  return nodes;
}

/// "start failed 2 times, last on n1: the disk is full", or "lost on n1: GPU 3 failed".
std::string Engine::start_failure_text(const Job& job) const {
  if (job.start_failures == 0) return format("lost {}", job.last->start_failure);
  if (job.start_failures == 1) return format("start failed {}", job.last->start_failure);
  return format("start failed {} times, last {}", job.start_failures, job.last->start_failure);
}

sched::Wait Engine::wait_of(const Job& job) const {
  if (const auto gate = gates_.find(job.id); gate != gates_.end())
    return {gate->second.why, gate->second.text};
  if (job.spec.is_array()) return wait_of_array(job);
  const auto setback = setbacks_.find(job.id);
  if (job.start_failures == 0 && setback == setbacks_.end()) return scheduler_.wait_of(job);
  if (rests(job.id)) {
    // The last tick may have been before it began to rest.
    const auto left =
        std::clamp<Duration>(setback->second.again_at - ticked_at_.mono, Duration(0),
                             pause_after(job.start_failures, settings_.launch_backoff_ms));
    return {WaitReason::start_failed, format("{}; tried again in {} s", start_failure_text(job),
                                             std::chrono::ceil<seconds>(left).count())};
  }
  sched::Wait wait = scheduler_.wait_of(job);
  wait.text += "; " + start_failure_text(job);
  std::vector<std::string> names;
  for (const NodeId id : avoided(job)) names.push_back(nodes_.at(id).identity.name);
  if (!names.empty()) wait.text += format("; keeps off {}", hostlist_fold(names));
  return wait;
}

/// What the first of its tasks waits for.
sched::Wait Engine::wait_of_array(const Job& job) const {
  const Array& array = arrays_.at(job.id);
  if (!array.heads.empty()) {
    Job head = job;
    head.id = *array.heads.begin();
    return scheduler_.wait_of(head);
  }
  if (ready_tasks(job).empty())
    return {WaitReason::dependency, format("waits for {}", text_of(job.spec.rules->dependencies))};
  return {WaitReason::array_limit, format("{} of its tasks live, of {} at a time",
                                          array.tasks.size(), job.spec.rules->array.parallel_max)};
}

}  // namespace rota::ctld
