// sched/scheduler.cpp - keeps the World true to what the engine tells, and reads plans out of it.
#include "sched/scheduler.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "common/assert.h"
#include "model/node_type.h"
#include "sched/pass.h"
#include "sched/reclaim_rules.h"
#include "sched/topology_wish.h"

namespace rota::sched {
namespace {

/// Nodes take as many tasks as their CPUs, memory and GPUs do.
constexpr std::uint32_t tasks_per_node_max = 1'000'000'000;

std::int64_t memory_mib_of(const NodeInventory& inventory) {
  // A node whose GPUs differ counts with the smallest: nobody is promised more than there is.
  std::int64_t least = 0;
  for (const Gpu& gpu : inventory.gpus) {
    const auto mib = static_cast<std::int64_t>(gpu.memory_bytes >> 20);
    if (least == 0 || mib < least) least = mib;
  }
  return least;
}

/// What is left of an elastic job is enough of it. Its first task is: others know where that is.
bool goes_on_smaller(const SchedJob& job) {
  return job.shape->is_elastic() && is_active(job.tasks.front().state) &&
         fill_of(job) != Fill::below;
}

/// The number of a shared GPU that somebody has.
std::uint16_t gpu_of(const FleetNode& node, std::uint32_t shared) {
  const SharedGpu* gpu = node.find_shared(shared);
  ROTA_ASSERT(gpu != nullptr && gpu->gpu);
  return static_cast<std::uint16_t>(*gpu->gpu);
}

/// Of each GPU that it has a part of.
std::uint32_t share_of(const Demand& demand, const FleetNode& node) {
  return static_cast<std::uint32_t>(demand.charge(node.gpu_memory_mib)[Resource::gpu] /
                                    demand.devices);
}

/// One of the instances that a task has.
MigSlot slot_of(const FleetNode& node, const Demand& demand, const Spot& spot, std::size_t i) {
  const MigAxis::Profile* const profile = cut_on(node, demand);
  return {
      .gpu = gpu_of(node, spot.shared[i]),
      .start = spot.cuts[i].start,
      .size = spot.cuts[i].size,
      .amount = static_cast<std::uint32_t>(profile != nullptr ? profile->amount : demand.portion),
      .profile = profile != nullptr ? profile->name : demand.profile};
}

}  // namespace

Policy live_policy() {
  Policy policy;
  policy.spare_free_gpus = true;
  policy.reservations_max = 4;
  policy.evicted_rest_seconds = 15;
  policy.search_work_max = 25'000;  // about a millisecond
  return policy;
}

Scheduler::Scheduler(const Policy& policy, std::vector<NamedNodes> groups,
                     const NetworkTopology& topology)
    : node_rules_(std::move(groups)) {
  world_.policy = policy;
  world_.topologies.emplace_back(topology);
  if (policy.history_weight > 0)
    history_.emplace(policy.history_window_seconds, policy.history_half_life_seconds);
}

// ---- nodes ----

void Scheduler::put_node(NodeId id, const std::string& name, const NodeInventory& inventory,
                         const std::vector<bool>& gpu_absent, bool usable) {
  ROTA_ASSERT(gpu_absent.size() == inventory.gpus.size());
  if (node_indexes_.size() <= id.value) node_indexes_.resize(id.value + 1, no_node);
  NodeIndex& index = node_indexes_[id.value];
  if (index == no_node) {
    FleetNode node;
    node.name = name;
    node.task_count_max = tasks_per_node_max;
    node.usable = false;
    index = world_.fleet.add(std::move(node));
    node_ids_.push_back(id);
    world_.topologies.front().join(index, name);
  }
  const auto size_of = [this, index] {
    const FleetNode& node = world_.fleet.at(index);
    return std::tuple(node.cpu_milli, node.memory_bytes, node.gpu_memory_mib, node.gpus_present);
  };
  const auto before = size_of();
  const std::size_t axes_before = world_.fleet.axis_count();
  world_.fleet.resize(index, std::int64_t{inventory.cpu_count} * 1000,
                      static_cast<std::int64_t>(inventory.memory_bytes), memory_mib_of(inventory),
                      gpu_absent);
  world_.fleet.set_mesh(index, GpuMesh::of(inventory, gpu_absent));
  world_.fleet.set_cuts(index, NodeCuts::of(inventory));
  // What it says later is known here already: who was put on which GPU.
  for (std::uint32_t i = 0; i < inventory.gpus.size(); ++i)
    if (inventory.gpus[i].mig.is_on) world_.fleet.note_use(index, i, true);
  nodes_changed_ = nodes_changed_ || size_of() != before;
  world_.fleet.set_usable(index, usable);
  node_rules_.put_node(index, name, node_type(inventory, gpu_absent));
  world_.measure_gpus();
  // What instances count for was not known before.
  if (world_.fleet.axis_count() != axes_before) renew_shapes();
}

void Scheduler::set_usable(NodeId id, bool usable) {
  if (node(id).usable != usable) world_.fleet.set_usable(index_of(id), usable);
}

NodeIndex Scheduler::index_of(NodeId id) const {
  ROTA_ASSERT(id.value < node_indexes_.size() && node_indexes_[id.value] != no_node);
  return node_indexes_[id.value];
}

std::vector<JobId> Scheduler::gpu_holders(NodeId id) const {
  const FleetNode& fleet_node = node(id);
  std::vector<JobId> holders(fleet_node.gpu_count);
  for (const FleetNode::Resident& resident : fleet_node.residents)
    if (resident.stay != Stay::promised)
      for (const std::uint32_t gpu : resident.spot.gpus)
        holders[gpu] = JobId{world_.job(resident.task.job).id};
  return holders;
}

std::vector<GpuShare> Scheduler::gpu_sharers(NodeId id) const {
  const FleetNode& fleet_node = node(id);
  std::vector<GpuShare> sharers;
  for (const FleetNode::Resident& resident : fleet_node.residents) {
    if (resident.stay == Stay::promised || resident.demand->is_cut()) continue;
    for (const std::uint32_t shared : resident.spot.shared)
      sharers.push_back({.gpu = gpu_of(fleet_node, shared),
                         .job = JobId{world_.job(resident.task.job).id},
                         .share = share_of(*resident.demand, fleet_node)});
  }
  std::sort(sharers.begin(), sharers.end());
  return sharers;
}

std::vector<MigHolder> Scheduler::mig_holders(NodeId id) const {
  const FleetNode& fleet_node = node(id);
  std::vector<MigHolder> holders;
  for (const FleetNode::Resident& resident : fleet_node.residents) {
    if (resident.stay == Stay::promised || !resident.demand->is_cut()) continue;
    for (std::size_t i = 0; i < resident.spot.shared.size(); ++i)
      holders.push_back({slot_of(fleet_node, *resident.demand, resident.spot, i),
                         JobId{world_.job(resident.task.job).id}});
  }
  std::sort(holders.begin(), holders.end(),
            [](const MigHolder& a, const MigHolder& b) { return a.slot < b.slot; });
  return holders;
}

std::int64_t Scheduler::gpu_amount(const JobSpec& spec) const {
  if (spec.task.mig_count > 0)
    return std::int64_t{spec.task_count} * spec.task.mig_count *
           world_.fleet.cut_amount(spec.task.mig_profile).value_or(one_gpu);
  if (!spec.task.shares_gpus()) return static_cast<std::int64_t>(spec.gpu_devices()) * one_gpu;
  Demand demand;
  demand.gpu = spec.task.gpu_memory_mib > 0 ? Demand::Gpu::memory : Demand::Gpu::portion;
  demand.devices = static_cast<std::uint32_t>(spec.gpu_devices());
  demand.portion = spec.task.gpu_share;
  demand.memory_mib = spec.task.gpu_memory_mib;
  return demand.charge(world_.fleet.gpu_memory_least())[Resource::gpu];
}

// ---- projects ----

bool Scheduler::set_org(const Org& org) {
  quota_map_.update(world_.quotas, org);
  since_.held.clear();  // places in the tree may be others'
  return node_rules_.set_org(org);
}

void Scheduler::add_past(const std::string& project, const Amount& held, std::int64_t from,
                         std::int64_t to) {
  if (history_) history_->add(world_.quotas, quota_map_.project(project), held, from, to);
}

void Scheduler::add_past_capacity(const Amount& total, std::int64_t from, std::int64_t to) {
  if (history_) history_->add_capacity(total, from, to);
}

/// Nothing is planned between two plans, so what was held after the last one was held until now.
void Scheduler::remember(std::int64_t now) {
  if (!history_) return;
  if (since_.time != never && now > since_.time) {
    history_->add_capacity(since_.total, since_.time, now);
    for (const auto& [project, held] : since_.held)
      history_->add(world_.quotas, project, held, since_.time, now);
  }
  constexpr std::int64_t period = 60;
  if (history_told_ != never && now - history_told_ < period) return;
  history_->tell(world_.quotas, now);
  history_told_ = now;
}

const QuotaNode& Scheduler::project(const std::string& name) const {
  return world_.quotas.at(quota_map_.project(name));
}

const QuotaNode& Scheduler::department(const std::string& name) const {
  return world_.quotas.at(quota_map_.department(name));
}

// ---- jobs ----

std::uint32_t Scheduler::number_of(JobId id) const {
  const auto at = numbers_.find(id.value);
  ROTA_ASSERT(at != numbers_.end());
  return at->second;
}

std::uint32_t Scheduler::user_of(const std::string& project, const std::string& user) {
  const auto [at, is_new] = users_[project].try_emplace(user, user_last_ + 1);
  if (is_new) ++user_last_;
  return at->second;
}

void Scheduler::rank_users(const std::string& project, const std::vector<UserRank>& ranks) {
  std::vector<World::UserRank> numbered;
  for (const UserRank& each : ranks) numbered.push_back({user_of(project, each.user), each.rank});
  world_.rank_users(quota_map_.project(project), numbered);
}

SchedJob Scheduler::sched_job(const Job& job) {
  SchedJob made;
  made.id = job.id.value;  // ids are given in the order of arrival, so they tell who is older
  // All tasks of an array are as old as it is.
  made.submitted = static_cast<std::int64_t>((job.array->of ? job.array->of : job.id).value);
  made.project = quota_map_.project(job.spec.project);
  made.user = user_of(job.spec.project, job.owner.user);
  made.priority = job.spec.priority_or_kinds();
  made.preemptible = job.spec.is_preemptible();
  made.semi = job.spec.is_semi_preemptible();
  made.background = job.spec.background;
  made.evictions = static_cast<std::uint8_t>(std::min<std::uint32_t>(job.preemptions, 255));
  made.limit_seconds = job.spec.time_limit_seconds;
  if (!job.spec.image.empty()) made.image = world_.images.join(job.spec.image.str());
  return made;
}

NodeSet Scheduler::set_of(const JobSpec& spec, const std::vector<NodeId>& avoid) const {
  NodeList nodes;
  for (const NodeId id : avoid) nodes.push_back(index_of(id));
  std::sort(nodes.begin(), nodes.end());
  NodeSet set = node_rules_.set_of(spec, std::move(nodes));
  set.topology = wish_of(*spec.topology, topology());
  set.segments = segments_of(*spec.topology, topology());
  return set;
}

std::uint32_t Scheduler::place_of_all(const std::vector<NodeId>& nodes) const {
  NodeList indexes;
  for (const NodeId id : nodes) indexes.push_back(index_of(id));
  return topology().place_of_all(indexes);
}

void Scheduler::add_waiting(const Job& job, std::int64_t now, const std::vector<NodeId>& avoid) {
  SchedJob made = sched_job(job);
  made.shape = shapes_.shape_of(job.spec, world_, set_of(job.spec, avoid));
  if (world_.policy.least_loss) world_.least_loss.observe(*made.shape);
  if (const std::int64_t delay =
          preemption_delay(world_.quotas, made.project, world_.policy.preemption_delay_seconds);
      delay > 0)
    made.preempts_after = now + delay;
  // It takes nobody's place; but who had to leave shall not be back for every gap.
  if (made.background) made.preempts_after = now + world_.rest_seconds(made);
  const bool is_new = numbers_.emplace(job.id.value, world_.add(std::move(made))).second;
  ROTA_ASSERT(is_new);
}

void Scheduler::renew(const Job& job, const std::vector<NodeId>& avoid) {
  const std::uint32_t number = number_of(job.id);
  if (job.spec.is_elastic() && !job.last->placement.empty()) {
    const std::int64_t started = world_.job(number).started, saved = world_.job(number).saved;
    remove(job.id);
    add_holding(job, false, started);
    return note_saved(job.id, saved);
  }
  auto shape = shapes_.shape_of(job.spec, world_, set_of(job.spec, avoid));
  if (world_.job(number).shape != shape) reshape(number, std::move(shape));
}

/// Of a job that waits.
void Scheduler::reshape(std::uint32_t number, std::shared_ptr<const JobShape> shape) {
  SchedJob renewed = world_.job(number);
  renewed.shape = std::move(shape);
  renewed.tasks.clear();
  world_.remove(number);
  numbers_[renewed.id] = world_.add(std::move(renewed));
}

/// Jobs that wait and whose number of nodes was worked out from other nodes than there are now.
void Scheduler::renew_shapes() {
  const auto renewed = shapes_.renew(world_);
  if (renewed.empty()) return;
  std::vector<std::uint32_t> numbers;
  for (const auto& [id, number] : numbers_)
    if (renewed.contains(world_.job(number).shape)) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  for (const std::uint32_t number : numbers) {
    const SchedJob& job = world_.job(number);
    const bool waits = std::all_of(job.tasks.begin(), job.tasks.end(), [](const Task& task) {
      return task.state == TaskState::waiting;
    });
    if (waits) reshape(number, renewed.at(job.shape));
  }
}

std::vector<Task> Scheduler::tasks_holding(const Placement& placement, TaskState state) const {
  std::vector<Task> tasks;
  for (const NodePart& part : placement) tasks.push_back(task_holding(part, state));
  return tasks;
}

Task Scheduler::task_holding(const NodePart& part, TaskState state) const {
  Task task;
  task.state = state;
  task.spot.node = index_of(part.node);
  task.spot.gpus.assign(part.gpus.begin(), part.gpus.end());
  for (const MigSlot& slot : part.mig) {
    task.spot.gpus.push_back(slot.gpu);
    task.spot.cuts.push_back({slot.start, slot.size});
  }
  return task;
}

/// Where every node of it stands, those that it could have among them.
std::vector<Task> Scheduler::elastic_tasks(const Job& job, bool is_ending) const {
  const LastRun& last = *job.last;
  // A part that ended by itself has left its node behind: the work is nearly done.
  const bool grows = !is_ending && last.nodes.size() == last.placement.size();
  std::vector<Task> tasks(job.spec.node_count_max);
  for (Task& task : tasks) task.state = grows ? TaskState::waiting : TaskState::succeeded;
  for (const NodePart& part : last.placement)
    tasks.at(part.task_first / job.spec.tasks_per_node()) =
        task_holding(part, is_ending || part.leaving ? TaskState::leaving : TaskState::running);
  return tasks;
}

/// Every group of them in one place, if they have to be.
bool Scheduler::lie_together(const std::vector<NodeId>& nodes, const Segments& segments) const {
  if (!segments.wish.required || nodes.size() % segments.size != 0) return true;
  for (auto at = nodes.begin(); at != nodes.end(); at += segments.size)
    if (topology().at(place_of_all({at, at + segments.size})).depth <= *segments.wish.required)
      return false;
  return true;
}

void Scheduler::add_holding(const Job& job, bool is_ending, std::int64_t now) {
  const Placement& placement = job.last->placement;
  SchedJob made = sched_job(job);
  NodeSet set = set_of(job.spec);
  // Who lies across places that became different ones since may stay so.
  std::vector<NodeId> nodes;
  for (const NodePart& part : placement) nodes.push_back(part.node);
  if (set.topology && set.topology->required &&
      topology().at(place_of_all(nodes)).depth <= *set.topology->required)
    set.topology.reset();
  if (set.segments && !lie_together(nodes, *set.segments)) set.segments.reset();
  if (job.spec.is_elastic()) {
    made.tasks = elastic_tasks(job, is_ending);
    made.shape = shapes_.shape_of(job.spec, world_, set);
  } else {
    made.tasks = tasks_holding(placement, is_ending ? TaskState::leaving : TaskState::running);
    made.shape = shapes_.shape_of(placement, set, job.spec.rules->exclusive);
  }
  if (world_.policy.least_loss) world_.least_loss.observe(*made.shape);
  // How long it has run is not known on this clock: as if it had begun now.
  made.started = now;
  const bool is_new = numbers_.emplace(job.id.value, world_.add(std::move(made))).second;
  ROTA_ASSERT(is_new);
}

void Scheduler::set_ending(JobId id) { leave(number_of(id)); }

/// It gives back all that it has, and gets nothing more.
void Scheduler::leave(std::uint32_t number) {
  const std::vector<Task>& tasks = world_.job(number).tasks;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    world_.set_leaving({number, i});
    if (tasks[i].state == TaskState::waiting) world_.set_gone({number, i});
  }
}

