// sched/victims.cpp - grow the gang, collect victims, simulate, ask the rule (quota.md 11).
#include "sched/victims.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "sched/attempt_bound.h"
#include "sched/order.h"
#include "sched/place.h"
#include "sched/victim_bound.h"
#include "sched/victim_stream.h"

namespace rota::sched {
namespace {

using Units = std::vector<Unit>;
using Numbers = std::vector<std::uint32_t>;  // of units, in the order in which they were drawn

class Search {
 public:
  Search(World& world, std::uint32_t job, const TakeRule& rule)
      : world_(world),
        job_(job),
        place_(&place_of_all(*world.job(job).shape)),
        rule_(rule),
        tasks_(tasks_to_place(world.job(job))),
        bounds_(world, job) {
    const auto& tasks = world.job(job).shape->tasks;
    is_all_gpu_ = std::all_of(tasks.begin(), tasks.end(),
                              [](const TaskShape& task) { return task.demand->wants_gpu(); });
  }

  bool run() {
    if (tasks_.empty() || !could_ever()) return false;
    const std::size_t all = tasks_.size();
    // A part of it would be solved wherever that is easiest, which need not have room for the rest;
    // and who made way there for nothing might not come back to its old place.
    if (world_.policy.search_work_max > 0 && wish() != nullptr) return solve(all);
    std::size_t solved = 0, failed = all + 1;
    for (std::size_t count = 1;; count = std::min(count * 2, all)) {
      if (!solve(count)) {
        failed = count;
        break;
      }
      if (count == all) return true;
      solved = count;
      undo();
    }
    if (solved == 0) return false;
    const std::size_t grown = solved;
    while (failed - solved > 1) {
      const std::size_t middle = solved + (failed - solved) / 2;
      if (solve(middle)) {
        solved = middle;
        undo();
      } else {
        failed = middle;
      }
    }
    // With no more victims known than before, the answer for all would be the same.
    if (failed == all && solved == grown && grown + 1 < all) return false;
    return solve(all);
  }

 private:
  static constexpr std::uint64_t work_per_node = 8;  // of a look at all who are there

  struct Drawn {
    Unit unit;
    NodeList nodes;  // that it would leave, each once
  };

  /// A level that it requires; else none.
  const TopologyWish* wish() const { return world_.job(job_).shape->gang.required_topology(); }

  bool is_anybody_there() const {
    for (QuotaIndex i = 0; i < world_.quotas.size(); ++i)
      if (!world_.evictable(i).empty() && rule_.may_take_from(i)) return true;
    return false;
  }

  /// Even if everybody who can be evicted at all were gone. Where nobody may lose anything, all
  /// have to fit together in what is there.
  bool could_ever() {
    const SchedJob& job = world_.job(job_);
    world_.note_work(world_.quotas.size());
    if (!is_anybody_there()) return false;
    world_.note_work(2 * world_.fleet.size());
    if (!VictimBound(world_, job, tasks_).could_place_if_all_left(tasks_.size())) return false;
    if (world_.estimate(job, tasks_)[Resource::gpu] <= world_.fleet.gpu_free_total()) return true;
    for (QuotaIndex i = 0; i < world_.quotas.size(); ++i)
      if (!world_.evictable(i).empty() && rule_.may_take_from(i) && rule_.may_lose(i)) return true;
    return false;
  }

  /// A look at who is where ends most searches that lead nowhere; but the first victims may do.
  /// Where it alone would be more than a pass may spend, it is for when as much was drawn in vain.
  bool should_count(std::size_t drawn_count) const {
    constexpr std::size_t first = 4;
    const std::uint64_t work_max = world_.policy.search_work_max;
    const bool is_cheap = work_max == 0 || work_per_node * world_.fleet.size() <= work_max;
    return evictable_.empty() && drawn_count >= (is_cheap ? first : world_.fleet.size() / 2);
  }

