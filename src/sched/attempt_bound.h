// sched/attempt_bound.h - which attempts to make room are bound to fail, before any is made.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sched/order.h"
#include "sched/world.h"

namespace rota::sched {

/// Tasks of one job that go together.
struct Unit {
  std::uint32_t job = 0;
  std::vector<std::uint32_t> tasks;
  bool is_all = true;  // that can be taken of the job: no other unit is of it
};

/// GPUs that a task leaves where it is, if it makes way; at least one.
std::int64_t gpus_left_by(const World& world, TaskRef ref);
/// What its project is charged for it.
Amount charge_of(const World& world, const Unit& unit);
/// GPU seconds, in millionths of GPUs, that are worked again if these have to start anew.
double work_lost(const World& world, std::span<const Unit> moved);

/// On a full cluster most attempts fail: for places that are kept in time, or because those who
/// made way come back first. Both can be seen by counting whole GPUs; where others than these
/// count, nothing is said. The world must be the same whenever it is asked.
class AttemptBound {
 public:
  AttemptBound(const World& world, std::uint32_t taker);

  /// What the taker is to get, and what that is worth to it, as work_lost(); none: whatever it
  /// takes.
  void ask_for(const std::vector<std::uint32_t>& wanted, std::optional<double> worth);
  /// Victims are known by the order in which they were added, from 0.
  void add(const Unit& unit);
  /// True: if these made way, the taker would still get nothing, or it would not be worth it.
  bool is_hopeless(const std::vector<std::uint32_t>& units);

 private:
  /// GPUs that a unit would leave on a node.
  struct Part {
    NodeIndex node = no_node;
    std::int64_t gpus = 0;
    double cost = 0;  // for each of them, if it moves
  };
  struct Victim {
    std::uint32_t job = 0;
    QuotaIndex project = quota_root;
    JobKey key;  // once it has made way
    Amount charge, step;
    std::int64_t end = 0;
    std::uint32_t task_count = 0;
    std::int64_t gpus = 0;             // of all tasks
    std::int64_t least = 0, most = 0;  // GPUs of one task
    std::int64_t cpu_milli = 0, memory_bytes = 0;
    bool is_simple = false;   // comes back as a whole or not at all
    bool is_counted = false;  // whole GPUs only, and may go wherever the taker may
    std::uint32_t part_begin = 0, part_end = 0;
  };
  /// What a node gives: places for the taker, and besides GPUs that victims could come back to.
  struct Room {
    std::int32_t places = 0;
    std::int32_t rest = 0;
  };
  /// A node on which somebody makes way.
  struct Touched {
    NodeIndex node = no_node;
    std::int64_t gpus = 0;
    std::uint32_t first = 0;  // of its parts, in a chain
  };
  struct Link {
    std::int64_t end = 0;
    std::int64_t gpus = 0;
    double cost = 0;
    std::uint32_t next = 0;
  };
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t size_max = 16;

  bool is_blind() const { return size_ == 0; }
  void count_nodes();
  void touch(const std::vector<std::uint32_t>& units);
  Room room_of(const Touched& touched) const;
  Room room(NodeIndex node, std::int64_t free, std::int64_t allowed, std::int64_t usable) const;
  bool is_too_dear(std::int64_t missing);
  /// Whole GPUs and tasks of those who are served before the taker.
  struct Returning {
    std::int64_t gpus = 0;
    std::vector<std::int64_t> tasks;  // by the GPUs that each needs at least
  };
  Returning returning(const std::vector<std::uint32_t>& units);
  bool leave_too_little(const std::vector<std::uint32_t>& units);

  const World& world_;
  std::uint32_t taker_;
  const SchedJob& job_;
  const TaskShape* place_;
  std::int64_t end_ = 0;  // of the taker, once it has started
  std::vector<std::uint32_t> wanted_;
  std::optional<double> worth_;
  Amount request_;
  std::int64_t size_ = 0;  // GPUs of the smallest task; 0: nothing can be said
  std::int64_t cpu_milli_ = 0, memory_bytes_ = 0;
  std::vector<Victim> victims_;
  std::vector<Part> parts_;                                              // of all of them
  std::int64_t restart_end_ = std::numeric_limits<std::int64_t>::max();  // of the first to be over

  // As it is, with nobody gone.
  bool is_counted_ = false;
  std::vector<Room> rooms_;          // by node
  std::int64_t places_ = 0;          // in all
  std::vector<std::int64_t> rests_;  // how many nodes have so many GPUs besides
  // Of the attempt that is looked at.
  std::vector<Touched> touched_;
  std::vector<std::uint32_t> touched_at_;  // by node: in that list
  std::vector<Link> links_;
};

}  // namespace rota::sched
