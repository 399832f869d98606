// sched/order.h - whose turn it is: the next job to serve, or the next to take from.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sched/world.h"

namespace rota::sched {

/// A project with what it holds and would hold.
struct Bid {
  const QuotaNode* project = nullptr;
  Amount held;
  Amount next;   // with one job more
  Amount share;  // what its dominant share is taken of: `next`, or what is left without a victim
};
/// What decides between bids, worked out once for each.
struct Standing {
  Standing() = default;
  Standing(const Bid& bid, const Amount& total);

  const QuotaNode* project = nullptr;
  bool is_over_share = false;
  bool is_over_quota = false;
  bool is_undue = false;  // would use what nothing is due of
  double share = 0;       // dominant, with one job more or without a victim
  double share_held = 0;
};
/// Below 0: a is served before b; never 0 for different projects.
int compare(const Standing& a, const Standing& b);

/// A job that stands first in its project, and what it would take or give back.
struct Offer {
  JobKey key;
  Amount step;

  friend bool operator<(const Offer& a, const Offer& b) { return a.key < b.key; }
};

/// Walks from the top of the tree to the project whose offer comes first; or, to take from, to the
/// one that comes last by what projects would still hold. Every placement changes who is owed most,
/// so the way is found anew each time; what has not changed since is remembered.
class Walk {
 public:
  enum class For : std::uint8_t { serving, taking };
  using OfferOf = std::function<std::optional<Offer>(QuotaIndex leaf)>;

  Walk(const QuotaTree& quotas, For what, OfferOf offer_of);

  struct Pick {
    QuotaIndex project = quota_root;
    std::uint32_t job = 0;
  };
  /// The best of all; the caller then takes it out of its project's offers and says so.
  std::optional<Pick> next();
  /// The project's offers or holdings have changed.
  void touch(QuotaIndex leaf);
  void touch_all();
  /// What was taken counts as gone from the project and all above it.
  void take(QuotaIndex leaf, const Amount& amount);

 private:
  struct Seat {
    std::optional<Offer> best;  // here or below
    Standing standing;          // with it
    QuotaIndex leaf = quota_root;
    bool is_known = false;
    bool is_built = false;           // the heap is there
    std::vector<QuotaIndex> heap;    // children with an offer, the best on top
    std::vector<QuotaIndex> unsure;  // children that have changed since
  };
  void find(QuotaIndex index);
  void build_heap(QuotaIndex index);
  void mend_heap(QuotaIndex index);
  Bid bid_of(QuotaIndex index) const;
  bool is_better(QuotaIndex a, QuotaIndex b) const;

  const QuotaTree& quotas_;
  For for_;
  OfferOf offer_of_;
  std::vector<Seat> seats_;
  std::map<QuotaIndex, Amount> taken_;
};

/// A few jobs that compete for places: only their projects are looked at.
class Contest {
 public:
  explicit Contest(const World& world) : world_(world) {}

  void push(const JobKey& key, const Amount& step);
  std::optional<std::uint32_t> pop();

 private:
  using Leaves = std::vector<QuotaIndex>;
  QuotaIndex best_below(QuotaIndex above, const Leaves& leaves) const;
  Bid bid_of(QuotaIndex project, QuotaIndex leaf) const;

  const World& world_;
  std::map<QuotaIndex, std::set<Offer>> offers_;  // by project; none is empty
};

/// All that waits, class by class; one that was given up is not offered again in this action.
class WaitingLine {
 public:
  /// Whether the first of a class is worth a try at all; cheap, as it is asked of all that wait.
  /// Where it is not, it may say why.
  using IsWorth = std::function<bool(std::uint32_t job, QueueClass& members)>;

  explicit WaitingLine(World& world, IsWorth is_worth = {});

  /// From now on the shortest of a project comes first, within its priority.
  void shortest_first();

  std::optional<std::uint32_t> next();
  /// It cannot start now, and neither can those behind it in its class.
  void give_up(std::uint32_t job);
  /// Something was placed or taken: whose turn it is has changed.
  void placed(QuotaIndex project) { walk_.touch(project); }
  void changed() { walk_.touch_all(); }

 private:
  std::optional<Offer> offer_of(QuotaIndex project) const;
  template <class Heads>
  std::optional<Offer> first_of(const Heads& heads) const;

  World& world_;
  IsWorth is_worth_;
  bool shortest_first_ = false;
  std::uint64_t stamp_;
  Walk walk_;
};

}  // namespace rota::sched
