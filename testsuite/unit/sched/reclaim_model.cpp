// testsuite/unit/sched/reclaim_model.cpp - the two strategies unit by unit, saturation, and a
// search by trying everything.
#include "unit/sched/reclaim_model.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "common/format.h"
#include "unit/sched/supply_model.h"

namespace rota::sched::drawn {

std::string ReclaimModel::not_entitled(const Taking& taking) const {
  const Job& taker = world_.jobs[taking.taker];
  const std::size_t project = taker.project;
  if (!within(ledger_.held[project] + taking.request, fair_share_[project]))
    return format("{} would hold more than its fair share", world_.projects[project].name);
  if (taker.preemptible) return "";
  for (const std::size_t i : line_of(world_, project))
    if (!within(ledger_.firm[i] + taking.request, world_.projects[i].deserved))
      return format("{} would hold more for good than its quota", world_.projects[i].name);
  return "";
}

bool ReclaimModel::may_lose(const Taking& taking, std::size_t mine, std::size_t theirs,
                            const Triple& left) const {
  const Project& victim = world_.projects[theirs];
  for (std::size_t r = 0; r < left.size(); ++r) {
    // Its allocatable share: unbounded where its quota is, then only its limit counts.
    std::optional<std::int64_t> line = victim.limit[r];
    if (victim.deserved[r]) {
      line = std::max(*victim.deserved[r], fair_share_[theirs][r]);
      if (victim.limit[r]) line = std::min(*line, *victim.limit[r]);
    }
    if (line && left[r] > *line) return true;
  }
  return within(ledger_.held[mine] + taking.request, world_.projects[mine].deserved) &&
         !within(left, victim.deserved);
}

Triple ReclaimModel::lost_by(const Taking& taking, std::size_t project) const {
  Triple sum{};
  for (const LostUnit& unit : taking.lost) {
    const auto line = line_of(world_, world_.jobs[unit.job].project);
    if (std::find(line.begin(), line.end(), project) != line.end()) sum = sum + unit.amount;
  }
  return sum;
}

/// At every level upward: nobody who would be above its own share takes from one that would then
/// be worse off.
std::string ReclaimModel::turned_tables(const Taking& taking) const {
  for (const std::size_t mine : line_of(world_, world_.jobs[taking.taker].project)) {
    const Triple mine_holds = ledger_.held[mine] - lost_by(taking, mine) + taking.request;
    for (std::size_t theirs = 0; theirs < world_.projects.size(); ++theirs) {
      if (theirs == mine || world_.projects[theirs].above != world_.projects[mine].above) continue;
      const Triple lost = lost_by(taking, theirs);
      if (lost == Triple{}) continue;
      const Triple they_hold = ledger_.held[theirs] - lost;
      for (std::size_t r = 0; r < lost.size(); ++r) {
        const std::int64_t my_share = fair_share_[mine][r], their_share = fair_share_[theirs][r];
        if (taking.request[r] == 0 && lost[r] == 0) continue;
        if (their_share <= 0 || mine_holds[r] <= my_share) continue;
        // mine / my share >= theirs / their share, in numbers that fit for any memory there is.
        const auto left = static_cast<long double>(mine_holds[r]) * their_share;
        const auto right = static_cast<long double>(they_hold[r]) * my_share;
        if (left >= right)
          return format("{} would be further above its share than {}", world_.projects[mine].name,
                        world_.projects[theirs].name);
      }
    }
  }
  return "";
}

/// The side must still owe something before each unit, so all depends on which comes last. Units of
/// a project are taken in order; which of several projects comes last the rules leave open
/// (quota.md 14), so it is enough that one may.
std::string ReclaimModel::not_allowed(const Taking& taking) const {
  const std::size_t project = world_.jobs[taking.taker].project;
  std::map<std::size_t, std::map<std::size_t, LostUnit>> last;  // by side and project
  for (const LostUnit& unit : taking.lost) {
    const std::size_t victim = world_.jobs[unit.job].project;
    if (victim == project) return format("j{} is of the same project", unit.job);
    last[levelled(world_, project, victim).second][victim] = unit;
  }
  for (const auto& [theirs, units] : last) {
    const Triple left = ledger_.held[theirs] - lost_by(taking, theirs);
    const bool owes = std::any_of(units.begin(), units.end(), [&, side = theirs](const auto& item) {
      const std::size_t mine = levelled(world_, project, item.first).first;
      return may_lose(taking, mine, side, left + item.second.amount);
    });
    if (!owes)
      return format("{} owes nothing when its last unit is taken", world_.projects[theirs].name);
  }
  return turned_tables(taking);
}

bool ReclaimModel::is_allowed_in_any_order(const Taking& taking) const {
  const std::size_t project = world_.jobs[taking.taker].project;
  for (const LostUnit& unit : taking.lost) {
    // As if it were the last.
    const auto [mine, theirs] = levelled(world_, project, world_.jobs[unit.job].project);
    const Triple left = ledger_.held[theirs] - lost_by(taking, theirs) + unit.amount;
    if (!may_lose(taking, mine, theirs, left)) return false;
  }
  return turned_tables(taking).empty();
}

bool ReclaimModel::is_looked_at(const Taking& taking, std::size_t victim) const {
  const auto [mine, theirs] = levelled(world_, world_.jobs[taking.taker].project, victim);
  if (!within(ledger_.held[mine] + taking.request, world_.projects[mine].deserved)) return true;
  for (std::size_t r = 0; r < taking.request.size(); ++r) {
    const auto& deserved = world_.projects[theirs].deserved[r];
    if (taking.request[r] > 0 && deserved && ledger_.held[theirs][r] > *deserved) return true;
  }
  return false;
}

bool ReclaimModel::gets_back_first(const Taking& taking, std::size_t victim) const {
  const auto [mine, theirs] = levelled(world_, world_.jobs[taking.taker].project, victim);
  const Project &me = world_.projects[mine], &they = world_.projects[theirs];
  const Triple left = ledger_.held[theirs] - lost_by(taking, theirs);
  const auto is_within_with = [&](const LostUnit& unit) {
    return within(left + world_.jobs[unit.job].charge(), they.deserved);
  };
  const bool mine_within = within(ledger_.held[mine] + taking.request, me.deserved);
  const bool theirs_within = std::any_of(taking.lost.begin(), taking.lost.end(), is_within_with);
  if (mine_within != theirs_within) return theirs_within;
  return they.rank > me.rank;
}

std::int64_t ReclaimModel::keep_seconds(std::size_t taker, std::size_t victim) const {
  for (const std::size_t i : line_of(world_, levelled(world_, taker, victim).second))
    if (world_.projects[i].reclaim_keep) return *world_.projects[i].reclaim_keep;
  return 0;
}

namespace {

/// Takes units of one project on one node until there is room: lowest priority first, then those
/// above their minimum, then the youngest. Candidates come in this order, and none is left out:
/// what could be had only by sparing one that comes first is not looked for (quota.md 11).
class BruteForce {
 public:
  BruteForce(const World& world, const ReclaimModel& rules, const Stands& stands, Taking taking,
             std::size_t project, std::size_t node)
      : world_(world),
        rules_(rules),
        stands_(stands),
        taking_(std::move(taking)),
        project_(project),
        node_(node) {}

