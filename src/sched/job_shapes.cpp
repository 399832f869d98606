// sched/job_shapes.cpp - from requests to tasks, and whether they would ever fit.
#include "sched/job_shapes.h"

#include <algorithm>

#include "common/format.h"
#include "sched/few_nodes.h"

namespace rota::sched {
namespace {

constexpr std::size_t entries_kept = 1'000;

/// `devices` GPUs, or a part of each.
void ask_for_gpus(Demand& demand, std::uint32_t share, std::uint32_t memory_mib) {
  demand.gpu = demand.devices == 0 ? Demand::Gpu::none
               : memory_mib > 0    ? Demand::Gpu::memory
               : share > 0         ? Demand::Gpu::portion
                                   : Demand::Gpu::whole;
  if (demand.gpu == Demand::Gpu::portion) demand.portion = share;
  if (demand.gpu == Demand::Gpu::memory) demand.memory_mib = memory_mib;
}

/// `devices` MIG instances.
void ask_for_cuts(Demand& demand, const std::string& profile, std::int64_t amount) {
  demand.gpu = demand.devices == 0 ? Demand::Gpu::none : Demand::Gpu::cut;
  demand.profile = profile;
  demand.portion = amount;
}

Demand demand_of(const JobSpec& spec, const Fleet& fleet, std::uint32_t tasks, bool with_node) {
  Demand demand;
  demand.devices = tasks * spec.task.gpu_count + (with_node ? spec.node.gpu_count : 0);
  ask_for_gpus(demand, spec.task.gpu_share, spec.task.gpu_memory_mib);
  if (spec.task.mig_count > 0) {
    demand.devices = tasks * spec.task.mig_count;
    ask_for_cuts(demand, spec.task.mig_profile,
                 fleet.cut_amount(spec.task.mig_profile).value_or(one_gpu));
  } else if (spec.task.uses_mig() && demand.gpu != Demand::Gpu::none) {
    demand.gpu = Demand::Gpu::cut;  // whichever has that part
  }
  demand.cpu_milli = std::int64_t{tasks} * spec.task.cpu_count * 1000;
  demand.memory_bytes = static_cast<std::int64_t>(tasks * spec.task.memory_bytes +
                                                  (with_node ? spec.node.memory_bytes : 0));
  return demand;
}

/// It gets the nodes as they are: as many GPUs at least as the smallest has that would take it.
void ask_for_whole_nodes(std::vector<Demand>& demands, const Fleet& fleet, const NodeList* nodes) {
  for (Demand& demand : demands) {
    std::optional<std::int64_t> least;
    for_nodes(fleet, nodes, [&](const FleetNode& node) {
      const std::int64_t gpus = whole_gpus_of(node);
      if (room_when_empty(node, demand, 1) > 0 && (!least || gpus < *least)) least = gpus;
    });
    demand.whole_node = true;
    if (least && *least > demand.devices) demand.devices = static_cast<std::uint32_t>(*least);
    ask_for_gpus(demand, 0, 0);
  }
}

/// Into sets of one size, in the order of the tasks. Where they do not divide, as what is left of
/// a job that is ending, nothing is asked of them any more.
void cut(JobShape& shape, const Segments& segments) {
  const auto tasks = static_cast<std::uint32_t>(shape.tasks.size());
  if (tasks % segments.size != 0) return;
  Group& job = shape.gang.groups.front();
  shape.gang.sets.clear();
  job.sets.clear();
  for (std::uint32_t i = 0; i < tasks / segments.size; ++i) {
    // Names stand in the order of the numbers.
    shape.gang.sets.push_back({format("{:06}", i), segments.size, segments.wish});
    job.sets.push_back(i);
  }
  for (std::uint32_t i = 0; i < tasks; ++i) shape.tasks[i].set = i / segments.size;
}

/// A gang of which every task is needed.
std::shared_ptr<JobShape> gang_of(const std::vector<Demand>& demands, Lie lie, const NodeSet& set) {
  auto shape = std::make_shared<JobShape>();
  shape->gang = Gang::simple(static_cast<std::uint32_t>(demands.size()), set.topology);
  shape->lie = lie;
  shape->spread = set.spread;
  shape->tasks.reserve(demands.size());
  std::shared_ptr<const Demand> last;
  for (const Demand& demand : demands) {
    if (last == nullptr || *last != demand) last = std::make_shared<const Demand>(demand);
    shape->tasks.push_back({.demand = last, .nodes = set.nodes});
  }
  if (set.segments) cut(*shape, *set.segments);
  return shape;
}

/// What the job's nodes, or tasks where nodes do not matter, ask for.
std::vector<Demand> demands_of(const JobSpec& spec, const Fleet& fleet, std::uint32_t node_count) {
  std::vector<Demand> demands;
  if (node_count == 0) {
    demands.assign(spec.task_count, demand_of(spec, fleet, 1, false));
    return demands;
  }
  for (std::uint32_t i = 0; i < node_count; ++i)
    demands.push_back(demand_of(spec, fleet, tasks_of_node(spec.task_count, node_count, i), true));
  return demands;
}

/// How many of its tasks the node would take besides what every node has to give.
std::uint32_t tasks_when_empty(const JobSpec& spec, const Fleet& fleet, std::uint32_t node_count,
                               const FleetNode& node) {
  if (node_count > 0 && room_when_empty(node, demand_of(spec, fleet, 0, true), 1) == 0) return 0;
  FleetNode rest;
  rest.gpu_memory_mib = node.gpu_memory_mib;
  rest.gpu_count = node.gpu_count;
  rest.gpu_absent = node.gpu_absent;
  rest.cuts = node.cuts;
  rest.gpus_present = node.gpus_present - (node_count > 0 ? spec.node.gpu_count : 0);
  rest.cpu_milli = node.cpu_milli;
  rest.memory_bytes =
      node.memory_bytes - (node_count > 0 ? static_cast<std::int64_t>(spec.node.memory_bytes) : 0);
  return room_when_empty(rest, demand_of(spec, fleet, 1, false), spec.task_count);
}

/// Nodes that a job has to lie on all together.
struct Area {
  const NodeList* nodes = nullptr;  // none: all there are
  std::uint32_t to_come = 0;        // more of which nothing is known yet
};

/// Calls `visit` with all that the set has or, where a level is required, with each place of it.
template <class Visit>
void for_areas(const World& world, const NodeSet& set, Visit visit) {
  if (!set.topology || !set.topology->required) return visit(Area{set.nodes.get()});
  const Topology& topology = world.topologies[set.topology->topology];
  for (const std::uint32_t place : topology.places_of(*set.topology->required)) {
    const Domain& domain = topology.at(place);
    if (set.nodes == nullptr) {
      visit(Area{&domain.nodes, domain.to_come});
      continue;
    }
    const NodeList both = intersection(domain.nodes, *set.nodes);
    visit(Area{&both, domain.to_come});
  }
}

enum class Count : std::uint8_t { usable, known, to_come_too };

bool fits_empty(const JobSpec& spec, std::uint32_t node_count, const Fleet& fleet, const Area& area,
                Count which) {
  std::vector<std::uint32_t> room;  // in tasks
  std::uint64_t total = 0;
  if (which == Count::to_come_too) {
    room.assign(std::min(area.to_come, spec.task_count), spec.task_count);
    total = std::uint64_t{area.to_come} * spec.task_count;
  }
  for_nodes(fleet, area.nodes, [&](const FleetNode& node) {
    if (which == Count::usable && !node.usable) return;
    const std::uint32_t tasks = tasks_when_empty(spec, fleet, node_count, node);
    if (tasks == 0) return;
    room.push_back(tasks);
    total += tasks;
  });
  if (node_count == 0) return total >= spec.task_count;
  if (room.size() < node_count) return false;
  std::sort(room.rbegin(), room.rend());
  for (std::uint32_t i = 0; i < node_count; ++i)
    if (room[i] < tasks_of_node(spec.task_count, node_count, i)) return false;
  return true;
}

bool fits_some_area(const JobSpec& spec, std::uint32_t node_count, const World& world,
                    const NodeSet& set, Count which) {
  bool fits = false;
  for_areas(world, set, [&](const Area& area) {
    fits = fits || fits_empty(spec, node_count, world.fleet, area, which);
  });
  return fits;
}

/// Whether there are places for all segments that have to lie in one. Nodes count that would take
/// the smaller parts of the job, so nothing is refused that might fit.
bool fits_segments(const JobSpec& spec, const World& world, const NodeSet& set, Count which) {
  if (!set.segments || !set.segments->wish.required) return true;
  NodeSet places = set;
  places.topology = set.segments->wish;
  std::uint64_t found = 0;
  for_areas(world, places, [&](const Area& area) {
    std::uint32_t nodes = which == Count::to_come_too ? area.to_come : 0;
    for_nodes(world.fleet, area.nodes, [&](const FleetNode& node) {
      if (which == Count::usable && !node.usable) return;
      if (tasks_when_empty(spec, world.fleet, spec.node_count, node) >=
          spec.task_count / spec.node_count)
        ++nodes;
    });
    found += nodes / set.segments->size;
  });
  return found * set.segments->size >= spec.node_count;
}

/// As few nodes of the area as could ever do; 0: all of them do not.
std::uint32_t fewest_nodes(const JobSpec& spec, const Fleet& fleet, const Area& area) {
  const std::size_t nodes = area.nodes == nullptr ? fleet.size() : area.nodes->size();
  const auto most = std::min<std::uint32_t>(spec.task_count, static_cast<std::uint32_t>(nodes));
  std::uint32_t low = 1, high = std::max<std::uint32_t>(most, 1);
  if (!fits_empty(spec, high, fleet, area, Count::known)) return 0;
  while (low < high) {  // more nodes never make it harder while there are as many
    const std::uint32_t middle = low + (high - low) / 2;
    if (fits_empty(spec, middle, fleet, area, Count::known))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

std::string counted(std::uint64_t count, const char* noun) {
  return format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::uint32_t tasks_of_node(std::uint32_t task_count, std::uint32_t node_count, std::uint32_t i) {
  return task_count / node_count + (i < task_count % node_count ? 1 : 0);
}

std::uint32_t fixed_node_count(const JobSpec& spec, const World& world, const NodeSet& set) {
  if (spec.node_count > 0) return spec.node_count;
  if (spec.task_count == 1) return 1;
  // What every node has to give besides the tasks' own makes the number of nodes matter, and so do
  // tasks that get parts of different GPUs there, and whole nodes: as few as could ever do.
  if (spec.node == NodeRequest{} && !spec.task.shares_gpus() && !spec.task.uses_mig() &&
      !spec.rules->exclusive)
    return 0;
  std::uint32_t fewest = 0;
  for_areas(world, set, [&](const Area& area) {
    const std::uint32_t nodes = fewest_nodes(spec, world.fleet, area);
    if (nodes > 0 && (fewest == 0 || nodes < fewest)) fewest = nodes;
  });
  return std::max<std::uint32_t>(fewest, 1);
}

std::string request_text(const JobSpec& spec) {
  const std::uint64_t gpus = spec.gpu_devices();
  std::string text =
      format("{} of {}", counted(spec.task_count, "task"), counted(spec.task.cpu_count, "CPU"));
  if (spec.task.mig_count > 0)
    text = format("{}, {}",
                  counted(std::uint64_t{spec.task_count} * spec.task.mig_count,
                          (spec.task.mig_profile.str() + " instance").c_str()),
                  text);
  else if (gpus > 0)
    text = format("{}{}{}, {}", gpu_part_text(spec.task), counted(gpus, "GPU"),
                  spec.task.uses_mig() ? " by MIG" : "", text);
  if (spec.node_count > 0) text += format(" on {}", counted(spec.node_count, "node"));
  if (spec.is_elastic()) text += format(", up to {}", spec.node_count_max);
  if (spec.rules->exclusive) text += " with nobody else there";
  const TopologyRequest& wish = *spec.topology;
  const bool is_whole = wish.segment == 0 || !wish.preferred.empty();
  if (!wish.required.empty() && is_whole) text += format(" in one {}", wish.required);
  if (wish.segment > 0) text += format(", {} together", wish.segment);
  if (!wish.required.empty() && !is_whole) text += format(" in one {}", wish.required);
  return text;
}

JobShapes::Key JobShapes::key_of(const JobSpec& spec, const NodeSet& set) {
  return {
      spec.task_count, spec.node_count, spec.node_count_max, spec.task,    spec.node,
      set.id,          set.spread,      set.topology,        set.segments, spec.rules->exclusive};
}

/// `nodes`: that its tasks are divided among; 0: each goes where it fits.
std::shared_ptr<const JobShape> JobShapes::make(const JobSpec& spec, const Fleet& fleet,
                                                std::uint32_t nodes, const NodeSet& set) {
  const Lie lie = nodes == 0 ? Lie::few_nodes : nodes > 1 ? Lie::apart : Lie::free;
  std::vector<Demand> demands = demands_of(spec, fleet, nodes);
  if (spec.rules->exclusive) ask_for_whole_nodes(demands, fleet, set.nodes.get());
  auto made = gang_of(demands, lie, set);
  if (spec.is_elastic()) {  // its nodes are all alike
    made->lie = Lie::apart;
    made->tasks.resize(spec.node_count_max, made->tasks.front());
    for (TaskShape& task : made->tasks) task.process_count = spec.tasks_per_node();
    return made;
  }
  for (std::uint32_t i = 0; i < nodes; ++i)
    made->tasks[i].process_count = tasks_of_node(spec.task_count, nodes, i);
  return made;
}

std::shared_ptr<const JobShape> JobShapes::shape_of(const JobSpec& spec, const World& world,
                                                    const NodeSet& set) {
  drop_unused();
  Entry& entry = entries_[key_of(spec, set)];
  auto shape = entry.shape.lock();
  if (shape == nullptr)
    entry.shape = shape = make(spec, world.fleet, fixed_node_count(spec, world, set), set);
  return shape;
}

std::shared_ptr<const JobShape> JobShapes::shape_of(const Placement& placement, const NodeSet& set,
                                                    bool exclusive) {
  drop_unused();
  std::vector<Demand> demands;
  for (const NodePart& part : placement) {
    Demand demand;
    demand.devices = static_cast<std::uint32_t>(part.gpus.size());
    ask_for_gpus(demand, part.gpu_share, part.gpu_memory_mib);
    if (!part.mig.empty()) {
      demand.devices = static_cast<std::uint32_t>(part.mig.size());
      ask_for_cuts(demand, part.mig.front().profile, part.mig.front().amount);
    }
    demand.cpu_milli = std::int64_t{part.cpu_count} * 1000;
    demand.memory_bytes = static_cast<std::int64_t>(part.memory_bytes);
    demand.whole_node = exclusive;
    demands.push_back(std::move(demand));
  }
  const auto make = [&] {
    return gang_of(demands, demands.size() > 1 ? Lie::apart : Lie::free, set);
  };
  auto& kept = held_[HeldKey{demands, set.nodes.get(), set.spread, set.topology, set.segments}];
  auto shape = kept.lock();
  if (shape == nullptr) kept = shape = make();
  return shape;
}

static Fit find_fit(const JobSpec& spec, const World& world, const NodeSet& set) {
  NodeSet anywhere = set;
  anywhere.topology.reset();
  // What all nodes together do not have is too much for any place, whoever may come.
  if (!fits_some_area(spec, fixed_node_count(spec, world, anywhere), world, anywhere, Count::known))
    return Fit::never;
  const std::uint32_t nodes = fixed_node_count(spec, world, set);
  const auto fits = [&](Count which) {
    return fits_some_area(spec, nodes, world, set, which) && fits_segments(spec, world, set, which);
  };
  if (fits(Count::usable)) return Fit::yes;
  if (fits(Count::to_come_too)) return Fit::when_up;
  return Fit::never;
}

Fit JobShapes::fit_of(const JobSpec& spec, const World& world, const NodeSet& set) {
  if (set.nodes != nullptr && set.nodes->empty()) return Fit::no_node;
  drop_unused();  // what is refused leaves an entry behind
  Entry& entry = entries_[key_of(spec, set)];
  if (entry.fit_generation != world.fleet.generation()) {
    entry.fit = find_fit(spec, world, set);
    entry.fit_generation = world.fleet.generation();
  }
  return entry.fit;
}

static bool asks_for_the_same(const JobShape& a, const JobShape& b) {
  return std::equal(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), b.tasks.end(),
                    [](const TaskShape& x, const TaskShape& y) { return *x.demand == *y.demand; });
}

JobShapes::Renewed JobShapes::renew(const World& world) {
  Renewed renewed;
  for (auto& [key, entry] : entries_) {
    const auto shape = entry.shape.lock();
    if (shape == nullptr) continue;
    const bool counts_anew = key.task.mig_count > 0 &&
                             shape->tasks.front().demand->portion !=
                                 world.fleet.cut_amount(key.task.mig_profile).value_or(one_gpu);
    if (!counts_anew && !key.exclusive && (key.node_count > 0 || shape->lie == Lie::few_nodes))
      continue;
    JobSpec spec;
    spec.task_count = key.task_count;
    spec.node_count = key.node_count;
    spec.node_count_max = key.node_count_max;
    spec.task = key.task;
    spec.node = key.node;
    if (key.exclusive) spec.rules.edit().exclusive = true;
    const NodeSet set{key.set, shape->tasks.front().nodes, key.spread, key.topology, key.segments};
    const std::uint32_t nodes = fixed_node_count(spec, world, set);
    if (!counts_anew && !key.exclusive && nodes == shape->tasks.size()) continue;
    auto made = make(spec, world.fleet, nodes, set);
    if (key.exclusive && asks_for_the_same(*shape, *made)) continue;
    entry.shape = made;
    renewed.emplace(shape, std::move(made));
  }
  return renewed;
}

/// Shapes that no job has any more are forgotten, once they could be half of all.
void JobShapes::drop_unused() {
  if (entries_.size() + held_.size() < std::max(entries_kept, 2 * size_at_drop_)) return;
  std::erase_if(entries_, [](const auto& entry) { return entry.second.shape.expired(); });
  std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
  size_at_drop_ = entries_.size() + held_.size();
}

}  // namespace rota::sched
