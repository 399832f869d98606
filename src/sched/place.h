// sched/place.h - finds room for a gang: all of the given tasks, or none.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/world.h"

namespace rota::sched {

struct PlaceOptions {
  const NodeList* nodes = nullptr;  // where to look; none: everywhere
  bool has_all_room = false;        // every node with a free GPU, or a part of one, is in that list
  bool only_promise = false;        // nothing starts: others have to leave first
  bool only_spare = false;          // only what is free now and promised to nobody
};

struct Placed {
  bool all = false;
  bool by_quota = false;  // some task was stopped by a limit or quota, not for want of room
  std::optional<std::uint32_t> would_delay;  // some task was kept off a node for this job
  std::uint32_t most = 0;                    // tasks that found a place in the best attempt
  explicit operator bool() const { return all; }
};

/// Places all of `tasks` of the job, or leaves no mark. Where something has to be waited for and
/// the gang would start incomplete, all of it waits.
Placed place(World& world, std::uint32_t job, const std::vector<std::uint32_t>& tasks,
             const PlaceOptions& options = {});

/// The gates before any search: limits, and the quota for what cannot be preempted.
std::optional<WaitCause> stopped_at_gate(const World& world, const SchedJob& job,
                                         const std::vector<std::uint32_t>& tasks);

}  // namespace rota::sched
