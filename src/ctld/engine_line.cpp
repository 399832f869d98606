// ctld/engine_line.cpp - jobs before they stand in line: held, waiting for others or for a date.
#include <algorithm>
#include <array>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

WallTime later(WallTime time, std::int64_t seconds) {
  return {time.microseconds + seconds * 1'000'000};
}

bool has_begun(const Job& job) {
  return job.restarts > 0 || job.last->start_time || is_final(job.state) ||
         job.state == JobState::running || job.state == JobState::completing;
}

}  // namespace

/// It waits from now on: in line, or for what keeps it from that.
void Engine::wait(Job& job, Now now) {
  ++waiting_count_;
  if (job.spec.rules->deadline) deadlines_.insert({job.spec.rules->deadline, job.id});
  line_up(job, now);
}

void Engine::line_up(Job& job, Now now) {
  if (auto gate = gate_of(job, now)) {
    if (gate->opens) openings_.insert({gate->opens, job.id});
    gates_[job.id] = std::move(*gate);
    return;
  }
  plan_needed_ = true;
  if (job.spec.is_array()) return refill(job, now);
  if (job.start_failures > 0) return rest(job, now);
  if (!job.last->start_failed_on.empty()) return avoid(job, now);
  scheduler_.add_waiting(job, seconds_of(now));
}

/// It leaves the line, wherever it stands; whether it still waits is for the caller to say.
void Engine::leave_line(const Job& job) {
  plan_needed_ = true;
  if (const auto gate = gates_.find(job.id); gate != gates_.end()) {
    if (gate->second.opens) openings_.erase({gate->second.opens, job.id});
    gates_.erase(gate);
    forget_dependent(job);
    return;
  }
  if (job.spec.is_array()) return drop_heads(job.id);
  if (!rests(job.id)) scheduler_.remove(job.id);
  setbacks_.erase(job.id);
  fetched_.erase(job.id);
}

/// The scheduler knows it as one that waits.
bool Engine::is_in_line(const Job& job) const {
  return job.state == JobState::pending && !job.spec.is_array() && !gates_.contains(job.id) &&
         !rests(job.id);
}

std::size_t Engine::times_in_line(const Job& job) const {
  const auto array = arrays_.find(job.id);
  if (array != arrays_.end()) return array->second.heads.size();
  return is_in_line(job) ? 1 : 0;
}

std::optional<Engine::Gate> Engine::gate_of(Job& job, Now now) {
  if (job.hold == Hold::admin)
    return Gate{WaitReason::held_by_admin, {}, "an administrator holds it"};
  if (job.hold == Hold::user)
    return Gate{
        WaitReason::held_by_user, {}, format("held; rota release {} lets it start", job.id.value)};
  if (auto gate = dependency_gate(job, now)) return gate;
  const WallTime begin = job.spec.rules->begin;
  if (begin > now.wall)
    return Gate{WaitReason::begin_time, begin, format("does not start before {}", rfc3339(begin))};
  return std::nullopt;
}

// ---- dependencies ----

/// What the dependency is on: a job, or a task of an array that has one by now; none: gone, or not
/// there yet.
const Job* Engine::dependency_job(const Dependency& dependency) const {
  if (!dependency.is_task) return find(dependency.job);
  const auto array = arrays_.find(dependency.job);
  if (array == arrays_.end()) return nullptr;
  const auto task = array->second.tasks.find(dependency.task);
  return task == array->second.tasks.end() ? nullptr : find(task->second);
}

/// Of a task of an array: by its array, which knows how its tasks have ended.
Engine::Verdict Engine::task_verdict(const Dependency& dependency) const {
  const auto array = arrays_.find(dependency.job);
  if (array == arrays_.end()) {
    // All is over; only one that ended well as a whole still tells of its tasks.
    const Job* whole = find(dependency.job);
    const bool well = whole != nullptr && whole->state == JobState::completed;
    if (dependency.kind == DependencyKind::after_ok) return well ? Verdict::met : Verdict::never;
    if (dependency.kind == DependencyKind::after_not_ok)
      return well ? Verdict::never : Verdict::met;
    return Verdict::met;
  }
  if (array->second.waiting.contains(dependency.task)) return Verdict::open;
  const Job* task = dependency_job(dependency);
  if (task != nullptr) {
    if (dependency.kind == DependencyKind::after && has_begun(*task)) return Verdict::met;
    if (!is_final(task->state)) return Verdict::open;
  }
  const bool well = array->second.succeeded.contains(dependency.task);
  switch (dependency.kind) {
    case DependencyKind::after_ok:
      return well ? Verdict::met : Verdict::never;
    case DependencyKind::after_not_ok:
      return well ? Verdict::never : Verdict::met;
    default:
      return Verdict::met;
  }
}

