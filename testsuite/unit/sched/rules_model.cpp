// testsuite/unit/sched/rules_model.cpp - goes through a pass step by step and keeps accounts of its
// own. Written from quota.md; knows nothing of src/sched.
#include "unit/sched/rules_model.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "common/format.h"
#include "unit/sched/quota_ledger.h"
#include "unit/sched/reclaim_model.h"
#include "unit/sched/shares_model.h"
#include "unit/sched/supply_model.h"

namespace rota::sched::drawn {
namespace {

bool is_eviction(const Step& step) {
  return is_placed(step.before.be) && !is_placed(step.after.be);
}
bool is_placing(const Step& step) { return !is_placed(step.before.be) && is_placed(step.after.be); }

class Judge {
 public:
  Judge(const World& world, const PlayedPass& played, Coverage& coverage)
      : world_(world),
        played_(played),
        coverage_(coverage),
        stands_(played.first),
        ledger_(world, played.first) {
    for (const Job& job : world.jobs) has_started_.push_back(!job.on.empty());
  }

  std::string run() {
    check_shares();
    for (; at_ < played_.ended[0]; ++at_) {
      if (is_eviction(step())) fault("rights", format("allocate evicted j{}", step().job));
      apply();
    }
    note_started();
    check_gangs();
    check_starts("allocated", stands_);
    check_nothing_left_over();
    check_order();
    for (std::size_t action = 1; action < did_count; ++action)
      while (at_ < played_.ended[action]) judge_deal(static_cast<Did>(action));
    check_end();
    check_overlooked();
    return std::move(faults_);
  }

 private:
  void fault(const char* rule, const std::string& what) {
    faults_ += format("{}: {}\n", rule, what);
  }
  const Step& step() const { return played_.steps[at_]; }
  const std::string& name(std::size_t project) const { return world_.projects[project].name; }

  // ---- shares ----

  void check_shares() {
    const auto due = fair_shares(world_, requested_by(world_, played_.first));
    // CPUs and memory go out in units so small that a double may cut off one more or less.
    constexpr Triple tolerance{0, 2, 16};
    for (std::size_t i = 0; i < due.size(); ++i)
      for (std::size_t r = 0; r < tolerance.size(); ++r)
        if (std::abs(due[i][r] - played_.fair_share[i][r]) > tolerance[r])
          fault("shares", format("{} is due {} of resource {}, was given {}", name(i), due[i][r], r,
                                 played_.fair_share[i][r]));
  }

  // ---- steps ----

  /// Takes the step over into the model's own accounts, and looks at the gates.
  void apply() {
    const Step& s = step();
    const Job& job = world_.jobs[s.job];
    Stand& stand = stands_[s.job][s.task];
    if (stand != s.before) fault("steps", format("j{} does not stand as it did", s.job));
    if (is_eviction(s)) ledger_.charge(world_, job, -1);
    if (is_placing(s)) {
      const std::string gate = ledger_.gate_for(world_, job, 1);
      if (!gate.empty()) fault("gates", format("j{} passed {}", s.job, gate));
      ledger_.charge(world_, job, 1);
    }
    stand = s.after;
    coverage_.starts += s.after.be == Be::starting;
  }

  std::uint32_t placed(std::size_t job) const {
    return static_cast<std::uint32_t>(
        std::count_if(stands_[job].begin(), stands_[job].end(),
                      [](const Stand& stand) { return is_placed(stand.be); }));
  }
  /// What is tried at once: all that is missing to the minimum, else one task.
  std::int64_t next_step(std::size_t job) const {
    const std::uint32_t minimum = world_.jobs[job].minimum;
    return placed(job) < minimum ? minimum - placed(job) : 1;
  }
  std::uint32_t active(std::size_t job) const {
    return static_cast<std::uint32_t>(
        std::count_if(stands_[job].begin(), stands_[job].end(),
                      [](const Stand& stand) { return is_active(stand.be); }));
  }

  void note_started() {
    for (std::size_t j = 0; j < stands_.size(); ++j)
      if (active(j) > 0) has_started_[j] = true;
  }

  /// At least the minimum or nothing.
  void check_gangs() {
    for (std::size_t j = 0; j < stands_.size(); ++j)
      if (placed(j) > 0 && placed(j) < world_.jobs[j].minimum)
        fault("gangs",
              format("j{} has {} of at least {} tasks", j, placed(j), world_.jobs[j].minimum));
  }

  /// The same of what really starts, of jobs that did not run before. One that started in this pass
  /// may be moved by others before it has begun, some of it or all: so the end of a pass is looked
  /// at when it is settled.
  void check_starts(const char* when, const Stands& stands) {
    for (std::size_t j = 0; j < stands.size(); ++j) {
      std::uint32_t active = 0;
      bool starts = false;
      for (const Stand& stand : stands[j]) {
        active += is_active(stand.be);
        starts = starts || stand.be == Be::starting;
      }
      if (world_.jobs[j].on.empty() && starts && active < world_.jobs[j].minimum)
        fault("gangs", format("j{} starts with {} of at least {} tasks, {}", j, active,
                              world_.jobs[j].minimum, when));
    }
  }

