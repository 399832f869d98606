// sched/attempt_bound.cpp - counts whole GPUs: what victims would leave, and who takes it first.
#include "sched/attempt_bound.h"

#include <algorithm>

namespace rota::sched {
namespace {

/// One set of tasks that start together or not at all, wherever.
bool is_plain(const JobShape& shape) {
  const Gang& gang = shape.gang;
  return gang.sets.size() == 1 && gang.groups.size() == 1 && !gang.sets.front().topology &&
         !gang.groups.front().topology && gang.sets.front().minimum == shape.tasks.size();
}

/// What is there can be had again by whoever leaves it.
bool is_whole(const FleetNode& node) { return node.usable && node.gpus_present == node.gpu_count; }

bool is_within_limits(const QuotaTree& quotas, QuotaIndex project) {
  for (QuotaIndex i = project; i != quota_root; i = quotas.at(i).parent)
    if (!within(quotas.at(i).held, quotas.at(i).terms.limit)) return false;
  return true;
}

double age_of(const World& world, std::uint32_t job) {
  const std::int64_t since = world.job(job).works_since();
  return since == never ? 0 : static_cast<double>(world.now - since);
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t gpus_left_by(const World& world, TaskRef ref) {
  const Demand& demand = world.demand(ref);
  const Spot& spot = world.task(ref).spot;
  if (!demand.whole_node) return std::max<std::int64_t>(1, demand.devices);
  return std::max(
      {std::int64_t{1}, std::ssize(spot.gpus), whole_gpus_of(world.fleet.at(spot.node))});
}

Amount charge_of(const World& world, const Unit& unit) {
  Amount sum;
  for (const auto task : unit.tasks) sum += world.task({unit.job, task}).charge;
  return sum;
}

double work_lost(const World& world, std::span<const Unit> moved) {
  double lost = 0;
  for (const Unit& unit : moved)
    for (const auto task : unit.tasks)
      lost += age_of(world, unit.job) *
              static_cast<double>(world.task({unit.job, task}).charge[Resource::gpu]);
  return lost;
}

AttemptBound::AttemptBound(const World& world, std::uint32_t taker)
    : world_(world),
      taker_(taker),
      job_(world.job(taker)),
      place_(&place_of_all(*job_.shape)),
      end_(has_placed(job_) ? world.end_of(taker) : world.end_if_started(job_)) {}

void AttemptBound::ask_for(const std::vector<std::uint32_t>& wanted, std::optional<double> worth) {
  wanted_ = wanted;
  worth_ = worth;
  request_ = world_.estimate(job_, wanted);
  is_counted_ = false;
  size_ = 0;
  // One that only goes back to where it was is not begun anew.
  if (std::any_of(job_.tasks.begin(), job_.tasks.end(),
                  [](const Task& task) { return task.evicted.has_value(); }))
    return;
  const Demand& first = job_.demand(wanted.front());
  std::int64_t size = first.devices;
  cpu_milli_ = first.cpu_milli;
  memory_bytes_ = first.memory_bytes;
  for (const auto task : wanted) {
    const Demand& demand = job_.demand(task);
    if (demand.gpu != Demand::Gpu::whole) return;
    size = std::min<std::int64_t>(size, demand.devices);
    cpu_milli_ = std::min(cpu_milli_, demand.cpu_milli);
    memory_bytes_ = std::min(memory_bytes_, demand.memory_bytes);
  }
  size_ = size;
}

void AttemptBound::add(const Unit& unit) {
  const SchedJob& job = world_.job(unit.job);
  Victim& victim = victims_.emplace_back();
  victim.job = unit.job;
  victim.project = job.project;
  victim.step = world_.estimate(job, unit.tasks);
  victim.end = world_.end_of(unit.job);
  victim.task_count = static_cast<std::uint32_t>(unit.tasks.size());
  victim.is_simple =
      is_plain(*job.shape) && unit.tasks.size() == job.tasks.size() && !job.semi && !job.background;
  victim.is_counted =
      job.shape->lie != Lie::apart || unit.tasks.size() == 1 || job_.shape->lie == Lie::apart;
  victim.key = world_.key_to_take(Fill::below, unit.job);
  victim.part_begin = static_cast<std::uint32_t>(parts_.size());
  victim.least = std::numeric_limits<std::int64_t>::max();
  const double age = age_of(world_, unit.job);
  for (const auto index : unit.tasks) {
    const Task& task = job.tasks[index];
    const Demand& demand = job.demand(index);
    victim.charge += task.charge;
    victim.least = std::min<std::int64_t>(victim.least, demand.devices);
    victim.most = std::max<std::int64_t>(victim.most, demand.devices);
    victim.gpus += demand.devices;
    victim.cpu_milli = std::max(victim.cpu_milli, demand.cpu_milli);
    victim.memory_bytes = std::max(victim.memory_bytes, demand.memory_bytes);
    const bool is_there = is_active(task.state);
    victim.is_simple = victim.is_simple && is_there && demand.gpu != Demand::Gpu::memory;
    const auto& nodes = job.shape->tasks[index].nodes;
    victim.is_counted = victim.is_counted && demand.gpu == Demand::Gpu::whole &&
                        demand.mig.empty() && !demand.whole_node &&
                        is_whole(world_.fleet.at(task.spot.node)) &&
                        (nodes == nullptr || nodes == place_->nodes);
    if (!demand.wants_gpu() && !demand.whole_node) continue;
    const std::int64_t gpus = gpus_left_by(world_, {unit.job, index});
    // A promise is taken back at no cost.
    const double cost = is_there ? age * static_cast<double>(task.charge[Resource::gpu]) : 0;
    parts_.push_back({task.spot.node, gpus, cost / static_cast<double>(gpus)});
  }
  victim.part_end = static_cast<std::uint32_t>(parts_.size());
  if (!victim.is_simple || !victim.is_counted) return;
  const std::int64_t end = world_.end_if_started(job);
  is_counted_ = is_counted_ && end >= restart_end_;
  restart_end_ = std::min(restart_end_, end);
}

AttemptBound::Room AttemptBound::room(NodeIndex node, std::int64_t free, std::int64_t allowed,
                                      std::int64_t usable) const {
  const std::int64_t most = std::min(free, allowed);
  std::int64_t places = 0;
  if (most >= size_ && place_->may_run_on(node))
    places = job_.shape->lie == Lie::apart ? 1 : most / size_;
  const std::int64_t rest = std::max<std::int64_t>(0, std::min(usable, free - places * size_));
  return {static_cast<std::int32_t>(places), static_cast<std::int32_t>(rest)};
}

void AttemptBound::count_nodes() {
  rooms_.assign(world_.fleet.size(), {});
  touched_at_.resize(world_.fleet.size(), none);
  rests_.assign(1, 0);
  places_ = 0;
  const auto nothing = [](std::int64_t) { return std::int64_t{0}; };
  const auto& nodes = world_.fleet.by_free_gpus();
  for (auto at = nodes.lower_bound({1, NodeIndex{0}}); at != nodes.end(); ++at) {
    const auto [free, node] = *at;
    const Room here =
        room(node, free, world_.reservations.gpus_allowed(taker_, node, end_, nothing),
             world_.reservations.gpus_spare(node, restart_end_));
    rooms_[node] = here;
    places_ += here.places;
    const auto rest = static_cast<std::size_t>(here.rest);
    if (rest >= rests_.size()) rests_.resize(rest + 1);
    ++rests_[rest];
  }
  is_counted_ = true;
}

/// Finds the nodes that these would leave, and who would leave them.
void AttemptBound::touch(const std::vector<std::uint32_t>& units) {
  for (const Touched& each : touched_) touched_at_[each.node] = none;
  touched_.clear();
  links_.clear();
  for (const std::uint32_t unit : units) {
    const Victim& victim = victims_[unit];
    for (std::uint32_t i = victim.part_begin; i < victim.part_end; ++i) {
      const Part& part = parts_[i];
      std::uint32_t& at = touched_at_[part.node];
      if (at == none) {
        at = static_cast<std::uint32_t>(touched_.size());
        touched_.push_back({part.node, 0, none});
      }
      Touched& there = touched_[at];
      links_.push_back({victim.end, part.gpus, part.cost, there.first});
      there.first = static_cast<std::uint32_t>(links_.size() - 1);
      there.gpus += part.gpus;
    }
  }
}

AttemptBound::Room AttemptBound::room_of(const Touched& touched) const {
  const FleetNode& node = world_.fleet.at(touched.node);
  if (!node.usable) return {};
  const std::int64_t free = node.gpus_free() + touched.gpus;
  if (!world_.reservations.has_hold(touched.node)) return room(touched.node, free, free, free);
  const auto freed_after = [&](std::int64_t from) {
    std::int64_t gpus = 0;
    for (std::uint32_t at = touched.first; at != none; at = links_[at].next)
      if (links_[at].end > from) gpus += links_[at].gpus;
    return gpus;
  };
  const std::int64_t spare =
      std::min(node.gpus_free(), world_.reservations.gpus_spare(touched.node, restart_end_));
  return room(touched.node, free,
              world_.reservations.gpus_allowed(taker_, touched.node, end_, freed_after),
              touched.gpus + std::max<std::int64_t>(0, spare));
}

bool AttemptBound::is_hopeless(const std::vector<std::uint32_t>& units) {
  if (is_blind()) return false;
  if (!is_counted_) count_nodes();
  touch(units);
  const auto wanted = static_cast<std::int64_t>(wanted_.size());
  std::int64_t places = places_;
  for (const Touched& each : touched_) places += room_of(each).places - rooms_[each.node].places;
  if (places < wanted) return true;
  if (worth_ && wanted > places_ && is_too_dear(wanted - places_)) return true;
  return leave_too_little(units);
}

/// Whoever comes back to its node has not moved. So for a place that is not there yet as many GPUs
/// as it lacks have to be left for good: those that cost least.
bool AttemptBound::is_too_dear(std::int64_t missing) {
  struct Cost {
    double each;
    std::int64_t gpus;
  };
  std::vector<Cost> costs;
  std::vector<double> places;
  const auto nothing = [](std::int64_t) { return std::int64_t{0}; };
  for (const Touched& touched : touched_) {
    const FleetNode& node = world_.fleet.at(touched.node);
    if (!node.usable || !place_->may_run_on(touched.node)) continue;
    const std::int64_t had = std::min(
        node.gpus_free(), world_.reservations.gpus_allowed(taker_, touched.node, end_, nothing));
    const std::int64_t places_had = rooms_[touched.node].places;
    if (places_had > 0 && job_.shape->lie == Lie::apart) continue;
    const std::size_t known = places.size();
    costs.clear();
    for (std::uint32_t at = touched.first; at != none; at = links_[at].next)
      costs.push_back({links_[at].cost, links_[at].gpus});
    std::sort(costs.begin(), costs.end(),
              [](const Cost& a, const Cost& b) { return a.each < b.each; });
    std::int64_t lacks = (places_had + 1) * size_ - had;
    double cost = 0;
    for (Cost& next : costs) {
      while (next.gpus > 0) {
        const std::int64_t gpus = std::min(lacks, next.gpus);
        cost += static_cast<double>(gpus) * next.each;
        next.gpus -= gpus;
        lacks -= gpus;
        if (lacks > 0) break;
        places.push_back(cost);
        cost = 0;
        lacks = size_;
      }
    }
    if (job_.shape->lie == Lie::apart && places.size() > known) places.resize(known + 1);
  }
  const auto count = static_cast<std::size_t>(missing);
  if (places.size() < count) return true;
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count - 1),
                   places.end());
  double least = 0;
  for (std::size_t i = 0; i < count; ++i) least += places[i];
  constexpr double rounding = 1e-9;
  return least * (1 - rounding) >= *worth_;
}

/// Victims of a project are served in their order, as long as it comes before the taker's. That of
/// projects under the same parent depends on these two alone.
AttemptBound::Returning AttemptBound::returning(const std::vector<std::uint32_t>& units) {
  const QuotaTree& quotas = world_.quotas;
  std::vector<const Victim*> victims;
  Amount lost_by_taker;
  for (const std::uint32_t unit : units) {
    const Victim& victim = victims_[unit];
    if (victim.project == job_.project)
      lost_by_taker += victim.charge;
    else if (quotas.at(victim.project).parent == quotas.at(job_.project).parent)
      victims.push_back(&victim);
  }
  std::sort(victims.begin(), victims.end(), [](const Victim* a, const Victim* b) {
    return a->project != b->project ? a->project < b->project : a->key < b->key;
  });
  const QuotaNode& own = quotas.at(job_.project);
  const Amount held = own.held - lost_by_taker, next = held + request_;
  const Standing taker({&own, held, next, next}, quotas.total());
  Returning all{0, std::vector<std::int64_t>(static_cast<std::size_t>(size_) + 1)};
  for (std::size_t begin = 0, end = 0; begin < victims.size(); begin = end) {
    const QuotaNode& project = quotas.at(victims[begin]->project);
    Amount left = project.held;
    bool is_simple = is_within_limits(quotas, victims[begin]->project);
    for (; end < victims.size() && victims[end]->project == victims[begin]->project; ++end) {
      left -= victims[end]->charge;
      is_simple = is_simple && victims[end]->is_simple;
    }
    for (std::size_t i = begin; i < end && is_simple; ++i) {
      const Victim& victim = *victims[i];
      const Amount would_hold = left + victim.step;
      if (compare(Standing({&project, left, would_hold, would_hold}, quotas.total()), taker) > 0)
        break;
      left += victim.charge;
      // Else it may find no place where the taker does.
      if (!victim.is_counted || victim.most > size_ || victim.task_count > wanted_.size() ||
          victim.cpu_milli > cpu_milli_ || victim.memory_bytes > memory_bytes_)
        continue;
      all.gpus += victim.gpus;
      for (std::int64_t gpus = 1; gpus <= victim.least; ++gpus)
        all.tasks[static_cast<std::size_t>(gpus)] += victim.task_count;
    }
  }
  return all;
}

/// Those who come back first fill what is of no use to the taker, and then its places.
bool AttemptBound::leave_too_little(const std::vector<std::uint32_t>& units) {
  if (size_ > static_cast<std::int64_t>(size_max)) return false;
  const Returning back = returning(units);
  if (back.gpus == 0) return false;
  std::int64_t places = places_;
  std::vector<std::int64_t> rests = rests_;
  for (const Touched& each : touched_) {
    const Room before = rooms_[each.node], after = room_of(each);
    places += after.places - before.places;
    if (world_.fleet.at(each.node).usable && world_.fleet.at(each.node).gpus_free() > 0)
      --rests[static_cast<std::size_t>(before.rest)];
    const auto rest = static_cast<std::size_t>(after.rest);
    if (rest >= rests.size()) rests.resize(rest + 1);
    ++rests[rest];
  }
  const auto wanted = static_cast<std::int64_t>(wanted_.size());
  std::int64_t rest = 0;
  for (std::size_t i = 1; i < rests.size(); ++i) rest += rests[i] * static_cast<std::int64_t>(i);
  if (back.gpus > rest && places - divided_up(back.gpus - rest, size_) < wanted) return true;
  for (std::int64_t gpus = 2; gpus <= size_; ++gpus) {
    std::int64_t tasks = back.tasks[static_cast<std::size_t>(gpus)];
    if (tasks == 0) return false;
    for (std::size_t i = static_cast<std::size_t>(gpus); i < rests.size(); ++i)
      tasks -= rests[i] * (static_cast<std::int64_t>(i) / gpus);
    // So many find room in the place of one task of the taker.
    const std::int64_t in_place = divided_up(size_, gpus);
    if (tasks > 0 && places - divided_up(tasks, in_place) < wanted) return true;
  }
  return false;
}

}  // namespace rota::sched
