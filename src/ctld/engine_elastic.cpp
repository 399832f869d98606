// ctld/engine_elastic.cpp - jobs that get more nodes while they run, and give them back.
//
// A part on a node that comes later has the next growth number in its RunId, so that what a node
// says of an earlier part there is never taken for the later one's.
#include <algorithm>

#include "common/assert.h"
#include "common/format.h"
#include "ctld/engine.h"
#include "sched/job_state.h"

namespace rota::ctld {

void Engine::grow(Job& job, Placement parts, Now now) {
  LastRun& run = job.last.edit();
  ++run.growths;
  for (NodePart& part : parts) {
    part.growth = run.growths;
    hold(job, part, now);
  }
  run.placement.insert(run.placement.end(), parts.begin(), parts.end());
  std::sort(run.placement.begin(), run.placement.end(),
            [](const NodePart& a, const NodePart& b) { return a.task_first < b.task_first; });
  run.nodes.clear();
  run.tasks_per_node.clear();
  for (const NodePart& part : run.placement) {
    run.nodes.push_back(part.node);
    run.tasks_per_node.push_back(part.task_count);
  }
  for (const NodePart& part : parts) launch(job, part);
  note(job);
}

void Engine::shrink(Job& job, const sched::Eviction& eviction) {
  LastRun& run = job.last.edit();
  for (NodePart& part : run.placement) {
    const auto& nodes = eviction.nodes;
    if (std::find(nodes.begin(), nodes.end(), part.node) == nodes.end()) continue;
    part.leaving = true;
    order(part.node, end_order(job, part));
  }
  run.displaced = format("shrinks by {} node{}: {}", eviction.nodes.size(),
                         eviction.nodes.size() == 1 ? "" : "s", displaced_text(job, eviction));
  note(job);
}

/// Whether the end of this part is not the end of the job: it was to go, or its node was lost and
/// what is left is enough. Never without the first node: the others know where that is.
bool Engine::goes_on_without(const Job& job, const NodePart& part, const RunEnd& end) const {
  if (is_ending(job.state)) return false;
  if (part.leaving) return true;
  if (!job.spec.is_elastic() || part.node == job.last->nodes.front()) return false;
  const bool is_lost = end.cause == EndCause::node_failed || end.cause == EndCause::gpu_failed;
  if (!is_lost && !sched::start_failed_by_node(end)) return false;
  return staying_count(job.last->placement) - 1 >= job.spec.node_count;
}

void Engine::lose_part(Job& job, const NodePart& part, const RunEnd& end, Now now) {
  LastRun& last = job.last.edit();
  const NodeId id = part.node;
  const auto at = std::find(last.nodes.begin(), last.nodes.end(), id);
  ROTA_ASSERT(at != last.nodes.end());
  // One that could not start is not tried again and again: this run does without. Nor does a job
  // grow again of which parts have ended by themselves: its work is nearly done.
  const bool is_whole = last.nodes.size() == last.placement.size();
  const bool may_regrow = is_whole && (part.leaving || !sched::start_failed_by_node(end));
  last.tasks_per_node.erase(last.tasks_per_node.begin() + (at - last.nodes.begin()));
  last.nodes.erase(at);
  std::erase(last.started, id);
  release(job, part, may_regrow, now);
  note_started(job, now);
}

}  // namespace rota::ctld
