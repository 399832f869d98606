// sched/place.cpp - node by node and domain by domain; the best fit that the gates let through.
#include "sched/place.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "common/assert.h"
#include "sched/background.h"
#include "sched/domains.h"
#include "sched/few_nodes.h"

namespace rota::sched {
namespace {

constexpr std::size_t nodes_listed_max = 64;
/// Nodes with a job's image that are looked at besides those that the index shows.
constexpr std::size_t image_nodes_max = 256;

/// What makes a node better; larger wins, then one that has the image, then the smaller number.
struct Score {
  std::int64_t topology = 0;
  bool beside_others = false;
  bool now = false;
  bool cpu_node = false;
  std::int64_t spared_gpus = 0;
  double fullness = 0;
  std::int64_t room = 0;  // where jobs are spread, the larger of two that are as empty

  friend auto operator<=>(const Score&, const Score&) = default;
};

class Placing {
 public:
  Placing(World& world, std::uint32_t job, const std::vector<std::uint32_t>& tasks,
          const PlaceOptions& options)
      : world_(world),
        job_(job),
        tasks_(tasks),
        options_(options),
        firm_(is_firm_step(world.job(job), tasks)),
        end_(has_placed(world.job(job)) ? world.end_of(job) : world.end_if_started(world.job(job))),
        with_image_(world.images.nodes_with(world.job(job).image)),
        was_evicted_(std::any_of(world.job(job).tasks.begin(), world.job(job).tasks.end(),
                                 [](const Task& task) { return task.evicted.has_value(); })) {}

  Placed run() {
    const std::size_t mark = world_.mark();
    const std::size_t kept_mark = world_.reservations.mark();
    if (!(is_plain() ? place_plain() : place_by_topology())) {
      world_.undo_to(mark);
      world_.reservations.undo_to(kept_mark);
      return {false, by_quota_, would_delay_, most_placed_};
    }
    if (!options_.only_promise) wait_for_the_others();
    return {true, by_quota_, would_delay_, most_placed_};
  }

 private:
  const SchedJob& job() const { return world_.job(job_); }
  const Gang& gang() const { return job().shape->gang; }
  std::uint32_t set_of(std::uint32_t task) const { return job().shape->tasks[task].set; }
  bool spreads() const { return job().shape->spread; }

  /// No wish about places in the network: the tasks go one after the other.
  bool is_plain() const {
    const auto has_wish = [](const auto& part) { return part.topology.has_value(); };
    return std::none_of(gang().groups.begin(), gang().groups.end(), has_wish) &&
           std::none_of(gang().sets.begin(), gang().sets.end(), has_wish);
  }

  bool place_plain() {
    if (!lies_on_few_nodes(tasks_)) return place_all(tasks_, options_.nodes);
    return place_on_few_nodes(tasks_, nodes_for(job().shape->tasks[tasks_.front()]));
  }

  bool place_by_topology() {
    // Rooms are counted place by place: not where all that is free together is too little.
    if (!world_.fleet.has_mig() &&
        world_.estimate(job(), tasks_, true)[Resource::gpu] > world_.fleet.gpu_free_total())
      return false;
    return place_group(0, nodes_for(place_of_all(*job().shape)));
  }

  bool lies_on_few_nodes(const std::vector<std::uint32_t>& tasks) const {
    return job().shape->lie == Lie::few_nodes && tasks.size() > 1;
  }

  /// It is free now, and neither promised nor to be waited for.
  bool is_spare(NodeIndex index, const Demand& demand) const {
    const FleetNode& node = world_.fleet.at(index);
    return fits_spare(world_, node, demand) &&
           (!demand.is_shared() || choose_part(node, index, demand, 0).now);
  }

  bool place_on_few_nodes(const std::vector<std::uint32_t>& tasks, NodeList nodes) {
    const Demand& first = *job().shape->tasks[tasks.front()].demand;
    if (options_.only_spare)
      std::erase_if(nodes, [&](NodeIndex node) { return !is_spare(node, first); });
    const auto chosen =
        choose_few_nodes(world_.fleet, nodes, *job().shape->tasks[tasks.front()].demand,
                         static_cast<std::uint32_t>(tasks.size()), spreads(), with_image_);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const NodeList node{chosen[i]};
      if (!place_task({job_, tasks[i]}, &node)) return false;
      most_placed_ = std::max(most_placed_, ++placed_);
    }
    return !chosen.empty();
  }

