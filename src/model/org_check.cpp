// model/org_check.cpp - what is wrong with an organisation: names, bounds, references, cycles.
#include <algorithm>
#include <map>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/project.h"

namespace rota {
namespace {

using Fault = std::optional<OrgFault>;
using Words = std::vector<std::string>;

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t size = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
    if (size == 0 || text.size() < size) return false;
    for (std::size_t i = 1; i < size; ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return false;
    const auto second = size > 1 ? static_cast<unsigned char>(text[1]) : 0;
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    if (overlong || beyond) return false;
    text.remove_prefix(size);
  }
  return true;
}

/// Why a text is no name; "" when it is one.
std::string name_fault(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.size() > JobBounds::name_bytes_max)
    return format("it has {} bytes, at most {} are allowed", text.size(),
                  JobBounds::name_bytes_max);
  if (escaped(text) != text) return "it holds control characters";
  if (!is_utf8(text)) return "it is not UTF-8";
  if (text.find(',') != std::string_view::npos) return "a comma separates names in lists";
  if (text.front() == ' ' || text.back() == ' ') return "a blank stands at its end";
  if (text.front() == '-') return "a '-' at the front makes it an option";
  if (text == "none") return "'none' means that there is no one";
  return "";
}

/// Looks at one Org; each check returns at the first fault.
class Check {
 public:
  explicit Check(const Org& org) : org_(org) {}

  Fault all() {
    if (auto fault = counts()) return fault;
    for (const Department& department : org_.departments)
      if (auto fault = one(department)) return fault;
    for (const Project& project : org_.projects)
      if (auto fault = one(project)) return fault;
    for (const Queue& queue : org_.queues)
      if (auto fault = one(queue)) return fault;
    for (const UserDefaults& user : org_.users)
      if (auto fault = one(user)) return fault;
    return std::nullopt;
  }

 private:
  Fault here(std::string_view key, std::string what) const {
    return OrgFault{kind_, std::string(name_), std::string(key), std::move(what)};
  }

  Fault count(OrgKind kind, std::size_t count, std::size_t max) {
    kind_ = kind;
    name_ = "";
    if (count <= max) return std::nullopt;
    return here("",
                format("{} {}s are too many; at most {} are allowed", count, name_of(kind), max));
  }
  Fault counts() {
    using Bounds = OrgBounds;
    if (auto f = count(OrgKind::department, org_.departments.size(), Bounds::department_count_max))
      return f;
    if (auto f = count(OrgKind::project, org_.projects.size(), Bounds::project_count_max)) return f;
    if (auto f = count(OrgKind::queue, org_.queues.size(), Bounds::queue_count_max)) return f;
    if (auto f = count(OrgKind::user, org_.users.size(), Bounds::user_count_max)) return f;
    if (const std::size_t bytes = bytes_of(org_); bytes > Bounds::bytes_max)
      return here("", format("all of it takes {} bytes, at most {} are allowed; make names and "
                             "lists of members shorter",
                             bytes, Bounds::bytes_max));
    return std::nullopt;
  }

  /// Begins with one item: its name, and that it is not there twice.
  template <class T>
  Fault begin(OrgKind kind, const std::vector<T>& list, const T& item) {
    kind_ = kind;
    name_ = item.name;
    if (const std::string why = name_fault(item.name); !why.empty())
      return here("", format("{} is no good name: {}", quoted(item.name), why));
    if (&item != list.data() && (&item - 1)->name == item.name)
      return here("", "it is there twice");
    return std::nullopt;
  }

  Fault amount(std::string_view key, std::int64_t value, std::int64_t max, unsigned digits) const {
    if (value < 0) return here(key, format("{} must not be negative", key));
    if (value > max) return here(key, format("{} is over {}", key, decimal_format(max, digits)));
    return std::nullopt;
  }
  Fault amount(std::string_view key, const std::optional<std::int64_t>& value, std::int64_t max,
               unsigned digits) const {
    return value ? amount(key, *value, max, digits) : std::nullopt;
  }
  Fault seconds(std::string_view key, const std::optional<std::int64_t>& value,
                std::int64_t min = 0) const {
    if (!value || (*value >= min && *value <= OrgBounds::seconds_max)) return std::nullopt;
    return here(key, format("{} must be {}s to {}", key, min,
                            duration_format(std::chrono::seconds(OrgBounds::seconds_max))));
  }
  Fault words(std::string_view key, const Words& list) const {
    if (list.size() > OrgBounds::list_size_max)
      return here(key, format("{} has {} entries, at most {} are allowed", key, list.size(),
                              OrgBounds::list_size_max));
    for (const std::string& word : list)
      if (const std::string why = name_fault(word); !why.empty())
        return here(key, format("{}: {} is no good name: {}", key, quoted(word), why));
    return std::nullopt;
  }

