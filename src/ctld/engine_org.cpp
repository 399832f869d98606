// ctld/engine_org.cpp - which project, queue and time a job gets; how the organisation changes.
#include "ctld/engine_org.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/org_diff.h"

namespace rota::ctld {
namespace {

std::string seconds_text(std::int64_t seconds) {
  return duration_format(std::chrono::seconds(seconds));
}

/// A bound on the time limit, and the words that name it.
struct TimeCap {
  std::int64_t seconds = 0;
  std::string rule;
};

std::vector<TimeCap> caps_of(const JobSpec& spec, const Project& project, const Queue* queue) {
  std::vector<TimeCap> caps;
  const auto add = [&caps](const std::optional<std::int64_t>& seconds, std::string rule) {
    if (seconds) caps.push_back({*seconds, std::move(rule)});
  };
  if (queue != nullptr)
    add(queue->time_limit_max_seconds, format("queue {} (time_limit_max)", quoted(queue->name)));
  add(project.time_limit_max_seconds, format("project {} (time_limit_max)", quoted(project.name)));
  if (spec.kind == JobKind::interactive)
    add(project.interactive_time_limit_seconds,
        format("interactive jobs of project {} (interactive_time_limit)", quoted(project.name)));
  return caps;
}

/// What was asked for must be allowed; what was not asked for is made to fit.
Result<void> settle_time(const Project& project, const Queue* queue, const TimeRules& cluster,
                         JobSpec& spec) {
  std::int64_t& limit = spec.time_limit_seconds;
  const bool asked = limit != 0;
  if (!asked && queue != nullptr) limit = queue->time_limit_default_seconds.value_or(0);
  if (limit == 0) limit = cluster.default_seconds;
  for (const TimeCap& cap : caps_of(spec, project, queue)) {
    if (limit != 0 && limit <= cap.seconds) continue;
    if (asked)
      return Error{Errc::policy_refused,
                   format("the time limit is {}, at most {} is allowed for {}", seconds_text(limit),
                          seconds_text(cap.seconds), cap.rule)};
    limit = cap.seconds;
  }
  if (cluster.max_seconds == 0) return {};
  if (asked && limit > cluster.max_seconds)
    return Error{Errc::job_invalid,
                 format("the time limit is {} s, at most {} s are allowed (jobs.time_limit_max)",
                        limit, cluster.max_seconds)};
  if (limit == 0 || limit > cluster.max_seconds) limit = cluster.max_seconds;
  return {};
}

template <class T>
void put_serials(const std::vector<T>& before, std::vector<T>& after, std::uint64_t& last) {
  auto old = before.begin();
  for (T& item : after) {
    while (old != before.end() && old->name < item.name) ++old;
    item.serial = old != before.end() && old->name == item.name ? old->serial : ++last;
  }
}

template <class T>
void put_rows(OrgKind kind, const std::vector<T>& before, const std::vector<T>& after,
              std::vector<Row>& rows) {
  for (const auto& step : steps_between(before, after)) {
    if (step.after != nullptr)
      rows.push_back(OrgPut{*step.after});
    else
      rows.push_back(OrgDrop{kind, step.before->name});
  }
}

}  // namespace

OrgBook::OrgBook(Org org, std::uint64_t revision, std::uint64_t serial_last)
    : org_(std::move(org)), revision_(revision), serial_last_(serial_last) {
  normalize(org_);
}

Result<void> OrgBook::admit(const Owner& owner, const std::vector<std::string>& groups,
                            const TimeRules& cluster, JobSpec& spec) const {
  ROTA_TRY(const Project* project, settle_project(owner, groups, spec));
  ROTA_TRY(const Queue* queue, settle_queue(*project, spec));
  if (spec.priority == 0 && queue != nullptr) spec.priority = queue->priority;
  return settle_time(*project, queue, cluster, spec);
}

Result<const Project*> OrgBook::settle_project(const Owner& owner,
                                               const std::vector<std::string>& groups,
                                               JobSpec& spec) const {
  if (spec.project.empty()) {
    const UserDefaults* user = find_user(org_, owner.user);
    spec.project = user != nullptr && !user->project.empty() ? user->project : default_project;
  }
  const Project* project = find_project(org_, spec.project);
  if (project == nullptr)
    return Error{Errc::no_such_project,
                 format("{}; {}", quoted(spec.project.str()), known_projects(org_, spec.project))};
  if (!is_member(*project, owner.user, groups))
    return Error{Errc::denied,
                 format("project {} is for {}, not for {}; name another with --project",
                        quoted(project->name), members_text(*project), owner.user)};
  return project;
}

Result<const Queue*> OrgBook::settle_queue(const Project& project, JobSpec& spec) const {
  if (spec.queue.empty()) spec.queue = project.default_queue;
  if (spec.queue.empty()) return static_cast<const Queue*>(nullptr);
  const Queue* queue = find_queue(org_, spec.queue);
  if (queue == nullptr)
    return Error{Errc::no_such_queue,
                 format("{}; {}", quoted(spec.queue.str()), known_queues(org_, spec.queue))};
  if (!queue->projects.empty() &&
      !std::binary_search(queue->projects.begin(), queue->projects.end(), project.name)) {
    Project allowed;  // lists its members as people read them
    allowed.users = queue->projects;
    return Error{Errc::policy_refused,
                 format("queue {} is for the projects {}, not for {}", quoted(queue->name),
                        members_text(allowed), quoted(project.name))};
  }
  return queue;
}

void OrgBook::replace(Org desired, std::vector<Row>& rows) {
  put_serials(org_.departments, desired.departments, serial_last_);
  put_serials(org_.projects, desired.projects, serial_last_);
  put_rows(OrgKind::department, org_.departments, desired.departments, rows);
  put_rows(OrgKind::project, org_.projects, desired.projects, rows);
  put_rows(OrgKind::queue, org_.queues, desired.queues, rows);
  put_rows(OrgKind::user, org_.users, desired.users, rows);
  rows.push_back(OrgRevision{++revision_, serial_last_});
  org_ = std::move(desired);
}

std::optional<std::int64_t> OrgBook::grace_of(const std::string& name) const {
  const Project* project = find_project(org_, name);
  if (project == nullptr) return std::nullopt;
  if (project->preemption.grace_seconds) return project->preemption.grace_seconds;
  for (const Department* above = find_department(org_, project->department); above != nullptr;
       above = find_department(org_, above->parent))
    if (above->preemption.grace_seconds) return above->preemption.grace_seconds;
  return std::nullopt;
}

void OrgBook::adopt_project(const std::string& name, std::vector<Row>& rows) {
  if (find_project(org_, name) != nullptr) return;
  Org desired = org_;
  desired.projects.emplace_back().name = name;
  normalize(desired);
  replace(std::move(desired), rows);
}

std::string jobs_text(const std::vector<JobId>& jobs, std::uint64_t count) {
  std::vector<std::uint64_t> numbers;
  for (const JobId job : jobs) numbers.push_back(job.value);
  return format("{} {}{}", count == 1 ? "job" : "jobs", fmt::join(numbers, ", "),
                count > jobs.size() ? format(" and {} more", count - jobs.size()) : "");
}

}  // namespace rota::ctld
