// ctld/engine_arrays.cpp - jobs that stand for many: one record, until its tasks start one by one.
//
// The scheduler knows a few of the tasks that wait, as jobs without a record (heads). One that it
// starts becomes a job, and another head takes its place. So a hundred thousand tasks cost what one
// job costs, and what there is to know of those that have ended lies in the store.
#include <algorithm>

#include "common/assert.h"
#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

constexpr std::uint32_t heads_least = 4;
constexpr std::uint32_t heads_most = 256;

}  // namespace

/// What is known of an array that a former controller began.
void Engine::adopt_array(const Job& job) {
  Array& array = arrays_[job.id];
  array.waiting = job.spec.rules->array.tasks;
  array.waiting.erase_all(job.array->cancelled);
  array.heads_wanted = heads_least;
}

void Engine::adopt_tasks(const std::vector<EndedTask>& ended) {
  for (const EndedTask& task : ended) {
    const auto at = arrays_.find(task.array);
    if (at == arrays_.end()) continue;
    at->second.waiting.erase(task.index);
    note_end(at->second, task);
  }
  for (const auto& [id, job] : jobs_) {
    if (is_final(job.state) || !job.array->of) continue;
    Array& array = arrays_.at(job.array->of);
    array.waiting.erase(job.array->index);
    array.tasks[job.array->index] = id;
  }
}

void Engine::note_end(Array& array, const EndedTask& task) {
  if (task.state == JobState::completed) {
    array.succeeded.insert(task.index);
    return;
  }
  ++array.failed;
  array.worst_code = std::max(array.worst_code, std::max(task.exit_code, 1));
}

/// Those that may start now, as far as their counterparts in other arrays are concerned.
IndexSet Engine::ready_tasks(const Job& job) const {
  IndexSet ready = arrays_.at(job.id).waiting;
  for (const Dependency& each : job.spec.rules->dependencies.all) {
    if (each.kind != DependencyKind::after_corr) continue;
    if (const auto other = arrays_.find(each.job); other != arrays_.end())
      ready = ready.common_with(other->second.succeeded);
  }
  return ready;
}

/// As many heads as may start, but not more than can be of use at once.
void Engine::refill(Job& job, Now now) {
  if (job.state != JobState::pending || gates_.contains(job.id)) return;
  Array& array = arrays_.at(job.id);
  std::uint64_t most = std::min<std::uint64_t>(array.heads_wanted, ready_tasks(job).size());
  if (const std::uint32_t bound = job.spec.rules->array.parallel_max; bound > 0)
    most = std::min<std::uint64_t>(most, bound - std::min<std::size_t>(bound, array.tasks.size()));
  while (array.heads.size() > most) drop_head(array, *array.heads.rbegin());
  while (array.heads.size() < most) {
    job_last_ = JobId{job_last_.value + 1};
    Job head = job;
    head.id = job_last_;
    head.array.edit().of = job.id;
    array.heads.insert(head.id);
    heads_[head.id] = job.id;
    scheduler_.add_waiting(head, seconds_of(now));
    plan_needed_ = true;
  }
}

void Engine::drop_head(Array& array, JobId head) {
  scheduler_.remove(head);
  array.heads.erase(head);
  heads_.erase(head);
  plan_needed_ = true;
}

void Engine::drop_heads(JobId id) {
  Array& array = arrays_.at(id);
  while (!array.heads.empty()) drop_head(array, *array.heads.begin());
  fetched_.erase(id);
}

/// The job that the scheduler means by this number: of a head its array.
const Job& Engine::job_behind(JobId id) const {
  const auto head = heads_.find(id);
  return jobs_.at(head == heads_.end() ? id : head->second);
}

/// A head that starts becomes the job of its array's next task.
Job& Engine::hand_out(JobId head) {
  Job& whole = jobs_.at(heads_.at(head));
  Array& array = arrays_.at(whole.id);
  const IndexSet ready = ready_tasks(whole);
  ROTA_ASSERT(!ready.empty());
  const std::uint32_t index = ready.front();
  array.heads.erase(head);
  heads_.erase(head);
  if (array.heads.empty()) array.heads_wanted = std::min(array.heads_wanted * 2, heads_most);
  array.waiting.erase(index);
  array.tasks[index] = head;
  Job& job = jobs_[head];
  job.id = head;
  job.spec = whole.spec;
  JobRules& rules = job.spec.rules.edit();
  rules.array = {};
  rules.dependencies = {};
  rules.begin = {};
  rules.held = false;
  if ((rules.mail_events & mail_array_tasks) == 0) rules.mail_events = 0;
  job.spec.rules.tidy();
  job.owner = whole.owner;
  job.mode = whole.mode;
  job.submit_time = whole.submit_time;
  ArrayPlace& place = job.array.edit();
  place.of = whole.id;
  place.index = index;
  ++live_count_;
  ++waiting_count_;  // until it starts, which is now
  if (job.spec.rules->deadline) deadlines_.insert({job.spec.rules->deadline, job.id});
  return job;
}