  /// Where to look for it; of those that it may run on.
  NodeList nodes_for(const TaskShape& task) {
    if (task.nodes == nullptr) return all_nodes();
    if (options_.nodes == nullptr) return *task.nodes;
    NodeList both;
    for (const NodeIndex node : *options_.nodes)
      if (task.may_run_on(node) || was_on(node)) both.push_back(node);
    return both;
  }

  bool place_all(const std::vector<std::uint32_t>& tasks, const NodeList* nodes) {
    for (const auto task : tasks) {
      if (!place_task({job_, task}, nodes)) return false;
      most_placed_ = std::max(most_placed_, ++placed_);
    }
    return true;
  }

  const NodeList& all_nodes() {
    if (options_.nodes != nullptr) return *options_.nodes;
    if (all_.empty()) {
      all_.resize(world_.fleet.size());
      std::iota(all_.begin(), all_.end(), NodeIndex{0});
    }
    return all_;
  }

  bool is_below(std::uint32_t group, std::uint32_t set) const {
    const Group& g = gang().groups[group];
    if (std::find(g.sets.begin(), g.sets.end(), set) != g.sets.end()) return true;
    return std::any_of(g.groups.begin(), g.groups.end(),
                       [&](std::uint32_t sub) { return is_below(sub, set); });
  }

  std::vector<std::uint32_t> tasks_below(std::uint32_t group) const {
    std::vector<std::uint32_t> tasks;
    for (const auto task : tasks_)
      if (is_below(group, set_of(task))) tasks.push_back(task);
    return tasks;
  }

  std::vector<std::uint32_t> tasks_in(std::uint32_t set) const {
    std::vector<std::uint32_t> tasks;
    for (const auto task : tasks_)
      if (set_of(task) == set) tasks.push_back(task);
    return tasks;
  }

  /// Tasks of the job that are there already, below the group or in the set.
  template <class Belongs>
  NodeList nodes_of_placed(Belongs belongs) const {
    NodeList nodes;
    for (std::uint32_t i = 0; i < job().tasks.size(); ++i)
      if (is_placed(job().tasks[i].state) && belongs(set_of(i)))
        nodes.push_back(job().tasks[i].spot.node);
    return nodes;
  }

  /// Tries each of the wish's node lists until `inside` succeeds in one.
  template <class Inside>
  bool in_some_domain(const std::optional<TopologyWish>& wish,
                      const std::vector<std::uint32_t>& tasks, const NodeList& placed,
                      const NodeList& nodes, Inside inside) {
    if (!wish) return inside(nodes);
    const DomainSearch search(world_, job(), tasks, *wish, nodes, placed);
    for (const std::uint32_t domain : search.order()) {
      const DomainChoice choice = search.choice(domain);
      const std::size_t mark = world_.mark();
      const std::size_t kept_mark = world_.reservations.mark();
      const std::uint32_t placed_before = placed_;
      const auto scores_before = topology_scores_;
      if (world_.policy.prefer_topology && !choice.scores.empty()) {
        topology_scores_.resize(world_.fleet.size());
        for (const auto& [node, score] : choice.scores) topology_scores_[node] = score;
      }
      const bool found = inside(choice.nodes);
      topology_scores_ = scores_before;
      if (found) return true;
      placed_ = placed_before;
      world_.undo_to(mark);
      world_.reservations.undo_to(kept_mark);
    }
    return false;
  }

  bool place_group(std::uint32_t index, const NodeList& nodes) {
    const auto tasks = tasks_below(index);
    if (tasks.empty()) return true;
    const Group& group = gang().groups[index];
    const auto placed = nodes_of_placed([&](std::uint32_t set) { return is_below(index, set); });
    return in_some_domain(group.topology, tasks, placed, nodes, [&](const NodeList& inside) {
      const auto members = members_in_order(job(), index);
      return std::all_of(members.begin(), members.end(), [&](const Member& member) {
        return member.is_group ? place_group(member.index, inside)
                               : place_set(member.index, inside);
      });
    });
  }

