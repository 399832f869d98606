// sched/victim_bound.h - how much room victims could make at most, counted in whole GPUs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sched/attempt_bound.h"
#include "sched/world.h"

namespace rota::sched {

/// An upper bound on how many of the taker's tasks could be placed: whole GPUs per node, with what
/// the collected victims would free. Only a sum over nodes, so it is quick to keep up to date.
class VictimBound {
 public:
  VictimBound(const World& world, const SchedJob& job, const std::vector<std::uint32_t>& tasks)
      : world_(world),
        place_(&place_of_all(*job.shape)),
        wish_(job.shape->gang.required_topology()),
        freed_(world.fleet.size()) {
    for (const auto task : tasks) {
      const Demand& demand = job.demand(task);
      if (demand.gpu != Demand::Gpu::whole || demand.devices == 0) {
        size_ = 0;
        return;
      }
      size_ = size_ == 0 ? demand.devices : std::min(size_, demand.devices);
    }
    const auto& free = world.fleet.by_free_gpus();
    for (auto at = free.lower_bound({size_, NodeIndex{0}}); at != free.end(); ++at)
      sum_ += room(at->second, 0);
  }

  bool is_blind() const { return size_ == 0; }

  void free(const Unit& unit) {
    for (const auto task : unit.tasks) {
      const TaskRef ref{unit.job, task};
      if (world_.demand(ref).wants_gpu() || world_.demand(ref).whole_node)
        add(world_.task(ref).spot.node, gpus_left_by(world_, ref));
    }
  }

  /// With everybody gone who can be evicted.
  bool could_place_if_all_left(std::size_t count) const {
    if (is_blind()) return true;
    if (wish_ != nullptr) return some_place_if_all_left(static_cast<std::int64_t>(count));
    auto missing = static_cast<std::int64_t>(count);
    for (NodeIndex i = 0; i < freed_.size() && missing > 0; ++i)
      missing -= room(i, world_.fleet.at(i).gpus_evictable);
    return missing <= 0;
  }
  /// The same of those who may lose something by the rule: `evictable` has their GPUs by node.
  bool could_place_if_left(std::size_t count, const std::vector<std::int32_t>& evictable) const {
    if (is_blind() || wish_ != nullptr || evictable.empty()) return true;
    auto missing = static_cast<std::int64_t>(count);
    for (NodeIndex i = 0; i < freed_.size() && missing > 0; ++i) missing -= room(i, evictable[i]);
    return missing <= 0;
  }
  /// Whether evictions on a single node could be enough for `count`.
  bool could_place_from_one_node(std::int64_t count,
                                 const std::vector<std::int32_t>& evictable) const {
    if (is_blind() || sum_ >= count) return true;
    for (NodeIndex i = 0; i < freed_.size(); ++i) {
      const std::int64_t left =
          evictable.empty() ? world_.fleet.at(i).gpus_evictable : evictable[i];
      const std::int64_t most = std::max(freed_[i], left);
      if (sum_ + room(i, most) - room(i, freed_[i]) >= count) return true;
    }
    return false;
  }
  std::int64_t freed(NodeIndex node) const { return freed_[node]; }
  std::int64_t room(NodeIndex node, std::int64_t freed) const {
    if (size_ == 0 || !world_.fleet.at(node).usable || !place_->may_run_on(node)) return 0;
    return std::max<std::int64_t>(0, world_.fleet.at(node).gpus_free() + freed) / size_;
  }
  std::int64_t sum() const { return sum_; }

 private:
  bool some_place_if_all_left(std::int64_t count) const {
    const Topology& topology = world_.topologies[wish_->topology];
    const auto& places = topology.places_of(*wish_->required);
    return std::any_of(places.begin(), places.end(), [&](std::uint32_t place) {
      std::int64_t sum = 0;
      for (const NodeIndex i : topology.at(place).nodes)
        sum += room(i, world_.fleet.at(i).gpus_evictable);
      return sum >= count;
    });
  }
  void add(NodeIndex node, std::int64_t gpus) {
    sum_ -= room(node, freed_[node]);
    freed_[node] += gpus;
    sum_ += room(node, freed_[node]);
  }

  const World& world_;
  const TaskShape* place_;    // where the taker may run
  const TopologyWish* wish_;  // a level that it requires; else none
  std::uint32_t size_ = 0;    // of the smallest task; 0: not only whole GPUs, nothing can be said
  std::vector<std::int64_t> freed_;
  std::int64_t sum_ = 0;
};

}  // namespace rota::sched