void Scheduler::release(JobId id, NodeId node, bool may_regrow) {
  const std::uint32_t number = number_of(id);
  const NodeIndex index = index_of(node);
  const std::vector<Task>& tasks = world_.job(number).tasks;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].spot.node != index) continue;
    return may_regrow ? world_.set_waiting({number, i}) : world_.set_gone({number, i});
  }
  ROTA_ASSERT(false);
}

void Scheduler::end_growth(JobId id) {
  const std::uint32_t number = number_of(id);
  const std::vector<Task>& tasks = world_.job(number).tasks;
  for (std::uint32_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].state == TaskState::waiting) world_.set_gone({number, i});
}

void Scheduler::remove(JobId id) {
  const std::uint32_t number = number_of(id);
  world_.images.leave(world_.job(number).image);
  world_.remove(number);
  numbers_.erase(id.value);
}

// ---- plans ----

Plan Scheduler::plan(std::int64_t now, bool may_evict) {
  world_.now = now;
  remember(now);
  if (std::exchange(nodes_changed_, false)) renew_shapes();
  free_texts_.clear();
  held_before_.resize(world_.quotas.size());
  for (QuotaIndex i = 0; i < held_before_.size(); ++i)
    held_before_[i] = world_.quotas.at(i).held[Resource::gpu];
  run_pass(world_, may_evict ? std::span(all_actions) : std::span(all_actions).first(1));
  Plan plan;
  const std::vector<Displacement> displaced = world_.displaced();
  const std::vector<TaskRef> changed = world_.changed_since(0);
  Places places = promised_places(changed);
  world_.settle();
  std::set<std::uint32_t> started;
  std::map<std::uint32_t, std::vector<std::uint32_t>> leaving;  // tasks by job
  for (const TaskRef ref : changed) {
    if (world_.task(ref).state == TaskState::starting) started.insert(ref.job);
    if (world_.task(ref).state == TaskState::leaving) leaving[ref.job].push_back(ref.task);
  }
  for (const std::uint32_t number : started) {
    const SchedJob& job = world_.job(number);
    places.erase(number);
    // What would grow here is all that would be left of one that has to go.
    if (leaving.contains(number) && !goes_on_smaller(job)) {
      for (std::uint32_t i = 0; i < job.tasks.size(); ++i)
        if (job.tasks[i].state == TaskState::starting) world_.set_waiting({number, i});
      continue;
    }
    const bool grows = std::any_of(job.tasks.begin(), job.tasks.end(), [](const Task& task) {
      return task.state == TaskState::running;
    });
    plan.starts.push_back({JobId{job.id}, placement_of(job, grows), grows});
    note_uses(plan.starts.back().placement);
    settle_start(number, plan.starts.back().placement, grows);
  }
  std::sort(plan.starts.begin(), plan.starts.end(),
            [](const Start& a, const Start& b) { return a.job < b.job; });
  for (const Displacement& each : displaced) {
    const SchedJob& job = world_.job(each.victim);
    const auto left = leaving.find(each.victim);
    if (left == leaving.end()) continue;
    const SchedJob& taker = world_.job(each.taker);
    plan.evictions.push_back({JobId{job.id},
                              each.taker == each.victim ? JobId{} : JobId{taker.id},
                              each.action,
                              standing_of(job.project),
                              standing_of(taker.project),
                              {}});
    if (goes_on_smaller(job)) {
      world_.note_shrunk(each.victim);
      for (const std::uint32_t task : left->second)
        plan.evictions.back().nodes.push_back(node_ids_[job.tasks[task].spot.node]);
    } else {  // a part of it that could have stayed cannot go on without the rest
      leave(each.victim);
    }
    leaving.erase(left);
  }
  plan.expected = expected(std::move(places));
  if (history_) {
    since_ = {now, world_.fleet.total(), {}};
    for (QuotaIndex i = 0; i < world_.quotas.size(); ++i) {
      const QuotaNode& node = world_.quotas.at(i);
      if (node.children.empty() && node.held != Amount{}) since_.held.emplace_back(i, node.held);
    }
  }
  return plan;
}