  Fault quota(const QuotaPolicy& policy) const {
    using Bounds = OrgBounds;
    if (auto f = amount("quota", policy.gpu_quota, Bounds::gpus_max, 6)) return f;
    if (auto f = amount("cpu_quota", policy.cpu_quota, Bounds::cpus_max, 3)) return f;
    if (auto f = amount("memory_quota", policy.memory_quota, Bounds::memory_bytes_max, 0)) return f;
    if (auto f = amount("limit", policy.gpu_limit, Bounds::gpus_max, 6)) return f;
    if (auto f = amount("cpu_limit", policy.cpu_limit, Bounds::cpus_max, 3)) return f;
    if (auto f = amount("memory_limit", policy.memory_limit, Bounds::memory_bytes_max, 0)) return f;
    if (auto f = amount("weight", policy.weight, Bounds::gpus_max, 6)) return f;
    if (policy.gpu_limit && policy.gpu_quota > *policy.gpu_limit)
      return here("quota",
                  format("quota {} is over its limit {}", decimal_format(policy.gpu_quota, 6),
                         decimal_format(*policy.gpu_limit, 6)));
    if (policy.cpu_limit && policy.cpu_quota.value_or(0) > *policy.cpu_limit)
      return here("cpu_quota", format("cpu_quota {} is over its cpu_limit {}",
                                      decimal_format(*policy.cpu_quota, 3),
                                      decimal_format(*policy.cpu_limit, 3)));
    if (policy.memory_limit && policy.memory_quota.value_or(0) > *policy.memory_limit)
      return here("memory_quota",
                  format("memory_quota {} is over its memory_limit {}",
                         size_exact(static_cast<std::uint64_t>(*policy.memory_quota)),
                         size_exact(static_cast<std::uint64_t>(*policy.memory_limit))));
    if (policy.rank < 0 || policy.rank > Bounds::rank_max)
      return here("rank", format("rank is {}, it must be 0 to {}", policy.rank, Bounds::rank_max));
    return std::nullopt;
  }

  Fault preemption(const PreemptionPolicy& policy) const {
    if (auto f = seconds("grace", policy.grace_seconds)) return f;
    if (auto f = seconds("min_runtime_reclaim", policy.min_runtime_reclaim_seconds)) return f;
    if (auto f = seconds("min_runtime_preempt", policy.min_runtime_preempt_seconds)) return f;
    return seconds("preemption_delay", policy.delay_seconds);
  }

  /// How many departments stand above and including `name`; 0 for "", too many for a cycle.
  std::size_t levels_of(std::string_view name) const {
    std::size_t levels = 0;
    while (!name.empty() && levels <= OrgBounds::level_count_max) {
      const Department* department = find_department(org_, name);
      if (department == nullptr) break;  // told where it stands
      name = department->parent;
      ++levels;
    }
    return levels;
  }

  /// The departments from `start` up to where they come round again; "" when they do not.
  std::string circle_from(const Department& start) const {
    std::string path = start.name;
    std::string_view name = start.parent;
    for (std::size_t i = 0; i <= org_.departments.size() && !name.empty(); ++i) {
      path += format(" > {}", name);
      if (name == start.name) return path;
      const Department* department = find_department(org_, name);
      if (department == nullptr) return "";
      name = department->parent;
    }
    return "";
  }

  Fault above(std::string_view key, const std::string& department) const {
    if (department.empty() || find_department(org_, department) != nullptr) return std::nullopt;
    return here(key, format("department {} does not exist; {}", quoted(department),
                            known_departments(org_, department)));
  }

  Fault one(const Department& department) {
    if (auto f = begin(OrgKind::department, org_.departments, department)) return f;
    if (auto f = above("parent", department.parent)) return f;
    if (levels_of(department.name) > OrgBounds::level_count_max - 1) {
      if (const std::string circle = circle_from(department); !circle.empty())
        return here("parent", format("it stands above itself: {}", circle));
      return here("parent", format("it is over {} levels deep", OrgBounds::level_count_max - 1));
    }
    if (auto f = quota(department.quota)) return f;
    return preemption(department.preemption);
  }

  Fault kinds(const Project& project) const {
    for (std::size_t i = 0; i < project.kinds.size(); ++i) {
      const KindPolicy& policy = project.kinds[i];
      if (name_of(policy.kind) == "unknown")
        return here("", "a kind is none of train, interactive, inference");
      if (i > 0 && project.kinds[i - 1].kind == policy.kind)
        return here("", format("kind {} is there twice", name_of(policy.kind)));
      if (auto f = words(format("{}_node_types", name_of(policy.kind)), policy.node_types))
        return f;
      if (auto f = words(format("{}_node_groups", name_of(policy.kind)), policy.node_groups))
        return f;
    }
    return std::nullopt;
  }

  Fault weights(const Project& project) const {
    Words users;
    for (const UserWeight& weight : project.user_weights) {
      if (!users.empty() && users.back() == weight.user)
        return here("user_weights", format("user {} is there twice", quoted(weight.user)));
      users.push_back(weight.user);
      if (auto f = amount("user_weights", weight.weight, OrgBounds::gpus_max, 6)) return f;
    }
    return words("user_weights", users);
  }