  bool place_set(std::uint32_t set, const NodeList& nodes) {
    const auto tasks = tasks_in(set);
    if (tasks.empty()) return true;
    const auto placed = nodes_of_placed([set](std::uint32_t other) { return other == set; });
    return in_some_domain(gang().sets[set].topology, tasks, placed, nodes,
                          [&](const NodeList& inside) { return place_inside(tasks, inside); });
  }

  bool place_inside(const std::vector<std::uint32_t>& tasks, const NodeList& nodes) {
    if (topology_scores_.empty())
      return lies_on_few_nodes(tasks) ? place_on_few_nodes(tasks, nodes) : place_all(tasks, &nodes);
    NodeList ordered = nodes;
    std::stable_sort(ordered.begin(), ordered.end(), [this](NodeIndex a, NodeIndex b) {
      return topology_score(a) > topology_score(b);
    });
    if (!lies_on_few_nodes(tasks)) return place_all(tasks, &ordered);
    NodeList best = best_that_hold(tasks, ordered, true);
    if (best.empty()) best = best_that_hold(tasks, ordered, false);
    return place_on_few_nodes(tasks, best);
  }

  /// The first of these nodes that together take the tasks, with all that have as high a score;
  /// none: all of them do not.
  NodeList best_that_hold(const std::vector<std::uint32_t>& tasks, const NodeList& ordered,
                          bool now) const {
    const auto count = static_cast<std::uint32_t>(tasks.size());
    const Demand& demand = *job().shape->tasks[tasks.front()].demand;
    std::size_t room = 0;
    NodeList best;
    for (const NodeIndex node : ordered) {
      if (room >= count && topology_score(node) < topology_score(best.back())) break;
      room += room_for(world_.fleet.at(node), demand, count, now);
      best.push_back(node);
    }
    return room >= count ? best : NodeList();
  }

  std::int64_t topology_score(NodeIndex index) const {
    return index < topology_scores_.size() ? topology_scores_[index] : 0;
  }

  /// `nodes`: where to look; none: everywhere, by the fleet's indexes where they serve.
  bool place_task(TaskRef ref, const NodeList* nodes) {
    const TaskShape& task = job().shape->tasks[ref.task];
    Choice choice;
    // Of many, the index finds the best sooner than a look at each.
    if (nodes == nullptr && task.nodes != nullptr &&
        (task.nodes->size() <= nodes_listed_max || !is_indexed(*task.demand)))
      nodes = task.nodes.get();
    if (!is_charged_by_node(*task.demand) && !passes(task.demand->charge(0))) return false;
    if (nodes == nullptr && find_least_loss(task, choice)) {
      settle(ref, choice.node, choice.level);
      return true;
    }
    if (is_indexed(*task.demand) &&
        (nodes == nullptr || (nodes == options_.nodes && options_.has_all_room)))
      look_in_index_and_images(task, choice);
    else
      for (const NodeIndex node : nodes != nullptr ? *nodes : all_nodes()) {
        // Where scores matter, nodes come in their order: none behind this one is as good.
        if (choice.node != no_node && topology_score(node) < choice.score.topology) break;
        consider(task, node, choice);
      }
    if (choice.node == no_node) return false;
    settle(ref, choice.node, 0);
    return true;
  }

  /// A request for memory is a larger part of a smaller GPU, a profile of fewer slices, and a whole
  /// node is as large as it is.
  static bool is_charged_by_node(const Demand& demand) {
    return demand.gpu == Demand::Gpu::memory || demand.is_cut() || demand.whole_node;
  }

  struct Choice {
    NodeIndex node = no_node;
    Score score;
    std::int32_t level = 0;  // of the GPU that a part is to come from; 0: whichever
  };