/// Some of its tasks have just started.
void Engine::begin_array(JobId id, Now now) {
  Job& whole = jobs_.at(id);
  const bool is_first = !whole.last->start_time;
  if (is_first) whole.last.edit().start_time = now.wall;
  settle_array(whole, now);
  if (!is_first) return;
  note(whole);
  tell_people(whole, mail_begin);
  wake_dependents(id, now);
}

/// Fewer of its tasks wait than before.
void Engine::settle_array(Job& whole, Now now) {
  const Array& array = arrays_.at(whole.id);
  if (!array.waiting.empty()) return refill(whole, now);
  if (array.tasks.empty()) return end_array(whole, now);
  if (whole.state != JobState::pending) return;
  leave_line(whole);
  --waiting_count_;
  advance(whole, sched::JobEvent::handed_out);
}

void Engine::task_ended(const Job& job, Now now) {
  Job& whole = jobs_.at(job.array->of);
  Array& array = arrays_.at(whole.id);
  array.tasks.erase(job.array->index);
  note_end(array,
           {whole.id, job.array->index, job.state, job.last->end ? job.last->end->exit_code : 0});
  const std::uint32_t enough = whole.spec.rules->array.successes_max;
  if (enough > 0 && array.succeeded.size() >= enough && !array.is_stopping)
    return stop_array(whole, now);
  const JobId id = whole.id;
  settle_array(whole, now);
  if (arrays_.contains(id)) wake_dependents(id, now);
}

/// Nothing more of it starts, and what runs is ended.
void Engine::stop_array(Job& whole, Now now) {
  Array& array = arrays_.at(whole.id);
  array.is_stopping = true;
  drop_waiting(whole, IndexSet(array.waiting), now);
  std::vector<JobId> live;
  for (const auto& [index, id] : array.tasks) live.push_back(id);
  for (const JobId id : live)
    if (const auto task = jobs_.find(id); task != jobs_.end() && !is_final(task->second.state))
      stop(task->second, now);
  if (arrays_.contains(whole.id)) settle_array(whole, now);
}

/// These tasks, of those that wait, never start.
void Engine::drop_waiting(Job& whole, const IndexSet& tasks, Now now) {
  Array& array = arrays_.at(whole.id);
  const IndexSet dropped = array.waiting.common_with(tasks);
  if (dropped.empty()) return;
  array.waiting.erase_all(dropped);
  const IndexSet& all = whole.spec.rules->array.tasks;
  IndexSet others = all;
  others.erase_all(whole.array->cancelled);
  others.erase_all(dropped);
  IndexSet cancelled = all;
  cancelled.erase_all(others);
  whole.array.edit().cancelled = std::move(cancelled);
  note(whole);
  refill(whole, now);
}

void Engine::end_array(Job& whole, Now now) {
  const auto at = arrays_.find(whole.id);
  Array& array = at->second;
  ROTA_ASSERT(array.tasks.empty() && array.waiting.empty());
  if (whole.state == JobState::pending) {
    leave_line(whole);
    --waiting_count_;
  }
  if (whole.state == JobState::suspended) advance(whole, sched::JobEvent::resumed);
  if (whole.state == JobState::pending) advance(whole, sched::JobEvent::handed_out);
  if (whole.state == JobState::running) advance(whole, sched::JobEvent::ending);
  const std::uint64_t count = whole.spec.rules->array.tasks.size();
  const std::uint32_t enough = whole.spec.rules->array.successes_max;
  const bool well = enough > 0 ? array.succeeded.size() >= enough : array.succeeded.size() == count;
  RunEnd end;
  if (!well) {
    end.exit_code = std::max(array.worst_code, 1);
    end.detail = format("{} of its {} tasks ended well", array.succeeded.size(), count);
  }
  whole.last.edit().end = std::move(end);
  settle_counterparts(whole, now);
  arrays_.erase(at);
  advance(whole, sched::JobEvent::ended,
          well                     ? JobState::completed
          : whole.cancel_requested ? JobState::cancelled
                                   : JobState::failed);
  bury(whole, now);
}

/// Arrays that wait for it task by task: those whose counterpart did not end well never start.
void Engine::settle_counterparts(const Job& whole, Now now) {
  const IndexSet succeeded = arrays_.at(whole.id).succeeded;
  std::vector<JobId> waiting;
  for (auto at = dependents_.lower_bound({whole.id, JobId{}});
       at != dependents_.end() && at->first == whole.id; ++at)
    waiting.push_back(at->second);
  for (const JobId id : waiting) {
    Job& other = jobs_.at(id);
    auto& all = other.spec.rules.edit().dependencies.all;
    const auto erased = std::erase_if(all, [&whole](const Dependency& each) {
      return each.kind == DependencyKind::after_corr && each.job == whole.id;
    });
    if (erased == 0 || !arrays_.contains(id)) continue;
    dependents_.erase({whole.id, id});
    for (const Dependency& each : all)
      if (each.job == whole.id) dependents_.insert({whole.id, id});
    note(other);
    IndexSet hopeless = arrays_.at(id).waiting;
    hopeless.erase_all(succeeded);
    drop_waiting(other, hopeless, now);
    settle_array(other, now);
  }
}

}  // namespace rota::ctld
