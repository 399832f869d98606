// sched/reclaim_rules.h - who may take from whom: the rules of quota.md 12, free of any search.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/quota_tree.h"

namespace rota::sched {

/// The job that wants to take.
struct Reclaimer {
  QuotaIndex project = quota_root;
  bool preemptible = true;
  Amount request;
};

/// What one project would lose, in the order in which it is taken; each unit as a whole.
struct Loss {
  QuotaIndex project = quota_root;
  std::vector<Amount> units;
};

/// May it begin to take at all: it must stay within its fair share.
bool can_reclaim(const QuotaTree& quotas, const Reclaimer& reclaimer);
/// May jobs of `victim` be looked at.
bool is_candidate(const QuotaTree& quotas, const Reclaimer& reclaimer, QuotaIndex victim);
/// May `victim` lose anything, as it stands now.
bool may_lose(const QuotaTree& quotas, const Reclaimer& reclaimer, QuotaIndex victim);
/// Is this an acceptable set of losses.
bool is_allowed(const QuotaTree& quotas, const Reclaimer& reclaimer,
                const std::vector<Loss>& losses, double saturation_multiplier);

/// Seconds for which a job of `victim` is safe after its start.
std::int64_t preempt_min_runtime(const QuotaTree& quotas, QuotaIndex victim,
                                 std::int64_t otherwise);
/// By the victim's own side just below what the two have in common, and from there up.
std::int64_t reclaim_min_runtime(const QuotaTree& quotas, QuotaIndex reclaimer, QuotaIndex victim,
                                 std::int64_t otherwise);
/// Seconds that a job of this project waits before it takes from others: its own, or the nearest
/// above.
std::int64_t preemption_delay(const QuotaTree& quotas, QuotaIndex project, std::int64_t otherwise);
/// The other method: nearest to the victim itself.
std::int64_t reclaim_min_runtime_of(const QuotaTree& quotas, QuotaIndex victim,
                                    std::int64_t otherwise);

}  // namespace rota::sched
