// sched/packing.h - where a task goes: to the place that costs the expected tasks least.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/packing_fleet.h"
#include "sched/packing_mix.h"
#include "sched/packing_worth.h"

namespace rota::sched {

struct PackChoice {
  PackSpot spot;
  std::int64_t loss = 0;  // what the fleet is worth less with the task there; less is better

  friend bool operator==(const PackChoice&, const PackChoice&) = default;
};

/// Keeps the room of every node and the mix of requests, and chooses places by them. It knows what
/// it was told so far and nothing else; told the same, it chooses the same. Equal losses fall to
/// the smaller node number, on a node to the fuller GPU.
///
/// A decision looks once at every shelf of nodes with equal rooms. What a request would cost there
/// is kept, and worked out again only where the room has changed, or after learning. Learning is
/// put off to the next choice, and happens when the mix has grown by a tenth, when a tenth of what
/// is placed has come or gone, or when nodes have.
class Packing {
 public:
  NodeIndex add(const PackNode& node);
  void set_usable(NodeIndex node, bool usable);
  /// The node is so now, whoever has come or gone: for a fleet that somebody else keeps, instead of
  /// take() and release().
  void set(NodeIndex node, const PackState& state);

  /// `count` tasks like this have been asked for: once for each task, when it arrives.
  void observe(const PackRequest& request, std::int64_t count = 1);
  /// The best place on all usable nodes; none when it fits nowhere.
  std::optional<PackChoice> choose(const PackRequest& request);
  /// The best GPU of that node, to compare nodes of a list.
  std::optional<PackChoice> choose_on(const PackRequest& request, NodeIndex node);

  /// Calls visit(node, level) for nodes where it fits, the best first, until it says true; `level`
  /// is what is free of the GPU that a share is to come from. Nodes must stay as they are
  /// meanwhile.
  template <class Visit>
  bool find(const PackRequest& request, Visit visit) {
    rank(request);
    while (!ranked_.empty()) {
      std::pop_heap(ranked_.begin(), ranked_.end(), std::greater<>());
      const Ranked best = ranked_.back();
      ranked_.pop_back();
      for (const NodeIndex node : fleet_.shelf(best.shelf).nodes)
        if (visit(node, best.level)) return true;
    }
    return false;
  }

  /// The caller took the spot that was chosen, or another that is free.
  void take(const PackRequest& request, const PackSpot& spot);
  /// The task has gone from where it was taken in.
  void release(const PackRequest& request, const PackSpot& spot);

  const PackFleet& fleet() const { return fleet_; }
  const PackMix& mix() const { return mix_; }
  /// As of the last choice.
  const PackWorth& worth() const { return worth_; }

 private:
  static constexpr std::int64_t learn_divisor = 10;
  static constexpr std::int64_t learn_min = 8;  // changes, however few tasks there are
  /// In all score lists together (24 bytes each); with more, all are dropped and made again.
  static constexpr std::size_t scores_max = std::size_t{1} << 21;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  struct Score {
    std::int64_t loss = never;
    std::uint64_t stamp = 0;
    std::int32_t level = 0;  // of the GPU that a share comes from
  };
  struct RoomWorth {
    std::int64_t worth = 0;
    std::uint64_t stamp = 0;
  };
  using Scores = std::vector<Score>;  // by shelf
  struct RequestHash {
    std::size_t operator()(const PackRequest& request) const;
  };

  struct Ranked {
    std::int64_t loss = 0;
    NodeIndex first = no_node;
    PackFleet::ShelfIndex shelf = 0;
    std::int32_t level = 0;
    friend auto operator<=>(const Ranked&, const Ranked&) = default;
  };

  void learn_if_due();
  void rank(const PackRequest& request);
  Scores& scores_of(const PackRequest& request);
  const Score& score_at(Scores& scores, const PackRequest& request, PackFleet::ShelfIndex shelf);
  Score score(const PackRequest& request, PackFleet::ShelfIndex shelf);
  Score score_share(const PackRequest& request, const PackRoom& room, std::int64_t before) const;
  std::int64_t worth_of_shelf(PackFleet::ShelfIndex shelf);

  PackFleet fleet_;
  PackMix mix_;
  PackWorth worth_;
  std::unordered_map<PackRequest, Scores, RequestHash> scores_;  // never walked: no order shows
  std::vector<RoomWorth> room_worths_;                           // by shelf
  std::vector<Ranked> ranked_;                                   // of the last find(): a heap
  std::vector<std::int64_t> task_counts_;                        // by node, of those that were set
  bool nodes_changed_ = true;
  std::int64_t placed_ = 0;      // tasks that are there now
  std::int64_t seen_since_ = 0;  // since the last learning
  std::int64_t moved_since_ = 0;
  std::int64_t learn_at_seen_ = 0;
  std::int64_t learn_at_moved_ = 0;
};

}  // namespace rota::sched
