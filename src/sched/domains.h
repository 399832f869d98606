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
  /// The root of the topology stands for all nodes that are looked at, those outside of it too.
  static constexpr std::uint32_t all_nodes = 0;

  /// Within `nodes`, which outlive it. `placed`: where other tasks of the same group already are.
  DomainSearch(const World& world, const SchedJob& job, const std::vector<std::uint32_t>& tasks,
               const TopologyWish& wish, const NodeList& nodes, const NodeList& placed);

  /// Places to try: narrow ones before wide ones, fuller before emptier; only those that could hold
  /// the tasks.
  const std::vector<std::uint32_t>& order() const { return order_; }
  DomainChoice choice(std::uint32_t domain) const;

 private:
  /// What a place has free, and how many of the tasks would fit by count.
  struct Room {
    Amount free;
    std::int64_t gpus_whole = 0;  // of the free ones, those that nobody shares
    std::int64_t tasks = 0;       // each as large as the largest
    std::int64_t tasks_most = 0;  // each as small as the smallest
  };
  void measure(const SchedJob& job, const std::vector<std::uint32_t>& tasks);
  void add_room(NodeIndex index);
  bool could_hold(const Room& room) const;
  double fullness(const Room& room) const;
  bool has_one_of(std::uint32_t domain, const NodeList& placed) const;
  void collect(std::uint32_t domain, std::uint32_t level, bool that_hold,
               std::vector<std::uint32_t>& found) const;
  NodeList nodes_in(std::uint32_t domain) const;

  const World& world_;
  const Topology& topology_;
  const TopologyWish& wish_;
  const NodeList& nodes_;
  Demand largest_, smallest_;  // a task as large as the largest in everything, and as small
  Amount request_;
  std::int64_t task_count_ = 0;
  bool is_apart_ = false;    // a node takes one task
  bool is_uniform_ = true;   // all tasks are of one kind: counting them is exact enough
  bool is_even_ = true;      // and of one size
  std::vector<Room> rooms_;  // by domain
  std::vector<std::uint32_t> order_;
};

}  // namespace rota::sched