  // ---- after allocate ----

  /// Whatever leaves is on its way to whoever waits: it is counted as room, less what is promised.
  void check_nothing_left_over() {
    const Supply supply(world_, stands_);
    for (std::size_t j = 0; j < stands_.size(); ++j) {
      const Job& job = world_.jobs[j];
      const auto waiting = std::count_if(stands_[j].begin(), stands_[j].end(),
                                         [](const Stand& s) { return s.be == Be::waiting; });
      if (waiting == 0) continue;
      const std::int64_t wanted = next_step(j);
      const bool has_room = supply.room_for(job) >= wanted;
      const bool passes = ledger_.gate_for(world_, job, wanted).empty();
      coverage_.stopped += has_room && !passes;
      coverage_.full += !has_room;
      if (has_room && passes) fault("work", format("j{} waits although it fits", j));
    }
  }

  /// Of jobs that ask for the same in one project, none goes before an older one of no less
  /// priority. Firm jobs have a gate of their own, so they are compared with each other only.
  void check_order() {
    const auto kind = [](const Job& job) {
      return std::tuple(job.project, job.preemptible, job.tasks, job.minimum, job.gpus, job.portion,
                        job.cpu_milli, job.memory_bytes);
    };
    for (std::size_t older = 0; older < stands_.size(); ++older)
      for (std::size_t younger = 0; younger < stands_.size(); ++younger) {
        const Job &a = world_.jobs[older], &b = world_.jobs[younger];
        if (!a.on.empty() || !b.on.empty() || kind(a) != kind(b) || a.priority < b.priority)
          continue;
        if (std::pair(a.submitted, older) >= std::pair(b.submitted, younger)) continue;
        if (placed(older) == 0 && placed(younger) > 0)
          fault("order", format("j{} goes before j{}", younger, older));
      }
  }

  // ---- those who take ----

  /// Some leave their places, then those and the one who takes are placed: one decision.
  void judge_deal(Did action) {
    const Ledger before = ledger_;
    const Stands stands_before = stands_;
    std::map<std::size_t, std::vector<std::size_t>> evicted;  // tasks by job, as they were evicted
    std::vector<std::size_t> victims;                         // in order, again for each task
    for (; at_ < played_.ended[index(action)] && is_eviction(step()); ++at_) {
      evicted[step().job].push_back(step().task);
      victims.push_back(step().job);
      evicted_.insert({step().job, step().task});
      apply();
    }
    // Who is evicted may be placed again; whoever else is placed has taken. Somebody who finds that
    // enough leaves already takes without evictions, right after another one.
    std::optional<std::size_t> taker;
    std::int64_t count = 0, wanted = 0;
    for (; at_ < played_.ended[index(action)] && !is_eviction(step()); ++at_) {
      if (evicted_.erase({step().job, step().task}) == 0) {
        if (!taker) wanted = next_step(step().job);
        if (count == wanted && taker) break;
        if (taker && *taker != step().job) break;
        taker = step().job;
        ++count;
      }
      apply();
    }
    ++coverage_.takings[index(action)];
    check_gangs();
    for (const auto& [job, tasks] : evicted)
      if (!world_.jobs[job].preemptible) fault("rights", format("j{} cannot be preempted", job));
    if (!taker || count != wanted) {
      fault("rights",
            format("{} for nobody, or for {} tasks of {}", name_of(action), count, wanted));
      return;
    }
    if (world_.jobs[*taker].preempts_after)
      fault("rights", format("j{} may not take from others yet", *taker));
    Taking taking{*taker, world_.jobs[*taker].charge() * count, {}};
    taking.lost = units_lost(victims, evicted, stands_before);
    check_kept(action, *taker, evicted, stands_before);
    judge(action, taking, before, evicted);
  }

  static std::size_t index(Did action) { return static_cast<std::size_t>(action); }

  /// Each task above the minimum goes singly, the rest as one. Who only moves loses nothing.
  std::vector<LostUnit> units_lost(const std::vector<std::size_t>& victims,
                                   const std::map<std::size_t, std::vector<std::size_t>>& evicted,
                                   const Stands& before) const {
    std::vector<LostUnit> units;
    std::map<std::size_t, std::size_t> seen;   // tasks, by job
    std::map<std::size_t, std::size_t> cores;  // places in `units`
    for (const std::size_t job : victims) {
      const std::size_t nth = seen[job]++;
      if (is_placed(stands_[job][evicted.at(job)[nth]].be)) continue;
      const Triple amount = world_.jobs[job].charge();
      if (nth < surplus(job, before)) {
        units.push_back({job, amount, false});
      } else if (const auto [at, is_new] = cores.try_emplace(job, units.size()); is_new) {
        units.push_back({job, amount, true});
      } else {
        units[at->second].amount = units[at->second].amount + amount;
      }
    }
    return units;
  }