  Fault queue_of(const Project& project) const {
    if (project.default_queue.empty()) return std::nullopt;
    const Queue* queue = find_queue(org_, project.default_queue);
    if (queue == nullptr)
      return here("default_queue",
                  format("queue {} does not exist; {}", quoted(project.default_queue),
                         known_queues(org_, project.default_queue)));
    if (queue->projects.empty() ||
        std::binary_search(queue->projects.begin(), queue->projects.end(), project.name))
      return std::nullopt;
    return here("default_queue", format("queue {} takes only the projects {}", quoted(queue->name),
                                        fmt::join(queue->projects, ", ")));
  }

  Fault one(const Project& project) {
    if (auto f = begin(OrgKind::project, org_.projects, project)) return f;
    if (auto f = above("department", project.department)) return f;
    if (auto f = quota(project.quota)) return f;
    if (auto f = preemption(project.preemption)) return f;
    if (auto f = kinds(project)) return f;
    if (auto f = queue_of(project)) return f;
    if (auto f = seconds("interactive_time_limit", project.interactive_time_limit_seconds, 1))
      return f;
    if (auto f = seconds("time_limit_max", project.time_limit_max_seconds, 1)) return f;
    if (auto f = seconds("interactive_idle_limit", project.interactive_idle_limit_seconds))
      return f;
    if (auto f = seconds("train_idle_limit", project.train_idle_limit_seconds)) return f;
    if (auto f = words("users", project.users)) return f;
    if (auto f = words("groups", project.groups)) return f;
    if (auto f = weights(project)) return f;
    return seconds("half_life", project.half_life_seconds);
  }

  Fault one(const Queue& queue) {
    if (auto f = begin(OrgKind::queue, org_.queues, queue)) return f;
    if (!queue.node_group.empty())
      if (auto f = words("node_group", {queue.node_group})) return f;
    if (auto f = seconds("time_limit_default", queue.time_limit_default_seconds, 1)) return f;
    if (auto f = seconds("time_limit_max", queue.time_limit_max_seconds, 1)) return f;
    if (queue.time_limit_default_seconds && queue.time_limit_max_seconds &&
        *queue.time_limit_default_seconds > *queue.time_limit_max_seconds)
      return here("time_limit_default", "time_limit_default is over time_limit_max");
    if (queue.priority < 0 || queue.priority > JobBounds::priority_max)
      return here("priority", format("priority is {}, it must be 1 to {}, or 0 for none",
                                     queue.priority, JobBounds::priority_max));
    if (queue.placement != QueuePlacement::pack && queue.placement != QueuePlacement::spread)
      return here("placement", "placement must be pack or spread");
    if (queue.projects.size() > OrgBounds::list_size_max) return words("projects", queue.projects);
    for (const std::string& project : queue.projects)
      if (find_project(org_, project) == nullptr)
        return here("projects", format("project {} does not exist; {}", quoted(project),
                                       known_projects(org_, project)));
    return std::nullopt;
  }

  Fault one(const UserDefaults& user) {
    if (auto f = begin(OrgKind::user, org_.users, user)) return f;
    if (name_of(user.role) == "unknown")
      return here("role", "role is none of viewer, researcher, editor, admin");
    const bool says_something = !user.project.empty() || user.role != UserRole::researcher;
    if (says_something && (user.project.empty() || find_project(org_, user.project) != nullptr))
      return std::nullopt;
    return here("default_project",
                user.project.empty()
                    ? "default_project is missing; name the user's project, or a role"
                    : format("project {} does not exist; {}", quoted(user.project),
                             known_projects(org_, user.project)));
  }

  const Org& org_;
  OrgKind kind_ = OrgKind::project;
  std::string_view name_;
};

}  // namespace

std::string OrgFault::text() const {
  return name.empty() ? what : format("{} {}: {}", name_of(kind), quoted(name), what);
}

std::optional<OrgFault> find_fault(const Org& org) { return Check(org).all(); }

Result<void> validate(const Org& org) {
  if (const auto fault = find_fault(org)) return Error{Errc::org_invalid, fault->text()};
  return {};
}

std::vector<std::string> warnings_of(const Org& org) {
  std::map<std::string_view, std::int64_t> promised;
  for (const Department& department : org.departments)
    promised[department.parent] += department.quota.gpu_quota;
  for (const Project& project : org.projects)
    promised[project.department] += project.quota.gpu_quota;
  std::vector<std::string> lines;
  for (const Department& department : org.departments) {
    const std::int64_t below = promised[department.name];
    if (below > department.quota.gpu_quota)
      lines.push_back(
          format("department {}: quotas below it add up to {}, its own is {}: not all "
                 "of them can be kept at once",
                 quoted(department.name), decimal_format(below, 6),
                 decimal_format(department.quota.gpu_quota, 6)));
  }
  return lines;
}

}  // namespace rota
