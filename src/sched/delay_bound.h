// sched/delay_bound.h - whether an attempt to make room is bound to fail by places kept in time.
#pragma once
#include <cstdint>
#include <vector>

#include "sched/victims.h"
#include "sched/world.h"

namespace rota::sched {

/// On a full cluster most attempts fail because of places that are kept in time. Whole GPUs are
/// counted before one is made: what `units` would leave on these nodes, and how much of it the
/// `wanted` tasks of the taker may have. True: they cannot be placed. False says nothing.
bool would_surely_delay(const World& world, std::uint32_t taker,
                        const std::vector<std::uint32_t>& wanted, const std::vector<Unit>& units,
                        const NodeList& nodes);

}  // namespace rota::sched
