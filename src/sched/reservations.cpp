// sched/reservations.cpp - walks through the ends of running jobs until there is room.
#include "sched/reservations.h"

#include <algorithm>
#include <tuple>

#include "sched/world.h"

namespace rota::sched {

/// The future of the nodes as far as one job is concerned: how many of its tasks each would take.
class ReservationSearch {
 public:
  ReservationSearch(const World& world, Reservations& kept, std::uint32_t job)
      : world_(world),
        kept_(kept),
        job_(job),
        shape_(*world.job(job).shape),
        task_(&shape_.tasks.front()),
        wish_(shape_.gang.required_topology()) {
    for (const TaskShape& task : shape_.tasks)
      if (task.demand->devices > task_->demand->devices) task_ = &task;
    demand_ = task_->demand.get();
    wanted_ = static_cast<std::int64_t>(shape_.is_elastic() ? shape_.gang.sets.front().minimum
                                                            : shape_.tasks.size());
    group_ = wanted_;
    if (const TopologyWish* wish = shape_.gang.required_of_sets()) {
      wish_ = wish;
      group_ = shape_.gang.sets.front().minimum;
    }
    if (wish_ != nullptr) topology_ = &world.topologies[wish_->topology];
    found_.resize(topology_ == nullptr ? 1 : topology_->size());
  }

  void run() {
    if (!demand_->mig.empty()) return;
    if (task_->nodes != nullptr && task_->nodes->empty()) return;
    for_nodes([this](NodeIndex node) { count(node); });
    std::int64_t start = world_.now;
    for (const auto& [end, job] : world_.ends()) {
      if (has_enough()) break;
      start = std::max(world_.now, end);
      const SchedJob& ending = world_.job(job);
      for (std::uint32_t i = 0; i < ending.tasks.size(); ++i)
        if (is_active(ending.tasks[i].state)) free(ending.tasks[i].spot, ending.demand(i));
    }
    if (!has_enough()) return;
    kept_.all_.push_back({job_, start, demand_->is_shared()});
    keep(start);
  }

 private:
  using Room = Reservations::Room;

  Room room_on(NodeIndex index) const {
    const FleetNode& node = world_.fleet.at(index);
    Room room{node.gpus_free(), empty_to_cut(node), node.cpu_free(), node.memory_free()};
    if (const auto at = freed_.find(index); at != freed_.end()) {
      room.gpus += at->second.gpus;
      room.gpus_to_cut += at->second.gpus_to_cut;
      room.cpu += at->second.cpu;
      room.memory += at->second.memory;
    }
    return room;
  }

  /// Nodes that may have room for a task: now, or by what has come free on the way.
  template <class Visit>
  void for_nodes(Visit visit) const {
    const auto& free = world_.fleet.by_free_gpus();
    const std::int64_t least = demand_->is_cut() ? 1 : demand_->devices;
    for (auto at = free.lower_bound({least, NodeIndex{0}}); at != free.end(); ++at)
      visit(at->second);
    // Some of those that are always cut may be empty.
    if (demand_->is_cut())
      for (const NodeIndex node : world_.fleet.with_shared())
        if (world_.fleet.at(node).gpus_free() < least) visit(node);
    for (const auto& [node, room] : freed_)
      if (world_.fleet.at(node).gpus_free() < least &&
          !(demand_->is_cut() && world_.fleet.with_shared().contains(node)))
        visit(node);
  }

  /// GPUs that one task has, of those that nobody else has; parts of GPUs count as whole ones. 0:
  /// those of this node do not do.
  std::int64_t gpus_needed(const FleetNode& node) const {
    if (demand_->is_cut()) {
      const MigAxis::Profile* const profile = cut_on(node, *demand_);
      const std::int64_t each = profile == nullptr ? 0 : node.cuts->axis->room(*profile, 0, 0);
      return each == 0 ? 0 : (demand_->devices + each - 1) / each;
    }
    const bool is_too_large = (demand_->gpu == Demand::Gpu::memory && !node.gpu_memory_known) ||
                              demand_->share_mib(node.gpu_memory_mib) > node.gpu_memory_mib;
    return demand_->is_shared() && is_too_large ? 0 : demand_->devices;
  }

  std::int64_t tasks_in(const FleetNode& node, const Room& room) const {
    std::int64_t tasks = shape_.lie == Lie::few_nodes ? wanted_ : 1;
    if (demand_->devices > 0) {
      const std::int64_t gpus = gpus_needed(node);
      if (gpus == 0) return 0;
      tasks = std::min(tasks, (demand_->is_cut() ? room.gpus_to_cut : room.gpus) / gpus);
    }
    if (const std::int64_t cpu = cpu_on(node, *demand_); cpu > 0)
      tasks = std::min(tasks, room.cpu / cpu);
    if (demand_->memory_bytes > 0) tasks = std::min(tasks, room.memory / demand_->memory_bytes);
    return std::max<std::int64_t>(0, tasks);
  }

