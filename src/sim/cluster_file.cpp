// sim/cluster_file.cpp - nodes by groups, every value within bounds.
#include "sim/cluster_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/config_table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/lower.h"
#include "sim/yaml_keys.h"

namespace rota::sim {
namespace {

constexpr YamlBounds bounds{.bytes_max = 4 << 20, .nodes_max = 200'000, .depth_max = 6};
constexpr std::size_t nodes_max = 100'000;
constexpr std::int64_t gpus_max = 256;
constexpr std::int64_t cpus_max = 65'536;
constexpr std::uint64_t bytes_max = std::uint64_t{1} << 50;

/// What a node has where the file does not say: enough that its GPUs decide.
constexpr std::uint32_t cpus_per_gpu = 16;
constexpr std::uint64_t memory_per_gpu = std::uint64_t{64} << 30;
constexpr std::uint64_t gpu_memory_default = std::uint64_t{80} << 30;

constexpr std::size_t groups_max = 64;  // that a node is in

constexpr std::array<std::string_view, 7> node_keys{"names", "gpus",   "model", "gpu_memory",
                                                    "cpus",  "memory", "groups"};

Result<std::vector<std::string>> read_names(const YamlNode& node, const std::string& file,
                                            std::set<std::string, std::less<>>& taken) {
  ROTA_TRY(const std::string word, yaml_word(node, file, "names"));
  auto names = hostlist_expand(word);
  if (!names) return yaml_error(file, node.mark, format("names: {}", names.error().detail));
  if (names->empty()) return yaml_error(file, node.mark, "names: no name stands here");
  for (const std::string& name : *names)
    if (!taken.insert(name).second)
      return yaml_error(file, node.mark, format("node {} is there twice", quoted(name)));
  if (taken.size() > nodes_max)
    return yaml_error(file, node.mark, format("more than {} nodes", nodes_max));
  return names;
}

/// One name, or a list of them.
Result<std::vector<std::string>> read_named(const YamlNode& node, const std::string& file) {
  std::vector<std::string> names;
  const auto add = [&](const YamlNode& item) -> Result<void> {
    ROTA_TRY(std::string name, yaml_word(item, file, "groups"));
    if (const auto good = config_check_group_name(name); !good)
      return yaml_error(file, item.mark, format("groups: {}", good.error().detail));
    names.push_back(lower_case(name));
    return {};
  };
  if (!node.is_list()) {
    ROTA_CHECK(add(node));
    return names;
  }
  if (node.items.size() > groups_max)
    return yaml_error(file, node.mark, format("groups: more than {}", groups_max));
  for (const YamlNode& item : node.items) ROTA_CHECK(add(item));
  return names;
}

Result<NodeGroup> read_group(const YamlNode& node, const std::string& file,
                             std::set<std::string, std::less<>>& taken) {
  ROTA_TRY(const auto keys, YamlKeys::open(node, file, "a node", node_keys));
  NodeGroup group;
  ROTA_TRY(const YamlNode* names, keys.need("names"));
  ROTA_TRY(group.names, read_names(*names, file, taken));
  ROTA_TRY(const YamlNode* gpus, keys.need("gpus"));
  ROTA_TRY(const auto gpu_count, yaml_number(*gpus, file, "gpus", 0, gpus_max));
  group.gpu_count = static_cast<std::uint32_t>(gpu_count);
  const std::uint32_t parts = std::max<std::uint32_t>(group.gpu_count, 1);
  group.cpu_count = parts * cpus_per_gpu;
  group.memory_bytes = parts * memory_per_gpu;
  group.gpu_memory_bytes = gpu_memory_default;
  if (const YamlNode* value = keys.find("model")) {
    ROTA_TRY(group.model, yaml_word(*value, file, "model"));
  }
  if (const YamlNode* value = keys.find("gpu_memory")) {
    ROTA_TRY(group.gpu_memory_bytes, yaml_size(*value, file, "gpu_memory", bytes_max));
  }
  if (const YamlNode* value = keys.find("cpus")) {
    ROTA_TRY(const auto count, yaml_number(*value, file, "cpus", 1, cpus_max));
    group.cpu_count = static_cast<std::uint32_t>(count);
  }
  if (const YamlNode* value = keys.find("memory")) {
    ROTA_TRY(group.memory_bytes, yaml_size(*value, file, "memory", bytes_max));
  }
  if (const YamlNode* value = keys.find("groups")) {
    ROTA_TRY(group.named, read_named(*value, file));
  }
  return group;
}

}  // namespace

NodeInventory NodeGroup::inventory() const {
  NodeInventory inventory;
  inventory.cpu_count = cpu_count;
  inventory.memory_bytes = memory_bytes;
  inventory.gpus.resize(gpu_count);
  for (std::uint32_t i = 0; i < gpu_count; ++i) {
    Gpu& gpu = inventory.gpus[i];
    gpu.model = model;
    gpu.memory_bytes = gpu_memory_bytes;
    gpu.index = gpu.minor = i;
  }
  return inventory;
}

std::uint64_t ClusterDescription::gpu_count() const {
  std::uint64_t count = 0;
  for (const NodeGroup& group : groups) count += group.names.size() * group.gpu_count;
  return count;
}

std::size_t ClusterDescription::node_count() const {
  std::size_t count = 0;
  for (const NodeGroup& group : groups) count += group.names.size();
  return count;
}

std::uint32_t ClusterDescription::gpus_per_node_max() const {
  std::uint32_t most = 0;
  for (const NodeGroup& group : groups) most = std::max(most, group.gpu_count);
  return most;
}

std::vector<NamedNodes> ClusterDescription::named_groups() const {
  std::map<std::string, std::set<std::string>> by_name;
  for (const NodeGroup& group : groups)
    for (const std::string& name : group.named)
      by_name[name].insert(group.names.begin(), group.names.end());
  std::vector<NamedNodes> named;
  for (const auto& [name, nodes] : by_name) named.push_back({name, {nodes.begin(), nodes.end()}});
  return named;
}

Result<ClusterDescription> cluster_read(const YamlNode& root, const std::string& file) {
  constexpr std::array<std::string_view, 1> known{"nodes"};
  ROTA_TRY(const auto keys, YamlKeys::open(root, file, "a cluster", known));
  ROTA_TRY(const YamlNode* nodes, keys.need("nodes"));
  if (!nodes->is_list() || nodes->items.empty())
    return yaml_error(file, nodes->mark,
                      "nodes: a list is needed here, such as - {names: 'n[1-4]', gpus: 8}");
  ClusterDescription cluster;
  std::set<std::string, std::less<>> taken;
  for (const YamlNode& item : nodes->items) {
    ROTA_TRY(auto group, read_group(item, file, taken));
    cluster.groups.push_back(std::move(group));
  }
  return cluster;
}

Result<ClusterDescription> cluster_load(const std::string& path) {
  ROTA_TRY(const std::string text, yaml_read_file(path, "the cluster", bounds.bytes_max));
  ROTA_TRY(const auto root, yaml_parse(text, path, bounds));
  if (!root) return yaml_error(path, {}, "empty; a cluster has 'nodes:'");
  return cluster_read(*root, path);
}

}  // namespace rota::sim