  /// Of those where it fits now, if that is how the site wants it. One that goes back to where it
  /// was, or waits for others to leave, is for the rules.
  bool find_least_loss(const TaskShape& task, Choice& choice) {
    if (!world_.policy.least_loss || was_evicted_ || options_.only_promise || options_.only_spare ||
        spreads() || !topology_scores_.empty())
      return false;
    const auto fits_at = [&](NodeIndex node, std::int32_t level) {
      Choice here;
      if (!consider(task, node, here, level)) return false;
      choice = here;
      choice.level = level;
      return true;
    };
    if (!world_.least_loss.find(world_.fleet, *task.demand, fits_at)) return false;
    const NodeIndex found = choice.node;
    look_at_images(found, [&](NodeIndex node) {
      return world_.least_loss.are_alike(found, node) && fits_at(node, choice.level);
    });
    return true;
  }

  /// Keeps the node if it is the best so far. True when the task would fit there now.
  bool consider(const TaskShape& task, NodeIndex index, Choice& choice,
                std::int32_t level = 0) const {
    if (!task.may_run_on(index) && !was_on(index)) return false;
    const FleetNode& node = world_.fleet.at(index);
    if (!fits_soon(node, *task.demand)) return false;
    if (options_.only_spare && !is_spare(index, *task.demand)) return false;
    if (job().shape->lie == Lie::apart && hosts_another(node, task)) return false;
    // What gives way at once delays nobody.
    const auto first = job().background
                           ? std::nullopt
                           : world_.reservations.delayed_by(job_, index, *task.demand,
                                                            stretch_on(index, *task.demand, level));
    if (first) {
      would_delay_ = first;
      return false;
    }
    if (is_charged_by_node(*task.demand) && !passes(charge_on(node, *task.demand))) return false;
    const Score score = score_of(*task.demand, index, node);
    const bool is_better = choice.node == no_node || score > choice.score ||
                           (score == choice.score && comes_first(index, choice.node));
    if (is_better) choice = {index, score, 0};
    return score.now;
  }

  /// Of two that are equal otherwise.
  bool comes_first(NodeIndex index, NodeIndex other) const {
    if (with_image_ != nullptr) {
      const bool has_image = is_listed(with_image_, index);
      if (has_image != is_listed(with_image_, other)) return has_image;
    }
    return index < other;
  }

  /// Calls `take` with nodes that have the image and might be as good as the one that was found,
  /// until it says true. Those all have larger numbers: it would not have been found before them.
  template <class Take>
  void look_at_images(NodeIndex found, Take take) const {
    if (with_image_ == nullptr || is_listed(with_image_, found)) return;
    const auto reason = would_delay_;
    auto at = std::upper_bound(with_image_->begin(), with_image_->end(), found);
    for (std::size_t i = 0; i < image_nodes_max && at != with_image_->end(); ++i, ++at)
      if (world_.fleet.at(*at).gpus_free() == world_.fleet.at(found).gpus_free() && take(*at))
        break;
    would_delay_ = reason;  // nobody is kept off a node that was only looked at for its image
  }

  /// It was evicted from there in this pass. Who was there before the rules changed may stay.
  bool was_on(NodeIndex index) const {
    if (!was_evicted_) return false;
    const auto& tasks = job().tasks;
    return std::any_of(tasks.begin(), tasks.end(), [index](const Task& task) {
      return task.evicted && task.spot.node == index;
    });
  }

  /// One that only goes back to where it was is not begun anew.
  std::int64_t end_on(NodeIndex index) const {
    if (world_.reservations.all().empty()) return end_;
    return was_on(index) ? world_.end_of(job_) : end_;
  }

  Reservations::Stretch stretch_on(NodeIndex index, const Demand& demand,
                                   std::int32_t level) const {
    const std::int64_t end = end_on(index);
    if (!demand.is_shared() || !world_.reservations.has_hold(index)) return {end, 0};
    const SharedChoice choice = choose_part(world_.fleet.at(index), index, demand, level);
    return {end, world_.shared_until(job_, choice.spot)};
  }

  /// Parts of GPUs: of such as have exactly `level` free, if there are any.
  SharedChoice choose_part(const FleetNode& node, NodeIndex index, const Demand& demand,
                           std::int32_t level) const {
    if (level > 0)
      if (const auto spot = choose_shared_at(node, index, demand, level)) return {*spot, true};
    return choose_shared(node, index, demand, world_.packs_shared(job()));
  }