  /// GPUs on each node of those whose projects may be looked at: at most so many can be taken.
  void count_evictable() {
    enum class May : std::uint8_t { unknown, yes, no };
    std::vector<May> may(world_.quotas.size());
    evictable_.resize(world_.fleet.size());
    for (NodeIndex i = 0; i < evictable_.size(); ++i) {
      if (world_.fleet.at(i).gpus_evictable == 0) continue;
      for (const FleetNode::Resident& resident : world_.fleet.at(i).residents) {
        if (!resident.evictable) continue;
        May& project = may[world_.job(resident.task.job).project];
        if (project == May::unknown)
          project = rule_.may_take_from(world_.job(resident.task.job).project) ? May::yes : May::no;
        if (project == May::yes)
          evictable_[i] += static_cast<std::int32_t>(gpus_left_by(world_, resident.task));
      }
    }
    world_.note_work(work_per_node * world_.fleet.size());
  }

  void undo() {
    world_.undo_to(mark_);
    world_.reservations.undo_to(kept_mark_);
  }
  bool is_exhausted() const { return tried_.size() >= world_.policy.scenarios_max; }

  bool solve(std::size_t count) {
    if (is_in_vain_) return false;
    mark_ = world_.mark();
    kept_mark_ = world_.reservations.mark();
    wanted_.assign(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(count));
    tried_.clear();
    bounds_.ask_for(wanted_, rule_.worth);
    if (!recorded_.empty() && attempt(recorded_)) return true;
    if (one_node_at_a_time()) return true;
    return !is_for_one_node() && !is_in_vain_ && several_nodes();
  }

  /// Whoever runs on one node gains nothing from others, except that its victims could move there.
  bool is_for_one_node() const { return tasks_.size() == 1 && !rule_.with_moves; }

  /// With those gone who are recorded.
  VictimBound fresh_bound() const {
    VictimBound bound(world_, world_.job(job_), wanted_);
    for (const auto i : recorded_) bound.free(drawn_[i].unit);
    return bound;
  }

  /// Every new victim is tried together with the others on its node.
  bool one_node_at_a_time() {
    VictimBound bound = fresh_bound();
    const auto wanted = static_cast<std::int64_t>(wanted_.size());
    if (!bound.could_place_from_one_node(wanted, evictable_)) return false;
    const std::int64_t base = bound.sum();
    std::map<NodeIndex, std::int64_t> recorded_room;
    for (const auto i : recorded_)
      for (const NodeIndex node : drawn_[i].nodes)
        recorded_room[node] = bound.room(node, bound.freed(node));
    Numbers collected;
    std::unordered_map<NodeIndex, Numbers> by_node;  // units that touch it
    Best best;
    for (std::uint32_t i = 0; !is_exhausted() && i < best.until; ++i) {
      const Drawn* next = drawn(i);
      if (next == nullptr) break;
      if (!bound.is_blind() && should_count(i)) {
        count_evictable();
        const VictimBound all(world_, world_.job(job_), tasks_);
        is_in_vain_ = !all.could_place_if_left(tasks_.size(), evictable_);
        if (is_in_vain_ || !fresh_bound().could_place_from_one_node(wanted, evictable_)) break;
      }
      if (is_recorded(i)) continue;
      bound.free(next->unit);
      for (const NodeIndex node : next->nodes) by_node[node].push_back(i);
      collected.push_back(i);
      for (const NodeIndex node : next->nodes) {
        if (!place_->may_run_on(node)) continue;
        const auto at = recorded_room.find(node);
        const std::int64_t before = at != recorded_room.end() ? at->second : bound.room(node, 0);
        if (!bound.is_blind() && base - before + bound.room(node, bound.freed(node)) < wanted)
          continue;
        const Numbers units = with_recorded(whole_jobs(collected, by_node[node]));
        if (best.toll && !may_lose_less(units, *best.toll)) continue;
        const Numbers recorded = recorded_;
        if (!attempt(units)) continue;
        const auto toll = toll_of(recorded_);
        if (!toll || (!best.toll && !could_be_less(*toll, i))) return true;
        undo();
        recorded_ = recorded;
        best.note(units, *toll, i);
      }
    }
    return best.toll && carry_out(best.units);
  }

