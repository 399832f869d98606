// model/placement.h - which tasks of a job hold what on one node.
#pragma once
#include <cstdint>
#include <tuple>
#include <vector>

#include "model/ids.h"

namespace rota {

/// A job's part on one node. The scheduler counts CPUs; the node picks the cores near the GPUs.
struct NodePart {
  NodeId node;
  std::uint32_t task_first = 0;
  std::uint32_t task_count = 0;
  std::vector<std::uint16_t> gpus;  // positions in the node's inventory, ascending
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;  // 0: not limited

  friend bool operator==(const NodePart&, const NodePart&) = default;
  static auto fields(auto& m) {
    return std::tie(m.node, m.task_first, m.task_count, m.gpus, m.cpu_count, m.memory_bytes);
  }
};

/// Where a whole job is, in task order. Empty: nowhere.
using Placement = std::vector<NodePart>;

}  // namespace rota
