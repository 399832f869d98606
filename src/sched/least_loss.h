// sched/least_loss.h - the packing of sched/packing, kept true to the fleet, as placement asks it.
#pragma once
#include <cstdint>
#include <optional>

#include "sched/fleet.h"
#include "sched/packing.h"
#include "sched/workload.h"

namespace rota::sched {

/// Knows whole GPUs, parts of a single one, and tasks without; what else is asked for it leaves to
/// others. Nodes with MIG, or with more GPUs than packing counts, it does not see.
class LeastLoss {
 public:
  /// A job like this has arrived: once for each.
  void observe(const JobShape& shape);

  /// As of the last find(): whatever is asked for, one is as good as the other.
  bool are_alike(NodeIndex a, NodeIndex b) const {
    return packing_.fleet().shelf_of(a) == packing_.fleet().shelf_of(b);
  }

  /// Calls visit(node, level) for nodes where the task fits by what is free now, those that lose
  /// least by it first, until it says true. `level`: how much is free on the GPU that a part is to
  /// come from. True when it did.
  template <class Visit>
  bool find(Fleet& fleet, const Demand& demand, Visit visit) {
    const auto request = request_of(demand);
    if (!request) return false;
    follow(fleet);
    return packing_.find(*request, visit);
  }

 private:
  static std::optional<PackRequest> request_of(const Demand& demand);
  void follow(Fleet& fleet);

  Packing packing_;
};

}  // namespace rota::sched
