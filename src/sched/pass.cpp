// sched/pass.cpp - the five actions.
#include "sched/pass.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sched/background.h"
#include "sched/order.h"
#include "sched/place.h"
#include "sched/reclaim_rules.h"
#include "sched/victims.h"

namespace rota::sched {
namespace {

/// Whether it may only start, or grow, within the quota.
bool next_is_firm(const SchedJob& job) {
  return job.semi ? is_firm_step(job, tasks_to_place(job)) : !job.preemptible;
}

bool starts_something(const SchedJob& job) {
  return std::any_of(job.tasks.begin(), job.tasks.end(),
                     [](const Task& task) { return task.state == TaskState::starting; });
}

/// Why the job cannot be placed now, or nothing: then it has been.
std::optional<WaitCause> try_to_place(World& world, std::uint32_t index) {
  const SchedJob& job = world.job(index);
  const auto tasks = tasks_to_place(job);
  if (tasks.empty()) return WaitCause{.kind = WaitCause::Kind::not_ready};
  if (const auto cause = stopped_at_gate(world, job, tasks)) return cause;
  const bool is_whole = job.tasks.empty();
  WaitCause cause{.kind = WaitCause::Kind::resources,
                  .wanted = static_cast<std::uint32_t>(tasks.size())};
  if (is_whole && world.found_no_room(job.shape.get())) return cause;
  const auto freed_before = world.fleet.freed_count();
  const Placed placed = place(world, index, tasks);
  if (placed) return std::nullopt;
  cause.placed = placed.most;
  if (placed.would_delay) {
    cause.kind = WaitCause::Kind::reserved;
    cause.job = world.job(*placed.would_delay).id;
  }
  // Undoing a failed attempt frees nothing that was not free before it.
  world.fleet.forget_freed(freed_before);
  if (is_whole && !placed.by_quota && !placed.would_delay) world.note_no_room(job.shape.get());
  return cause;
}

/// The shortest limit of a shape with which a job would delay somebody.
struct TooLong {
  std::int32_t limit = std::numeric_limits<std::int32_t>::max();
  WaitCause cause;
};

void note_too_long(TooLong& known, const TooLong& found) {
  if (found.limit < known.limit) known = found;
}

void note_start(World& world, std::uint32_t job) {
  if (world.job(job).started == never && starts_something(world.job(job)))
    world.set_started(job, world.now);
}

/// Others made way for these: what they left goes to nobody else, and no place that is kept in time
/// begins with it. Else the next pass might find a reason against it, and evict again for the same.
void keep_promises(World& world) {
  const std::vector<std::uint32_t> promised = world.promised();
  for (const std::uint32_t job : promised)
    if (world.class_of(job) != nullptr && !try_to_place(world, job)) note_start(world, job);
}

void allocate(World& world) {
  world.reservations.clear();
  keep_promises(world);
  const auto keeps_more = [&world] {
    return world.reservations.all().size() < world.policy.reservations_max;
  };
  // Where one of a shape would delay somebody, longer ones of it would as well.
  std::map<const JobShape*, TooLong> too_long;
  // What found no room is offered again only where a place may be kept for it.
  WaitingLine line(world, [&](std::uint32_t job, QueueClass& members) {
    if (keeps_more() || !world.job(job).tasks.empty()) return true;
    const JobShape* shape = world.job(job).shape.get();
    const auto bound = too_long.find(shape);
    if (bound != too_long.end() && members.limit > bound->second.limit) {
      members.cause = bound->second.cause;
      return false;
    }
    return members.cause.kind == WaitCause::Kind::none || !world.found_no_room(shape);
  });
  while (const auto job = line.next()) {
    if (const auto cause = try_to_place(world, *job)) {
      world.set_cause(*job, *cause);
      // No place is kept for what a job could grow by.
      const bool for_room =
          (cause->kind == WaitCause::Kind::resources || cause->kind == WaitCause::Kind::reserved) &&
          !has_placed(world.job(*job));
      if (for_room && keeps_more()) {
        world.reservations.reserve(world, *job);
        // All places are kept: the rest fills the gaps.
        if (!keeps_more()) line.shortest_first();
      }
      if (cause->kind == WaitCause::Kind::reserved && world.job(*job).tasks.empty())
        note_too_long(too_long[world.job(*job).shape.get()], {world.class_of(*job)->limit, *cause});
      line.give_up(*job);
      continue;
    }
    note_start(world, *job);
    line.placed(world.job(*job).project);
  }
}

void note_displaced(World& world, Action action, std::uint32_t taker, std::size_t mark) {
  std::uint32_t last = taker;
  for (const TaskRef ref : world.changed_since(mark)) {
    if (ref.job == last || !world.task(ref).evicted) continue;
    last = ref.job;
    world.note_displaced({ref.job, taker, action});
  }
}

/// Runs `attempt` for every waiting job that is worth it, in turn; what it moves changes whose turn
/// it is.
template <class Attempt>
void for_waiting(World& world, Action action, const WaitingLine::IsWorth& is_worth,
                 Attempt attempt) {
  WaitingLine line(world, [&](std::uint32_t job, QueueClass& members) {
    return world.has_turn(action, members) && is_worth(job, members);
  });
  while (const auto job = line.next()) {
    const SchedJob& taker = world.job(*job);
    if (taker.preempts_after > world.now) {
      world.set_cause(*job, {.kind = WaitCause::Kind::delay});
      world.look_again_at(taker.preempts_after);
      line.give_up(*job);
      continue;
    }
    if (!world.may_search(action)) break;
    const std::size_t mark = world.mark();
    const std::uint64_t work_before = world.search_work();
    if (attempt(*job, world.class_of(*job)->step)) {
      world.set_search_work(work_before);  // only what leads nowhere is bounded
      note_displaced(world, action, *job, mark);
      // Once for each: what it could still grow by waits for the next pass.
      world.refresh();
      if (world.class_of(*job) != nullptr) line.give_up(*job);
      line.changed();
    } else {
      world.note_failed(action, *world.class_of(*job));
      line.give_up(*job);
    }
  }
  world.end_searches(action);
}

/// Moves are rare and looking for them is dear: less and less often while there are none.
void pause_moves(World& world, QueueClass& members) {
  constexpr std::int64_t least = 60, most = 3600;
  members.moves_pause = std::clamp(2 * members.moves_pause, least, most);
  members.moves_after = world.now + members.moves_pause;
  world.look_again_at(members.moves_after);
}

bool is_protected(World& world, const SchedJob& victim, std::int64_t seconds) {
  if (victim.semi) return true;
  if (!starts_something(victim)) seconds = std::max(seconds, world.rest_seconds(victim));
  if (victim.started == never || world.now - victim.started >= seconds) return false;
  world.look_again_at(victim.started + seconds);
  return true;
}

/// The first that could move out of the way of its tasks: on nodes that lack least of a place for
/// one. Whoever has just moved is on a full node, and is not looked at again and again.
std::set<std::uint32_t> jobs_to_move(const World& world, const SchedJob& taker) {
  std::uint32_t gpus = 0;
  for (const TaskShape& task : taker.shape->tasks) gpus = std::max(gpus, task.demand->devices);
  const auto& nodes = world.fleet.by_free_gpus();
  std::set<std::uint32_t> jobs;
  for (auto at = nodes.lower_bound({gpus, NodeIndex{0}}); at != nodes.begin();) {
    --at;
    // In the order of their ids: that of the residents depends on what was tried and undone.
    std::set<std::pair<std::uint64_t, std::uint32_t>> here;
    for (const FleetNode::Resident& resident : world.fleet.at(at->second).residents)
      if (resident.evictable && resident.stay == Stay::held)
        here.insert({world.job(resident.task.job).id, resident.task.job});
    for (const auto& [id, job] : here) {
      if (jobs.size() >= world.policy.consolidate_jobs_max) return jobs;
      jobs.insert(job);
    }
  }
  return jobs;
}

void consolidate(World& world) {
  if (world.policy.consolidate_jobs_max == 0) return;
  // Where places are kept in time it is known what a move saves: the wait of the one it is for.
  const bool counts_cost = world.policy.reservations_max > 0;
  TakeRule rule;
  std::set<std::uint32_t> looked_at;
  rule.may_take_from = [](QuotaIndex) { return true; };
  rule.may_lose = [](QuotaIndex) { return false; };
  rule.may_take = [&](std::uint32_t job) {
    if (!counts_cost && looked_at.size() < world.policy.consolidate_jobs_max) looked_at.insert(job);
    return looked_at.contains(job);
  };
  // A move ends a run as much as anything else, and for less.
  rule.may_take_whole = [&](std::uint32_t job) {
    const SchedJob& victim = world.job(job);
    const std::int64_t preempt_safe =
        preempt_min_runtime(world.quotas, victim.project, world.policy.preempt_min_runtime_seconds);
    const std::int64_t reclaim_safe = reclaim_min_runtime_of(
        world.quotas, victim.project, world.policy.reclaim_min_runtime_seconds);
    return !is_protected(world, victim, std::max(preempt_safe, reclaim_safe));
  };
  rule.accepts = [](const Amount&, const std::vector<Unit>& lost) { return lost.empty(); };
  std::map<const JobShape*, std::uint64_t> failed;  // shapes, and what had come free by then
  const auto is_worth = [&](std::uint32_t job, const QueueClass& members) {
    const SchedJob& taker = world.job(job);
    // Wherever it is: only if all that is free together would do.
    if (next_is_firm(taker) || members.step[Resource::gpu] > world.fleet.gpu_free_total())
      return false;
    if (counts_cost && (members.moves_after > world.now || !world.reservations.exact_start_of(job)))
      return false;
    const auto at = failed.find(taker.shape.get());
    return !taker.tasks.empty() || at == failed.end() || at->second != world.fleet.freed_count();
  };
  if (counts_cost) {
    // Only for these few; mostly for none of them, and then nobody else is looked at.
    const auto& kept = world.reservations.all();
    if (std::none_of(kept.begin(), kept.end(), [&](const Reservation& reservation) {
          QueueClass* members = world.class_of(reservation.job);
          return members != nullptr && is_worth(reservation.job, *members);
        }))
      return;
  }
  for_waiting(world, Action::consolidate, is_worth, [&](std::uint32_t job, const Amount& step) {
    const SchedJob& taker = world.job(job);
    if (counts_cost)
      rule.worth = static_cast<double>(*world.reservations.exact_start_of(job) - world.now) *
                   static_cast<double>(step[Resource::gpu]);
    if (stopped_at_gate(world, taker, tasks_to_place(taker))) return false;
    looked_at = counts_cost ? jobs_to_move(world, taker) : std::set<std::uint32_t>();
    const auto freed_before = world.fleet.freed_count();
    if (make_room(world, job, rule)) return true;
    world.fleet.forget_freed(freed_before);  // all of it was put back
    if (counts_cost) pause_moves(world, *world.class_of(job));
    if (world.policy.search_work_max > 0) failed[taker.shape.get()] = freed_before;
    return false;
  });
}

/// Losses by project, in the order in which they were taken.
std::vector<Loss> losses_of(const World& world, const std::vector<Unit>& lost) {
  std::vector<Loss> losses;
  for (const Unit& unit : lost) {
    const QuotaIndex project = world.job(unit.job).project;
    auto loss = std::find_if(losses.begin(), losses.end(),
                             [project](const Loss& l) { return l.project == project; });
    if (loss == losses.end()) loss = losses.insert(losses.end(), {project, {}});
    Amount amount;
    for (const auto task : unit.tasks) amount += world.task({unit.job, task}).charge;
    loss->units.push_back(amount);
  }
  return losses;
}

void reclaim(World& world) {
  const auto is_worth = [&](std::uint32_t job, const QueueClass& members) {
    const SchedJob& taker = world.job(job);
    return can_reclaim(world.quotas, {taker.project, !next_is_firm(taker), members.step});
  };
  for_waiting(world, Action::reclaim, is_worth, [&](std::uint32_t job, const Amount& request) {
    const SchedJob& taker = world.job(job);
    const Reclaimer reclaimer{taker.project, !next_is_firm(taker), request};
    TakeRule rule;
    // Who may lose nothing could still be moved, but on a full cluster that is everybody: where the
    // work is bounded, moves are left to consolidation.
    rule.with_moves = world.policy.search_work_max == 0;
    rule.may_take_from = [&](QuotaIndex project) {
      return project != reclaimer.project && is_candidate(world.quotas, reclaimer, project) &&
             (rule.with_moves || may_lose(world.quotas, reclaimer, project));
    };
    rule.may_lose = [&](QuotaIndex project) { return may_lose(world.quotas, reclaimer, project); };
    rule.may_take = [](std::uint32_t) { return true; };
    rule.may_take_whole = [&](std::uint32_t victim) {
      const SchedJob& v = world.job(victim);
      return !is_protected(world, v,
                           reclaim_min_runtime(world.quotas, reclaimer.project, v.project,
                                               world.policy.reclaim_min_runtime_seconds));
    };
    rule.accepts = [&](const Amount& wanted, const std::vector<Unit>& lost) {
      return is_allowed(world.quotas, {reclaimer.project, reclaimer.preemptible, wanted},
                        losses_of(world, lost), world.policy.saturation_multiplier);
    };
    return make_room(world, job, rule);
  });
}

void preempt(World& world) {
  const auto is_worth = [&](std::uint32_t job, const QueueClass&) {
    const SchedJob& taker = world.job(job);
    const auto& victims = world.evictable(taker.project);
    return !victims.empty() && victims.rbegin()->priority < taker.priority;
  };
  for_waiting(world, Action::preempt, is_worth, [&](std::uint32_t job, const Amount& request) {
    const SchedJob& taker = world.job(job);
    if (next_is_firm(taker) && world.quotas.over_quota_firm(taker.project, request)) return false;
    TakeRule rule;
    rule.with_moves = world.policy.search_work_max == 0;
    rule.may_take_from = [&](QuotaIndex project) { return project == taker.project; };
    rule.may_lose = [](QuotaIndex) { return true; };
    rule.may_take = [&](std::uint32_t victim) {
      return world.job(victim).priority < taker.priority;
    };
    rule.may_take_whole = [&](std::uint32_t victim) {
      const SchedJob& v = world.job(victim);
      return !is_protected(
          world, v,
          preempt_min_runtime(world.quotas, v.project, world.policy.preempt_min_runtime_seconds));
    };
    rule.accepts = [](const Amount&, const std::vector<Unit>&) { return true; };
    return make_room(world, job, rule);
  });
}

void evict_stale(World& world) {
  world.refresh();
  const std::vector<std::uint32_t> incomplete(world.incomplete().begin(), world.incomplete().end());
  for (const std::uint32_t i : incomplete) {
    const SchedJob& job = world.job(i);
    if (!is_stale(job)) {
      world.set_stale_since(i, never);
      continue;
    }
    if (job.stale_since == never) world.set_stale_since(i, world.now);
    const std::int64_t grace =
        job.stale_grace == as_policy ? world.policy.stale_grace_seconds : job.stale_grace;
    if (grace < 0) continue;
    if (world.now - job.stale_since < grace) {
      world.look_again_at(job.stale_since + grace);
      continue;
    }
    world.note_displaced({i, i, Action::evict_stale});
    for (std::uint32_t t = 0; t < job.tasks.size(); ++t)
      if (is_active(job.tasks[t].state)) world.evict({i, t});
  }
}

}  // namespace

void run_pass(World& world, std::span<const Action> actions) {
  world.begin_pass();
  world.quotas.divide(world.fleet.total(), world.policy.history_weight);
  for (const Action action : actions) {
    switch (action) {
      case Action::allocate:
        allocate(world);
        break;
      case Action::consolidate:
        consolidate(world);
        break;
      case Action::reclaim:
        reclaim(world);
        break;
      case Action::preempt:
        preempt(world);
        break;
      case Action::evict_stale:
        evict_stale(world);
        break;
      case Action::give_way:
        make_way(world);
        break;
    }
  }
  start_background(world);
}

}  // namespace rota::sched
