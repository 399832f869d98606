// model/project.cpp - an organisation in order, and finding things in it.
#include "model/project.h"

#include <algorithm>

#include "common/format.h"
#include "common/nearest.h"

namespace rota {
namespace {

void sort_words(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

std::size_t words_bytes(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += 4 + word.size();
  return bytes;
}

template <class T>
void sort_by_name(std::vector<T>& list) {
  // Stable, so that of two with one name the first stays the first: find_fault names the second.
  std::stable_sort(list.begin(), list.end(),
                   [](const T& a, const T& b) { return a.name < b.name; });
}

template <class T>
const T* find_in(const std::vector<T>& list, std::string_view name) {
  const auto at = std::lower_bound(list.begin(), list.end(), name,
                                   [](const T& item, std::string_view n) { return item.name < n; });
  return at == list.end() || at->name != name ? nullptr : &*at;
}

/// "a, b, c"; of many the first ten and how many more.
template <class Word>
std::string some_of(std::vector<Word> words) {
  constexpr std::size_t shown = 10;
  const std::size_t more = words.size() > shown ? words.size() - shown : 0;
  words.resize(words.size() - more);
  return format("{}{}", fmt::join(words, ", "), more == 0 ? "" : format(" and {} more", more));
}

template <class T>
std::string known_in(const std::vector<T>& list, std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const T& item : list) names.push_back(item.name);
  if (const auto meant = nearest(wanted, names); !meant.empty())
    return format("did you mean '{}'?", meant);
  if (names.empty()) return "there is none";
  return format("known are {}", some_of(names));
}

}  // namespace

std::string_view name_of(UserRole role) {
  switch (role) {
    case UserRole::researcher:
      return "researcher";
    case UserRole::viewer:
      return "viewer";
    case UserRole::editor:
      return "editor";
    case UserRole::admin:
      return "admin";
  }
  return "unknown";
}

std::optional<UserRole> user_role_from(std::string_view text) {
  for (const UserRole role :
       {UserRole::researcher, UserRole::viewer, UserRole::editor, UserRole::admin})
    if (text == name_of(role)) return role;
  return std::nullopt;
}

std::string_view name_of(OrgKind kind) {
  switch (kind) {
    case OrgKind::department:
      return "department";
    case OrgKind::project:
      return "project";
    case OrgKind::queue:
      return "queue";
    case OrgKind::user:
      return "user";
  }
  return "unknown";
}

void normalize(Org& org) {
  for (Project& project : org.projects) {
    sort_words(project.users);
    sort_words(project.groups);
    for (KindPolicy& kind : project.kinds) {
      sort_words(kind.node_types);
      sort_words(kind.node_groups);
    }
    std::erase_if(project.kinds, [](const KindPolicy& kind) {
      return kind.node_types.empty() && kind.node_groups.empty();
    });
    std::stable_sort(project.kinds.begin(), project.kinds.end(),
                     [](const KindPolicy& a, const KindPolicy& b) { return a.kind < b.kind; });
    std::stable_sort(project.user_weights.begin(), project.user_weights.end(),
                     [](const UserWeight& a, const UserWeight& b) { return a.user < b.user; });
  }
  for (Queue& queue : org.queues) sort_words(queue.projects);
  sort_by_name(org.departments);
  sort_by_name(org.projects);
  sort_by_name(org.queues);
  sort_by_name(org.users);
  if (find_project(org, default_project) != nullptr) return;
  Project project;
  project.name = default_project;
  const auto at = std::lower_bound(
      org.projects.begin(), org.projects.end(), project.name,
      [](const Project& item, const std::string& name) { return item.name < name; });
  org.projects.insert(at, std::move(project));
}

const Project* find_project(const Org& org, std::string_view name) {
  return find_in(org.projects, name);
}
const Department* find_department(const Org& org, std::string_view name) {
  return find_in(org.departments, name);
}
const Queue* find_queue(const Org& org, std::string_view name) { return find_in(org.queues, name); }
const UserDefaults* find_user(const Org& org, std::string_view name) {
  return find_in(org.users, name);
}

std::string known_projects(const Org& org, std::string_view wanted) {
  return known_in(org.projects, wanted);
}
std::string known_departments(const Org& org, std::string_view wanted) {
  return known_in(org.departments, wanted);
}
std::string known_queues(const Org& org, std::string_view wanted) {
  return known_in(org.queues, wanted);
}

std::size_t bytes_of(const Project& project) {
  std::size_t bytes = 200 + project.name.size() + project.department.size() +
                      project.default_queue.size() + words_bytes(project.users) +
                      words_bytes(project.groups);
  // The thirteen values that may be absent are mostly absent: counted when they are there.
  const QuotaPolicy& quota = project.quota;
  for (const auto* value :
       {&quota.cpu_quota, &quota.memory_quota, &quota.gpu_limit, &quota.cpu_limit,
        &quota.memory_limit, &quota.weight, &project.interactive_time_limit_seconds,
        &project.time_limit_max_seconds, &project.interactive_idle_limit_seconds,
        &project.train_idle_limit_seconds})
    if (!value->has_value()) bytes -= 8;
  if (project.preemption == PreemptionPolicy{}) bytes -= 32;
  for (const KindPolicy& kind : project.kinds)
    bytes += 16 + words_bytes(kind.node_types) + words_bytes(kind.node_groups);
  for (const UserWeight& weight : project.user_weights) bytes += 16 + weight.user.size();
  return bytes;
}
std::size_t bytes_of(const Department& department) {
  return 160 + department.name.size() + department.parent.size();
}
std::size_t bytes_of(const Queue& queue) {
  return 60 + queue.name.size() + queue.node_group.size() + words_bytes(queue.projects);
}
std::size_t bytes_of(const UserDefaults& user) {
  return 16 + user.name.size() + user.project.size();
}
std::size_t bytes_of(const ShareView& share) {
  return 120 + share.name.size() + share.parent.size();
}
std::size_t bytes_of(const Org& org) {
  std::size_t bytes = 20;
  for (const auto& item : org.departments) bytes += bytes_of(item);
  for (const auto& item : org.projects) bytes += bytes_of(item);
  for (const auto& item : org.queues) bytes += bytes_of(item);
  for (const auto& item : org.users) bytes += bytes_of(item);
  return bytes;
}

bool is_member(const Project& project, std::string_view user,
               const std::vector<std::string>& groups) {
  if (project.is_open()) return true;
  if (std::binary_search(project.users.begin(), project.users.end(), user)) return true;
  return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
    return std::binary_search(project.groups.begin(), project.groups.end(), group);
  });
}

std::string members_text(const Project& project) {
  if (project.is_open()) return "everybody";
  if (project.groups.empty()) return some_of(project.users);
  const std::string groups =
      format("the group{} {}", project.groups.size() == 1 ? "" : "s", some_of(project.groups));
  return project.users.empty() ? groups : format("{} and {}", some_of(project.users), groups);
}

}  // namespace rota
