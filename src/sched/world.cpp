// sched/world.cpp - a task's state, its place on a node and its project's charge, changed as one.
#include "sched/world.h"

#include <algorithm>
#include <utility>

#include "common/assert.h"

namespace rota::sched {
namespace {

std::optional<Stay> stay_of(const SchedJob& job, TaskState state) {
  switch (state) {
    case TaskState::starting:
    case TaskState::running:
      // What is in the background others may count on at any time.
      return job.background ? Stay::leaving : Stay::held;
    case TaskState::promised:
      return Stay::promised;
    case TaskState::leaving:
      return Stay::leaving;
    case TaskState::stuck:
      return Stay::stuck;
    default:
      return std::nullopt;
  }
}

/// How it stays can be changed without a look at its place.
bool can_stay(const SchedJob& job, const Task& task) {
  return stay_of(job, task.state) && !job.background && !task.leaves && task.spot.shared.empty();
}

/// For a whole node that has lost or got GPUs since, it is charged for those that it was given.
Amount charge_of(const FleetNode& node, const Demand& demand, const Task& task) {
  Amount charge = charge_on(node, demand);
  if (demand.whole_node && task.state != TaskState::promised)
    charge[Resource::gpu] = std::ssize(task.spot.gpus) * one_gpu;
  return charge;
}

}  // namespace

// ---- jobs ----

std::uint32_t World::add(SchedJob job) {
  ROTA_ASSERT(job.tasks.empty() || job.tasks.size() == job.shape->tasks.size());
  auto index = static_cast<std::uint32_t>(jobs_.size());
  if (free_slots_.empty()) {
    jobs_.push_back(std::move(job));
    members_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
    jobs_[index] = std::move(job);
  }
  const SchedJob& added = jobs_[index];
  if (added.tasks.empty()) {
    for (std::uint32_t i = 0; i < added.task_count() && !added.background; ++i)
      quotas.add_waiting(added.project, added.demand(i).charge(gpu_memory_least_));
    for (Promised& each : promised_)
      if (each.id == added.id) each.job = index;
  } else {
    for (std::uint32_t i = 0; i < added.tasks.size(); ++i) attach({index, i});
  }
  touch(index);
  return index;
}

void World::remove(std::uint32_t index) {
  ROTA_ASSERT(log_.empty());
  SchedJob& job = jobs_[index];
  if (job.tasks.empty()) {
    for (std::uint32_t i = 0; i < job.task_count() && !job.background; ++i)
      quotas.remove_waiting(job.project, job.demand(i).charge(gpu_memory_least_));
  } else {
    for (std::uint32_t i = 0; i < job.tasks.size(); ++i) detach({index, i});
  }
  refresh();
  leave_class(index);
  background_.waiting.erase(background_key(index));
  background_.placed.erase(index);
  hide_evictable(index);
  refresh_end(index, false);
  incomplete_.erase(index);
  other_causes_.erase(index);
  no_room_.erase(job.shape.get());
  reservations.forget(index);
  std::erase_if(promised_, [index](const Promised& each) { return each.job == index; });
  job = {};
  free_slots_.push_back(index);
}

std::vector<std::uint32_t> World::promised() const {
  std::vector<std::uint32_t> jobs;
  for (const Promised& each : promised_)
    if (each.job) jobs.push_back(*each.job);
  return jobs;
}

void World::settle() {
  // Whoever takes longer than this to leave finds its other place taken.
  constexpr std::int64_t return_seconds = 600;
  std::erase_if(promised_, [this](const Promised& each) {
    return each.job || now - each.since > return_seconds;
  });
  std::vector<Promise> promises;
  std::map<std::uint32_t, std::size_t> places;  // of jobs in it
  for (const Change& change : log_) {
    const Task& task = this->task(change.ref);
    // One that was started and evicted in the same pass has never been there.
    const bool never_there = task.evicted == TaskState::starting;
    if (task.state == TaskState::promised && task.leaves && !never_there) {
      const std::uint64_t id = jobs_[change.ref.job].id;
      if (promised_.empty() || promised_.back().id != id)
        promised_.push_back({id, std::nullopt, now});
      set_state(change.ref, TaskState::leaving, Spot(*task.leaves));
    } else if (task.state == TaskState::promised || never_there) {
      if (task.state == TaskState::promised) {
        const auto [place, is_new] = places.try_emplace(change.ref.job, promises.size());
        if (is_new) promises.push_back({change.ref.job, {}});
        promises[place->second].tasks.emplace_back(change.ref.task, task.spot.node);
      }
      set_state(change.ref, TaskState::waiting, {});
    }
    jobs_[change.ref.job].tasks[change.ref.task].evicted.reset();
    touch(change.ref.job);
  }
  log_.clear();
  // Those first for whom it was done: who was moved might go back to where it was.
  std::vector<Promised> takers;
  for (const Promise& promise : promises)
    if (!start_promised(promise)) takers.push_back({jobs_[promise.job].id, promise.job, now});
  promised_.insert(promised_.begin(), takers.begin(), takers.end());
  fleet.drop_unused_shared();
  refresh();
  for (const Promise& promise : promises)
    set_cause(promise.job, {.kind = WaitCause::Kind::promised});
}

/// Where only those were in the way who have never been there, it starts now; a gang all or none.
bool World::start_promised(const Promise& promise) {
  SchedJob& job = jobs_[promise.job];
  std::size_t fitting = 0;
  for (const auto& [task, node] : promise.tasks) {
    const Demand& demand = job.demand(task);
    if (!fits_now(fleet.at(node), demand)) break;
    Spot spot{.node = node};
    if (demand.is_shared()) {
      SharedChoice choice = choose_shared(fleet.at(node), node, demand, packs_shared(job));
      if (!choice.now) break;
      spot = std::move(choice.spot);
    } else {
      spot.gpus = choose_whole_for(fleet.at(node), demand);
    }
    set_state({promise.job, task}, TaskState::starting, std::move(spot));
    ++fitting;
  }
  const bool starts = fill_of(job) != Fill::below;
  for (std::uint32_t i = 0; i < job.tasks.size(); ++i) {
    if (job.tasks[i].state != TaskState::starting) continue;
    if (!starts) set_state({promise.job, i}, TaskState::waiting, {});
    if (starts && job.started == never) set_started(promise.job, now);
  }
  return starts && fitting == promise.tasks.size();
}

void World::set_state(TaskRef ref, TaskState state, Spot spot) {
  detach(ref);
  Task& task = jobs_[ref.job].tasks[ref.task];
  task.state = state;
  task.spot = std::move(spot);
  task.leaves.reset();
  attach(ref);
  touch(ref.job);
}

void World::set_running(TaskRef ref) {
  ROTA_ASSERT(log_.empty() && task(ref).state == TaskState::starting);
  set_state(ref, TaskState::running, Spot(task(ref).spot));
}

void World::set_leaving(TaskRef ref) {
  ROTA_ASSERT(log_.empty());
  if (is_active(task(ref).state)) set_state(ref, TaskState::leaving, Spot(task(ref).spot));
}

void World::set_gone(TaskRef ref) {
  ROTA_ASSERT(log_.empty());
  set_state(ref, TaskState::succeeded, {});
}

void World::set_waiting(TaskRef ref) {
  ROTA_ASSERT(log_.empty());
  set_state(ref, TaskState::waiting, {});
}

void World::note_shrunk(std::uint32_t index) {
  SchedJob& job = jobs_[index];
  if (job.evictions < std::numeric_limits<std::uint8_t>::max()) ++job.evictions;
  job.preempts_after = std::max(job.preempts_after, now + rest_seconds(job));
}

std::int64_t World::rest_seconds(const SchedJob& job) const {
  constexpr std::int64_t most = 600;
  if (job.evictions == 0) return 0;
  const int doublings = std::min<int>(job.evictions - 1, 10);
  return std::min(most, policy.evicted_rest_seconds << doublings);
}

void World::begin_pass() {
  ++pass_;
  search_work_ = 0;
  for (Searches& searches : searches_) searches.is_cut_off = false;
  displaced_.clear();
  next_look_ = forever;
  refresh();
}

bool World::has_turn(Action action, const QueueClass& members) const {
  return policy.search_work_max == 0 ||
         members.searched_in[index_of(action)] < searches_[index_of(action)].round;
}

bool World::may_search(Action action) {
  if (policy.search_work_max == 0 || search_work_ < policy.search_work_max) return true;
  searches_[index_of(action)].is_cut_off = true;
  look_again_at(now + 1);
  return false;
}

void World::end_searches(Action action) {
  Searches& searches = searches_[index_of(action)];
  if (!searches.is_cut_off) searches.round = pass_ + 1;
}

void World::measure_gpus() {
  gpu_memory_most_ = fleet.gpu_memory_most();
  const std::int64_t least = fleet.gpu_memory_least();
  if (least == gpu_memory_least_) return;
  const std::int64_t before = std::exchange(gpu_memory_least_, least);
  // Only a request for GPU memory counts differently now.
  for (SchedJob& job : jobs_) {
    if (job.shape == nullptr || job.background) continue;
    for (std::uint32_t i = 0; i < job.task_count(); ++i) {
      if (job.demand(i).gpu != Demand::Gpu::memory || job.state(i) != TaskState::waiting) continue;
      const Amount charge = job.demand(i).charge(least);
      quotas.remove_waiting(job.project,
                            job.tasks.empty() ? job.demand(i).charge(before) : job.tasks[i].charge);
      quotas.add_waiting(job.project, charge);
      if (!job.tasks.empty()) job.tasks[i].charge = charge;
    }
  }
}

/// Puts the task on its node and on its project's account, as its state says.
void World::attach(TaskRef ref) {
  SchedJob& job = jobs_[ref.job];
  Task& task = job.tasks[ref.task];
  const Demand& demand = job.demand(ref.task);
  const bool firm = job.is_firm(ref.task);
  if (task.leaves) fleet.put(ref, Stay::leaving, !firm, demand, *task.leaves);
  if (const auto stay = stay_of(job, task.state))
    task.spot = fleet.put(ref, *stay, !firm, demand, std::move(task.spot));
  if (is_placed(task.state)) {
    task.charge = charge_of(fleet.at(task.spot.node), demand, task);
    if (!job.background) quotas.charge(job.project, task.charge, firm);
  } else if (task.state == TaskState::waiting) {
    task.charge = demand.charge(gpu_memory_least_);
    if (!job.background) quotas.add_waiting(job.project, task.charge);
  }
}

void World::detach(TaskRef ref) {
  const SchedJob& job = jobs_[ref.job];
  const Task& task = job.tasks[ref.task];
  if (is_placed(task.state) && !job.background)
    quotas.discharge(job.project, task.charge, job.is_firm(ref.task));
  else if (task.state == TaskState::waiting && !job.background)
    quotas.remove_waiting(job.project, task.charge);
  if (const auto stay = stay_of(job, task.state)) fleet.remove(ref, *stay, task.spot.node);
  if (task.leaves) fleet.remove(ref, Stay::leaving, task.leaves->node);
}

void World::become(TaskRef ref, TaskState state, Spot spot, std::optional<Spot> leaves,
                   std::optional<TaskState> evicted) {
  note_change(ref);
  const Task& task = this->task(ref);
  change(ref, {state, evicted, std::move(spot), std::move(leaves), task.charge});
}

/// Keeps what the task is now, for an undo.
void World::note_change(TaskRef ref) {
  SchedJob& job = jobs_[ref.job];
  const bool is_first = job.tasks.empty();
  if (is_first) {
    job.tasks.resize(job.shape->tasks.size());
    for (std::uint32_t i = 0; i < job.tasks.size(); ++i)
      job.tasks[i].charge = job.demand(i).charge(gpu_memory_least_);
  }
  log_.push_back({ref, job.tasks[ref.task], is_first});
}

/// A job that was only tried is as one that never was: what is decided does not depend on it.
void World::take_back_last() {
  Change last = std::move(log_.back());
  log_.pop_back();
  if (last.is_there) return change_there(last.ref, last.before.state, last.before.evicted);
  change(last.ref, std::move(last.before));
  if (last.is_first) jobs_[last.ref.job].tasks = {};
}

void World::change(TaskRef ref, Task next) {
  Task& task = jobs_[ref.job].tasks[ref.task];
  const SchedJob& job = jobs_[ref.job];
  const bool stays_there =
      can_stay(job, task) && stay_of(job, next.state) && !next.leaves && task.spot == next.spot;
  if (stays_there) return change_there(ref, next.state, next.evicted);
  touch(ref.job);
  detach(ref);
  task = std::move(next);
  attach(ref);
}

/// Most changes happen in a search: somebody is told to leave, and allowed to stay after all. Then
/// neither the place nor what others have of it is touched.
void World::change_there(TaskRef ref, TaskState state, std::optional<TaskState> evicted) {
  Task& task = jobs_[ref.job].tasks[ref.task];
  const SchedJob& job = jobs_[ref.job];
  touch(ref.job);
  if (is_placed(task.state)) quotas.discharge(job.project, task.charge, job.is_firm(ref.task));
  fleet.change_stay(ref, *stay_of(job, task.state), *stay_of(job, state), task.spot.node);
  task.state = state;
  task.evicted = evicted;
  if (!is_placed(task.state)) return;
  task.charge = charge_of(fleet.at(task.spot.node), job.demand(ref.task), task);
  quotas.charge(job.project, task.charge, job.is_firm(ref.task));
}

void World::become_there(TaskRef ref, TaskState state, std::optional<TaskState> evicted) {
  const Task& task = this->task(ref);
  if (!can_stay(jobs_[ref.job], task))
    return become(ref, state, Spot(task.spot), std::nullopt, evicted);
  Change& change = log_.emplace_back();
  change.ref = ref;
  change.is_there = true;
  change.before.state = task.state;
  change.before.evicted = task.evicted;
  change_there(ref, state, evicted);
}

void World::start(TaskRef ref, Spot spot) {
  ROTA_ASSERT(jobs_[ref.job].state(ref.task) == TaskState::waiting);
  become(ref, TaskState::starting, std::move(spot), std::nullopt, std::nullopt);
}

void World::promise(TaskRef ref, Spot spot) {
  if (jobs_[ref.job].state(ref.task) == TaskState::waiting)
    return become(ref, TaskState::promised, std::move(spot), std::nullopt, std::nullopt);
  const Task& task = this->task(ref);
  ROTA_ASSERT(task.state == TaskState::leaving);
  const std::optional<TaskState> evicted = task.evicted;
  Spot leaves = task.spot;
  become(ref, TaskState::promised, std::move(spot), std::move(leaves), evicted);
}

void World::evict(TaskRef ref) {
  const Task& task = this->task(ref);
  ROTA_ASSERT(is_placed(task.state));
  const TaskState from = task.state;
  if (from != TaskState::promised) return become_there(ref, TaskState::leaving, from);
  // It has nothing yet that it could leave; one that was to move still leaves its old place.
  if (!task.leaves) return become(ref, TaskState::waiting, {}, std::nullopt, from);
  Spot spot = *task.leaves;
  const std::optional<TaskState> first = task.evicted;
  become(ref, TaskState::leaving, std::move(spot), std::nullopt, first);
}

void World::restore(TaskRef ref) {
  const Task& task = this->task(ref);
  ROTA_ASSERT(task.state == TaskState::leaving && task.evicted);
  become_there(ref, *task.evicted, std::nullopt);
}

void World::demote(TaskRef ref) {
  const Task& task = this->task(ref);
  ROTA_ASSERT(task.state == TaskState::starting);
  Spot spot = task.spot;
  spot.gpus.clear();
  become(ref, TaskState::promised, std::move(spot), std::nullopt, std::nullopt);
}

void World::undo_to(std::size_t mark) {
  while (log_.size() > mark) take_back_last();
}

World::Undone World::take_back_to(std::size_t mark, std::size_t kept_mark) {
  Undone undone{{}, reservations.changes_since(kept_mark)};
  undone.changes.reserve(log_.size() - mark);
  while (log_.size() > mark) {
    undone.changes.emplace_back(log_.back().ref, task(log_.back().ref));
    take_back_last();
  }
  reservations.undo_to(kept_mark);
  return undone;
}

void World::redo(Undone undone) {
  for (auto each = undone.changes.rbegin(); each != undone.changes.rend(); ++each) {
    note_change(each->first);
    change(each->first, std::move(each->second));
  }
  reservations.redo(undone.kept);
}

std::vector<TaskRef> World::changed_since(std::size_t mark) const {
  std::set<TaskRef> refs;
  for (std::size_t i = mark; i < log_.size(); ++i) refs.insert(log_[i].ref);
  return {refs.begin(), refs.end()};
}

Amount World::estimate(const SchedJob& job, const std::vector<std::uint32_t>& tasks,
                       bool largest_gpu) const {
  const std::int64_t memory = largest_gpu ? gpu_memory_most_ : gpu_memory_least_;
  Amount sum;
  for (const auto task : tasks) sum += job.demand(task).charge(memory);
  return sum;
}

}  // namespace rota::sched
