// sched/reservations.h - places kept in time for the first jobs that have to wait.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "sched/demand.h"
#include "sched/fleet.h"

namespace rota::sched {

class World;

/// A job that waits, and when at the latest it can start: every job is then taken to end at its
/// time limit.
struct Reservation {
  std::uint32_t job = 0;
  std::int64_t start = 0;
  bool is_late = false;  // parts of GPUs: for them whole ones are kept, and less may do sooner
};

/// Made anew in every pass, in the order in which jobs are served. Whoever comes later may use what
/// is kept only if it is over in time; who came before, as one that takes back what it is owed,
/// need not heed it.
class Reservations {
 public:
  void clear();
  /// The job is gone, and its number may become another's.
  void forget(std::uint32_t job) {
    std::erase_if(all_, [job](const Reservation& each) { return each.job == job; });
  }

  const std::vector<Reservation>& all() const { return all_; }
  /// When the job can start at the latest; none: nothing is kept for it.
  std::optional<std::int64_t> start_of(std::uint32_t job) const;
  /// The same where it is known that it cannot start before, as far as limits tell.
  std::optional<std::int64_t> exact_start_of(std::uint32_t job) const;
  /// Where a place is kept for it, ascending.
  NodeList nodes_kept_for(std::uint32_t job) const;
  /// Whether something of this node is kept: only then is the rest worth asking.
  bool has_hold(NodeIndex node) const { return holds_.contains(node); }
  /// How a task is there: until when, and until when others have its GPUs too (it takes no GPU from
  /// what is kept for later than now, and earlier than that).
  struct Stretch {
    std::int64_t end = 0;
    std::int64_t beside_until = 0;  // 0: it has them alone
  };
  /// The first of those that a task of `job` would delay on this node; none: it delays nobody else.
  std::optional<std::uint32_t> delayed_by(std::uint32_t job, NodeIndex node, const Demand& demand,
                                          const Stretch& stretch) const;
  /// Whole GPUs that tasks of `job` which end at `end` could take of this node without delaying
  /// anybody, at most: if others leave, `freed_after` says how many GPUs they would have had beyond
  /// a moment.
  template <class FreedAfter>
  std::int64_t gpus_allowed(std::uint32_t job, NodeIndex node, std::int64_t end,
                            FreedAfter freed_after) const {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const auto holds = holds_.find(node);
    if (holds == holds_.end()) return most;
    const std::size_t before = turn_of(job);
    for (const Hold& hold : holds->second)
      if (hold.rank < before && end > hold.from)
        most = std::min(most, hold.spare.gpus + freed_after(hold.from));
    return most;
  }
  /// Whole GPUs of this node that anybody who has had no turn and is over at `end` may have, beyond
  /// what others leave.
  std::int64_t gpus_spare(NodeIndex node, std::int64_t end) const {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const auto holds = holds_.find(node);
    if (holds == holds_.end()) return most;
    for (const Hold& hold : holds->second)
      if (end > hold.from) most = std::min(most, hold.spare.gpus);
    return most;
  }
  /// A task takes its place there, or gives it back before its end.
  void take(std::uint32_t job, NodeIndex node, const Demand& demand, const Stretch& stretch) {
    change({job, node, &demand, stretch, -1});
  }
  void give(std::uint32_t job, NodeIndex node, const Demand& demand, const Stretch& stretch) {
    change({job, node, &demand, stretch, 1});
  }

  /// What tasks took and gave since a mark can be undone.
  std::size_t mark() const { return log_.size(); }
  void undo_to(std::size_t mark);
  /// A change of what is spare; each is undone by its opposite.
  struct Change {
    std::uint32_t job = 0;
    NodeIndex node = no_node;
    const Demand* demand = nullptr;
    Stretch stretch;
    std::int64_t sign = 0;
  };
  std::vector<Change> changes_since(std::size_t mark) const {
    return {log_.begin() + static_cast<std::ptrdiff_t>(mark), log_.end()};
  }
  /// Those that were undone, once more.
  void redo(const std::vector<Change>& changes) {
    for (const Change& each : changes) change(each);
  }

  /// The job's turn has come: what is kept from now on is for others behind it. Finds when and
  /// where it can start, and keeps that; nothing where no end of running jobs makes room for it.
  void reserve(const World& world, std::uint32_t job);

 private:
  /// GPUs that nobody has any part of: to be had whole or in parts, and to be cut into instances.
  /// Most of those that can be cut are both.
  struct Room {
    std::int64_t gpus = 0, gpus_to_cut = 0, cpu = 0, memory = 0;
  };
  struct Hold {
    std::uint32_t job = 0;
    std::size_t rank = 0;  // in all_
    std::int64_t from = 0;
    Room spare;                  // of what will be free then
    bool is_both = false;        // some GPU of the node can be had whole and be cut
    std::int64_t cpu_milli = 0;  // of the node
  };
  friend class ReservationSearch;
  static bool fits(const Hold& hold, const Demand& demand, std::int64_t gpus);
  static std::int64_t cpu_of(const Demand& demand, const Hold& hold) {
    return demand.whole_node ? hold.cpu_milli : demand.cpu_milli;
  }
  /// GPUs of what is kept from `from` on that the task would have; parts count as whole ones.
  static std::int64_t gpus_of(const Demand& demand, const Stretch& stretch, std::int64_t from) {
    return stretch.beside_until > from ? 0 : demand.devices;
  }
  static void take_gpus(Room& room, bool is_both, const Demand& demand, std::int64_t gpus);

  /// How many reservations came before the job's turn.
  std::size_t turn_of(std::uint32_t job) const {
    const auto turn = turns_.find(job);
    return turn == turns_.end() ? all_.size() : turn->second;
  }
  void change(const Change& change);
  void apply(const Change& change);

  std::vector<Reservation> all_;
  std::map<std::uint32_t, std::size_t> turns_;  // jobs: how many reservations came before them
  std::vector<Change> log_;
  std::map<NodeIndex, std::vector<Hold>> holds_;
};

}  // namespace rota::sched
