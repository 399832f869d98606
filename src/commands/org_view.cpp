// commands/org_view.cpp - rows and JSON objects of an organisation.
#include "commands/org_view.h"

#include "common/format.h"
#include "common/units.h"
#include "model/org_keys.h"

namespace rota::commands {
namespace {

std::string gpus_text(std::int64_t gpus) { return decimal_format(gpus, 6); }
std::string gpus_text(const std::optional<std::int64_t>& gpus) {
  return gpus ? gpus_text(*gpus) : "-";
}
std::string dash(const std::string& text) { return text.empty() ? "-" : text; }
std::string time_text(const std::optional<std::int64_t>& seconds) {
  return seconds ? duration_format(std::chrono::seconds(*seconds)) : "-";
}
std::string list_text(const std::vector<std::string>& words, std::string_view none) {
  return words.empty() ? std::string(none) : words_text(words);
}

/// "ada,bob,@vision": groups with an @ in front.
std::string short_members(const Project& project) {
  std::vector<std::string> words = project.users;
  for (const std::string& group : project.groups) words.push_back("@" + group);
  return list_text(words, "everybody");
}

void write_list(JsonWriter& json, std::string_view name, const std::vector<std::string>& words) {
  json.key(name);
  json.begin_array();
  for (const std::string& word : words) json.value(word);
  json.end_array();
}

void write_decimal(JsonWriter& json, std::string_view name,
                   const std::optional<std::int64_t>& units, unsigned digits) {
  json.key(name);
  if (units)
    json.units(*units, digits);
  else
    json.null();
}

void write_number(JsonWriter& json, std::string_view name,
                  const std::optional<std::int64_t>& number) {
  json.field_or_null(name, number.has_value(), number.value_or(0));
}

void write_quota(JsonWriter& json, const QuotaPolicy& quota) {
  write_decimal(json, "quota_gpus", quota.gpu_quota, 6);
  write_decimal(json, "quota_cpus", quota.cpu_quota, 3);
  write_number(json, "quota_memory_bytes", quota.memory_quota);
  write_decimal(json, "limit_gpus", quota.gpu_limit, 6);
  write_decimal(json, "limit_cpus", quota.cpu_limit, 3);
  write_number(json, "limit_memory_bytes", quota.memory_limit);
  write_decimal(json, "weight", quota.weight_or_quota(), 6);
  json.field("rank", quota.rank);
  json.field("over_quota", quota.over_quota);
}

void write_preemption(JsonWriter& json, const PreemptionPolicy& preemption) {
  write_number(json, "grace_seconds", preemption.grace_seconds);
  write_number(json, "min_runtime_reclaim_seconds", preemption.min_runtime_reclaim_seconds);
  write_number(json, "min_runtime_preempt_seconds", preemption.min_runtime_preempt_seconds);
  write_number(json, "preemption_delay_seconds", preemption.delay_seconds);
}

void write_kinds(JsonWriter& json, const Project& project) {
  for (const JobKind kind : {JobKind::train, JobKind::interactive, JobKind::inference}) {
    KindPolicy policy;
    for (const KindPolicy& known : project.kinds)
      if (known.kind == kind) policy = known;
    write_list(json, format("{}_node_types", name_of(kind)), policy.node_types);
    write_list(json, format("{}_node_groups", name_of(kind)), policy.node_groups);
  }
}

}  // namespace

ProjectShares::ProjectShares(const std::vector<ShareView>& shares) {
  for (const ShareView& share : shares)
    if (share.kind == ShareKind::project) by_name_.emplace(share.name, share);
}

const ShareView& ProjectShares::of(const std::string& project) const {
  const auto at = by_name_.find(project);
  return at == by_name_.end() ? none_ : at->second;
}

Table department_table(const Org& org) {
  Table table({{"DEPARTMENT", Align::left, true},
               {"PARENT", Align::left, true},
               {"QUOTA", Align::right},
               {"LIMIT", Align::right},
               {"WEIGHT", Align::right},
               {"RANK", Align::right},
               {"OVER"}});
  for (const Department& department : org.departments) {
    table.add(department.name);
    table.add(dash(department.parent));
    table.add(gpus_text(department.quota.gpu_quota));
    table.add(gpus_text(department.quota.gpu_limit));
    table.add(gpus_text(department.quota.weight_or_quota()));
    table.add(format("{}", department.quota.rank));
    table.add(department.quota.over_quota ? "on" : "off");
  }
  return table;
}

Table project_table(const OrgAnswer& answer) {
  Table table({{"PROJECT", Align::left, true},
               {"DEPARTMENT", Align::left, true},
               {"QUOTA", Align::right},
               {"LIMIT", Align::right},
               {"WEIGHT", Align::right},
               {"RANK", Align::right},
               {"OVER"},
               {"HELD", Align::right},
               {"WAITING", Align::right},
               {"JOBS", Align::right},
               {"MEMBERS", Align::left, true}});
  const ProjectShares shares(answer.shares);
  for (const Project& project : answer.org.projects) {
    const ShareView& view = shares.of(project.name);
    table.add(project.name);
    table.add(dash(project.department));
    table.add(gpus_text(project.quota.gpu_quota));
    table.add(gpus_text(project.quota.gpu_limit));
    table.add(gpus_text(project.quota.weight_or_quota()));
    table.add(format("{}", project.quota.rank));
    table.add(project.quota.over_quota ? "on" : "off");
    table.add(gpus_text(view.held_in_quota + view.held_over_quota));
    table.add(gpus_text(view.waiting));
    table.add(format("{}", view.jobs_running + view.jobs_waiting));
    table.add(short_members(project));
  }
  return table;
}

Table queue_table(const Org& org) {
  Table table({{"QUEUE", Align::left, true},
               {"NODE_GROUP", Align::left, true},
               {"TIME_DEFAULT", Align::right},
               {"TIME_MAX", Align::right},
               {"PRIORITY", Align::right},
               {"PLACEMENT"},
               {"PROJECTS", Align::left, true}});
  for (const Queue& queue : org.queues) {
    table.add(queue.name);
    table.add(dash(queue.node_group));
    table.add(time_text(queue.time_limit_default_seconds));
    table.add(time_text(queue.time_limit_max_seconds));
    table.add(queue.priority == 0 ? "-" : format("{}", queue.priority));
    table.add(queue.placement == QueuePlacement::spread ? "spread" : "pack");
    table.add(list_text(queue.projects, "all"));
  }
  return table;
}

Table user_table(const Org& org) {
  Table table({{"USER", Align::left, true},
               {"ROLE", Align::left, false},
               {"DEFAULT_PROJECT", Align::left, true}});
  for (const UserDefaults& user : org.users) {
    table.add(user.name);
    table.add(name_of(user.role));
    table.add(user.project.empty() ? default_project : std::string_view(user.project));
  }
  return table;
}

std::string project_text(const Project& project, const ShareView& share) {
  std::string out = format("project: {}\n", printable(project.name));
  for (const OrgKey<Project>& key : org_keys<Project>()) {
    const auto words = key.get(project);
    out += format("{}: {}\n", key.name, words.empty() ? "none" : printable(words_text(words)));
  }
  out += format("held: {} in quota, {} over quota\nwaiting: {}\njobs: {} running, {} waiting\n",
                gpus_text(share.held_in_quota), gpus_text(share.held_over_quota),
                gpus_text(share.waiting), share.jobs_running, share.jobs_waiting);
  return out;
}

std::string queue_text(const Queue& queue) {
  std::string out = format("queue: {}\n", printable(queue.name));
  for (const OrgKey<Queue>& key : org_keys<Queue>()) {
    const auto words = key.get(queue);
    out += format("{}: {}\n", key.name, words.empty() ? "none" : printable(words_text(words)));
  }
  return out;
}

void write_department(JsonWriter& json, const Department& department) {
  json.begin_object();
  json.field("name", department.name);
  json.field_or_null("parent", !department.parent.empty(), department.parent);
  write_quota(json, department.quota);
  write_preemption(json, department.preemption);
  json.end_object();
}

void write_project(JsonWriter& json, const Project& project, const ShareView& share) {
  json.begin_object();
  json.field("name", project.name);
  json.field_or_null("department", !project.department.empty(), project.department);
  write_quota(json, project.quota);
  write_kinds(json, project);
  json.field_or_null("default_queue", !project.default_queue.empty(), project.default_queue);
  write_number(json, "interactive_time_limit_seconds", project.interactive_time_limit_seconds);
  write_number(json, "time_limit_max_seconds", project.time_limit_max_seconds);
  write_number(json, "interactive_idle_limit_seconds", project.interactive_idle_limit_seconds);
  write_number(json, "train_idle_limit_seconds", project.train_idle_limit_seconds);
  write_list(json, "users", project.users);
  write_list(json, "groups", project.groups);
  json.key("user_weights");
  json.begin_array();
  for (const UserWeight& weight : project.user_weights) {
    json.begin_object();
    json.field("user", weight.user);
    write_decimal(json, "weight", weight.weight, 6);
    json.end_object();
  }
  json.end_array();
  json.field("half_life_seconds", project.half_life_seconds);
  write_preemption(json, project.preemption);
  write_decimal(json, "held_in_quota_gpus", share.held_in_quota, 6);
  write_decimal(json, "held_over_quota_gpus", share.held_over_quota, 6);
  write_decimal(json, "waiting_gpus", share.waiting, 6);
  json.field("jobs_running", share.jobs_running);
  json.field("jobs_waiting", share.jobs_waiting);
  json.end_object();
}

void write_queue(JsonWriter& json, const Queue& queue) {
  json.begin_object();
  json.field("name", queue.name);
  json.field_or_null("node_group", !queue.node_group.empty(), queue.node_group);
  write_number(json, "time_limit_default_seconds", queue.time_limit_default_seconds);
  write_number(json, "time_limit_max_seconds", queue.time_limit_max_seconds);
  write_list(json, "projects", queue.projects);
  json.field_or_null("priority", queue.priority != 0, queue.priority);
  json.field("placement", queue.placement == QueuePlacement::spread ? "spread" : "pack");
  json.end_object();
}

void write_user(JsonWriter& json, const UserDefaults& user) {
  json.begin_object();
  json.field("name", user.name);
  json.field("default_project", user.project.empty() ? default_project : user.project);
  json.field("role", name_of(user.role));
  json.end_object();
}

}  // namespace rota::commands