/// Before the pass is settled: promises are made anew in every one.
Scheduler::Places Scheduler::promised_places(const std::vector<TaskRef>& changed) const {
  Places places;
  for (const TaskRef ref : changed) {
    const Task& task = world_.task(ref);
    if (task.state == TaskState::promised && world_.job(ref.job).image != 0)
      places[ref.job].insert(task.spot.node);
  }
  return places;
}

/// Those, and the places that are kept in time.
std::vector<Expected> Scheduler::expected(Places places) const {
  for (const Reservation& kept : world_.reservations.all())
    if (world_.job(kept.job).image != 0 && !places.contains(kept.job))
      for (const NodeIndex node : world_.reservations.nodes_kept_for(kept.job))
        places[kept.job].insert(node);
  std::vector<Expected> all;
  for (const auto& [number, nodes] : places) {
    Expected& each = all.emplace_back();
    each.job = JobId{world_.job(number).id};
    for (const NodeIndex node : nodes) each.nodes.push_back(node_ids_[node]);
  }
  std::sort(all.begin(), all.end(),
            [](const Expected& a, const Expected& b) { return a.job < b.job; });
  return all;
}

Eviction::Standing Scheduler::standing_of(QuotaIndex project) const {
  return {held_before_[project], world_.quotas.at(project).allocatable(Resource::gpu)};
}

