// sched/few_nodes.h - the fewest nodes that take tasks which are all alike.
#pragma once
#include <cstdint>
#include <vector>

#include "sched/fleet.h"

namespace rota::sched {

/// How many tasks of whole GPUs (or none) the node takes, at most `most`: from what is idle, or
/// once everybody who is leaving has left.
std::uint32_t room_for(const FleetNode& node, const Demand& demand, std::uint32_t most, bool now);
/// The same of an empty node, usable or not, and of parts of GPUs too.
std::uint32_t room_when_empty(const FleetNode& node, const Demand& demand, std::uint32_t most);

/// A node for each of `count` tasks, those of one node together; empty: there is no room. One node
/// that takes all, the tightest; else the roomiest first, and last the tightest that takes the
/// rest. What is free now is preferred to what is to come. `spread`: of nodes that do as well, the
/// one with most left instead of the tightest. Of those that are equal, the nodes `with_image` come
/// first (ascending; none: there are no such).
std::vector<NodeIndex> choose_few_nodes(const Fleet& fleet, const NodeList& nodes,
                                        const Demand& demand, std::uint32_t count,
                                        bool spread = false, const NodeList* with_image = nullptr);

}  // namespace rota::sched
