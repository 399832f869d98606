// sched/topology_wish.h - what a job asks of the network, in the levels that the site has.
#pragma once
#include <optional>

#include "common/result.h"
#include "model/topology_request.h"
#include "sched/topology.h"
#include "sched/workload.h"

namespace rota::sched {

/// A level that the site does not have is an error, with the nearest one.
Result<void> check(const TopologyRequest& request, const Topology& topology);

/// None: nothing is asked for. A level may be gone since the job was taken: then what it prefers
/// does not count, and what it requires is nowhere.
std::optional<TopologyWish> wish_of(const TopologyRequest& request, const Topology& topology);

/// What its groups of nodes ask for; none: it has no such groups. They have the narrower of the
/// levels that are named, the whole job the wider one. Where none is named, they have to lie in
/// one place of the narrowest level that has a place with so many nodes.
std::optional<Segments> segments_of(const TopologyRequest& request, const Topology& topology);

}  // namespace rota::sched
