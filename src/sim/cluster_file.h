// sim/cluster_file.h - a cluster that is only described: which nodes, and what each has.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "common/yaml.h"
#include "model/node.h"

namespace rota::sim {

/// Nodes that are all alike.
struct NodeGroup {
  std::vector<std::string> names;
  std::uint32_t gpu_count = 0;
  std::string model;
  std::uint64_t gpu_memory_bytes = 0;
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> named;  // the groups of them that rules may name

  NodeInventory inventory() const;
};

struct ClusterDescription {
  std::vector<NodeGroup> groups;  // in the order written: earlier nodes win ties

  std::uint64_t gpu_count() const;
  std::size_t node_count() const;
  std::uint32_t gpus_per_node_max() const;
  /// As node_groups of rota.yaml has them.
  std::vector<NamedNodes> named_groups() const;
};

/// Reads "nodes: [...]", as rsim(1) describes it. Every name once, and at least one node.
Result<ClusterDescription> cluster_read(const YamlNode& root, const std::string& file);
Result<ClusterDescription> cluster_load(const std::string& path);

}  // namespace rota::sim