  /// What a set of victims loses, all of one project and priority: which of those it is, is open.
  struct Toll {
    QuotaIndex project = quota_root;
    std::int32_t priority = 0;
    std::int64_t gpus = 0;  // millionths
    double work = 0;        // as work_lost()
  };
  /// The first set found, or another of as many GPUs that loses less. Victims come by what each
  /// loses for a GPU; the sum on a node is another thing, so some more of them are looked at.
  struct Best {
    static constexpr std::uint32_t more_units = 64;
    static constexpr int sets_max = 8;  // that are simulated

    void note(const Numbers& found, const Toll& of_found, std::uint32_t unit) {
      if (!toll) until = unit + more_units;
      if (++sets >= sets_max) until = 0;
      if (toll && (of_found.gpus != toll->gpus || of_found.work >= toll->work)) return;
      toll = of_found;
      units = found;
    }

    std::optional<Toll> toll;
    Numbers units;
    std::uint32_t until = std::numeric_limits<std::uint32_t>::max();  // units are looked at
    int sets = 0;
  };

  /// None: they are of several, or what only a part of a job loses is among them.
  std::optional<Toll> toll_of(const Numbers& units) const {
    std::optional<Toll> toll;
    for (const auto i : units) {
      const SchedJob& job = world_.job(drawn_[i].unit.job);
      if (!toll) toll = Toll{job.project, job.priority};
      if (job.project != toll->project || job.priority != toll->priority || !drawn_[i].unit.is_all)
        return std::nullopt;
      toll->gpus += charge_of(world_, drawn_[i].unit)[Resource::gpu];
      toll->work += work_lost(world_, {&drawn_[i].unit, 1});
    }
    return toll;
  }

  /// If as many GPUs were taken from those of them that lose least.
  double least_work(const Numbers& units, std::int64_t gpus) const {
    struct Part {
      double work_per_gpu;
      std::int64_t gpus;
    };
    std::vector<Part> parts;
    for (const auto i : units) {
      const auto amount = charge_of(world_, drawn_[i].unit)[Resource::gpu];
      if (amount > 0)
        parts.push_back(
            {work_lost(world_, {&drawn_[i].unit, 1}) / static_cast<double>(amount), amount});
    }
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.work_per_gpu < b.work_per_gpu; });
    double work = 0;
    for (const Part& part : parts) {
      const std::int64_t taken = std::min(part.gpus, gpus);
      work += part.work_per_gpu * static_cast<double>(taken);
      gpus -= taken;
    }
    return work;
  }

  /// A set that is worth to be simulated.
  bool may_lose_less(const Numbers& units, const Toll& best) const {
    const auto toll = toll_of(units);
    return toll && toll->project == best.project && toll->priority == best.priority &&
           toll->gpus >= best.gpus && least_work(units, best.gpus) < best.work;
  }

  /// Those drawn first lose least for a GPU: whether a set of them only would lose less than this.
  bool could_be_less(const Toll& toll, std::uint32_t last) const {
    Numbers alike;
    for (std::uint32_t i = 0; i <= last; ++i) {
      const SchedJob& job = world_.job(drawn_[i].unit.job);
      if (job.project == toll.project && job.priority == toll.priority) alike.push_back(i);
    }
    constexpr double rounding = 1e-9;
    return least_work(alike, toll.gpus) < toll.work * (1 - rounding);
  }

  /// The i-th unit to take, recorded or not; none: there are no more. Their order is that of the
  /// world before anything is taken, the same for every part of the gang.
  const Drawn* drawn(std::size_t i) {
    if (!stream_) {
      world_.note_work(20 * world_.quotas.size());
      stream_.emplace(world_, job_, rule_);
    }
    while (drawn_.size() <= i && !is_drawn_) {
      world_.note_work(10);
      if (auto unit = stream_->next()) {
        bounds_.add(*unit);
        has_parts_ = has_parts_ || !unit->is_all;
        NodeList nodes = nodes_of(*unit);
        drawn_.push_back({*std::move(unit), std::move(nodes)});
      } else {
        is_drawn_ = true;
      }
    }
    return i < drawn_.size() ? &drawn_[i] : nullptr;
  }

  bool is_recorded(std::uint32_t unit) const {
    return std::find(recorded_.begin(), recorded_.end(), unit) != recorded_.end();
  }