  std::string run() {
    for (;;) {
      if (is_solved()) return told();
      const auto job = next();
      if (!job) return "";
      take_unit(*job);
    }
  }

 private:
  std::vector<std::size_t> placed(std::size_t job) const {
    std::vector<std::size_t> tasks;
    for (std::size_t t = 0; t < stands_[job].size(); ++t)
      if (is_placed(stands_[job][t].be)) tasks.push_back(t);
    return tasks;
  }
  bool is_core(std::size_t job) const { return placed(job).size() <= world_.jobs[job].minimum; }

  /// The next unit of it: the last task, or all the rest.
  std::vector<std::size_t> unit_of(std::size_t job) const {
    auto tasks = placed(job);
    if (!is_core(job)) tasks = {tasks.back()};
    return tasks;
  }

  std::optional<std::size_t> next() const {
    std::optional<std::size_t> best;
    const auto key = [this](std::size_t job) {
      return std::tuple(world_.jobs[job].priority, is_core(job), -world_.jobs[job].submitted,
                        -static_cast<std::int64_t>(job));
    };
    for (std::size_t j = 0; j < world_.jobs.size(); ++j)
      if (may_go(j) && (!best || key(j) < key(*best))) best = j;
    return best;
  }

  /// All of its next unit is on the node, and it has run for long enough.
  bool may_go(std::size_t job) const {
    const Job& victim = world_.jobs[job];
    const auto unit = unit_of(job);
    if (victim.project != project_ || !victim.preemptible || unit.empty()) return false;
    const std::size_t taker_project = world_.jobs[taking_.taker].project;
    if (is_core(job) && -victim.started < rules_.keep_seconds(taker_project, project_))
      return false;
    return std::all_of(unit.begin(), unit.end(),
                       [&](std::size_t t) { return stands_[job][t].at->node == node_; });
  }