/// What starts now. Those on one node are one part.
Placement Scheduler::placement_of(const SchedJob& job, bool grows) const {
  Placement placement;
  for (std::uint32_t i = 0; i < job.tasks.size(); ++i) {
    if (job.tasks[i].state != TaskState::starting) continue;
    const Spot& spot = job.tasks[i].spot;
    const Demand& demand = job.demand(i);
    const NodeId node = node_ids_[spot.node];
    auto part = std::find_if(placement.begin(), placement.end(),
                             [node](const NodePart& each) { return each.node == node; });
    if (part == placement.end()) {
      part = placement.insert(placement.end(), NodePart{});
      part->node = node;
      part->task_first = i * job.shape->tasks[i].process_count;
    }
    part->task_count += job.shape->tasks[i].process_count;
    const FleetNode& fleet_node = world_.fleet.at(spot.node);
    for (const std::uint32_t gpu : spot.gpus) part->gpus.push_back(static_cast<std::uint16_t>(gpu));
    for (std::size_t k = 0; k < spot.shared.size(); ++k) {
      if (demand.is_cut())
        part->mig.push_back(slot_of(fleet_node, demand, spot, k));
      else
        part->gpus.push_back(gpu_of(fleet_node, spot.shared[k]));
    }
    if (demand.is_shared() && !demand.is_cut()) {
      part->gpu_share = share_of(demand, fleet_node);
      part->gpu_memory_mib = static_cast<std::uint32_t>(demand.memory_mib);
    }
    part->cpu_count += static_cast<std::uint32_t>(cpu_on(fleet_node, demand) / 1000);
    part->memory_bytes += static_cast<std::uint64_t>(demand.memory_bytes);
  }
  std::uint32_t task_first = 0;
  for (NodePart& part : placement) {
    std::sort(part.gpus.begin(), part.gpus.end());
    std::sort(part.mig.begin(), part.mig.end());
    if (!grows) part.task_first = task_first;
    task_first += part.task_count;
  }
  return placement;
}

