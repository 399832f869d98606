// contribs/slurm/nodes.h - nodes and queues as Slurm sees them.
#pragma once
#include <string>
#include <vector>

#include "slurm.h"

namespace rota::slurm {

/// A queue; without any, all nodes are one.
struct Partition {
  std::string name;
  std::string node_group;  // "": all nodes
  std::string limit;       // "infinite", "7-00:00:00"
  std::string default_time;
  bool is_default = false;

  bool holds(const NodeView& node) const;
};
Result<std::vector<Partition>> partitions_of(const Program& program);

/// "idle", "mixed", "allocated", "drained", "draining", "down*"; `compact`: "mix", "alloc",
/// "drain".
std::string node_state(const NodeView& node, bool compact);
/// "gpu:v100:8"
std::string gres_of(const NodeView& node);
std::string gres_used(const NodeView& node);
/// Its type and groups, with ',' between.
std::string features_of(const NodeView& node);

}  // namespace rota::slurm
