// sched/cluster.cpp - keeps free counters and their index true to what is held.
#include "sched/cluster.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {

std::uint64_t tasks_that_fit(const JobSpec& spec, const Supply& node, bool when_empty) {
  const std::uint64_t gpus = when_empty ? node.gpu_total : node.gpu_free;
  const std::uint64_t cpus = when_empty ? node.cpu_total : node.cpu_free;
  const std::uint64_t memory = when_empty ? node.memory_total : node.memory_free;
  if (gpus < spec.node.gpu_count || memory < spec.node.memory_bytes) return 0;
  std::uint64_t tasks = cpus / std::max<std::uint32_t>(1, spec.task.cpu_count);
  if (spec.task.gpu_count > 0)
    tasks = std::min(tasks, (gpus - spec.node.gpu_count) / spec.task.gpu_count);
  if (spec.task.memory_bytes > 0)
    tasks = std::min(tasks, (memory - spec.node.memory_bytes) / spec.task.memory_bytes);
  return std::min<std::uint64_t>(tasks, spec.task_count);
}

void Cluster::put(NodeId id, const NodeInventory& inventory, const std::vector<bool>& gpu_absent,
                  bool usable) {
  Supply& node = nodes_[id];
  unindex(node);
  const std::uint32_t cpu_held = node.cpu_total - node.cpu_free;
  const std::uint64_t memory_held = node.memory_total - node.memory_free;
  node.id = id;
  node.usable = usable;
  // A node that came back smaller than what its jobs hold keeps their size until they end.
  node.cpu_total = std::max(inventory.cpu_count, cpu_held);
  node.cpu_free = node.cpu_total - cpu_held;
  node.memory_total = std::max(inventory.memory_bytes, memory_held);
  node.memory_free = node.memory_total - memory_held;
  ROTA_ASSERT(inventory.gpus.size() >= node.gpu_holders.size());
  ROTA_ASSERT(gpu_absent.size() == inventory.gpus.size());
  node.gpu_holders.resize(inventory.gpus.size());
  node.gpu_absent = gpu_absent;
  node.gpu_total = node.gpu_free = 0;
  for (std::size_t i = 0; i < gpu_absent.size(); ++i) {
    if (gpu_absent[i]) continue;
    ++node.gpu_total;
    if (!node.gpu_holders[i]) ++node.gpu_free;
  }
  index(node);
  ++generation_;
}

void Cluster::set_usable(NodeId id, bool usable) {
  Supply& node = nodes_.at(id);
  if (node.usable == usable) return;
  unindex(node);
  node.usable = usable;
  index(node);
  ++generation_;
}

void Cluster::take(JobId job, const NodePart& part) {
  Supply& node = nodes_.at(part.node);
  ROTA_ASSERT(node.cpu_free >= part.cpu_count);
  ROTA_ASSERT(node.memory_free >= part.memory_bytes);
  unindex(node);
  node.cpu_free -= part.cpu_count;
  node.memory_free -= part.memory_bytes;
  for (const auto gpu : part.gpus) {
    ROTA_ASSERT(gpu < node.gpu_holders.size() && !node.gpu_holders[gpu]);
    node.gpu_holders[gpu] = job;
    if (!node.gpu_absent[gpu]) --node.gpu_free;
  }
  index(node);
}

void Cluster::give(JobId job, const NodePart& part) {
  Supply& node = nodes_.at(part.node);
  unindex(node);
  node.cpu_free += part.cpu_count;
  node.memory_free += part.memory_bytes;
  ROTA_ASSERT(node.cpu_free <= node.cpu_total && node.memory_free <= node.memory_total);
  for (const auto gpu : part.gpus) {
    ROTA_ASSERT(gpu < node.gpu_holders.size() && node.gpu_holders[gpu] == job);
    node.gpu_holders[gpu] = {};
    if (!node.gpu_absent[gpu]) ++node.gpu_free;
  }
  index(node);
}

const Supply& Cluster::at(NodeId id) const {
  const auto node = nodes_.find(id);
  ROTA_ASSERT(node != nodes_.end());
  return node->second;
}

void Cluster::unindex(const Supply& node) {
  if (node.usable) by_free_.erase({node.gpu_free, node.cpu_free, node.id});
}

void Cluster::index(const Supply& node) {
  if (node.usable) by_free_.insert({node.gpu_free, node.cpu_free, node.id});
}

}  // namespace rota::sched