  /// These units, and all other collected units of the same jobs.
  Numbers whole_jobs(const Numbers& collected, const Numbers& units) const {
    if (std::all_of(units.begin(), units.end(), [&](auto i) { return drawn_[i].unit.is_all; }))
      return units;
    std::set<std::uint32_t> jobs;
    for (const auto i : units) jobs.insert(drawn_[i].unit.job);
    Numbers all;
    for (const auto i : collected)
      if (jobs.contains(drawn_[i].unit.job)) all.push_back(i);
    return all;
  }

  /// Victims come in their order here too: as few of them as could be enough, then more. The first
  /// times one by one; where that leads nowhere, more and more at a time.
  bool several_nodes() {
    constexpr int tries_one_by_one = 16;
    VictimBound bound = fresh_bound();
    if (!bound.could_place_if_left(wanted_.size(), evictable_)) return false;
    const auto wanted = static_cast<std::int64_t>(wanted_.size());
    Numbers collected;
    std::size_t next_try = 1, gap = 1;
    int tries = 0;
    for (std::uint32_t i = 0; !is_exhausted(); ++i) {
      const Drawn* next = drawn(i);
      if (next != nullptr) {
        if (is_recorded(i)) continue;
        bound.free(next->unit);
        collected.push_back(i);
      }
      const bool could_do = bound.is_blind() || bound.sum() >= wanted;
      if (could_do && (next == nullptr || collected.size() >= next_try)) {
        if (rows_of(collected)) return true;
        if (++tries > tries_one_by_one) gap *= 2;
        next_try = collected.size() + gap;
      }
      if (next == nullptr) return false;
    }
    return false;
  }

  static constexpr std::int64_t untouched = -1;

  /// What victims free on a node.
  struct Freed {
    std::int64_t gpus = untouched;
    std::size_t first_seen = 0;  // among the victims
  };

  bool rows_of(const Numbers& collected) {
    world_.note_work(world_.fleet.size() / 10);
    std::vector<Freed> freed(world_.fleet.size());
    for (std::size_t i = 0; i < collected.size(); ++i)
      for (const auto task : drawn_[collected[i]].unit.tasks) {
        const Task& t = world_.task({drawn_[collected[i]].unit.job, task});
        Freed& there = freed[t.spot.node];
        if (there.gpus == untouched) there = {0, i};
        there.gpus += t.charge[Resource::gpu];
      }
    if (wish() == nullptr) {
      NodeList all(world_.fleet.size());
      std::iota(all.begin(), all.end(), NodeIndex{0});
      return row_of(all, collected, freed);
    }
    const Topology& topology = world_.topologies[wish()->topology];
    std::vector<std::pair<std::int64_t, std::uint32_t>> places;  // by what is free there
    for (const std::uint32_t place : topology.places_of(*wish()->required)) {
      std::int64_t free = 0;
      for (const NodeIndex node : topology.at(place).nodes)
        if (place_->may_run_on(node)) free += world_.fleet.at(node).gpus_free();
      places.emplace_back(-free, place);
    }
    std::sort(places.begin(), places.end());
    return std::any_of(places.begin(), places.end(), [&](const auto& place) {
      return !is_exhausted() && row_of(topology.at(place.second).nodes, collected, freed);
    });
  }

