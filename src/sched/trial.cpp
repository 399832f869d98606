// sched/trial.cpp - finds where a gang fits, tightest nodes first.
#include "sched/trial.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {
namespace {

/// How many tasks each of the job's nodes gets when the number of nodes is fixed: as even as can
/// be, the larger parts first.
std::uint32_t tasks_of_node(const JobSpec& spec, std::uint32_t index) {
  return spec.task_count / spec.node_count + (index < spec.task_count % spec.node_count ? 1 : 0);
}

NodePart part_on(const Supply& node, const JobSpec& spec, std::uint32_t task_first,
                 std::uint32_t task_count) {
  NodePart part;
  part.node = node.id;
  part.task_first = task_first;
  part.task_count = task_count;
  part.cpu_count = task_count * spec.task.cpu_count;
  part.memory_bytes = task_count * spec.task.memory_bytes + spec.node.memory_bytes;
  std::uint32_t gpus_left = task_count * spec.task.gpu_count + spec.node.gpu_count;
  for (std::uint16_t i = 0; i < node.gpu_holders.size() && gpus_left > 0; ++i) {
    if (node.gpu_holders[i] || node.gpu_absent[i]) continue;
    part.gpus.push_back(i);
    --gpus_left;
  }
  ROTA_ASSERT(gpus_left == 0);
  return part;
}

/// The usable node with the fewest free GPUs (then CPUs) that takes `tasks` tasks; none: no node
/// does.
const Supply* tightest(const Cluster& cluster, const JobSpec& spec, std::uint32_t tasks,
                       const Placement& used) {
  const std::uint32_t gpus = tasks * spec.task.gpu_count + spec.node.gpu_count;
  for (auto at = cluster.by_free().lower_bound({gpus, 0, NodeId{}}); at != cluster.by_free().end();
       ++at) {
    const NodeId id = std::get<2>(*at);
    const Supply& node = cluster.at(id);
    if (tasks_that_fit(spec, node, false) < tasks) continue;
    const bool taken = std::any_of(used.begin(), used.end(),
                                   [id](const NodePart& part) { return part.node == id; });
    if (!taken) return &node;
  }
  return nullptr;
}

std::optional<Placement> place_on_count(const Cluster& cluster, const JobSpec& spec) {
  Placement placement;
  std::uint32_t task_first = 0;
  for (std::uint32_t i = 0; i < spec.node_count; ++i) {
    const std::uint32_t tasks = tasks_of_node(spec, i);
    const Supply* node = tightest(cluster, spec, tasks, placement);
    if (node == nullptr) return std::nullopt;
    placement.push_back(part_on(*node, spec, task_first, tasks));
    task_first += tasks;
  }
  return placement;
}

/// As few nodes as possible: the roomiest first, and the tightest that takes all of the rest last.
std::optional<Placement> place_on_few(const Cluster& cluster, const JobSpec& spec) {
  if (const Supply* node = tightest(cluster, spec, spec.task_count, {}))
    return Placement{part_on(*node, spec, 0, spec.task_count)};
  std::vector<std::pair<std::uint64_t, NodeId>> room;
  for (const auto& [gpus, cpus, id] : cluster.by_free())
    if (const auto tasks = tasks_that_fit(spec, cluster.at(id), false); tasks > 0)
      room.emplace_back(tasks, id);
  std::sort(room.begin(), room.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  Placement placement;
  std::uint32_t task_first = 0;
  for (const auto& [tasks, id] : room) {
    const std::uint32_t left = spec.task_count - task_first;
    if (tasks >= left) {
      placement.push_back(
          part_on(*tightest(cluster, spec, left, placement), spec, task_first, left));
      return placement;
    }
    placement.push_back(
        part_on(cluster.at(id), spec, task_first, static_cast<std::uint32_t>(tasks)));
    task_first += static_cast<std::uint32_t>(tasks);
  }
  return std::nullopt;
}

}  // namespace

Trial::~Trial() {
  for (auto at = taken_.rbegin(); at != taken_.rend(); ++at) cluster_.give(at->first, at->second);
}

std::optional<Placement> Trial::place(JobId job, const JobSpec& spec) {
  auto placement =
      spec.node_count > 0 ? place_on_count(cluster_, spec) : place_on_few(cluster_, spec);
  if (!placement) return std::nullopt;
  for (const NodePart& part : *placement) {
    cluster_.take(job, part);
    taken_.emplace_back(job, part);
  }
  return placement;
}

bool fits_empty(const JobSpec& spec, const Cluster& cluster, bool usable_only) {
  std::vector<std::uint64_t> room;
  for (const auto& [id, node] : cluster.nodes()) {
    if (usable_only && !node.usable) continue;
    if (const auto tasks = tasks_that_fit(spec, node, true); tasks > 0) room.push_back(tasks);
  }
  std::sort(room.rbegin(), room.rend());
  if (spec.node_count == 0) {
    std::uint64_t total = 0;
    for (const auto tasks : room) total += tasks;
    return total >= spec.task_count;
  }
  if (room.size() < spec.node_count) return false;
  for (std::uint32_t i = 0; i < spec.node_count; ++i)
    if (room[i] < tasks_of_node(spec, i)) return false;
  return true;
}

}  // namespace rota::sched
