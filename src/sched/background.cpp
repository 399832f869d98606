// sched/background.cpp - the last step of a pass: who is in the way leaves, and gaps are filled.
#include "sched/background.h"

#include <algorithm>
#include <set>

#include "sched/place.h"

namespace rota::sched {
namespace {

using Resident = FleetNode::Resident;

/// It has something there and has not been told to leave.
bool is_in_background(const World& world, const Resident& resident) {
  const SchedJob& job = world.job(resident.task.job);
  return job.background && is_active(job.state(resident.task.task));
}

bool has_part_of(const Resident& resident, std::uint32_t shared) {
  return std::find(resident.spot.shared.begin(), resident.spot.shared.end(), shared) !=
         resident.spot.shared.end();
}

/// What is free of a node, and comes free by those who leave anyhow, less what is promised. Below
/// 0: so much is still to be given back.
struct Spare {
  std::int64_t gpus = 0, cpu_milli = 0, memory_bytes = 0, tasks = 0;
  bool has_promise = false;

  bool is_enough() const { return gpus >= 0 && cpu_milli >= 0 && memory_bytes >= 0 && tasks >= 0; }
};

/// Whole GPUs among those that are promised, and among those that others are leaving. A part that
/// goes beside others' needs none.
struct WholeGpus {
  std::int64_t promised = 0, leaving = 0;
};

WholeGpus whole_gpus(const World& world, const FleetNode& node) {
  WholeGpus gpus;
  for (const Resident& resident : node.residents) {
    if (resident.stay == Stay::promised) gpus.promised += whole_gpus_on(node, *resident.demand);
    if (resident.stay != Stay::leaving || is_in_background(world, resident)) continue;
    for (const std::uint32_t gpu : resident.spot.gpus) gpus.leaving += !node.is_absent(gpu);
  }
  for (const SharedGpu& gpu : node.shared) {
    if (gpu.members == 0 || gpu.is_fixed) continue;
    if (gpu.members == gpu.members_promised) ++gpus.promised;
    const bool is_kept =
        std::any_of(node.residents.begin(), node.residents.end(), [&](const Resident& resident) {
          return has_part_of(resident, gpu.id) && is_in_background(world, resident);
        });
    if (gpu.all_leaving() && !is_kept && !(gpu.gpu && node.is_absent(*gpu.gpu))) ++gpus.leaving;
  }
  return gpus;
}

Spare spare_on(const World& world, const FleetNode& node) {
  Spare leaving, promised;
  for (const Resident& resident : node.residents) {
    const bool is_promised = resident.stay == Stay::promised;
    if (!is_promised && (resident.stay != Stay::leaving || is_in_background(world, resident)))
      continue;
    Spare& sum = is_promised ? promised : leaving;
    sum.cpu_milli += cpu_on(node, *resident.demand);
    sum.memory_bytes += resident.demand->memory_bytes;
    ++sum.tasks;
  }
  const WholeGpus gpus = whole_gpus(world, node);
  // What leaves is for who was promised it; the rest of it is not there yet.
  const auto spare = [](std::int64_t idle, std::int64_t comes, std::int64_t goes) {
    return idle - std::max<std::int64_t>(0, goes - comes);
  };
  return {spare(node.gpus_idle, gpus.leaving, gpus.promised),
          spare(node.cpu_idle, leaving.cpu_milli, promised.cpu_milli),
          spare(node.memory_idle, leaving.memory_bytes, promised.memory_bytes),
          spare(node.tasks_idle, leaving.tasks, promised.tasks), promised.tasks > 0};
}

/// Of those on the node that `is_meant`, the last that came; none: there is no such.
template <class IsMeant>
std::optional<std::uint32_t> youngest_on(const World& world, const FleetNode& node,
                                         IsMeant is_meant) {
  std::optional<std::uint32_t> found;
  for (const Resident& resident : node.residents) {
    if (!is_in_background(world, resident) || !is_meant(resident)) continue;
    const std::uint32_t job = resident.task.job;
    if (!found || world.job(job).id > world.job(*found).id) found = job;
  }
  return found;
}

/// Whether this GPU has no room for its users, those to whom a part of it is promised, and who has
/// a part of it in the background.
bool is_crowded(const World& world, const FleetNode& node, const SharedGpu& gpu) {
  if (gpu.members_promised == 0) return false;
  std::int64_t mib = 0;
  SliceMask in_background = 0;
  for (const Resident& resident : node.residents) {
    const bool gives_way = is_in_background(world, resident);
    if (resident.stay == Stay::leaving && !gives_way) continue;
    for (std::size_t i = 0; i < resident.spot.shared.size(); ++i) {
      if (resident.spot.shared[i] != gpu.id) continue;
      mib += resident.demand->share_mib(node.gpu_memory_mib);
      if (gives_way && resident.demand->is_cut()) in_background |= resident.spot.cuts[i].mask();
    }
  }
  return gpu.is_cut ? (in_background & gpu.cut_promised) != 0 : mib > node.gpu_memory_mib;
}

/// The next that has to leave this node; none: nobody is in the way.
std::optional<std::uint32_t> next_in_the_way(const World& world, const FleetNode& node) {
  const Spare spare = spare_on(world, node);
  if (!spare.has_promise) return std::nullopt;
  for (const SharedGpu& gpu : node.shared) {
    if (!is_crowded(world, node, gpu)) continue;
    const auto job = youngest_on(
        world, node, [&gpu](const Resident& resident) { return has_part_of(resident, gpu.id); });
    if (job) return job;
  }
  if (spare.gpus < 0) {
    const auto job = youngest_on(world, node, [](const Resident& resident) {
      return !resident.spot.gpus.empty() || !resident.spot.shared.empty();
    });
    if (job) return job;
  }
  if (spare.is_enough()) return std::nullopt;
  return youngest_on(world, node, [](const Resident&) { return true; });
}

std::uint32_t promised_on(const FleetNode& node) {
  return std::find_if(node.residents.begin(), node.residents.end(),
                      [](const Resident& resident) { return resident.stay == Stay::promised; })
      ->task.job;
}

/// A gang goes as a whole.
void leave(World& world, std::uint32_t index, std::uint32_t taker) {
  const SchedJob& job = world.job(index);
  for (std::uint32_t task = 0; task < job.tasks.size(); ++task)
    if (is_active(job.tasks[task].state)) world.evict({index, task});
  world.note_displaced({index, taker, Action::give_way});
}

/// Its minimum, and then node by node. Why there is no more of it, or nothing: it has all.
std::optional<WaitCause> start_one(World& world, std::uint32_t index) {
  for (;;) {
    const SchedJob& job = world.job(index);
    const auto tasks = tasks_to_place(job);
    if (tasks.empty()) return std::nullopt;
    const auto freed_before = world.fleet.freed_count();
    const Placed placed = place(world, index, tasks, {.only_spare = true});
    if (!placed) {
      world.fleet.forget_freed(freed_before);
      return WaitCause{.kind = WaitCause::Kind::resources,
                       .placed = placed.most,
                       .wanted = static_cast<std::uint32_t>(tasks.size())};
    }
    if (job.started == never) world.set_started(index, world.now);
  }
}

}  // namespace

bool fits_spare(const World& world, const FleetNode& node, const Demand& demand) {
  if (!fits_now(node, demand)) return false;
  const Spare spare = spare_on(world, node);
  // Of which GPU a part is promised is known only when it is there.
  if (demand.is_shared() && spare.has_promise) return false;
  return spare.gpus >= whole_gpus_on(node, demand) && spare.cpu_milli >= cpu_on(node, demand) &&
         spare.memory_bytes >= demand.memory_bytes && spare.tasks >= 1;
}

void make_way(World& world) {
  std::set<NodeIndex> nodes;
  for (const std::uint32_t job : world.background().placed)
    for (const Task& task : world.job(job).tasks)
      if (is_active(task.state)) nodes.insert(task.spot.node);
  for (const NodeIndex index : nodes) {
    const FleetNode& node = world.fleet.at(index);
    while (const auto job = next_in_the_way(world, node)) leave(world, *job, promised_on(node));
  }
}

void start_background(World& world) {
  world.refresh();
  const std::set<JobKey> waiting = world.background().waiting;  // those that start leave it
  // Of one shape that found no room the others find none either. Not remembered beyond the pass:
  // others find room where these do not.
  std::set<const JobShape*> failed;
  for (const JobKey& key : waiting) {
    const SchedJob& job = world.job(key.job);
    if (job.preempts_after > world.now) {
      world.look_again_at(job.preempts_after);
      continue;
    }
    const bool is_whole = job.tasks.empty();
    WaitCause cause{.kind = WaitCause::Kind::resources, .wanted = job.task_count()};
    if (!is_whole || !failed.contains(job.shape.get())) {
      const auto missing = start_one(world, key.job);
      if (!missing) continue;
      if (is_whole && !has_placed(job)) failed.insert(job.shape.get());
      cause = *missing;
    }
    world.set_cause(key.job, cause);
  }
}

}  // namespace rota::sched