  /// Of these nodes, those with victims and least room first: the shortest row of them that has
  /// enough.
  bool row_of(const NodeList& nodes, const Numbers& collected, const std::vector<Freed>& freed) {
    struct Place {
      NodeIndex node;
      std::int64_t room;
    };
    std::vector<Place> places;
    std::int64_t room = 0;  // without the nodes in the row
    for (const NodeIndex node : nodes) {
      if (!place_->may_run_on(node)) continue;
      const FleetNode& there = world_.fleet.at(node);
      if (freed[node].gpus != untouched)
        places.push_back({node, there.gpus_free() * one_gpu + freed[node].gpus});
      else if (there.usable)
        room += std::max<std::int64_t>(0, there.gpus_free()) * one_gpu;
    }
    std::stable_sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
      if (a.room != b.room) return a.room < b.room;
      return freed[a.node].first_seen < freed[b.node].first_seen;
    });
    const std::int64_t wanted = world_.estimate(world_.job(job_), wanted_)[Resource::gpu];
    std::size_t length = 0;
    for (const auto i : recorded_) room += charge_of(world_, drawn_[i].unit)[Resource::gpu];
    while (length < places.size() && room < wanted) room += places[length++].room;
    if (room < wanted) return false;
    std::vector<bool> picked(world_.fleet.size());
    std::size_t picked_count = 0;
    for (std::size_t more = 1;; more *= 2) {
      for (; picked_count < length; ++picked_count) picked[places[picked_count].node] = true;
      // What a job has above its minimum goes before the rest of it, wherever that is.
      std::unordered_map<std::uint32_t, std::uint32_t> last;
      const auto goes = [&](const Drawn& each) {
        return std::any_of(each.nodes.begin(), each.nodes.end(),
                           [&](NodeIndex node) { return picked[node]; });
      };
      if (has_parts_)
        for (const auto i : collected)
          if (!drawn_[i].unit.is_all && goes(drawn_[i])) last[drawn_[i].unit.job] = i;
      Numbers units;
      for (const auto i : collected) {
        const auto at = last.empty() ? last.end() : last.find(drawn_[i].unit.job);
        if (goes(drawn_[i]) || (at != last.end() && i < at->second)) units.push_back(i);
      }
      if (attempt(with_recorded(units))) return true;
      if (length == places.size() || is_exhausted()) return false;
      length = std::min(length + more, places.size());
    }
  }

  NodeList nodes_of(const Unit& unit) const {
    NodeList nodes;
    for (const auto task : unit.tasks) nodes.push_back(world_.task({unit.job, task}).spot.node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  Numbers with_recorded(const Numbers& units) const {
    Numbers both = recorded_;
    both.insert(both.end(), units.begin(), units.end());
    return both;
  }

  static std::uint64_t hash_of(const Numbers& numbers) {
    std::uint64_t hash = numbers.size();
    for (const auto i : numbers) hash = (hash ^ i) * 0x9E3779B97F4A7C15 + (hash >> 29);
    return hash;
  }

  /// Evicts them, lets them and the taker compete for places in the usual order, and asks the rule.
  bool attempt(const Numbers& numbers) {
    if (is_exhausted() || !tried_.insert({hash_of(numbers), numbers}).second) return false;
    world_.note_work(500);
    return !bounds_.is_hopeless(numbers) && carry_out(numbers);
  }

  bool carry_out(const Numbers& numbers) {
    Units units;
    for (const auto i : numbers) units.push_back(drawn_[i].unit);
    if (!compete(units, nodes_to_look_at(units))) return false;
    const Units lost = not_placed_again(units);
    const Units moved = not_restored(units);
    const Numbers touched = this->touched(numbers, moved);
    World::Undone done = world_.take_back_to(mark_, kept_mark_);  // the rule looks at what was
    if (!rule_.accepts(world_.estimate(world_.job(job_), wanted_), lost)) return false;
    if (rule_.worth && work_lost(world_, moved) >= *rule_.worth) return false;
    world_.redo(std::move(done));
    recorded_ = touched;
    return true;
  }

  bool compete(const Units& units, const NodeList& nodes) {
    Contest contest(world_);
    std::set<std::uint32_t> victims;
    for (const Unit& unit : units) {
      victims.insert(unit.job);
      const std::int64_t end = world_.end_of(unit.job);
      for (const auto task : unit.tasks) {
        const Spot spot = world_.task({unit.job, task}).spot;
        world_.evict({unit.job, task});
        world_.reservations.give(unit.job, spot.node, world_.demand({unit.job, task}),
                                 {end, world_.shared_until(unit.job, spot, true)});
      }
    }
    const SchedJob& taker = world_.job(job_);
    contest.push(world_.key_as(fill_of(taker), job_), world_.estimate(taker, wanted_));
    for (const auto victim : victims) push_victim(contest, victim);
    const PlaceOptions options{.nodes = &nodes, .has_all_room = true, .only_promise = true};
    while (const auto next = contest.pop()) {
      if (*next == job_) {
        if (!place(world_, job_, wanted_, options)) {
          undo();
          return false;
        }
      } else if (place(world_, *next, tasks_to_place(world_.job(*next), Which::evicted), options)) {
        push_victim(contest, *next);
      }
    }
    return true;
  }

  /// Who would lose most work gets its place back first. Where the taker stands among them, in the
  /// same project and with the same priority, all keep to the order in which they are served.
  void push_victim(Contest& contest, std::uint32_t victim) {
    const SchedJob &job = world_.job(victim), &taker = world_.job(job_);
    const auto tasks = tasks_to_place(job, Which::evicted);
    if (tasks.empty()) return;
    const bool is_equal = job.project == taker.project && job.priority == taker.priority;
    const Fill fill = fill_of(job);
    contest.push(is_equal ? world_.key_as(fill, victim) : world_.key_to_take(fill, victim),
                 world_.estimate(job, tasks));
  }

  /// Those with victims, and those with room of their own; ascending.
  NodeList nodes_to_look_at(const Units& units) const {
    NodeList nodes;
    if (!is_all_gpu_ || world_.fleet.has_mig()) {
      nodes.resize(world_.fleet.size());
      std::iota(nodes.begin(), nodes.end(), NodeIndex{0});
      return nodes;
    }
    for (const Unit& unit : units)
      for (const auto task : unit.tasks) nodes.push_back(world_.task({unit.job, task}).spot.node);
    const auto& shared = world_.fleet.with_shared();
    nodes.insert(nodes.end(), shared.begin(), shared.end());
    const auto& free = world_.fleet.by_free_gpus();
    for (auto at = free.lower_bound({1, NodeIndex{0}}); at != free.end(); ++at)
      nodes.push_back(at->second);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  Units not_placed_again(const Units& units) const {
    return those(units, [](const Task& task) { return !is_placed(task.state); });
  }
  Units not_restored(const Units& units) const {
    return those(units, [](const Task& task) { return task.evicted.has_value(); });
  }

  /// All units of jobs of which something was not restored: tasks that go together are evicted
  /// together again, and what is above a minimum before the minimum, or a gang could be left with a
  /// part of it.
  Numbers touched(const Numbers& units, const Units& moved) const {
    std::set<std::uint32_t> jobs;
    for (const Unit& unit : moved) jobs.insert(unit.job);
    Numbers kept;
    for (const auto i : units)
      if (jobs.contains(drawn_[i].unit.job)) kept.push_back(i);
    return kept;
  }

  template <class Predicate>
  Units those(const Units& units, Predicate predicate) const {
    Units kept;
    for (const Unit& unit : units) {
      Unit part{unit.job, {}};
      for (const auto task : unit.tasks)
        if (predicate(world_.task({unit.job, task}))) part.tasks.push_back(task);
      if (!part.tasks.empty()) kept.push_back(std::move(part));
    }
    return kept;
  }

  World& world_;
  std::uint32_t job_;
  const TaskShape* place_;  // where it may run
  const TakeRule& rule_;
  std::vector<std::uint32_t> tasks_;   // all that the job needs
  std::vector<std::uint32_t> wanted_;  // those of them that are being solved for
  Numbers recorded_;                   // victims of the largest part that was solved
  std::set<std::pair<std::uint64_t, Numbers>> tried_;  // by a hash first: most begin alike
  AttemptBound bounds_;
  std::vector<std::int32_t> evictable_;  // by node; empty: not counted
  bool is_in_vain_ = false;              // by those: all of the job cannot be placed
  std::optional<VictimStream> stream_;   // most searches end before they need it
  std::deque<Drawn> drawn_;              // from the stream, so far
  bool has_parts_ = false;               // some of them are a part of what can be taken of a job
  bool is_drawn_ = false;                // all that there are
  bool is_all_gpu_ = true;               // every task of it asks for GPUs
  std::size_t mark_ = 0;
  std::size_t kept_mark_ = 0;
};

}  // namespace

bool make_room(World& world, std::uint32_t job, const TakeRule& rule) {
  return Search(world, job, rule).run();
}

}  // namespace rota::sched
