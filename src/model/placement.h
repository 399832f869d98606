// model/placement.h - which tasks of a job hold what on one node.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "model/gpu.h"
#include "model/ids.h"

namespace rota {

/// A job's part on one node. The scheduler counts CPUs; the node picks the cores near the GPUs.
struct NodePart {
  NodeId node;
  std::uint32_t task_first = 0;
  std::uint32_t task_count = 0;
  std::vector<std::uint16_t> gpus;  // positions in the node's inventory, ascending
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;    // 0: not limited
  std::uint32_t gpu_share = 0;       // of each of its GPUs, in millionths; 0: all of it
  std::uint32_t gpu_memory_mib = 0;  // so much of each was asked for; 0: by the share
  std::uint32_t growth = 0;          // of an elastic job: its RunId's
  bool leaving = false;              // being ended while the rest of the job goes on
  std::vector<MigSlot> mig;          // its instances, in task order; `gpus` is empty then

  /// What it counts for, in millionths of GPUs.
  std::int64_t gpu_amount() const {
    std::int64_t amount =
        static_cast<std::int64_t>(gpus.size()) * (gpu_share == 0 ? gpu_unit : gpu_share);
    for (const MigSlot& slot : mig) amount += slot.amount;
    return amount;
  }
  /// The GPUs that it is on, and those that its instances lie on, each as often as it has one.
  std::vector<std::uint16_t> gpus_used() const {
    std::vector<std::uint16_t> used = gpus;
    for (const MigSlot& slot : mig) used.push_back(slot.gpu);
    return used;
  }
  friend bool operator==(const NodePart&, const NodePart&) = default;
  static auto fields(auto& m) {
    return std::tie(m.node, m.task_first, m.task_count, m.gpus, m.cpu_count, m.memory_bytes,
                    m.gpu_share, m.gpu_memory_mib, m.growth, m.leaving, m.mig);
  }
};

/// Where a whole job is, in task order. Empty: nowhere.
using Placement = std::vector<NodePart>;

/// Parts that are not on their way out.
inline std::size_t staying_count(const Placement& placement) {
  return static_cast<std::size_t>(std::count_if(
      placement.begin(), placement.end(), [](const NodePart& part) { return !part.leaving; }));
}

}  // namespace rota
