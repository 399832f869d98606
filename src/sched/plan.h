// sched/plan.h - one pass of the scheduler: values in, a plan out.
#pragma once
#include <vector>

#include "model/ids.h"
#include "model/placement.h"
#include "sched/cluster.h"
#include "sched/queue.h"

namespace rota::sched {

struct Start {
  JobId job;
  Placement placement;
};

/// What to do now. Why the others wait stands in their classes.
struct Plan {
  std::vector<Start> starts;  // in the order decided
};

/// First come, first served, packed: jobs start in the order of their ids until the first one that
/// has to wait for resources; nobody goes past it. A job that does not fit the usable nodes even
/// when they are empty holds nobody up. Same cluster, same queue: same plan. The cluster and the
/// members of the queue are left as they were; only the reasons in the queue's classes are written.
Plan plan(Cluster& cluster, Queue& queue);

}  // namespace rota::sched
