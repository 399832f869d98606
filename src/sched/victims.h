// sched/victims.h - the search for jobs that make way: few of them, and only as a rule allows.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sched/attempt_bound.h"
#include "sched/world.h"

namespace rota::sched {

/// What sets one action apart from another.
struct TakeRule {
  /// May jobs of this project be looked at.
  std::function<bool(QuotaIndex project)> may_take_from;
  /// May this job of it, which is preemptible and placed, lose anything.
  std::function<bool(std::uint32_t job)> may_take;
  /// May this project lose anything at all, as it stands; else its jobs can only be moved.
  std::function<bool(QuotaIndex project)> may_lose;
  /// May it lose more than what it has above its minimum.
  std::function<bool(std::uint32_t job)> may_take_whole;
  /// Looked at with nothing changed yet: are these losses acceptable. `request`: what the taker
  /// would get for them. Whoever only moves to another place has lost nothing.
  std::function<bool(const Amount& request, const std::vector<Unit>& lost)> accepts;
  /// All that would have to start again, here or elsewhere, loses less work than this; none:
  /// whatever it takes.
  std::optional<double> worth;
  /// Looks for victims also where they would only make room for those of another node.
  bool with_moves = true;
};

/// Makes room for the job by evictions that the rule accepts. True: it is promised its place, and
/// the victims are leaving or promised another place. False: nothing has changed.
bool make_room(World& world, std::uint32_t job, const TakeRule& rule);

}  // namespace rota::sched
