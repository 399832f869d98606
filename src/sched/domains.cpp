// sched/domains.cpp - quota.md 9: candidate domains, their order, and the pull to few of them.
#include "sched/domains.h"

#include <algorithm>
#include <map>

namespace rota::sched {
namespace {

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
    case Demand::Gpu::cut: {
      const auto* profile = cut_on(node, demand);
      return profile == nullptr ? 0 : divide(cut_room(node, *profile, false), demand.devices);
    }
    case Demand::Gpu::portion:
    case Demand::Gpu::memory:
      break;
  }
  std::int64_t room = std::max<std::int64_t>(0, node.gpus_free()) * node.gpu_memory_mib;
  for (const SharedGpu& gpu : node.shared)
    if (gpu.members > 0 && !gpu.all_leaving() && !gpu.is_cut)
      room += node.gpu_memory_mib - gpu.held_mib + gpu.leaving_mib;
  return divide(room, demand.share_mib(node.gpu_memory_mib) * demand.devices);
}

std::int64_t tasks_that_fit(const FleetNode& node, const Demand& demand) {
  if (!node.usable) return 0;
  std::int64_t tasks = gpu_tasks(node, demand);
  tasks = std::min(tasks, divide(node.cpu_free(), cpu_on(node, demand)));
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
                           const std::vector<std::uint32_t>& tasks, const TopologyWish& wish,
                           const NodeList& nodes, const NodeList& placed)
    : world_(world),
      topology_(world.topologies[wish.topology]),
      wish_(wish),
      nodes_(nodes),
      request_(world.estimate(job, tasks)),
      task_count_(static_cast<std::int64_t>(tasks.size())),
      is_apart_(job.shape->lie == Lie::apart),
      rooms_(topology_.size()) {
  measure(job, tasks);
  for (const NodeIndex node : nodes_) add_room(node);
  if (!wish.preferred && !wish.required) {
    order_.push_back(all_nodes);
    return;
  }
  // Levels count from wide to narrow: 0 is the widest.
  const std::uint32_t narrowest = std::max(wish.preferred.value_or(0), wish.required.value_or(0));
  const std::uint32_t widest = wish.required.value_or(0);
  for (std::uint32_t level = narrowest + 1; level-- > widest;) {
    std::vector<std::uint32_t> places;
    collect(0, level, true, places);
    for (const auto place : places)
      if (!wish.required || placed.empty() || has_one_of(place, placed)) order_.push_back(place);
  }
  if (!wish.required && could_hold(rooms_[all_nodes])) order_.push_back(all_nodes);
}

/// How large the tasks are, and whether they can be counted.
void DomainSearch::measure(const SchedJob& job, const std::vector<std::uint32_t>& tasks) {
  bool first = true;
  for (const auto task : tasks) {
    const Demand& demand = job.demand(task);
    if (first) {
      largest_ = smallest_ = demand;
      first = false;
      continue;
    }
    if (demand.gpu != largest_.gpu || demand.mig != largest_.mig ||
        demand.profile != largest_.profile)
      is_uniform_ = false;
    const auto widen = [&](auto Demand::*part) {
      largest_.*part = std::max(largest_.*part, demand.*part);
      smallest_.*part = std::min(smallest_.*part, demand.*part);
    };
    widen(&Demand::devices);
    widen(&Demand::portion);
    widen(&Demand::memory_mib);
    widen(&Demand::cpu_milli);
    widen(&Demand::memory_bytes);
  }
  is_even_ = largest_ == smallest_;
}

/// To every place that the node lies in; outside of them all it still counts for `all_nodes`.
void DomainSearch::add_room(NodeIndex index) {
  const FleetNode& node = world_.fleet.at(index);
  if (!node.usable) return;
  const auto count = [&](const Demand& demand) {
    return std::min(tasks_that_fit(node, demand),
                    is_apart_ ? 1 : std::numeric_limits<std::int64_t>::max());
  };
  const Amount free = free_of(node);
  const std::int64_t whole = node.mig.empty()
                                 ? std::max<std::int64_t>(0, node.gpus_free()) * one_gpu
                                 : node.gpu_free_amount;
  const std::int64_t tasks = count(largest_);
  const std::int64_t most = is_even_ ? tasks : count(smallest_);
  for (std::uint32_t at = topology_.place_of(index);; at = topology_.at(at).parent) {
    Room& room = rooms_[at];
    room.free += free;
    room.gpus_whole += whole;
    room.tasks += tasks;
    room.tasks_most += most;
    if (at == all_nodes) return;
  }
}

/// True where it is not certain that there is no room.
bool DomainSearch::could_hold(const Room& room) const {
  return is_uniform_ ? room.tasks_most >= task_count_ : within(request_, room.free);
}

/// How much of what is free there the tasks would take, in what is scarcest. Parts of shared GPUs
/// do not count: which of them could be had is not known here.
double DomainSearch::fullness(const Room& room) const {
  constexpr double nothing_free = 1000;
  double most = 0;
  for (const Resource r : resources) {
    if (request_[r] <= 0) continue;
    const std::int64_t free = r == Resource::gpu ? room.gpus_whole : room.free[r];
    most = std::max(most, free <= 0 ? nothing_free
                                    : static_cast<double>(request_[r]) / static_cast<double>(free));
  }
  return most;
}

bool DomainSearch::has_one_of(std::uint32_t domain, const NodeList& placed) const {
  const std::uint32_t level = topology_.at(domain).depth - 1;
  return std::any_of(placed.begin(), placed.end(),
                     [&](NodeIndex node) { return topology_.place_of(node, level) == domain; });
}

/// Places of `level` below `domain`, in the tree's order by fullness; `that_hold`: only those that
/// could take all tasks.
void DomainSearch::collect(std::uint32_t domain, std::uint32_t level, bool that_hold,
                           std::vector<std::uint32_t>& found) const {
  if (topology_.at(domain).depth == level + 1) {
    found.push_back(domain);
    return;
  }
  struct Candidate {
    std::uint32_t domain;
    double fullness;
  };
  std::vector<Candidate> candidates;
  for (const auto child : topology_.at(domain).children)
    if (!that_hold || could_hold(rooms_[child]))
      candidates.push_back({child, fullness(rooms_[child])});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.fullness > b.fullness; });
  for (const Candidate& candidate : candidates) collect(candidate.domain, level, that_hold, found);
}

DomainChoice DomainSearch::choice(std::uint32_t domain) const {
  DomainChoice choice;
  choice.nodes = nodes_in(domain);
  if (!wish_.preferred || topology_.at(domain).depth > *wish_.preferred) return choice;
  // Within a place wider than preferred, the preferred places with most room come first, so that
  // the job spans few of them.
  std::vector<std::uint32_t> places;
  collect(domain, *wish_.preferred, false, places);
  std::stable_sort(places.begin(), places.end(), [this](std::uint32_t a, std::uint32_t b) {
    return rooms_[a].tasks < rooms_[b].tasks;
  });
  std::int64_t score = 0;
  for (const auto place : places) {
    ++score;
    for (const NodeIndex node : nodes_in(place)) choice.scores.emplace_back(node, score);
  }
  return choice;
}

NodeList DomainSearch::nodes_in(std::uint32_t domain) const {
  return domain == all_nodes ? nodes_ : intersection(topology_.at(domain).nodes, nodes_);
}

}  // namespace rota::sched
