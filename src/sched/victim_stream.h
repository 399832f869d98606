// sched/victim_stream.h - whom a search for victims looks at, one after the other.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/order.h"
#include "sched/victims.h"

namespace rota::sched {

/// Candidates one unit at a time, in the order in which they are to be taken.
class VictimStream {
 public:
  VictimStream(const World& world, std::uint32_t taker, const TakeRule& rule)
      : world_(world),
        taker_(taker),
        rule_(rule),
        walk_(world.quotas, Walk::For::taking,
              [this](QuotaIndex project) { return offer_of(project); }) {}

  std::optional<Unit> next() {
    const auto pick = walk_.next();
    if (!pick) return std::nullopt;
    Candidates& candidates = projects_.at(pick->project);
    Unit unit = *std::move(candidates.unit);
    mark_gone(unit);
    candidates.look(*this);
    walk_.touch(pick->project);
    return unit;
  }

 private:
  /// Jobs of one project, from the last to be served to the first.
  struct Candidates {
    std::set<JobKey>::const_reverse_iterator at, end;
    std::set<JobKey> again;  // looked at before, with something left to take
    std::optional<Unit> unit;
    Offer offer;

    /// Finds the next unit: of the jobs not seen yet, or of one that has more to give.
    void look(VictimStream& stream) {
      unit.reset();
      for (;;) {
        const bool from_again = !again.empty() && (at == end || *at < *again.rbegin());
        if (!from_again && at == end) return;
        const JobKey key = from_again ? *again.rbegin() : *at;
        if (from_again)
          again.erase(std::prev(again.end()));
        else
          ++at;
        if (stream.offer(key, *this)) return;
      }
    }
  };

  bool offer(const JobKey& key, Candidates& candidates) {
    if (key.job == taker_ || !rule_.may_take(key.job)) return false;
    const SchedJob& job = world_.job(key.job);
    const auto gone_at = gone_.find(key.job);
    static const std::vector<bool> none;
    const std::vector<bool>& gone = gone_at == gone_.end() ? none : gone_at->second;
    EvictionUnit next = tasks_to_evict(job, gone);
    if (next.tasks.empty() || (next.is_whole && !rule_.may_take_whole(key.job))) return false;
    const bool has_more = !next.is_whole;
    const bool is_all = next.is_whole && gone.empty();
    candidates.unit = Unit{key.job, std::move(next.tasks), is_all};
    candidates.offer = {key, charge_of(world_, *candidates.unit)};
    if (has_more) {
      JobKey rest = key;
      std::vector<bool> gone_then = gone;
      gone_then.resize(job.tasks.size());
      for (const auto task : candidates.unit->tasks) gone_then[task] = true;
      rest.fill = fill_of(job, gone_then);
      candidates.again.insert(rest);
    }
    return true;
  }

  std::optional<Offer> offer_of(QuotaIndex project) {
    const auto [place, is_new] = projects_.try_emplace(project);
    Candidates& candidates = place->second;
    if (is_new && rule_.may_take_from(project)) {
      candidates.at = world_.evictable(project).rbegin();
      candidates.end = world_.evictable(project).rend();
      candidates.look(*this);
    }
    if (!candidates.unit) return std::nullopt;
    return candidates.offer;
  }

  void mark_gone(const Unit& unit) {
    if (!unit.is_all) {
      auto& gone = gone_[unit.job];
      gone.resize(world_.job(unit.job).tasks.size());
      for (const auto task : unit.tasks) gone[task] = true;
    }
    walk_.take(world_.job(unit.job).project, charge_of(world_, unit));
  }

  const World& world_;
  std::uint32_t taker_;
  const TakeRule& rule_;
  Walk walk_;
  std::map<QuotaIndex, Candidates> projects_;
  std::unordered_map<std::uint32_t, std::vector<bool>> gone_;
};

}  // namespace rota::sched