  /// All of the job, or each of its segments, has to be in one of these: the places of the level
  /// that it requires, else the whole cluster. None: the node is outside of them.
  std::optional<std::uint32_t> area_of(NodeIndex index) const {
    return topology_ == nullptr ? 0 : topology_->place_of(index, *wish_->required);
  }

  void count(NodeIndex index) {
    const auto area = area_of(index);
    if (area) add(*area, tasks_on(index));
  }

  void add(std::uint32_t area, std::int64_t tasks) {
    groups_ -= found_[area] / group_;
    found_[area] += tasks;
    const std::int64_t groups = found_[area] / group_;
    groups_ += groups;
    if (groups > 0 && std::find(areas_.begin(), areas_.end(), area) == areas_.end())
      areas_.push_back(area);
  }
  bool has_enough() const { return groups_ * group_ >= wanted_; }

  /// What is kept for jobs before this one is not there for it, whenever it starts.
  std::int64_t tasks_on(NodeIndex index) const {
    const FleetNode& node = world_.fleet.at(index);
    if (!node.usable || !task_->may_run_on(index)) return 0;
    std::int64_t tasks = tasks_in(node, room_on(index));
    if (const auto holds = kept_.holds_.find(index); holds != kept_.holds_.end())
      for (const Reservations::Hold& hold : holds->second)
        tasks = std::min(tasks, tasks_in(node, hold.spare));
    return tasks;
  }

  void free(const Spot& spot, const Demand& demand) {
    const NodeIndex index = spot.node;
    const auto area = area_of(index);
    if (!task_->may_run_on(index) || !area) return;
    add(*area, -tasks_on(index));
    Room& freed = freed_[index];
    free_gpus(spot, demand, freed);
    freed.cpu += cpu_on(world_.fleet.at(index), demand);
    freed.memory += demand.memory_bytes;
    count(index);
  }

  void free_gpus(const Spot& spot, const Demand& demand, Room& freed) {
    const FleetNode& node = world_.fleet.at(spot.node);
    const auto can_be_cut = [&node](std::uint32_t gpu) {
      return node.cuts != nullptr && node.cuts->use_of(gpu) == NodeCuts::Use::either;
    };
    freed.gpus += demand.whole_node ? std::ssize(spot.gpus) : demand.whole_gpus();
    for (const std::uint32_t gpu : spot.gpus) freed.gpus_to_cut += can_be_cut(gpu);
    // One that several have a part of is free when the last of them is gone.
    for (const std::uint32_t id : spot.shared) {
      const SharedGpu& gpu = *node.find_shared(id);
      const auto [left, is_new] =
          members_left_.try_emplace({spot.node, id}, gpu.members - gpu.members_leaving);
      if (--left->second > 0 || (gpu.gpu && node.is_absent(*gpu.gpu))) continue;
      if (!gpu.is_fixed) ++freed.gpus;
      if (gpu.is_fixed ? is_empty_to_cut(node, gpu) : gpu.gpu && can_be_cut(*gpu.gpu))
        ++freed.gpus_to_cut;
    }
  }