  bool hosts_another(const FleetNode& node, const TaskShape& task) const {
    const JobShape& shape = *job().shape;
    return std::any_of(node.residents.begin(), node.residents.end(),
                       [&](const FleetNode::Resident& resident) {
                         if (resident.task.job != job_) return false;
                         if (resident.stay == Stay::held || resident.stay == Stay::promised)
                           return true;
                         // An elastic job may go on without what leaves, and must not meet it.
                         return shape.is_elastic() && &shape.tasks[resident.task.task] != &task;
                       });
  }

  /// Whole GPUs and fractions, packed: the tightest fit comes first in the index.
  bool is_indexed(const Demand& demand) const {
    const Policy& policy = world_.policy;
    return demand.gpu != Demand::Gpu::none && demand.mig.empty() && policy.prefer_full &&
           !policy.spread_gpu && policy.prefer_now && policy.prefer_beside_others &&
           topology_scores_.empty();
  }

  void look_in_index_and_images(const TaskShape& task, Choice& choice) const {
    look_in_index(task, choice);
    if (choice.node == no_node) return;
    look_at_images(choice.node, [&](NodeIndex node) {
      consider(task, node, choice);
      return choice.node == node;
    });
  }

  void look_in_index(const TaskShape& task, Choice& choice) const {
    const Demand& demand = *task.demand;
    if (demand.is_shared()) {
      for (const NodeIndex node : world_.fleet.with_shared()) consider(task, node, choice);
      if (choice.node != no_node && choice.score.beside_others) return;
    }
    const std::int64_t least = demand.gpu == Demand::Gpu::whole ? demand.devices : 1;
    if (spreads()) return look_for_emptiest(task, least, choice);
    // In this order, the first that fits now cannot be beaten by those behind it.
    const auto& idle = world_.fleet.with_idle_gpus();
    if (!demand.is_shared())
      for (auto at = idle.lower_bound({least, NodeIndex{0}}); at != idle.end(); ++at)
        if (consider(task, at->second, choice)) return;
    // Where none does, the first that fits at all is as good; for parts of GPUs some may still fit.
    const auto& free = world_.fleet.by_free_gpus();
    for (auto at = free.lower_bound({least, NodeIndex{0}}); at != free.end(); ++at) {
      if (consider(task, at->second, choice)) return;
      if (!demand.is_shared() && choice.node == at->second) return;
    }
  }

  /// Those with most free GPUs first, by number; one that is empty cannot be beaten by those
  /// behind it.
  void look_for_emptiest(const TaskShape& task, std::int64_t least, Choice& choice) const {
    const auto& index = world_.fleet.by_free_gpus();
    for (auto end = index.end(); end != index.begin();) {
      const std::int64_t free = std::prev(end)->first;
      if (free < least) return;
      const auto begin = index.lower_bound({free, NodeIndex{0}});
      for (auto at = begin; at != end; ++at) {
        consider(task, at->second, choice);
        if (choice.score.now && choice.score.fullness >= 1) return;
      }
      end = begin;
    }
  }

  /// The gates once more, task by task.
  bool passes(const Amount& charge) const {
    if (!world_.policy.check_quota || job().background) return true;
    const bool stops = world_.quotas.over_limit(job().project, charge) ||
                       (firm_ && world_.quotas.over_quota_firm(job().project, charge));
    by_quota_ = by_quota_ || stops;
    return !stops;
  }

