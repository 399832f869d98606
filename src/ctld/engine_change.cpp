// ctld/engine_change.cpp - what people change of jobs: hold, release, requeue, suspend, resume,
// update; and jobs that say that their work is safe.
#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "ctld/engine.h"
#include "model/job_update.h"

namespace rota::ctld {

using proto::JobVerb;

namespace {

/// What can only be said of jobs that still have something before them.
Error too_late(const Job& job) { return {Errc::job_ended, format("it is {}", name_of(job.state))}; }

/// What only the array itself has, and its tasks, which are named along with it, have not.
bool is_of_arrays(const proto::JobChangeRequest& request) {
  return request.verb == JobVerb::update &&
         std::ranges::any_of(request.settings, [](const OrgSetting& setting) {
           return setting.key == "array-parallel";
         });
}

}  // namespace

/// Whether the caller may do anything to the job.
std::optional<Error> Engine::check_owner(const Caller& caller, const Job& job) const {
  const UserRole role = role_of(caller);
  if (role == UserRole::viewer) return Error{Errc::denied, "the role viewer only looks"};
  if (role != UserRole::admin && caller.owner.uid != job.owner.uid)
    return Error{Errc::denied, format("it belongs to {}", job.owner.user)};
  return std::nullopt;
}

Result<proto::JobChangeReply> Engine::change(const Caller& caller,
                                             const proto::JobChangeRequest& request, Now now) {
  if (!request.filter.names_jobs()) return Error{Errc::usage, "name the jobs by their numbers"};
  proto::JobChangeReply reply;
  const Selection selection = select(request.filter, reply.refused);
  for (const ArrayTasks& each : selection.waiting)
    reply.refused.push_back(
        {each.array, static_cast<std::uint16_t>(Errc::job_not_started),
         format("task{} {} of it {} not started; what waits of an array is changed as a whole",
                each.tasks.size() == 1 ? "" : "s", each.tasks.text(40),
                each.tasks.size() == 1 ? "has" : "have")});
  for (const JobId id : selection.jobs) {
    Job& job = jobs_.at(id);
    if (job.array->of && is_of_arrays(request)) continue;
    auto error = check_owner(caller, job);
    if (!error) error = change_one(caller, job, request, now);
    if (error)
      reply.refused.push_back({id, static_cast<std::uint16_t>(error->code), error->detail});
    else
      reply.done.push_back(id);
  }
  return reply;
}

std::optional<Error> Engine::change_one(const Caller& caller, Job& job,
                                        const proto::JobChangeRequest& request, Now now) {
  switch (request.verb) {
    case JobVerb::hold:
      return hold_job(caller, job, now);
    case JobVerb::release:
      return release_job(caller, job, now);
    case JobVerb::requeue:
      return requeue_job(caller, job);
    case JobVerb::suspend:
      return suspend_job(caller, job);
    case JobVerb::resume:
      return resume_job(job, now);
    case JobVerb::update:
      return update_job(caller, job, request.settings, now);
  }
  return Error{Errc::invalid_argument, "unknown verb"};
}

std::optional<Error> Engine::hold_job(const Caller& caller, Job& job, Now now) {
  if (job.state != JobState::pending)
    return Error{Errc::invalid_argument,
                 format("it is {}; only a job that waits can be held", name_of(job.state))};
  const bool by_admin = is_admin(caller) && caller.owner.uid != job.owner.uid;
  leave_line(job);
  job.hold = by_admin ? Hold::admin : std::max(job.hold, Hold::user);
  line_up(job, now);
  note(job);
  return std::nullopt;
}

std::optional<Error> Engine::release_job(const Caller& caller, Job& job, Now now) {
  if (job.hold == Hold::none) return Error{Errc::invalid_argument, "nobody holds it"};
  if (job.hold == Hold::admin && !is_admin(caller))
    return Error{Errc::denied, "an administrator holds it"};
  job.hold = Hold::none;
  note(job);
  if (job.state == JobState::pending) look_again(job.id, now);
  return std::nullopt;
}

/// Ends the run, politely; `after` is done with the job when it has.
void Engine::interrupt(Job& job, AfterEnd after, std::string why) {
  job.after_end = after;
  job.last.edit().displaced = std::move(why);
  if (job.state == JobState::preempted) return note(job);
  advance(job, sched::JobEvent::displaced);
  scheduler_.set_ending(job.id);
  order_end_everywhere(job);
}

std::optional<Error> Engine::requeue_job(const Caller& caller, Job& job) {
  if (job.state != JobState::running && job.state != JobState::starting)
    return Error{Errc::invalid_argument,
                 format("it is {}; only a job that runs can be put back", name_of(job.state))};
  if (job.spec.is_array())
    return Error{Errc::invalid_argument, "it has no processes itself; name its tasks"};
  if (job.mode == LaunchMode::hold)
    return Error{Errc::invalid_argument, "it is held by a command, and cannot start without it"};
  interrupt(job, AfterEnd::requeue, format("requeued by {}", caller.owner.user));
  return std::nullopt;
}

std::optional<Error> Engine::suspend_job(const Caller& caller, Job& job) {
  if (job.mode == LaunchMode::hold)
    return Error{Errc::invalid_argument, "it is held by a command, and cannot start without it"};
  switch (job.state) {
    case JobState::pending:
      leave_line(job);
      --waiting_count_;
      advance(job, sched::JobEvent::suspended);
      return std::nullopt;
    case JobState::starting:
    case JobState::running:
    case JobState::preempted:
      if (job.spec.is_array())
        return Error{Errc::invalid_argument, "all of its tasks have started; name them"};
      interrupt(job, AfterEnd::suspend, format("suspended by {}", caller.owner.user));
      return std::nullopt;
    case JobState::suspended:
      return Error{Errc::invalid_argument, "it is suspended already"};
    default:
      return too_late(job);
  }
}

std::optional<Error> Engine::resume_job(Job& job, Now now) {
  if (job.state == JobState::preempted && job.after_end == AfterEnd::suspend) {
    job.after_end = AfterEnd::requeue;
    note(job);
    return std::nullopt;
  }
  if (job.state != JobState::suspended)
    return Error{Errc::invalid_argument, format("it is {}, not suspended", name_of(job.state))};
  advance(job, sched::JobEvent::resumed);
  wait(job, now);
  return std::nullopt;
}

std::optional<Error> Engine::check_update(const Caller& caller, const Job& job,
                                          JobSpec& spec) const {
  const bool is_waiting = job.state == JobState::pending || job.state == JobState::suspended;
  if (auto valid = validate(spec); !valid) return valid.error();
  if (spec.is_array() != job.spec.is_array())
    return Error{Errc::invalid_argument, "array-parallel is of an array, and this is none"};
  if (!is_admin(caller)) {
    if (spec.rules->nice < std::min(0, job.spec.rules->nice))
      return Error{Errc::denied, "only an administrator may set nice below 0"};
    const std::int64_t limit = spec.time_limit_seconds, before = job.spec.time_limit_seconds;
    if (!is_waiting && before > 0 && (limit == 0 || limit > before))
      return Error{Errc::denied,
                   "only an administrator may give a job that runs a longer time limit"};
  }
  if (auto known = check_dependencies(spec); !known) return known.error();
  for (const Dependency& each : spec.rules->dependencies.all)
    if (each.job == job.id) return Error{Errc::job_invalid, "it cannot wait for itself"};
  if (!is_waiting) return std::nullopt;
  const bool moves = !(spec.project == job.spec.project) || !(spec.queue == job.spec.queue) ||
                     spec.time_limit_seconds != job.spec.time_limit_seconds;
  if (moves)
    if (auto fits = org_.admit(
            job.owner, caller.groups,
            {settings_.time_limit_default_seconds, settings_.time_limit_max_seconds}, spec);
        !fits)
      return fits.error();
  if (nodes_.empty()) return std::nullopt;
  if (auto known = scheduler_.node_rules().check(*spec.nodes); !known) return known.error();
  if (scheduler_.fit_of(spec) == sched::Fit::never && !has_closed_gpus())
    return Error{Errc::never_fits, scheduler_.never_text(spec)};
  return std::nullopt;
}

std::optional<Error> Engine::update_job(const Caller& caller, Job& job,
                                        const std::vector<OrgSetting>& settings, Now now) {
  if (is_final(job.state) || job.state == JobState::completing) return too_late(job);
  const bool is_waiting = job.state == JobState::pending || job.state == JobState::suspended;
  auto updated = job_updated(job.spec, settings, is_waiting);
  if (!updated) return updated.error();
  if (auto error = check_update(caller, job, *updated)) return error;
  if (job.state == JobState::pending) {
    leave_line(job);
    forget_dependent(job);
  }
  const bool renamed = job.spec.name != updated->name;
  const bool limited = job.spec.time_limit_seconds != updated->time_limit_seconds;
  if (job.spec.rules->deadline) deadlines_.erase({job.spec.rules->deadline, job.id});
  if (renamed) forget_singleton(job, now);
  job.spec = std::move(*updated);
  if (job.spec.rules->deadline) deadlines_.insert({job.spec.rules->deadline, job.id});
  if (renamed)
    if (const auto same = singletons_.find({job.owner.uid, job.spec.name});
        same != singletons_.end())
      same->second.insert(job.id);
  if (job.state == JobState::pending) line_up(job, now);
  if (limited && !job.last->placement.empty()) {
    job.last.edit().limit_changed = true;
    for (const NodePart& part : job.last->placement)
      order(part.node, proto::LimitRun{job.run(part), job.spec.time_limit_seconds});
  }
  mark_time(job, now);
  note(job);
  return std::nullopt;
}

Result<proto::SavedReply> Engine::saved(const Caller& caller, JobId id, Now now) {
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return Error{Errc::no_such_job, format("{}", id.value)};
  Job& job = at->second;
  if (auto error = check_owner(caller, job)) return *error;
  if (job.last->placement.empty())
    return Error{Errc::job_not_started,
                 format("job {} is {}, and has nothing to save", id.value, name_of(job.state))};
  job.last.edit().saved = now.wall;
  scheduler_.note_saved(job.id, seconds_of(now));
  note(job);
  proto::SavedReply reply;
  reply.makes_way = job.state == JobState::preempted;
  // Nothing is lost any more: whoever waits for its GPUs need not wait for its grace.
  if (reply.makes_way)
    for (const NodePart& part : job.last->placement) {
      proto::EndRun end = end_order(job, part);
      end.grace_ms = 0;
      order(part.node, end);
    }
  return reply;
}

}  // namespace rota::ctld
