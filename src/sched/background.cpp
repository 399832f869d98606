// sched/background.cpp - the last step of a pass: who is in the way leaves, and gaps are filled.
#include "sched/background.h"

#include <algorithm>

#include "sched/place.h"

namespace rota::sched {
namespace {

/// What a node has besides jobs in the background that have not been told to leave.
struct Spare {
  std::int64_t gpus = 0, cpu_milli = 0, memory_bytes = 0, tasks = 0;
  bool promises_parts = false;  // of GPUs: whoever has something of one is in the way

  bool is_enough() const { return gpus >= 0 && cpu_milli >= 0 && memory_bytes >= 0 && tasks >= 0; }
};

bool is_in_background(const World& world, const FleetNode::Resident& resident) {
  return world.job(resident.task.job).background &&
         is_active(world.job(resident.task.job).state(resident.task.task));
}

/// GPUs that it has, or has parts of.
std::int64_t gpus_of(const FleetNode::Resident& resident) {
  return static_cast<std::int64_t>(resident.spot.gpus.size() + resident.spot.shared.size());
}

/// What is free, and comes free by those who leave anyhow, less what is promised. Below 0: that
/// much is still to be given back.
Spare spare_on(const World& world, const FleetNode& node) {
  Spare spare{node.gpus_idle, node.cpu_idle, node.memory_idle, node.tasks_idle, false};
  Spare leaving, promised;
  for (const FleetNode::Resident& resident : node.residents) {
    const bool is_promised = resident.stay == Stay::promised;
    if (!is_promised && (resident.stay != Stay::leaving || is_in_background(world, resident)))
      continue;
    Spare& sum = is_promised ? promised : leaving;
    sum.gpus += is_promised ? resident.demand->devices : gpus_of(resident);
    sum.cpu_milli += resident.demand->cpu_milli;
    sum.memory_bytes += resident.demand->memory_bytes;
    ++sum.tasks;
    spare.promises_parts = spare.promises_parts || (is_promised && resident.demand->is_shared());
  }
  // What leaves is for who was promised it; the rest of it is not there yet.
  const auto settle = [](std::int64_t& free, std::int64_t comes, std::int64_t goes) {
    free -= std::max<std::int64_t>(0, goes - comes);
  };
  settle(spare.gpus, leaving.gpus, promised.gpus);
  settle(spare.cpu_milli, leaving.cpu_milli, promised.cpu_milli);
  settle(spare.memory_bytes, leaving.memory_bytes, promised.memory_bytes);
  settle(spare.tasks, leaving.tasks, promised.tasks);
  return spare;
}

/// The last that came of those on the node; none: there is no such.
std::optional<std::uint32_t> youngest_on(const World& world, const FleetNode& node,
                                         bool with_gpus) {
  std::optional<std::uint32_t> found;
  for (const FleetNode::Resident& resident : node.residents) {
    if (!is_in_background(world, resident) || (with_gpus && gpus_of(resident) == 0)) continue;
    const std::uint32_t job = resident.task.job;
    if (!found || world.job(job).id > world.job(*found).id) found = job;
  }
  return found;
}

std::uint32_t promised_on(const FleetNode& node) {
  const auto at = std::find_if(
      node.residents.begin(), node.residents.end(),
      [](const FleetNode::Resident& resident) { return resident.stay == Stay::promised; });
  return at->task.job;
}

/// A gang goes as a whole.
void leave(World& world, std::uint32_t index, std::uint32_t taker) {
  const SchedJob& job = world.job(index);
  for (std::uint32_t task = 0; task < job.tasks.size(); ++task)
    if (is_active(job.tasks[task].state)) world.evict({index, task});
  world.note_displaced({index, taker, Action::give_way});
}

}  // namespace

bool fits_spare(const World& world, const FleetNode& node, const Demand& demand) {
  if (!fits_now(node, demand)) return false;
  const Spare spare = spare_on(world, node);
  if (spare.promises_parts && demand.gpu != Demand::Gpu::none) return false;
  return spare.gpus >= demand.devices && spare.cpu_milli >= demand.cpu_milli &&
         spare.memory_bytes >= demand.memory_bytes && spare.tasks >= 1;
}

void make_way(World& world) {
  std::set<NodeIndex> nodes;
  for (const std::uint32_t job : world.background().placed)
    for (const Task& task : world.job(job).tasks)
      if (is_active(task.state)) nodes.insert(task.spot.node);
  for (const NodeIndex index : nodes) {
    const FleetNode& node = world.fleet.at(index);
    for (;;) {
      const Spare spare = spare_on(world, node);
      // Which GPU a part is promised of is not known before it is free.
      if (spare.is_enough() && !spare.promises_parts) break;
      const bool only_parts = spare.is_enough();
      const auto job = youngest_on(world, node, only_parts || spare.gpus < 0);
      if (!job) break;
      leave(world, *job, promised_on(node));
    }
  }
}

void start_background(World& world) {
  world.refresh();
  const std::set<JobKey> waiting = world.background().waiting;  // those that start leave it
  for (const JobKey& key : waiting) {
    const SchedJob& job = world.job(key.job);
    if (job.preempts_after > world.now) {
      world.look_again_at(job.preempts_after);
      continue;
    }
    const auto tasks = tasks_to_place(job);
    WaitCause cause{.kind = WaitCause::Kind::resources,
                    .wanted = static_cast<std::uint32_t>(tasks.size())};
    if (!world.found_no_room(job.shape.get())) {
      const auto freed_before = world.fleet.freed_count();
      const Placed placed = place(world, key.job, tasks, {.only_spare = true});
      if (placed) {
        if (job.started == never) world.set_started(key.job, world.now);
        continue;
      }
      cause.placed = placed.most;
      world.fleet.forget_freed(freed_before);
      world.note_no_room(job.shape.get());
    }
    world.set_cause(key.job, cause);
  }
}

}  // namespace rota::sched
