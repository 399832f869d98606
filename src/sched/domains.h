// sched/domains.h - which places of a topology could take a gang, best first.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sched/world.h"

namespace rota::sched {

/// Nodes to try together, and which of them to prefer (larger is better).
struct DomainChoice {
  NodeList nodes;
  std::vector<std::pair<NodeIndex, std::int64_t>> scores;
};

class DomainSearch {
 public:
  /// `placed`: nodes where other tasks of the same group already are.
  DomainSearch(const World& world, const SchedJob& job, const std::vector<std::uint32_t>& tasks,
               const NodeList& placed);

  /// Narrow places before wide ones, fuller before emptier; only those that could hold the tasks,
  /// within `nodes`.
  std::vector<DomainChoice> choices(const TopologyWish& wish, const NodeList& nodes) const;

 private:
  /// What a place has free, and whether the tasks could fit by count.
  struct Room {
    Amount free;
    std::int64_t tasks = 0;
  };
  Room room_of(const NodeList& nodes) const;
  bool could_hold(const Room& room) const;
  double fullness(const Room& room) const;
  void collect(const Topology& topology, std::uint32_t domain, std::uint32_t depth,
               std::uint32_t level, const NodeList& nodes, std::vector<std::uint32_t>& found) const;
  std::vector<std::pair<NodeIndex, std::int64_t>> scores(const Topology& topology,
                                                         std::uint32_t level,
                                                         const NodeList& nodes) const;

  const World& world_;
  Demand largest_;  // a task as large as the largest in everything
  Amount request_;
  std::int64_t task_count_ = 0;
  bool is_uniform_ = true;  // all tasks are of one kind: counting them is exact enough
  NodeList placed_;
};

}  // namespace rota::sched
