// sched/world_lines.cpp - who waits, and who could be evicted, kept in order.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/assert.h"
#include "sched/world.h"

namespace rota::sched {
namespace {

/// Limits that are within a tenth of each other are one class: where one cannot be fitted in before
/// a reservation, the others are not tried either.
std::int32_t limit_class(std::int64_t seconds) {
  if (seconds <= 0) return 0;
  return 1 + static_cast<std::int32_t>(std::log2(static_cast<double>(seconds)) * 7);
}

}  // namespace

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
  return {.priority = job.priority,
          .fill = fill,
          .user_rank = rank,
          .submitted = job.submitted,
          .id = job.id,
          .job = index};
}

JobKey World::key_to_take(Fill fill, std::uint32_t index) const {
  JobKey key = key_as(fill, index);
  const std::int64_t since = jobs_[index].works_since();
  key.works_since = since == never ? forever : since;
  return key;
}

void World::hide_evictable(std::uint32_t index) {
  Membership& member = members_[index];
  if (!member.evictable_as) return;
  seats_[jobs_[index].project].evictable.erase(key_to_take(*member.evictable_as, index));
  member.evictable_as.reset();
}

void World::show_evictable(std::uint32_t index, Fill fill) {
  seats_[jobs_[index].project].evictable.insert(key_to_take(fill, index));
  members_[index].evictable_as = fill;
}

void World::set_work(std::uint32_t index, std::int64_t started, std::int64_t saved) {
  const std::optional<Fill> evictable_as = members_[index].evictable_as;
  hide_evictable(index);
  jobs_[index].started = started;
  jobs_[index].saved = saved;
  if (evictable_as) show_evictable(index, *evictable_as);
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
    seats_[project].evictable.insert(key_to_take(key.fill, key.job));
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
  hide_evictable(index);
  const bool any_placed = has_placed(job);
  refresh_end(index, any_placed);
  if (any_placed && fill_of(job) == Fill::below)
    incomplete_.insert(index);
  else if (incomplete_.erase(index) > 0)
    jobs_[index].stale_since = never;
  if (job.preemptible && any_placed) show_evictable(index, fill_of(job));
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
