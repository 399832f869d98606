// sched/delay_bound.cpp - whole GPUs that victims would leave, against places kept in time.
#include "sched/delay_bound.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace rota::sched {

bool would_surely_delay(const World& world, std::uint32_t taker,
                        const std::vector<std::uint32_t>& wanted, const std::vector<Unit>& units,
                        const NodeList& nodes) {
  const SchedJob& job = world.job(taker);
  const TaskShape& place = place_of_all(*job.shape);
  if (world.reservations.all().empty()) return false;
  std::int64_t size = 0;
  for (const auto task : wanted) {
    const Demand& demand = job.demand(task);
    if (demand.gpu != Demand::Gpu::whole || demand.devices == 0) return false;
    if (size == 0 || demand.devices < size) size = demand.devices;
  }
  // One that only goes back to where it was is not begun anew.
  if (std::any_of(job.tasks.begin(), job.tasks.end(),
                  [](const Task& task) { return task.evicted.has_value(); }))
    return false;
  struct Leaving {
    std::int64_t end, gpus;
  };
  std::unordered_map<NodeIndex, std::vector<Leaving>> leaving;
  for (const Unit& unit : units)
    for (const auto task : unit.tasks) {
      const Demand& demand = world.demand({unit.job, task});
      if (demand.wants_gpu())
        leaving[world.task({unit.job, task}).spot.node].push_back(
            {world.end_of(unit.job), std::max<std::int64_t>(1, demand.devices)});
    }
  const std::int64_t end = has_placed(job) ? world.end_of(taker) : world.end_if_started(job);
  auto missing = static_cast<std::int64_t>(wanted.size());
  for (const NodeIndex node : nodes) {
    const auto there = leaving.find(node);
    const auto freed_after = [&](std::int64_t from) {
      std::int64_t gpus = 0;
      if (there != leaving.end())
        for (const Leaving& each : there->second) gpus += each.end > from ? each.gpus : 0;
      return gpus;
    };
    const std::int64_t most = std::min(
        world.fleet.at(node).gpus_free() + freed_after(std::numeric_limits<std::int64_t>::min()),
        world.reservations.gpus_allowed(taker, node, end, freed_after));
    if (most < size || !place.may_run_on(node)) continue;
    missing -= job.shape->lie == Lie::apart ? 1 : most / size;
    if (missing <= 0) return false;
  }
  return true;
}

}  // namespace rota::sched