Engine::Verdict Engine::verdict_of(const Job& job, const Dependency& dependency) const {
  if (dependency.kind == DependencyKind::singleton) {
    const auto same = singletons_.find({job.owner.uid, job.spec.name});
    if (same == singletons_.end() || same->second.empty()) return Verdict::met;
    return *same->second.begin() < job.id ? Verdict::open : Verdict::met;
  }
  if (dependency.is_task) return task_verdict(dependency);
  const Job* other = find(dependency.job);
  // Forgotten: it ended long ago, and nobody knows any more how.
  if (other == nullptr)
    return dependency.kind == DependencyKind::after || dependency.kind == DependencyKind::after_any
               ? Verdict::met
               : Verdict::never;
  const bool is_over = is_final(other->state);
  const bool well = other->state == JobState::completed;
  switch (dependency.kind) {
    case DependencyKind::after:
      return has_begun(*other) ? Verdict::met : Verdict::open;
    case DependencyKind::after_ok:
      return !is_over ? Verdict::open : well ? Verdict::met : Verdict::never;
    case DependencyKind::after_not_ok:
      return !is_over ? Verdict::open : well ? Verdict::never : Verdict::met;
    case DependencyKind::after_corr:
      // Task by task, which its array looks at; one that is over was settled at its end.
      return arrays_.contains(dependency.job) || well ? Verdict::met : Verdict::never;
    default:
      return is_over ? Verdict::met : Verdict::open;
  }
}

/// Takes off what is met, so that nobody has to remember how it ended.
std::optional<Engine::Gate> Engine::dependency_gate(Job& job, Now now) {
  if (job.spec.rules->dependencies.all.empty()) return std::nullopt;
  if (std::ranges::any_of(job.spec.rules->dependencies.all, [](const Dependency& each) {
        return each.kind == DependencyKind::singleton;
      }))
    know_singleton(job);
  JobRules& rules = job.spec.rules.edit();
  Dependencies& wanted = rules.dependencies;
  std::vector<Dependency> left;
  bool is_met = false, is_hopeless = false;
  for (const Dependency& each : wanted.all) {
    const Verdict verdict = verdict_of(job, each);
    const bool stays = each.kind == DependencyKind::after_corr && arrays_.contains(each.job);
    if (verdict == Verdict::met && !stays) {
      is_met = true;
      if (const Job* other = dependency_job(each); each.delay_seconds > 0 && other != nullptr) {
        const WallTime begun = other->last->start_time ? other->last->start_time : now.wall;
        rules.begin = std::max(rules.begin, later(begun, each.delay_seconds));
      }
      continue;
    }
    if (verdict == Verdict::never) is_hopeless = true;
    left.push_back(each);
  }
  const bool may_start =
      wanted.any ? is_met : std::ranges::all_of(left, [](const Dependency& each) {
        return each.kind == DependencyKind::after_corr;
      });
  if (may_start && wanted.any) left.clear();
  if (left.size() != wanted.all.size()) {
    wanted.all = left;
    note(job);
  }
  for (const Dependency& each : left)
    if (each.job) dependents_.insert({each.job, job.id});
  if (may_start && (wanted.any || !is_hopeless)) return std::nullopt;
  if (wanted.any) {
    is_hopeless = std::ranges::all_of(
        left, [&](const Dependency& each) { return verdict_of(job, each) == Verdict::never; });
  }
  const std::string what = text_of(wanted);
  if (is_hopeless)
    return Gate{WaitReason::dependency_never, {}, format("{} can no longer come true", what)};
  return Gate{WaitReason::dependency, {}, format("waits for {}", what)};
}

void Engine::forget_dependent(const Job& job) {
  for (const Dependency& each : job.spec.rules->dependencies.all)
    if (each.job) dependents_.erase({each.job, job.id});
}

/// Live jobs of this owner and name, from now on kept in mind.
void Engine::know_singleton(const Job& job) {
  const auto [same, is_new] = singletons_.try_emplace({job.owner.uid, job.spec.name.c_str()});
  if (is_new)
    for (const auto& [id, other] : jobs_)
      if (!is_final(other.state) && !other.array->of && other.owner.uid == job.owner.uid &&
          other.spec.name == job.spec.name)
        same->second.insert(id);
  same->second.insert(job.id);
}

void Engine::forget_singleton(const Job& job, Now now) {
  const auto same = singletons_.find({job.owner.uid, job.spec.name});
  if (same == singletons_.end() || same->second.erase(job.id) == 0) return;
  if (same->second.empty()) {
    singletons_.erase(same);
    return;
  }
  const JobId first = *same->second.begin();
  if (gates_.contains(first)) look_again(first, now);
}

/// What kept it from the line may be over.
void Engine::look_again(JobId id, Now now) {
  Job& job = jobs_.at(id);
  if (job.state != JobState::pending) return;
  const bool was_array_in_line = job.spec.is_array() && !gates_.contains(id);
  if (was_array_in_line) return refill(job, now);
  leave_line(job);
  line_up(job, now);
  note(job);
  const auto gate = gates_.find(id);
  if (gate == gates_.end() || gate->second.why != WaitReason::dependency_never) return;
  tell_people(job, mail_invalid_depend);
  if (job.spec.rules->kill_on_invalid_dependency)
    end_waiting(job, JobState::cancelled, gate->second.text, now);
}

