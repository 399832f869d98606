// testsuite/unit/sched/supply_model.h - what nodes have left, counted anew from who is on them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "unit/sched/played_pass.h"

namespace rota::sched::drawn {

/// Everything on one node, summed up.
struct NodeSums {
  struct Shared {
    std::int64_t held = 0, leaving = 0, promised = 0;  // of one GPU
  };
  std::int64_t gpus_held = 0, gpus_leaving = 0, gpus_promised = 0;  // whole ones
  std::int64_t cpu_held = 0, cpu_leaving = 0, cpu_promised = 0;
  std::int64_t memory_held = 0, memory_leaving = 0, memory_promised = 0;
  std::map<std::uint32_t, Shared> shared;  // by id
  std::map<std::uint32_t, int> numbers;    // holders of each GPU that is held whole
  std::size_t residents = 0;
};

class Supply {
 public:
  Supply(const World& world, const Stands& stands);

  /// How many tasks of this job the node would take, once everybody who leaves has left.
  std::int64_t room_for(const Job& job, std::size_t node) const;
  /// The same on all nodes.
  std::int64_t room_for(const Job& job) const;
  /// What is held or promised twice or beyond what there is, and where nodes count otherwise.
  std::string faults(const std::vector<NodeSays>& says) const;

 private:
  void add(const Job& job, Be be, const Spot& spot);

  const World& world_;
  std::vector<NodeSums> sums_;
};

}  // namespace rota::sched::drawn
