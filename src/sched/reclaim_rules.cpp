// sched/reclaim_rules.cpp - two ways to be owed something, and no turning of the tables.
#include "sched/reclaim_rules.h"

#include <cmath>
#include <map>

namespace rota::sched {
namespace {

/// Still over what it may hold, in something.
bool exceeds_share(const QuotaNode& victim, const Amount& left) {
  return !within(left, victim.allocatable());
}

/// The taker stays within its guarantee, the other is above its own.
bool owes_guarantee(const QuotaNode& taker, const Amount& request, const QuotaNode& victim,
                    const Amount& left) {
  return within(taker.held + request, taker.terms.deserved) && !within(left, victim.terms.deserved);
}

bool may_lose(const QuotaTree& quotas, const Reclaimer& reclaimer, QuotaIndex taker,
              QuotaIndex victim, const Amount& left) {
  return exceeds_share(quotas.at(victim), left) ||
         owes_guarantee(quotas.at(taker), reclaimer.request, quotas.at(victim), left);
}

double ratio(std::int64_t held, std::int64_t share) {
  if (share == unbounded) return 0;
  if (share == 0) return held > 0 ? INFINITY : 0;
  return static_cast<double>(held) / static_cast<double>(share);
}

/// What everybody would be left with.
class Remains {
 public:
  explicit Remains(const QuotaTree& quotas) : quotas_(quotas) {}

  Amount of(QuotaIndex index) const {
    const auto lost = lost_.find(index);
    return lost == lost_.end() ? quotas_.at(index).held : quotas_.at(index).held - lost->second;
  }
  /// None: it loses nothing.
  const Amount* lost_by(QuotaIndex index) const {
    const auto lost = lost_.find(index);
    return lost == lost_.end() ? nullptr : &lost->second;
  }
  void lose(QuotaIndex leaf, const Amount& amount) {
    for (QuotaIndex i = leaf; i != quota_root; i = quotas_.at(i).parent) lost_[i] += amount;
  }

 private:
  const QuotaTree& quotas_;
  std::map<QuotaIndex, Amount> lost_;
};

}  // namespace

bool can_reclaim(const QuotaTree& quotas, const Reclaimer& reclaimer) {
  const QuotaNode& project = quotas.at(reclaimer.project);
  if (!reclaimer.preemptible &&
      !within(project.held_firm + reclaimer.request, project.terms.deserved))
    return false;
  return within(project.held + reclaimer.request, project.fair_share);
}

bool is_candidate(const QuotaTree& quotas, const Reclaimer& reclaimer, QuotaIndex victim) {
  if (victim == reclaimer.project) return false;
  const auto [mine, theirs] = quotas.levelled(reclaimer.project, victim);
  const QuotaNode& side = quotas.at(theirs);
  if (!within(quotas.at(mine).held + reclaimer.request, quotas.at(mine).terms.deserved))
    return exceeds_share(side, side.held);
  // By its guarantee it takes what it asks for: from those who are above theirs in some of that.
  // Those who stand exactly on their line in all of it lose nothing, but may be moved.
  bool is_below = false;
  for (const Resource r : resources) {
    const std::int64_t deserved = side.terms.deserved[r];
    if (reclaimer.request[r] <= 0 || deserved == unbounded) continue;
    if (side.held[r] > deserved) return true;
    is_below = is_below || side.held[r] < deserved;
  }
  return !is_below;
}

bool may_lose(const QuotaTree& quotas, const Reclaimer& reclaimer, QuotaIndex victim) {
  const auto [mine, theirs] = quotas.levelled(reclaimer.project, victim);
  return may_lose(quotas, reclaimer, mine, theirs, quotas.at(theirs).held);
}

bool is_allowed(const QuotaTree& quotas, const Reclaimer& reclaimer,
                const std::vector<Loss>& losses, double saturation_multiplier) {
  Remains remains(quotas);
  for (const Loss& loss : losses) {
    const auto [mine, theirs] = quotas.levelled(reclaimer.project, loss.project);
    for (const Amount& unit : loss.units) {
      if (!may_lose(quotas, reclaimer, mine, theirs, remains.of(theirs))) return false;
      remains.lose(loss.project, unit);
    }
  }
  for (QuotaIndex i = reclaimer.project; i != quota_root; i = quotas.at(i).parent) {
    const QuotaNode& side = quotas.at(i);
    if (!reclaimer.preemptible && !within(side.held_firm + reclaimer.request, side.terms.deserved))
      return false;
    const Amount would_hold = remains.of(i) + reclaimer.request;
    for (const QuotaIndex sibling : quotas.at(side.parent).children) {
      const Amount* lost = sibling == i ? nullptr : remains.lost_by(sibling);
      if (lost == nullptr) continue;
      for (const Resource r : resources) {
        // What neither side of the two touches is not between them.
        if (reclaimer.request[r] <= 0 && (*lost)[r] <= 0) continue;
        // Who is due everything, or nothing, has no line to be pushed below.
        const std::int64_t due = quotas.at(sibling).fair_share[r];
        if (due <= 0 || due == unbounded) continue;
        const double mine = ratio(would_hold[r], side.fair_share[r]);
        const double theirs = ratio(remains.of(sibling)[r], due);
        if (mine > 1 && mine * saturation_multiplier >= theirs) return false;
      }
    }
  }
  return true;
}

std::int64_t preemption_delay(const QuotaTree& quotas, QuotaIndex project, std::int64_t otherwise) {
  for (QuotaIndex i = project; i != quota_root; i = quotas.at(i).parent)
    if (const auto& own = quotas.at(i).terms.delay_seconds) return *own;
  return otherwise;
}

std::int64_t preempt_min_runtime(const QuotaTree& quotas, QuotaIndex victim,
                                 std::int64_t otherwise) {
  for (QuotaIndex i = victim; i != quota_root; i = quotas.at(i).parent)
    if (const auto& own = quotas.at(i).terms.preempt_min_runtime_seconds) return *own;
  return otherwise;
}

std::int64_t reclaim_min_runtime_of(const QuotaTree& quotas, QuotaIndex victim,
                                    std::int64_t otherwise) {
  for (QuotaIndex i = victim; i != quota_root; i = quotas.at(i).parent)
    if (const auto& own = quotas.at(i).terms.reclaim_min_runtime_seconds) return *own;
  return otherwise;
}

std::int64_t reclaim_min_runtime(const QuotaTree& quotas, QuotaIndex reclaimer, QuotaIndex victim,
                                 std::int64_t otherwise) {
  if (reclaimer == victim) return reclaim_min_runtime_of(quotas, victim, otherwise);
  return reclaim_min_runtime_of(quotas, quotas.levelled(reclaimer, victim).second, otherwise);
}

}  // namespace rota::sched