/// The job has started, or has ended: those that wait for that look again.
void Engine::wake_dependents(JobId id, Now now) {
  std::vector<JobId> waiting;
  for (auto at = dependents_.lower_bound({id, JobId{}}); at != dependents_.end() && at->first == id;
       ++at)
    waiting.push_back(at->second);
  for (const JobId each : waiting) look_again(each, now);
}

/// Everything that a job may depend on is on record, when it is submitted.
Result<void> Engine::check_dependencies(const JobSpec& spec) const {
  for (const Dependency& each : spec.rules->dependencies.all) {
    if (!each.job) continue;
    const Job* other = find(each.job);
    if (other == nullptr)
      return Error{Errc::no_such_job, format("--dependency {}: job {} is not on record",
                                             text_of(each), each.job.value)};
    const bool wants_array = each.is_task || each.kind == DependencyKind::after_corr;
    if (wants_array && !other->spec.is_array())
      return Error{Errc::job_invalid,
                   format("--dependency {}: job {} is no array", text_of(each), each.job.value)};
    if (each.is_task && !other->spec.rules->array.tasks.contains(each.task))
      return Error{Errc::job_invalid, format("--dependency {}: array {} has no task {}",
                                             text_of(each), each.job.value, each.task)};
  }
  return {};
}

// ---- dates ----

void Engine::open_gates(Now now) {
  while (!openings_.empty() && openings_.begin()->first <= now.wall) {
    const JobId id = openings_.begin()->second;
    openings_.erase(openings_.begin());
    look_again(id, now);
  }
  while (!marks_.empty() && std::get<WallTime>(*marks_.begin()) <= now.wall) {
    const auto [at, id, event] = *marks_.begin();
    marks_.erase(marks_.begin());
    const auto job = jobs_.find(id);
    if (job != jobs_.end() && job->second.state == JobState::running)
      tell_people(job->second, event);
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now.wall) {
    const JobId id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    if (const auto at = jobs_.find(id); at != jobs_.end()) miss_deadline(at->second, now);
  }
}

/// Of a job that runs: the owner wants to hear when so much of its time limit has passed.
void Engine::mark_time(const Job& job, Now now) {
  std::erase_if(marks_, [&job](const auto& mark) { return std::get<JobId>(mark) == job.id; });
  if (job.state != JobState::running || job.spec.time_limit_seconds == 0) return;
  constexpr std::array<std::pair<MailEvent, int>, 3> percents{
      {{mail_time_limit_50, 50}, {mail_time_limit_80, 80}, {mail_time_limit_90, 90}}};
  for (const auto& [event, percent] : percents) {
    if ((job.spec.rules->mail_events & event) == 0) continue;
    const WallTime at = later(job.last->start_time, job.spec.time_limit_seconds * percent / 100);
    if (at > now.wall) marks_.insert({at, job.id, event});
  }
}

void Engine::miss_deadline(Job& job, Now now) {
  if (is_final(job.state) || job.state == JobState::completing) return;
  const std::string text =
      format("it was not over by its deadline, {}", rfc3339(job.spec.rules->deadline));
  if (job.spec.is_array() && job.state != JobState::running) return stop_array(job, now);
  if (job.state == JobState::pending || job.state == JobState::suspended)
    return end_waiting(job, JobState::deadline, text, now);
  if (job.spec.is_array()) return;  // each of its tasks has the same deadline
  job.last.edit().end = RunEnd{.cause = EndCause::deadline, .detail = text};
  begin_ending(job);
  order_end_everywhere(job);
}

/// Ends a job that holds nothing.
void Engine::end_waiting(Job& job, JobState final_state, std::string why, Now now) {
  if (job.state == JobState::pending) {
    leave_line(job);
    --waiting_count_;
  }
  if (!why.empty()) {
    const EndCause cause =
        final_state == JobState::deadline ? EndCause::deadline : EndCause::cancelled;
    job.last.edit().end = RunEnd{.cause = cause, .detail = std::move(why)};
  }
  advance(job, sched::JobEvent::ended, final_state);
  bury(job, now);
}

/// It has ended, for good.
void Engine::bury(Job& job, Now now) {
  job.end_time = now.wall;
  --live_count_;
  ended_.push_back(job.id);
  if (job.spec.rules->deadline) deadlines_.erase({job.spec.rules->deadline, job.id});
  std::uint32_t events = mail_end;
  if (job.state != JobState::completed) events |= mail_fail;
  if (job.state == JobState::timeout) events |= mail_time_limit;
  tell_people(job, events);
  if (job.array->of)
    task_ended(job, now);
  else
    forget_singleton(job, now);
  wake_dependents(job.id, now);
}

}  // namespace rota::ctld
