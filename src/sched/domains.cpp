// sched/domains.cpp - quota.md 9: candidate domains, their order, and the pull to few of them.
#include "sched/domains.h"

#include <algorithm>
#include <map>

namespace rota::sched {
namespace {

NodeList intersection(const NodeList& a, const NodeList& b) {
  NodeList both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::int64_t divide(std::int64_t room, std::int64_t each) {
  return each <= 0 ? std::numeric_limits<std::int64_t>::max()
                   : std::max<std::int64_t>(0, room) / each;
}

/// Tasks of this size that the node's GPUs take; parts of GPUs are added up optimistically.
std::int64_t gpu_tasks(const FleetNode& node, const Demand& demand) {
  switch (demand.gpu) {
    case Demand::Gpu::none:
      return std::numeric_limits<std::int64_t>::max();
    case Demand::Gpu::whole:
      return divide(node.gpus_free(), demand.devices);
    case Demand::Gpu::portion:
    case Demand::Gpu::memory:
      break;
  }
  std::int64_t room = std::max<std::int64_t>(0, node.gpus_free()) * node.gpu_memory_mib;
  for (const SharedGpu& gpu : node.shared)
    if (gpu.members > 0 && !gpu.all_leaving())
      room += node.gpu_memory_mib - gpu.held_mib + gpu.leaving_mib;
  return divide(room, demand.share_mib(node.gpu_memory_mib) * demand.devices);
}

std::int64_t tasks_that_fit(const FleetNode& node, const Demand& demand) {
  if (!node.usable) return 0;
  std::int64_t tasks = gpu_tasks(node, demand);
  tasks = std::min(tasks, divide(node.cpu_free(), demand.cpu_milli));
  tasks = std::min(tasks, divide(node.memory_free(), demand.memory_bytes));
  for (const MigAsk& ask : demand.mig) {
    const auto at = node.mig.find(ask.profile);
    const std::int64_t room = at == node.mig.end() ? 0 : at->second.idle + at->second.leaving;
    tasks = std::min(tasks, divide(room, ask.count));
  }
  return std::min(tasks, node.tasks_idle + node.tasks_leaving);
}

Amount free_of(const FleetNode& node) {
  Amount free;
  free[Resource::gpu] = node.gpu_free_amount;
  free[Resource::cpu] = std::max<std::int64_t>(0, node.cpu_free());
  free[Resource::memory] = std::max<std::int64_t>(0, node.memory_free());
  return free;
}

}  // namespace

DomainSearch::DomainSearch(const World& world, const SchedJob& job,
                           const std::vector<std::uint32_t>& tasks, const NodeList& placed)
    : world_(world), placed_(placed) {
  std::sort(placed_.begin(), placed_.end());
  placed_.erase(std::unique(placed_.begin(), placed_.end()), placed_.end());
  task_count_ = static_cast<std::int64_t>(tasks.size());
  request_ = world.estimate(job, tasks);
  bool first = true;
  for (const auto task : tasks) {
    const Demand& demand = job.demand(task);
    if (first) {
      largest_ = demand;
      first = false;
      continue;
    }
    if (demand.gpu != largest_.gpu || demand.mig != largest_.mig) is_uniform_ = false;
    largest_.devices = std::max(largest_.devices, demand.devices);
    largest_.portion = std::max(largest_.portion, demand.portion);
    largest_.memory_mib = std::max(largest_.memory_mib, demand.memory_mib);
    largest_.cpu_milli = std::max(largest_.cpu_milli, demand.cpu_milli);
    largest_.memory_bytes = std::max(largest_.memory_bytes, demand.memory_bytes);
  }
}

DomainSearch::Room DomainSearch::room_of(const NodeList& nodes) const {
  Room room;
  for (const NodeIndex index : nodes) {
    const FleetNode& node = world_.fleet.at(index);
    if (!node.usable) continue;
    room.free += free_of(node);
    room.tasks += tasks_that_fit(node, largest_);
  }
  return room;
}

bool DomainSearch::could_hold(const Room& room) const {
  return is_uniform_ ? room.tasks >= task_count_ : within(request_, room.free);
}

double DomainSearch::fullness(const Room& room) const {
  const Resource r = request_[Resource::gpu] > 0 ? Resource::gpu : Resource::cpu;
  if (room.free[r] <= 0) return 0;
  return static_cast<double>(request_[r]) / static_cast<double>(room.free[r]);
}

/// Domains of `level` below `domain`, in the tree's order by fullness.
void DomainSearch::collect(const Topology& topology, std::uint32_t domain, std::uint32_t depth,
                           std::uint32_t level, const NodeList& nodes,
                           std::vector<std::uint32_t>& found) const {
  if (depth == level + 1) {
    found.push_back(domain);
    return;
  }
  struct Candidate {
    std::uint32_t domain;
    double fullness;
  };
  std::vector<Candidate> candidates;
  for (const auto child : topology.at(domain).children) {
    const Room room = room_of(intersection(topology.at(child).nodes, nodes));
    candidates.push_back({child, fullness(room)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.fullness > b.fullness; });
  for (const Candidate& candidate : candidates)
    collect(topology, candidate.domain, depth + 1, level, nodes, found);
}

/// Within a place wider than preferred, the preferred places with most room come first, so that the
/// job spans few of them.
std::vector<std::pair<NodeIndex, std::int64_t>> DomainSearch::scores(const Topology& topology,
                                                                     std::uint32_t level,
                                                                     const NodeList& nodes) const {
  std::vector<std::uint32_t> places;
  collect(topology, 0, 0, level, nodes, places);
  struct Place {
    NodeList nodes;
    std::int64_t tasks;
  };
  std::vector<Place> ranked;
  for (const auto place : places) {
    NodeList inside = intersection(topology.at(place).nodes, nodes);
    if (inside.empty()) continue;
    const std::int64_t tasks = room_of(inside).tasks;
    ranked.push_back({std::move(inside), tasks});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Place& a, const Place& b) { return a.tasks < b.tasks; });
  std::vector<std::pair<NodeIndex, std::int64_t>> scores;
  for (std::size_t i = 0; i < ranked.size(); ++i)
    for (const NodeIndex node : ranked[i].nodes)
      scores.emplace_back(node, static_cast<std::int64_t>(i + 1));
  return scores;
}

std::vector<DomainChoice> DomainSearch::choices(const TopologyWish& wish,
                                                const NodeList& nodes) const {
  std::vector<DomainChoice> choices;
  const Topology& topology = world_.topologies[wish.topology];
  if (!wish.preferred && !wish.required) {
    choices.push_back({nodes, {}});
    return choices;
  }
  // Levels count from wide to narrow: 0 is the widest.
  const std::uint32_t narrowest = std::max(wish.preferred.value_or(0), wish.required.value_or(0));
  const std::uint32_t widest = wish.required.value_or(0);
  for (std::uint32_t level = narrowest + 1; level-- > widest;) {
    std::vector<std::uint32_t> places;
    collect(topology, 0, 0, level, nodes, places);
    for (const auto place : places) {
      NodeList inside = intersection(topology.at(place).nodes, nodes);
      if (inside.empty() || !could_hold(room_of(inside))) continue;
      if (wish.required && !placed_.empty() && intersection(inside, placed_).empty() &&
          intersection(topology.at(place).nodes, placed_).empty())
        continue;
      DomainChoice choice;
      if (wish.preferred && level < *wish.preferred)
        choice.scores = scores(topology, *wish.preferred, inside);
      choice.nodes = std::move(inside);
      choices.push_back(std::move(choice));
    }
  }
  if (!wish.required) {
    DomainChoice whole;
    whole.nodes = nodes;
    if (wish.preferred) whole.scores = scores(topology, *wish.preferred, nodes);
    choices.push_back(std::move(whole));
  }
  return choices;
}

}  // namespace rota::sched
