// sched/cluster.h - the supply: what every node has and what of it is held.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/placement.h"

namespace rota::sched {

/// One node as a decision sees it.
struct Supply {
  NodeId id;
  bool usable = false;  // connected: may take new work
  std::uint32_t cpu_total = 0;
  std::uint32_t cpu_free = 0;
  std::uint64_t memory_total = 0;
  std::uint64_t memory_free = 0;
  std::uint32_t gpu_total = 0;  // GPUs that are there
  std::uint32_t gpu_free = 0;
  std::vector<JobId> gpu_holders;  // by position; none: free
  std::vector<bool> gpu_absent;    // by position: known, but not there now
};

/// The most tasks of this shape that one node can take from what is free, or from all it has.
std::uint64_t tasks_that_fit(const JobSpec& spec, const Supply& node, bool when_empty);

/// All nodes, indexed so that the best fit is found without looking at each. Changing it keeps the
/// index; holding anything twice is a bug (asserted).
class Cluster {
 public:
  /// Adds a node or replaces what is known of it. What jobs hold there stays held.
  void put(NodeId id, const NodeInventory& inventory, const std::vector<bool>& gpu_absent,
           bool usable);
  void set_usable(NodeId id, bool usable);

  void take(JobId job, const NodePart& part);
  void give(JobId job, const NodePart& part);

  const Supply& at(NodeId id) const;
  const std::map<NodeId, Supply>& nodes() const { return nodes_; }
  /// Changes whenever a node appears, changes size, or becomes usable or not: answers about an
  /// empty cluster hold as long as it stays the same.
  std::uint64_t generation() const { return generation_; }

  /// Usable nodes by free GPUs, then free CPUs, then id: the tightest fit comes first.
  using FreeIndex = std::set<std::tuple<std::uint32_t, std::uint32_t, NodeId>>;
  const FreeIndex& by_free() const { return by_free_; }

 private:
  void unindex(const Supply& node);
  void index(const Supply& node);

  std::map<NodeId, Supply> nodes_;
  FreeIndex by_free_;
  std::uint64_t generation_ = 1;
};

}  // namespace rota::sched
