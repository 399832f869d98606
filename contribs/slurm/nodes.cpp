// contribs/slurm/nodes.cpp - what of a node is in use, in Slurm's words.
#include "nodes.h"

#include <algorithm>

#include "commands/org_ask.h"
#include "common/format.h"

namespace rota::slurm {
namespace {

using namespace commands;

/// GPUs that somebody has, whole or in part.
std::size_t gpus_held(const NodeView& node) {
  std::vector<bool> is_held(node.inventory.gpus.size());
  for (std::size_t i = 0; i < std::min(is_held.size(), node.gpu_holders.size()); ++i)
    is_held[i] = bool(node.gpu_holders[i]);
  for (const GpuShare& share : node.gpu_sharers)
    if (share.gpu < is_held.size()) is_held[share.gpu] = true;
  for (const MigHolder& holder : node.mig_holders)
    if (holder.slot.gpu < is_held.size()) is_held[holder.slot.gpu] = true;
  return static_cast<std::size_t>(std::ranges::count(is_held, true));
}

}  // namespace

bool Partition::holds(const NodeView& node) const {
  return node_group.empty() || std::ranges::find(node.groups, node_group) != node.groups.end();
}

Result<std::vector<Partition>> partitions_of(const Program& program) {
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(const auto answer, ask_org(controller, false));
  const auto time = [](const std::optional<std::int64_t>& seconds, std::string_view none) {
    return seconds && *seconds > 0 ? long_duration(std::chrono::seconds(*seconds))
                                   : std::string(none);
  };
  std::vector<Partition> partitions;
  for (const Queue& queue : answer.org.queues)
    partitions.push_back({queue.name, queue.node_group,
                          time(queue.time_limit_max_seconds, "infinite"),
                          time(queue.time_limit_default_seconds, "n/a"), false});
  if (partitions.empty()) partitions.push_back({"all", "", "infinite", "n/a", true});
  return partitions;
}

std::string node_state(const NodeView& node, bool compact) {
  const std::size_t gpus = gpus_held(node);
  const bool is_used = node.cpus_held > 0 || gpus > 0;
  if (node.state == NodeState::down) return "down*";
  if (node.state == NodeState::drained)
    return compact ? (is_used ? "drng" : "drain") : (is_used ? "draining" : "drained");
  if (!is_used) return "idle";
  const bool is_full = node.cpus_held >= node.inventory.cpu_count ||
                       (!node.inventory.gpus.empty() && gpus == node.inventory.gpus.size());
  return compact ? (is_full ? "alloc" : "mix") : (is_full ? "allocated" : "mixed");
}

std::string gres_of(const NodeView& node) {
  if (node.inventory.gpus.empty()) return "(null)";
  return format("gpu:{}:{}", node.type, node.inventory.gpus.size());
}

std::string gres_used(const NodeView& node) {
  if (node.inventory.gpus.empty()) return "(null)";
  return format("gpu:{}:{}", node.type, gpus_held(node));
}

std::string features_of(const NodeView& node) {
  std::string text = node.type;
  for (const std::string& group : node.groups) text += (text.empty() ? "" : ",") + group;
  return text.empty() ? "(null)" : text;
}

}  // namespace rota::slurm
