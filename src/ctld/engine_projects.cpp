// ctld/engine_projects.cpp - the administrator's changes: projects, departments, queues, users.
#include <algorithm>
#include <map>
#include <set>

#include "common/escape.h"
#include "common/format.h"
#include "ctld/engine.h"
#include "model/org_diff.h"
#include "model/org_keys.h"

namespace rota::ctld {
namespace {

constexpr std::size_t jobs_named_max = 10;
/// More than anybody reads; the answer also stays in the store for an hour.
constexpr std::size_t lines_max = 10'000;

/// Live jobs in each of these projects or queues.
struct Holders {
  std::vector<JobId> first;
  std::uint64_t count = 0;
};
using HoldersByName = std::map<std::string_view, Holders>;

void count_in(HoldersByName& holders, const std::string& name, JobId job) {
  const auto at = holders.find(name);
  if (at == holders.end()) return;
  if (++at->second.count <= jobs_named_max) at->second.first.push_back(job);
}

Result<void> refuse_held(std::string_view kind, const HoldersByName& holders) {
  for (const auto& [name, held] : holders)
    if (held.count > 0)
      return Error{Errc::org_in_use, format("{} {} has live jobs and cannot be deleted: {}", kind,
                                            quoted(name), jobs_text(held.first, held.count))};
  return {};
}

/// Nothing else may name a project that goes.
Result<void> check_unnamed(const Org& org, const std::string& project) {
  for (const UserDefaults& user : org.users)
    if (user.project == project)
      return Error{Errc::org_in_use, format("project {} is the default project of user {}",
                                            quoted(project), quoted(user.name))};
  for (const Queue& queue : org.queues)
    if (std::binary_search(queue.projects.begin(), queue.projects.end(), project))
      return Error{Errc::org_in_use, format("project {} stands in the projects of queue {}",
                                            quoted(project), quoted(queue.name))};
  return {};
}

std::vector<std::string> all_warnings(const Org& org, const sched::NodeRules& rules) {
  auto lines = warnings_of(org);
  auto more = rules.warnings_of(org);
  std::move(more.begin(), more.end(), std::back_inserter(lines));
  return lines;
}

/// What the change brings: a policy that stands is not complained of every time.
std::vector<std::string> new_warnings(const Org& before, const Org& after,
                                      const sched::NodeRules& rules) {
  const auto lines = all_warnings(before, rules);
  const std::set<std::string> known(lines.begin(), lines.end());
  auto warnings = all_warnings(after, rules);
  std::erase_if(warnings, [&known](const std::string& line) { return known.contains(line); });
  return warnings;
}

/// Who does what he likes to projects still cannot make himself another role.
bool same_roles(const Org& before, const Org& after) {
  const auto roles_of = [](const Org& org) {
    std::map<std::string, UserRole> roles;
    for (const UserDefaults& user : org.users)
      if (user.role != UserRole::researcher) roles[user.name] = user.role;
    return roles;
  };
  return roles_of(before) == roles_of(after);
}

}  // namespace

UserRole Engine::role_of(const Caller& caller) const {
  if (caller.is_admin) return UserRole::admin;
  const UserDefaults* user = find_user(org(), caller.owner.user.str());
  return user == nullptr ? UserRole::researcher : user->role;
}

Result<void> Engine::check_editor(const Caller& caller, const Org& desired) const {
  const UserRole role = role_of(caller);
  if (role == UserRole::admin) return {};
  if (role != UserRole::editor)
    return Error{Errc::denied, "only an administrator or an editor may change projects"};
  if (same_roles(org(), desired)) return {};
  return Error{Errc::denied, "only an administrator may change roles"};
}

Result<void> Engine::check_unused(const Org& desired) const {
  HoldersByName projects, queues;
  for (const auto& step : steps_between(org_.org().projects, desired.projects))
    if (step.after == nullptr) projects[step.before->name];
  for (const auto& step : steps_between(org_.org().queues, desired.queues))
    if (step.after == nullptr) queues[step.before->name];
  if (projects.empty() && queues.empty()) return {};
  for (const auto& [id, job] : jobs_) {
    if (is_final(job.state)) continue;
    count_in(projects, job.spec.project, id);
    count_in(queues, job.spec.queue, id);
  }
  ROTA_CHECK(refuse_held("project", projects));
  return refuse_held("queue", queues);
}

Result<OrgOutcome> Engine::change_org(Org desired, bool dry_run) {
  normalize(desired);
  // Jobs that stand in the way are told before anything else that is wrong.
  ROTA_CHECK(check_unused(desired));
  ROTA_CHECK(validate(desired));
  OrgOutcome outcome;
  outcome.lines = difference(org_.org(), desired);
  outcome.line_count = outcome.lines.size();
  outcome.warnings = new_warnings(org_.org(), desired, scheduler_.node_rules());
  if (outcome.lines.size() > lines_max) outcome.lines.resize(lines_max);
  if (outcome.warnings.size() > lines_max) outcome.warnings.resize(lines_max);
  if (!dry_run && outcome.line_count > 0) {
    org_.replace(std::move(desired), effects_.rows);
    if (scheduler_.set_org(org_.org())) renew_waiting();
    usage_.set_org(org_.org(), ticked_at_);
    plan_needed_ = true;
  }
  outcome.revision = org_.revision();
  return outcome;
}

/// Jobs that wait or could grow follow the rules about nodes; what runs stays where it is.
void Engine::renew_waiting() {
  for (const auto& [id, job] : jobs_) {
    if (is_in_line(job)) scheduler_.renew(job, avoided(job));
    if (job.spec.is_elastic() && !job.last->placement.empty() && !is_ending(job.state))
      scheduler_.renew(job);
  }
  for (const auto& [head, array] : heads_) {
    Job job = jobs_.at(array);
    job.id = head;
    scheduler_.renew(job);
  }
}

Result<OrgOutcome> Engine::apply_org(const Caller& caller, Org desired, bool dry_run,
                                     std::optional<std::uint64_t> revision) {
  if (!dry_run) ROTA_CHECK(check_editor(caller, desired));
  if (revision && *revision != org_.revision())
    return Error{Errc::org_changed, format("revision {} was meant, it is {} now; look again",
                                           *revision, org_.revision())};
  return change_org(std::move(desired), dry_run);
}

Result<OrgOutcome> Engine::change_project(const Caller& caller, proto::ProjectVerb verb,
                                          const std::string& name,
                                          const std::vector<OrgSetting>& settings) {
  Org desired = org_.org();
  ROTA_CHECK(check_editor(caller, desired));
  const Project* found = find_project(desired, name);
  if (found == nullptr && verb != proto::ProjectVerb::create)
    return Error{Errc::no_such_project,
                 format("{}; {}", quoted(name), known_projects(desired, name))};
  // Behind the last for one that is new.
  const auto place = found == nullptr
                         ? desired.projects.end()
                         : desired.projects.begin() + (found - desired.projects.data());
  switch (verb) {
    case proto::ProjectVerb::create:
      if (found != nullptr) return Error{Errc::project_exists, quoted(name)};
      desired.projects.emplace_back().name = name;
      ROTA_CHECK(apply_settings(desired.projects.back(), settings));
      return change_org(std::move(desired), false);
    case proto::ProjectVerb::update:
      ROTA_CHECK(apply_settings(*place, settings));
      return change_org(std::move(desired), false);
    case proto::ProjectVerb::remove:
      if (name == default_project)
        return Error{Errc::policy_refused,
                     "the project 'default' is for jobs that have no other; it cannot be deleted"};
      desired.projects.erase(place);
      ROTA_CHECK(check_unused(desired));
      ROTA_CHECK(check_unnamed(desired, name));
      return change_org(std::move(desired), false);
  }
  return Error{Errc::invalid_argument, "the change is none of create, update, delete"};
}

}  // namespace rota::ctld