  void take_unit(std::size_t job) {
    const auto unit = unit_of(job);
    const auto count = static_cast<std::int64_t>(unit.size());
    taking_.lost.push_back({job, world_.jobs[job].charge() * count, is_core(job)});
    for (const std::size_t t : unit) stands_[job][t].be = Be::leaving;
  }

  bool is_solved() const {
    return !taking_.lost.empty() && rules_.is_allowed_in_any_order(taking_) &&
           !rules_.gets_back_first(taking_, project_) &&
           Supply(world_, stands_).room_for(world_.jobs[taking_.taker], node_) > 0;
  }

  std::string told() const {
    std::string text = format("it could have n{} from", node_);
    for (const LostUnit& unit : taking_.lost) text += format(" j{}", unit.job);
    return text;
  }

  const World& world_;
  const ReclaimModel& rules_;
  Stands stands_;
  Taking taking_;
  std::size_t project_, node_;
};

/// Somebody of other projects than these could be evicted there. It may come first, and then one
/// that was to go gets its place back before it (quota.md 11, 3): that is no fault.
bool has_others(const World& world, const Stands& stands, std::pair<std::size_t, std::size_t> known,
                std::size_t node) {
  for (std::size_t j = 0; j < stands.size(); ++j) {
    const Job& job = world.jobs[j];
    if (!job.preemptible || job.project == known.first || job.project == known.second) continue;
    for (const Stand& stand : stands[j])
      if (is_placed(stand.be) && stand.at->node == node) return true;
  }
  return false;
}

}  // namespace

std::string overlooked(const World& world, const std::vector<Triple>& fair_share,
                       const Stands& stands, std::size_t waiting) {
  const Job& job = world.jobs[waiting];
  const Ledger ledger(world, stands);
  const ReclaimModel rules(world, fair_share, ledger);
  const Taking taking{waiting, job.charge(), {}};
  if (job.preempts_after || !ledger.gate_for(world, job, 1).empty()) return "";
  if (!rules.not_entitled(taking).empty()) return "";
  const std::vector<std::size_t> own_line = line_of(world, job.project);
  for (std::size_t project = 0; project < world.projects.size(); ++project) {
    if (std::find(own_line.begin(), own_line.end(), project) != own_line.end()) continue;
    if (!rules.is_looked_at(taking, project)) continue;
    for (std::size_t node = 0; node < world.nodes.size(); ++node) {
      if (has_others(world, stands, {project, job.project}, node)) continue;
      std::string found = BruteForce(world, rules, stands, taking, project, node).run();
      if (!found.empty()) return found;
    }
  }
  return "";
}

}  // namespace rota::sched::drawn