  Score score_of(const Demand& demand, NodeIndex index, const FleetNode& node) const {
    const Policy& policy = world_.policy;
    const bool wants_gpu = demand.wants_gpu();
    Score score;
    score.topology = topology_score(index);
    score.beside_others =
        policy.prefer_beside_others && !spreads() && fits_beside_others(node, demand);
    score.now = policy.prefer_now && fits_now(node, demand);
    score.cpu_node = policy.prefer_cpu_nodes && !wants_gpu && !node.has_gpus();
    if (policy.spare_free_gpus && !wants_gpu) score.spared_gpus = -node.gpus_free();
    const double free = static_cast<double>(wants_gpu ? node.gpus_free() : node.cpu_free());
    const double size = static_cast<double>(wants_gpu ? node.gpu_count : node.cpu_milli);
    if (spreads()) score.room = wants_gpu ? node.gpus_free() : node.cpu_free();
    if (spreads() || (wants_gpu ? policy.spread_gpu : policy.spread_cpu))
      score.fullness = size > 0 ? free / size : 0;
    else if (policy.prefer_full)
      score.fullness = -free;
    return score;
  }

  void settle(TaskRef ref, NodeIndex index, std::int32_t level) {
    const FleetNode& node = world_.fleet.at(index);
    const Demand& demand = world_.demand(ref);
    Spot spot;
    spot.node = index;
    bool now = !options_.only_promise && fits_now(node, demand);
    if (!job().background)
      world_.reservations.take(job_, index, demand, stretch_on(index, demand, level));
    if (demand.is_shared()) {
      const SharedChoice choice = choose_part(node, index, demand, level);
      spot = choice.spot;
      now = now && choice.now;
    }
    if (was_evicted_from(ref, spot)) {
      world_.restore(ref);
    } else if (now) {
      spot.gpus = choose_whole_for(node, demand);
      world_.start(ref, std::move(spot));
    } else {
      world_.promise(ref, std::move(spot));
    }
  }

  bool was_evicted_from(TaskRef ref, const Spot& spot) const {
    if (job().tasks.empty()) return false;
    const Task& task = world_.task(ref);
    return task.evicted && task.spot.node == spot.node && task.spot.shared == spot.shared &&
           task.spot.cuts == spot.cuts;
  }

  /// A set with a promise and fewer than its minimum really there makes all of this step wait.
  void wait_for_the_others() {
    std::vector<std::uint32_t> active(gang().sets.size());
    std::vector<bool> promised(gang().sets.size());
    for (std::uint32_t i = 0; i < job().tasks.size(); ++i) {
      active[set_of(i)] += is_active(job().tasks[i].state);
      if (job().tasks[i].state == TaskState::promised) promised[set_of(i)] = true;
    }
    bool all_wait = false;
    for (std::size_t i = 0; i < active.size(); ++i)
      all_wait = all_wait || (promised[i] && active[i] < gang().sets[i].minimum);
    if (!all_wait) return;
    for (const auto task : tasks_)
      if (job().tasks[task].state == TaskState::starting) world_.demote({job_, task});
  }

  World& world_;
  std::uint32_t job_;
  const std::vector<std::uint32_t>& tasks_;
  const PlaceOptions& options_;
  const bool firm_;                   // it has to lie within the quota
  std::int64_t end_;                  // of the job, if it starts now
  const NodeList* const with_image_;  // nodes that have its image; none: none has, or it has none
  NodeList all_;
  std::vector<std::int64_t> topology_scores_;  // by node; empty: none is better than another
  mutable bool by_quota_ = false;
  const bool was_evicted_;  // some of it, in this pass: most were not
  mutable std::optional<std::uint32_t> would_delay_;
  std::uint32_t placed_ = 0;
  std::uint32_t most_placed_ = 0;
};

}  // namespace

Placed place(World& world, std::uint32_t job, const std::vector<std::uint32_t>& tasks,
             const PlaceOptions& options) {
  return Placing(world, job, tasks, options).run();
}

std::optional<WaitCause> stopped_at_gate(const World& world, const SchedJob& job,
                                         const std::vector<std::uint32_t>& tasks) {
  if (!world.policy.check_quota) return std::nullopt;
  const Amount request = world.estimate(job, tasks, true);
  if (const auto over = world.quotas.over_limit(job.project, request))
    return WaitCause{WaitCause::Kind::limit, *over};
  if (!is_firm_step(job, tasks)) return std::nullopt;
  if (const auto over = world.quotas.over_quota_firm(job.project, request))
    return WaitCause{WaitCause::Kind::quota, *over};
  return std::nullopt;
}

}  // namespace rota::sched