/// How the GPUs are used from now on.
void Scheduler::note_uses(const Placement& placement) {
  for (const NodePart& part : placement) {
    const NodeIndex index = index_of(part.node);
    for (const std::uint16_t gpu : part.gpus) world_.fleet.note_use(index, gpu, false);
    for (const MigSlot& slot : part.mig) world_.fleet.note_use(index, slot.gpu, true);
  }
}

/// From here on it has one task for each of its parts.
void Scheduler::settle_start(std::uint32_t number, const Placement& placement, bool grows) {
  const SchedJob& job = world_.job(number);
  const bool elastic = job.shape->is_elastic();
  // Where others were in the way of some, an elastic job may have been given any of its tasks; but
  // the first is the one that stays to the end.
  const auto is_starting = [](const Task& task) { return task.state == TaskState::starting; };
  const auto count = static_cast<std::ptrdiff_t>(placement.size());
  const bool in_order =
      grows || job.tasks.size() == placement.size() ||
      (elastic && std::all_of(job.tasks.begin(), job.tasks.begin() + count, is_starting));
  if (in_order) {
    for (std::uint32_t i = 0; i < job.tasks.size(); ++i)
      if (is_starting(job.tasks[i])) world_.set_running({number, i});
    return;
  }
  SchedJob held = job;
  held.tasks = tasks_holding(placement, TaskState::running);
  if (elastic)
    held.tasks.resize(job.shape->tasks.size());
  else
    held.shape = shapes_.shape_of(placement,
                                  {.nodes = job.shape->tasks.front().nodes,
                                   .spread = job.shape->spread,
                                   .topology = job.shape->gang.groups.front().topology},
                                  job.shape->tasks.front().demand->whole_node);
  world_.remove(number);
  numbers_[held.id] = world_.add(std::move(held));
}

}  // namespace rota::sched
