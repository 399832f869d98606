// testsuite/unit/sched/reclaim_model.h - who may take from whom, once more from quota.md 12.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "unit/sched/quota_ledger.h"

namespace rota::sched::drawn {

/// What goes at once: one task above the minimum, or all the rest (`is_core`).
struct LostUnit {
  std::size_t job = 0;
  Triple amount{};
  bool is_core = false;
};

/// One job that takes, and what others lose by it; `lost` in the order in which it is taken.
struct Taking {
  std::size_t taker = 0;
  Triple request{};
  std::vector<LostUnit> lost;
};

class ReclaimModel {
 public:
  /// `fair_share`: by project. `ledger`: before anything is taken.
  ReclaimModel(const World& world, const std::vector<Triple>& fair_share, const Ledger& ledger)
      : world_(world), fair_share_(fair_share), ledger_(ledger) {}

  /// Why the taker may take nothing at all; empty: it may.
  std::string not_entitled(const Taking& taking) const;
  /// Why it may not take just this; empty: it may.
  std::string not_allowed(const Taking& taking) const;
  /// The same when nothing is known of the order in which units are taken: it may in any.
  bool is_allowed_in_any_order(const Taking& taking) const;
  /// By its guarantee a taker only looks at who is above theirs in what it asks for itself.
  bool is_looked_at(const Taking& taking, std::size_t victim) const;
  /// Whether somebody of the victim's project, once evicted, may be served before the taker: by its
  /// guarantee or its rank (quota.md 5). Then it gets its place back (quota.md 11, 3).
  bool gets_back_first(const Taking& taking, std::size_t victim) const;
  /// Seconds for which jobs of the victim's project are safe from the taker's after their start.
  std::int64_t keep_seconds(std::size_t taker, std::size_t victim) const;

 private:
  bool may_lose(const Taking& taking, std::size_t mine, std::size_t theirs,
                const Triple& left) const;
  std::string turned_tables(const Taking& taking) const;
  Triple lost_by(const Taking& taking, std::size_t project) const;

  const World& world_;
  const std::vector<Triple>& fair_share_;
  const Ledger& ledger_;
};

/// In a world where nothing but this single task waits: a set of units of one project on one node
/// that it could have taken, told as text; empty: there is none.
std::string overlooked(const World& world, const std::vector<Triple>& fair_share,
                       const Stands& stands, std::size_t waiting);

}  // namespace rota::sched::drawn