  std::size_t surplus(std::size_t job, const Stands& before) const {
    const auto there = static_cast<std::uint32_t>(
        std::count_if(before[job].begin(), before[job].end(),
                      [](const Stand& stand) { return is_placed(stand.be); }));
    return there > world_.jobs[job].minimum ? there - world_.jobs[job].minimum : 0;
  }

  /// Who has not run for long enough keeps its minimum where it is.
  void check_kept(Did action, std::size_t taker,
                  const std::map<std::size_t, std::vector<std::size_t>>& evicted,
                  const Stands& before) {
    if (action == Did::consolidate) return;
    for (const auto& [job, tasks] : evicted) {
      const Job& victim = world_.jobs[job];
      if (!has_started_[job] || -victim.started >= keep_seconds(action, taker, victim.project))
        continue;
      std::size_t touched = 0;
      for (const std::size_t task : tasks) touched += stands_[job][task] != before[job][task];
      if (touched > surplus(job, before))
        fault("rights", format("{} took j{} before its time", name_of(action), job));
    }
  }

  std::int64_t keep_seconds(Did action, std::size_t taker, std::size_t victim) const {
    const std::size_t project = world_.jobs[taker].project;
    if (action == Did::reclaim && project != victim)
      return ReclaimModel(world_, played_.fair_share, ledger_).keep_seconds(project, victim);
    for (const std::size_t i : line_of(world_, victim))
      if (world_.projects[i].preempt_keep) return *world_.projects[i].preempt_keep;
    return 0;
  }

  void judge(Did action, const Taking& taking, const Ledger& before,
             const std::map<std::size_t, std::vector<std::size_t>>& evicted) {
    const Job& taker = world_.jobs[taking.taker];
    const auto blame = [&](const std::string& why) {
      if (!why.empty())
        fault("rights", format("{} for j{}: {}", name_of(action), taking.taker, why));
    };
    switch (action) {
      case Did::consolidate:
        if (!taker.preemptible) blame("it cannot be preempted");
        if (!taking.lost.empty()) blame(format("j{} is not placed again", taking.lost[0].job));
        break;
      case Did::reclaim: {
        const ReclaimModel rules(world_, played_.fair_share, before);
        blame(rules.not_entitled(taking));
        blame(rules.not_allowed(taking));
        coverage_.lost += taking.lost.size();
        break;
      }
      case Did::preempt:
        for (const auto& [job, tasks] : evicted)
          if (world_.jobs[job].project != taker.project ||
              world_.jobs[job].priority >= taker.priority)
            blame(format("j{} is no victim", job));
        break;
      case Did::allocate:
      case Did::evict_stale:
        blame("evicted somebody");
        break;
    }
  }

  // ---- the end ----

  void check_end() {
    if (stands_ != played_.last) fault("steps", "they do not lead to where the pass ended");
    faults_ += Supply(world_, played_.last).faults(played_.nodes);
    faults_ += Supply(world_, played_.settled).faults(played_.settled_nodes);
    check_starts("settled", played_.settled);
    const Ledger ledger(world_, played_.last);
    for (std::size_t i = 0; i < world_.projects.size(); ++i)
      if (ledger.held[i] != played_.held[i] || ledger.firm[i] != played_.held_firm[i])
        fault("supply", format("the account of {} does not add up", name(i)));
    for (std::size_t j = 0; j < stands_.size(); ++j)
      coverage_.gangs += world_.jobs[j].on.empty() && placed(j) > 1;
  }

  /// Only where a single task waits, for whole GPUs. With others waiting, one that comes first may
  /// take what this one could have had, or leave the victims' project without anything to lose.
  void check_overlooked() {
    std::vector<std::size_t> waiting;
    for (std::size_t j = 0; j < stands_.size(); ++j)
      if (std::any_of(played_.first[j].begin(), played_.first[j].end(),
                      [](const Stand& stand) { return stand.be == Be::waiting; }))
        waiting.push_back(j);
    if (waiting.size() != 1) return;
    const std::size_t job = waiting.front();
    if (world_.jobs[job].tasks != 1 || world_.jobs[job].gpus == 0) return;
    const std::string found = overlooked(world_, played_.fair_share, played_.first, job);
    coverage_.alone += !found.empty();
    if (!found.empty() && placed(job) == 0)
      fault("overlooked", format("j{} waits, but {}", job, found));
  }

  const World& world_;
  const PlayedPass& played_;
  Coverage& coverage_;
  Stands stands_;
  Ledger ledger_;
  std::vector<bool> has_started_;
  std::set<std::pair<std::size_t, std::size_t>> evicted_;  // tasks of jobs, not placed again so far
  std::size_t at_ = 0;
  std::string faults_;
};

}  // namespace

std::string broken_rules(const World& world, const PlayedPass& played, Coverage& coverage) {
  return Judge(world, played, coverage).run();
}

}  // namespace rota::sched::drawn