  /// The tightest nodes that have room then.
  void keep(std::int64_t start) {
    struct Choice {
      std::int64_t gpus, cpu;
      bool lacks_image;
      NodeIndex node;
      std::int64_t tasks;
      std::uint32_t area;
    };
    std::vector<Choice> choices;
    const NodeList* const with_image = world_.images.nodes_with(world_.job(job_).image);
    for_nodes([&](NodeIndex node) {
      const auto area = area_of(node);
      const std::int64_t tasks = area ? tasks_on(node) : 0;
      if (tasks == 0) return;
      const Room room = room_on(node);
      const bool lacks_image = with_image != nullptr && !is_listed(with_image, node);
      choices.push_back({room.gpus, room.cpu, lacks_image, node, tasks, *area});
    });
    std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return std::tie(a.gpus, a.cpu, a.lacks_image, a.node) <
             std::tie(b.gpus, b.cpu, b.lacks_image, b.node);
    });
    std::int64_t left = wanted_;
    for (const std::uint32_t area : areas_) {
      std::int64_t here = std::min(left, found_[area] / group_ * group_);
      left -= here;
      for (const Choice& choice : choices) {
        if (here == 0) break;
        if (choice.area != area) continue;
        const std::int64_t tasks = std::min(here, choice.tasks);
        keep_on(choice.node, tasks, start);
        here -= tasks;
      }
    }
  }

  void keep_on(NodeIndex node, std::int64_t tasks, std::int64_t start) {
    const FleetNode& there = world_.fleet.at(node);
    const bool is_both =
        there.cuts != nullptr && std::find(there.cuts->use.begin(), there.cuts->use.end(),
                                           NodeCuts::Use::either) != there.cuts->use.end();
    Room spare = room_on(node);
    if (demand_->devices > 0)
      Reservations::take_gpus(spare, is_both, *demand_, tasks * gpus_needed(there));
    // Who has the whole node leaves no CPU, and so nothing, to others.
    spare.cpu -= tasks * cpu_on(there, *demand_);
    spare.memory -= tasks * demand_->memory_bytes;
    kept_.holds_[node].push_back(
        {job_, kept_.all_.size() - 1, start, spare, is_both, there.cpu_milli});
  }

  const World& world_;
  Reservations& kept_;
  std::uint32_t job_;
  const JobShape& shape_;
  const TaskShape* task_;           // the largest: the others fit where that does
  const Demand* demand_ = nullptr;  // of that
  std::int64_t wanted_ = 0;
  const TopologyWish* wish_;            // that requires a level; else none
  const Topology* topology_ = nullptr;  // the same
  std::int64_t group_ = 0;              // tasks that go together: all, or those of a segment
  std::vector<std::int64_t> found_;     // by area
  std::int64_t groups_ = 0;             // that have room in some area
  std::vector<std::uint32_t> areas_;    // that have room for one, the first first
  std::map<NodeIndex, Room> freed_;
  std::map<std::pair<NodeIndex, std::uint32_t>, std::uint32_t> members_left_;  // of shared GPUs
};

void Reservations::clear() {
  all_.clear();
  turns_.clear();
  log_.clear();
  holds_.clear();
}

std::optional<std::int64_t> Reservations::start_of(std::uint32_t job) const {
  for (const Reservation& reservation : all_)
    if (reservation.job == job) return reservation.start;
  return std::nullopt;
}

NodeList Reservations::nodes_kept_for(std::uint32_t job) const {
  NodeList nodes;
  for (const auto& [node, holds] : holds_)
    if (std::any_of(holds.begin(), holds.end(),
                    [job](const Hold& hold) { return hold.job == job; }))
      nodes.push_back(node);
  return nodes;
}

std::optional<std::int64_t> Reservations::exact_start_of(std::uint32_t job) const {
  for (const Reservation& reservation : all_)
    if (reservation.job == job && !reservation.is_late) return reservation.start;
  return std::nullopt;
}

bool Reservations::fits(const Hold& hold, const Demand& demand, std::int64_t gpus) {
  const Room& room = hold.spare;
  return (gpus == 0 || gpus <= (demand.is_cut() ? room.gpus_to_cut : room.gpus)) &&
         cpu_of(demand, hold) <= room.cpu && demand.memory_bytes <= room.memory;
}

/// Which GPUs these will be is not known: where some can be both, they are missing for both uses.
void Reservations::take_gpus(Room& room, bool is_both, const Demand& demand, std::int64_t gpus) {
  if (is_both || !demand.is_cut()) room.gpus -= gpus;
  if (is_both || demand.is_cut()) room.gpus_to_cut -= gpus;
}

std::optional<std::uint32_t> Reservations::delayed_by(std::uint32_t job, NodeIndex node,
                                                      const Demand& demand,
                                                      const Stretch& stretch) const {
  const auto holds = holds_.find(node);
  if (holds == holds_.end()) return std::nullopt;
  const std::size_t before = turn_of(job);
  for (const Hold& hold : holds->second)
    if (hold.rank < before && stretch.end > hold.from &&
        !fits(hold, demand, gpus_of(demand, stretch, hold.from)))
      return hold.job;
  return std::nullopt;
}

void Reservations::change(const Change& change) {
  if (!holds_.contains(change.node)) return;
  log_.push_back(change);
  apply(change);
}

void Reservations::apply(const Change& change) {
  for (Hold& hold : holds_.at(change.node)) {
    if (change.stretch.end <= hold.from || change.job == hold.job) continue;
    take_gpus(hold.spare, hold.is_both, *change.demand,
              -change.sign * gpus_of(*change.demand, change.stretch, hold.from));
    hold.spare.cpu += change.sign * cpu_of(*change.demand, hold);
    hold.spare.memory += change.sign * change.demand->memory_bytes;
  }
}

void Reservations::undo_to(std::size_t mark) {
  while (log_.size() > mark) {
    Change change = log_.back();
    log_.pop_back();
    change.sign = -change.sign;
    apply(change);
  }
}

void Reservations::reserve(const World& world, std::uint32_t job) {
  log_.clear();  // what was taken before stays: a new hold knows of it already
  turns_.emplace(job, all_.size());
  ReservationSearch(world, *this, job).run();
}

}  // namespace rota::sched
