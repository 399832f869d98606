// sched/world.cpp - a task's state, its place on a node and its project's charge, changed as one.
#include "sched/world.h"

#include <algorithm>
#include <cmath>
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

/// Limits that are within a tenth of each other are one class: where one cannot be fitted in before
/// a reservation, the others are not tried either.
std::int32_t limit_class(std::int64_t seconds) {
  if (seconds <= 0) return 0;
  return 1 + static_cast<std::int32_t>(std::log2(static_cast<double>(seconds)) * 7);
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
  Membership& member = members_[index];
  if (member.evictable_as) seats_[job.project].evictable.erase(key_as(*member.evictable_as, index));
  member.evictable_as.reset();
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
    } else if (demand.gpu == Demand::Gpu::whole) {
      spot.gpus = choose_whole(fleet.at(node), demand.devices);
    }
    set_state({promise.job, task}, TaskState::starting, std::move(spot));
    ++fitting;
  }
  const bool starts = fill_of(job) != Fill::below;
  for (std::uint32_t i = 0; i < job.tasks.size(); ++i) {
    if (job.tasks[i].state != TaskState::starting) continue;
    if (!starts) set_state({promise.job, i}, TaskState::waiting, {});
    if (starts && job.started == never) job.started = now;
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
    task.charge = charge_on(fleet.at(task.spot.node), demand);
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
  task.charge = charge_on(fleet.at(task.spot.node), job.demand(ref.task));
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

// ---- who waits, and who could be evicted ----

void World::touch(std::uint32_t job) {
  if (members_[job].is_dirty) return;
  members_[job].is_dirty = true;
  dirty_.push_back(job);
}

void World::refresh() {
  if (seats_.size() < quotas.size()) seats_.resize(quotas.size());
  for (const auto job : dirty_) refresh(job);
  dirty_.clear();
}

JobKey World::key_as(Fill fill, std::uint32_t index) const {
  const SchedJob& job = jobs_[index];
  const std::uint32_t rank = job.user < user_ranks_.size() ? user_ranks_[job.user] : 0;
  return {job.priority, fill, rank, job.submitted, job.id, index};
}

/// All that is kept in this order is taken out and put in again: it happens seldom.
void World::rank_users(QuotaIndex project, const std::vector<UserRank>& ranks) {
  ROTA_ASSERT(log_.empty());
  refresh();
  Seat seat;
  std::swap(seat, seats_[project]);
  for (const UserRank& each : ranks) {
    if (user_ranks_.size() <= each.user) user_ranks_.resize(each.user + 1);
    user_ranks_[each.user] = each.rank;
  }
  for (const Head& head : seat.heads)
    show_head(project, {key_as(head.key.fill, head.key.job), head.members});
  for (const JobKey& key : seat.evictable)
    seats_[project].evictable.insert(key_as(key.fill, key.job));
}

/// Among jobs of one class.
bool World::is_before(std::uint32_t a, std::uint32_t b) const {
  const SchedJob &x = jobs_[a], &y = jobs_[b];
  return x.submitted != y.submitted ? x.submitted < y.submitted : x.id < y.id;
}

World::ClassKey World::class_key(const SchedJob& job) const {
  ClassKey key{.project = job.project,
               .priority = job.priority,
               .preemptible = job.preemptible,
               .semi = job.semi,
               .shape = job.shape.get(),
               .limit = policy.reservations_max > 0 ? limit_class(seconds_planned(job)) : 0,
               .user = job.user};
  const bool untouched = std::all_of(job.tasks.begin(), job.tasks.end(), [](const Task& task) {
    return task.state == TaskState::waiting;
  });
  if (untouched) return key;
  key.fill = fill_of(job);
  key.own = job.id;
  return key;
}

std::int64_t World::shared_until(std::uint32_t job, const Spot& spot, bool of_any) const {
  if (spot.shared.empty() || !reservations.has_hold(spot.node)) return 0;
  std::int64_t all = of_any ? 0 : forever;
  for (const std::uint32_t id : spot.shared) {
    std::int64_t until = 0;
    for (const FleetNode::Resident& other : fleet.at(spot.node).residents) {
      if (other.stay != Stay::held || other.task.job == job) continue;
      const auto& ids = other.spot.shared;
      if (std::find(ids.begin(), ids.end(), id) != ids.end())
        until = std::max(until, end_of(other.task.job));
    }
    all = of_any ? std::max(all, until) : std::min(all, until);
  }
  return all;
}

void World::refresh_end(std::uint32_t index, bool holds) {
  const SchedJob& job = jobs_[index];
  Membership& member = members_[index];
  std::int64_t end = never;
  if (holds && policy.reservations_max > 0 && job.started != never)
    end = job.started + seconds_planned(job);
  if (end == member.ends_at) return;
  if (member.ends_at != never) ends_.erase({member.ends_at, index});
  if (end != never) ends_.insert({end, index});
  member.ends_at = end;
}

void World::refresh(std::uint32_t index) {
  Membership& member = members_[index];
  const SchedJob& job = jobs_[index];
  member.is_dirty = false;
  // What was only tried and undone stays where it is, with what is known of it.
  const bool waits = has_waiting(job) && is_ready(job);
  if (job.background) return refresh_background(index, waits);
  if (!waits || member.waits_in == nullptr || class_keys_.at(member.waits_in) != class_key(job)) {
    leave_class(index);
    if (waits) join_class(index);
  }
  if (has_waiting(job) && !waits)
    other_causes_[index] = {.kind = WaitCause::Kind::not_ready};
  else
    other_causes_.erase(index);
  if (member.evictable_as) {
    seats_[job.project].evictable.erase(key_as(*member.evictable_as, index));
    member.evictable_as.reset();
  }
  const bool any_placed = has_placed(job);
  refresh_end(index, any_placed);
  if (any_placed && fill_of(job) == Fill::below)
    incomplete_.insert(index);
  else if (incomplete_.erase(index) > 0)
    jobs_[index].stale_since = never;
  if (job.preemptible && any_placed) {
    member.evictable_as = fill_of(job);
    seats_[job.project].evictable.insert(key_as(*member.evictable_as, index));
  }
}

JobKey World::background_key(std::uint32_t index) const {
  const SchedJob& job = jobs_[index];
  return {.priority = job.priority, .submitted = job.submitted, .id = job.id, .job = index};
}

/// No class, no project's line, no end that plans could count on.
void World::refresh_background(std::uint32_t index, bool waits) {
  const SchedJob& job = jobs_[index];
  const JobKey key = background_key(index);
  if (waits)
    background_.waiting.insert(key);
  else
    background_.waiting.erase(key);
  if (has_placed(job))
    background_.placed.insert(index);
  else
    background_.placed.erase(index);
  if (!waits) other_causes_.erase(index);
  if (has_waiting(job) && !waits) other_causes_[index] = {.kind = WaitCause::Kind::not_ready};
}

bool World::Shorter::operator()(const Head& a, const Head& b) const {
  if (a.key.priority != b.key.priority) return a.key.priority > b.key.priority;
  if (a.key.fill != b.key.fill) return a.key.fill < b.key.fill;
  if (a.members->limit != b.members->limit) return a.members->limit < b.members->limit;
  return a.key < b.key;
}

void World::show_head(QuotaIndex project, const Head& head) {
  seats_[project].heads.insert(head);
  if (policy.reservations_max > 0) seats_[project].shortest.insert(head);
}

void World::hide_head(QuotaIndex project, const Head& head) {
  seats_[project].heads.erase(head);
  seats_[project].shortest.erase(head);
}

void World::join_class(std::uint32_t index) {
  const SchedJob& job = jobs_[index];
  const ClassKey key = class_key(job);
  const auto [at, is_new] = classes_.try_emplace(key);
  QueueClass& members = at->second;
  if (is_new) {
    members.step = estimate(job, tasks_to_place(job));
    members.limit = key.limit;
    class_keys_[&members] = key;
  }
  const bool is_first = members.jobs.empty() || is_before(index, members.jobs.front());
  if (is_first && !members.jobs.empty())
    hide_head(job.project, {key_as(key.fill, members.jobs.front()), &members});
  members.jobs.insert(index, [this](auto a, auto b) { return is_before(a, b); });
  if (is_first) show_head(job.project, {key_as(key.fill, index), &members});
  members_[index].waits_in = &members;
}

void World::leave_class(std::uint32_t index) {
  QueueClass* members = members_[index].waits_in;
  if (members == nullptr) return;
  members_[index].waits_in = nullptr;
  const QuotaIndex project = jobs_[index].project;
  const ClassKey key = class_keys_.at(members);
  const bool was_first = members->jobs.front() == index;
  if (was_first) hide_head(project, {key_as(key.fill, index), members});
  members->jobs.erase(index, [this](auto a, auto b) { return is_before(a, b); });
  if (members->jobs.empty()) {
    class_keys_.erase(members);
    classes_.erase(key);
  } else if (was_first) {
    show_head(project, {key_as(key.fill, members->jobs.front()), members});
  }
}

const WaitCause& World::cause_of(std::uint32_t job) const {
  static const WaitCause none;
  if (members_[job].waits_in != nullptr) return members_[job].waits_in->cause;
  const auto at = other_causes_.find(job);
  return at == other_causes_.end() ? none : at->second;
}

std::uint32_t World::first_of_class(std::uint32_t job) const {
  const QueueClass* members = members_[job].waits_in;
  return members == nullptr ? job : members->jobs.front();
}

void World::set_cause(std::uint32_t job, const WaitCause& cause) {
  if (QueueClass* members = members_[job].waits_in)
    members->cause = cause;
  else if (jobs_[job].background)
    other_causes_[job] = cause;
}

bool World::found_no_room(const JobShape* shape) const {
  const auto at = no_room_.find(shape);
  return at != no_room_.end() && at->second == fleet.freed_count();
}

}  // namespace rota::sched
