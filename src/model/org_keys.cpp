// model/org_keys.cpp - the tables of keys, and how each type of value is read and written.
#include "model/org_keys.h"

#include <algorithm>
#include <array>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"

namespace rota {
namespace {

using Words = std::vector<std::string>;
using Seconds = std::optional<std::int64_t>;

Error wrong(std::string what) { return {Errc::org_invalid, std::move(what)}; }

Result<std::string> one_word(const Words& words) {
  if (words.size() != 1) return wrong(format("takes one value, not {}", words.size()));
  return words.front();
}

/// The detail of an error of common/units behind ours.
template <class T>
Result<T> told(Result<T> value) {
  if (!value) return wrong(value.error().detail);
  return value;
}

Result<std::int64_t> decimal_from(const Words& words, unsigned digits, std::int64_t max) {
  ROTA_TRY(const std::string word, one_word(words));
  return told(decimal_parse(word, digits, max));
}

/// An optional value: `absent` stands for none.
template <class Read>
Result<void> set_optional(std::optional<std::int64_t>& value, const Words& words,
                          std::string_view absent, Read read) {
  if (words.size() == 1 && words.front() == absent) {
    value.reset();
    return {};
  }
  auto got = read(words);
  if (!got) return wrong(format("{} (or {})", got.error().detail, absent));
  value = *got;
  return {};
}

Result<void> set_gpus(std::optional<std::int64_t>& value, const Words& words,
                      std::string_view absent) {
  return set_optional(value, words, absent,
                      [](const Words& w) { return decimal_from(w, 6, OrgBounds::gpus_max); });
}
Result<void> set_cpus(std::optional<std::int64_t>& value, const Words& words) {
  return set_optional(value, words, "none",
                      [](const Words& w) { return decimal_from(w, 3, OrgBounds::cpus_max); });
}
Result<void> set_size(std::optional<std::int64_t>& value, const Words& words) {
  return set_optional(value, words, "none", [](const Words& w) -> Result<std::int64_t> {
    ROTA_TRY(const std::string word, one_word(w));
    ROTA_TRY(const std::uint64_t bytes, told(size_parse(word)));
    if (bytes > static_cast<std::uint64_t>(OrgBounds::memory_bytes_max))
      return wrong(format("{} is over {}", quoted(word), size_exact(OrgBounds::memory_bytes_max)));
    return static_cast<std::int64_t>(bytes);
  });
}

Result<std::int64_t> seconds_from(const Words& words) {
  ROTA_TRY(const std::string word, one_word(words));
  ROTA_TRY(const Duration duration, told(duration_parse(word)));
  // Half a second of something is something: rounded up, it does not become none.
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  if (seconds > OrgBounds::seconds_max)
    return wrong(format("{} is over {}", quoted(word),
                        duration_format(std::chrono::seconds(OrgBounds::seconds_max))));
  return seconds;
}
Result<void> set_seconds(Seconds& value, const Words& words, std::string_view absent) {
  return set_optional(value, words, absent, seconds_from);
}

Result<void> set_number(std::int32_t& value, const Words& words, std::int32_t max) {
  ROTA_TRY(const std::string word, one_word(words));
  ROTA_TRY(const auto number, told(number_parse(word, static_cast<std::uint64_t>(max))));
  value = static_cast<std::int32_t>(number);
  return {};
}

Result<void> set_flag(bool& value, const Words& words) {
  ROTA_TRY(const std::string word, one_word(words));
  const bool on = word == "on" || word == "true" || word == "yes";
  if (!on && word != "off" && word != "false" && word != "no")
    return wrong(format("must be on or off, not {}", quoted(word)));
  value = on;
  return {};
}

Result<void> set_name(std::string& value, const Words& words) {
  ROTA_TRY(const std::string word, one_word(words));
  if (word.empty()) return wrong("must not be empty; write a name, or none");
  value = word == "none" ? "" : word;
  return {};
}

Result<void> set_list(Words& value, const Words& words) {
  if (std::find(words.begin(), words.end(), "") != words.end()) return wrong("has an empty entry");
  value = words.size() == 1 && words.front() == "none" ? Words() : words;
  std::sort(value.begin(), value.end());
  value.erase(std::unique(value.begin(), value.end()), value.end());
  return {};
}

Result<void> set_weights(std::vector<UserWeight>& value, const Words& words) {
  std::vector<UserWeight> weights;
  if (!(words.size() == 1 && words.front() == "none")) {
    for (const std::string& word : words) {
      const std::size_t equals = word.rfind('=');
      if (equals == std::string::npos || equals == 0)
        return wrong(format("{} is not a user and a number, such as ada=2", quoted(word)));
      ROTA_TRY(const auto weight,
               told(decimal_parse(word.substr(equals + 1), 6, OrgBounds::gpus_max)));
      weights.push_back({word.substr(0, equals), weight});
    }
  }
  std::stable_sort(weights.begin(), weights.end(),
                   [](const UserWeight& a, const UserWeight& b) { return a.user < b.user; });
  value = std::move(weights);
  return {};
}

Words shown_gpus(const std::optional<std::int64_t>& value, std::string_view absent) {
  return {value ? decimal_format(*value, 6) : std::string(absent)};
}
Words shown_cpus(const std::optional<std::int64_t>& value) {
  return {value ? decimal_format(*value, 3) : "none"};
}
Words shown_size(const std::optional<std::int64_t>& value) {
  return {value ? size_exact(static_cast<std::uint64_t>(*value)) : "none"};
}
Words shown_seconds(const Seconds& value, std::string_view absent) {
  return {value ? duration_format(std::chrono::seconds(*value)) : std::string(absent)};
}
Words shown_name(const std::string& value) { return {value.empty() ? "none" : value}; }

/// The lists of a kind, made where there are none yet.
KindPolicy& kind_of(Project& project, JobKind kind) {
  for (KindPolicy& policy : project.kinds)
    if (policy.kind == kind) return policy;
  const auto at = std::find_if(project.kinds.begin(), project.kinds.end(),
                               [kind](const KindPolicy& policy) { return policy.kind > kind; });
  return *project.kinds.insert(at, KindPolicy{kind, {}, {}});
}
KindPolicy kind_of(const Project& project, JobKind kind) {
  for (const KindPolicy& policy : project.kinds)
    if (policy.kind == kind) return policy;
  return {};
}

template <JobKind kind, Words KindPolicy::*list>
Result<void> set_kind(Project& project, const Words& words) {
  ROTA_CHECK(set_list(kind_of(project, kind).*list, words));
  std::erase_if(project.kinds, [](const KindPolicy& policy) {
    return policy.node_types.empty() && policy.node_groups.empty();
  });
  return {};
}
template <JobKind kind, Words KindPolicy::*list>
Words shown_kind(const Project& project) {
  return kind_of(project, kind).*list;
}

/// The keys that a project and a department share.
template <class T>
constexpr auto quota_keys = std::to_array<OrgKey<T>>({
    {"quota", OrgType::gpus, "0", "GPUs that it is guaranteed at any time; may be a fraction",
     [](T& item, const Words& words) -> Result<void> {
       ROTA_TRY(item.quota.gpu_quota, decimal_from(words, 6, OrgBounds::gpus_max));
       return {};
     },
     [](const T& item) { return Words{decimal_format(item.quota.gpu_quota, 6)}; }},
    {"cpu_quota", OrgType::cpus, "none", "CPUs that it is guaranteed; none: CPUs are not promised",
     [](T& item, const Words& words) { return set_cpus(item.quota.cpu_quota, words); },
     [](const T& item) { return shown_cpus(item.quota.cpu_quota); }},
    {"memory_quota", OrgType::size, "none",
     "Memory that it is guaranteed; none: memory is not promised",
     [](T& item, const Words& words) { return set_size(item.quota.memory_quota, words); },
     [](const T& item) { return shown_size(item.quota.memory_quota); }},
    {"limit", OrgType::gpus, "none", "GPUs that it never holds more of; none: no limit",
     [](T& item, const Words& words) { return set_gpus(item.quota.gpu_limit, words, "none"); },
     [](const T& item) { return shown_gpus(item.quota.gpu_limit, "none"); }},
    {"cpu_limit", OrgType::cpus, "none", "CPUs that it never holds more of; none: no limit",
     [](T& item, const Words& words) { return set_cpus(item.quota.cpu_limit, words); },
     [](const T& item) { return shown_cpus(item.quota.cpu_limit); }},
    {"memory_limit", OrgType::size, "none", "Memory that it never holds more of; none: no limit",
     [](T& item, const Words& words) { return set_size(item.quota.memory_limit, words); },
     [](const T& item) { return shown_size(item.quota.memory_limit); }},
    {"weight", OrgType::gpus, "quota",
     "Its part of what is left idle; quota: its quota is the weight",
     [](T& item, const Words& words) { return set_gpus(item.quota.weight, words, "quota"); },
     [](const T& item) { return shown_gpus(item.quota.weight, "quota"); }},
    {"rank", OrgType::number, "100", "Who is served first from what is left idle: the higher rank",
     [](T& item, const Words& words) {
       return set_number(item.quota.rank, words, OrgBounds::rank_max);
     },
     [](const T& item) { return Words{format("{}", item.quota.rank)}; }},
    {"over_quota", OrgType::flag, "on",
     "Whether it may hold more than its quota while that is idle",
     [](T& item, const Words& words) { return set_flag(item.quota.over_quota, words); },
     [](const T& item) { return Words{item.quota.over_quota ? "on" : "off"}; }},
});

template <class T>
constexpr auto preemption_keys = std::to_array<OrgKey<T>>({
    {"grace", OrgType::duration, "inherit",
     "Time between SIGTERM and SIGKILL for a job that is preempted",
     [](T& item, const Words& words) {
       return set_seconds(item.preemption.grace_seconds, words, "inherit");
     },
     [](const T& item) { return shown_seconds(item.preemption.grace_seconds, "inherit"); }},
    {"min_runtime_reclaim", OrgType::duration, "inherit",
     "How long its jobs run before another project may take their resources back",
     [](T& item, const Words& words) {
       return set_seconds(item.preemption.min_runtime_reclaim_seconds, words, "inherit");
     },
     [](const T& item) {
       return shown_seconds(item.preemption.min_runtime_reclaim_seconds, "inherit");
     }},
    {"min_runtime_preempt", OrgType::duration, "inherit",
     "How long its jobs run before a more important one of the same project may preempt them",
     [](T& item, const Words& words) {
       return set_seconds(item.preemption.min_runtime_preempt_seconds, words, "inherit");
     },
     [](const T& item) {
       return shown_seconds(item.preemption.min_runtime_preempt_seconds, "inherit");
     }},
    {"preemption_delay", OrgType::duration, "inherit",
     "How long its jobs wait before they take resources from others",
     [](T& item, const Words& words) {
       return set_seconds(item.preemption.delay_seconds, words, "inherit");
     },
     [](const T& item) { return shown_seconds(item.preemption.delay_seconds, "inherit"); }},
});

constexpr OrgKey<Department> parent_key{
    "parent",
    OrgType::name,
    "none",
    "Department above it; none: it stands at the top",
    [](Department& item, const Words& words) { return set_name(item.parent, words); },
    [](const Department& item) { return shown_name(item.parent); }};
constexpr OrgKey<Project> department_key{
    "department",
    OrgType::name,
    "none",
    "Department that it belongs to; none: it stands at the top",
    [](Project& item, const Words& words) { return set_name(item.department, words); },
    [](const Project& item) { return shown_name(item.department); }};

constexpr auto project_keys = std::to_array<OrgKey<Project>>({
    {"train_node_types", OrgType::list, "[]", "Node types for its train jobs; []: all",
     set_kind<JobKind::train, &KindPolicy::node_types>,
     shown_kind<JobKind::train, &KindPolicy::node_types>},
    {"train_node_groups", OrgType::list, "[]", "Node groups for its train jobs; []: all",
     set_kind<JobKind::train, &KindPolicy::node_groups>,
     shown_kind<JobKind::train, &KindPolicy::node_groups>},
    {"interactive_node_types", OrgType::list, "[]", "Node types for its interactive jobs; []: all",
     set_kind<JobKind::interactive, &KindPolicy::node_types>,
     shown_kind<JobKind::interactive, &KindPolicy::node_types>},
    {"interactive_node_groups", OrgType::list, "[]",
     "Node groups for its interactive jobs; []: all",
     set_kind<JobKind::interactive, &KindPolicy::node_groups>,
     shown_kind<JobKind::interactive, &KindPolicy::node_groups>},
    {"inference_node_types", OrgType::list, "[]", "Node types for its inference jobs; []: all",
     set_kind<JobKind::inference, &KindPolicy::node_types>,
     shown_kind<JobKind::inference, &KindPolicy::node_types>},
    {"inference_node_groups", OrgType::list, "[]", "Node groups for its inference jobs; []: all",
     set_kind<JobKind::inference, &KindPolicy::node_groups>,
     shown_kind<JobKind::inference, &KindPolicy::node_groups>},
    {"default_queue", OrgType::name, "none", "Queue of its jobs that name none",
     [](Project& item, const Words& words) { return set_name(item.default_queue, words); },
     [](const Project& item) { return shown_name(item.default_queue); }},
    {"interactive_time_limit", OrgType::duration, "none",
     "Longest time limit of its interactive jobs, and their default",
     [](Project& item, const Words& words) {
       return set_seconds(item.interactive_time_limit_seconds, words, "none");
     },
     [](const Project& item) {
       return shown_seconds(item.interactive_time_limit_seconds, "none");
     }},
    {"time_limit_max", OrgType::duration, "none", "Longest time limit of its jobs",
     [](Project& item, const Words& words) {
       return set_seconds(item.time_limit_max_seconds, words, "none");
     },
     [](const Project& item) { return shown_seconds(item.time_limit_max_seconds, "none"); }},
    {"interactive_idle_limit", OrgType::duration, "inherit",
     "How long all GPUs of its interactive jobs may be idle; 0: for ever",
     [](Project& item, const Words& words) {
       return set_seconds(item.interactive_idle_limit_seconds, words, "inherit");
     },
     [](const Project& item) {
       return shown_seconds(item.interactive_idle_limit_seconds, "inherit");
     }},
    {"train_idle_limit", OrgType::duration, "inherit",
     "How long all GPUs of its train jobs may be idle; 0: for ever",
     [](Project& item, const Words& words) {
       return set_seconds(item.train_idle_limit_seconds, words, "inherit");
     },
     [](const Project& item) { return shown_seconds(item.train_idle_limit_seconds, "inherit"); }},
    {"users", OrgType::list, "[]", "Its members; with no users and no groups: everybody",
     [](Project& item, const Words& words) { return set_list(item.users, words); },
     [](const Project& item) { return item.users; }},
    {"groups", OrgType::list, "[]", "Unix groups whose users are members too",
     [](Project& item, const Words& words) { return set_list(item.groups, words); },
     [](const Project& item) { return item.groups; }},
    {"user_weights", OrgType::weights, "{}",
     "Parts of its users in what it holds; who is not named has 1",
     [](Project& item, const Words& words) { return set_weights(item.user_weights, words); },
     [](const Project& item) {
       Words words;
       for (const UserWeight& weight : item.user_weights)
         words.push_back(format("{}={}", weight.user, decimal_format(weight.weight, 6)));
       return words;
     }},
    {"half_life", OrgType::duration, "7d",
     "Time after which what a user has used counts half; 0: nothing is forgotten",
     [](Project& item, const Words& words) -> Result<void> {
       ROTA_TRY(item.half_life_seconds, seconds_from(words));
       return {};
     },
     [](const Project& item) {
       return Words{item.half_life_seconds == 0
                        ? "0"
                        : duration_format(std::chrono::seconds(item.half_life_seconds))};
     }},
});

constexpr auto queue_keys = std::to_array<OrgKey<Queue>>({
    {"node_group", OrgType::name, "none", "Node group that its jobs run in; none: any node",
     [](Queue& item, const Words& words) { return set_name(item.node_group, words); },
     [](const Queue& item) { return shown_name(item.node_group); }},
    {"time_limit_default", OrgType::duration, "none", "Time limit of its jobs that ask for none",
     [](Queue& item, const Words& words) {
       return set_seconds(item.time_limit_default_seconds, words, "none");
     },
     [](const Queue& item) { return shown_seconds(item.time_limit_default_seconds, "none"); }},
    {"time_limit_max", OrgType::duration, "none", "Longest time limit of its jobs",
     [](Queue& item, const Words& words) {
       return set_seconds(item.time_limit_max_seconds, words, "none");
     },
     [](const Queue& item) { return shown_seconds(item.time_limit_max_seconds, "none"); }},
    {"projects", OrgType::list, "[]", "Projects that may use it; []: all",
     [](Queue& item, const Words& words) { return set_list(item.projects, words); },
     [](const Queue& item) { return item.projects; }},
    {"priority", OrgType::number, "0", "Priority of its jobs that ask for none; 0: their kind's",
     [](Queue& item, const Words& words) {
       return set_number(item.priority, words, JobBounds::priority_max);
     },
     [](const Queue& item) { return Words{format("{}", item.priority)}; }},
    {"placement", OrgType::choice, "pack",
     "pack: fill nodes one after the other; spread: as few jobs on a node as possible",
     [](Queue& item, const Words& words) -> Result<void> {
       ROTA_TRY(const std::string word, one_word(words));
       if (word != "pack" && word != "spread")
         return wrong(format("must be pack or spread, not {}", quoted(word)));
       item.placement = word == "pack" ? QueuePlacement::pack : QueuePlacement::spread;
       return {};
     },
     [](const Queue& item) {
       return Words{item.placement == QueuePlacement::spread ? "spread" : "pack"};
     }},
    {"container_runtime", OrgType::choice, "auto",
     "What runs the images of its jobs: docker, podman, enroot; none: no container; auto: as their "
     "nodes say",
     [](Queue& item, const Words& words) -> Result<void> {
       ROTA_TRY(const std::string word, one_word(words));
       if (word != "auto" && !is_container_runtime(word))
         return wrong(format("must be docker, podman, enroot, none or auto, not {}", quoted(word)));
       item.container_runtime = word == "auto" ? "" : word;
       return {};
     },
     [](const Queue& item) {
       return Words{item.container_runtime.empty() ? "auto" : item.container_runtime};
     }},
});

constexpr auto user_keys = std::to_array<OrgKey<UserDefaults>>({
    {"default_project", OrgType::name, "none", "Project of the user's jobs that name none",
     [](UserDefaults& item, const Words& words) { return set_name(item.project, words); },
     [](const UserDefaults& item) { return shown_name(item.project); }},
    {"role", OrgType::choice, "researcher",
     "viewer: looks; researcher: submits jobs; editor: changes projects too; admin: everything",
     [](UserDefaults& item, const Words& words) -> Result<void> {
       ROTA_TRY(const std::string word, one_word(words));
       const auto role = user_role_from(word);
       if (!role)
         return wrong(format("must be viewer, researcher, editor or admin, not {}", quoted(word)));
       item.role = *role;
       return {};
     },
     [](const UserDefaults& item) { return Words{std::string(name_of(item.role))}; }},
});

template <class T, std::size_t... sizes>
std::vector<OrgKey<T>> joined(const std::array<OrgKey<T>, sizes>&... parts) {
  std::vector<OrgKey<T>> all;
  (all.insert(all.end(), parts.begin(), parts.end()), ...);
  return all;
}

}  // namespace

std::string_view name_of(OrgType type) {
  switch (type) {
    case OrgType::gpus:
    case OrgType::cpus:
      return "decimal";
    case OrgType::size:
      return "size";
    case OrgType::number:
      return "number";
    case OrgType::flag:
      return "on or off";
    case OrgType::duration:
      return "duration";
    case OrgType::name:
      return "name";
    case OrgType::choice:
      return "choice";
    case OrgType::list:
      return "list";
    case OrgType::weights:
      return "mapping";
  }
  return "value";
}

template <>
std::span<const OrgKey<Department>> org_keys<Department>() {
  static const auto keys =
      joined(std::array{parent_key}, quota_keys<Department>, preemption_keys<Department>);
  return keys;
}
template <>
std::span<const OrgKey<Project>> org_keys<Project>() {
  static const auto keys = joined(std::array{department_key}, quota_keys<Project>, project_keys,
                                  preemption_keys<Project>);
  return keys;
}
template <>
std::span<const OrgKey<Queue>> org_keys<Queue>() {
  return queue_keys;
}
template <>
std::span<const OrgKey<UserDefaults>> org_keys<UserDefaults>() {
  return user_keys;
}

template <class T>
Result<const OrgKey<T>*> find_org_key(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OrgKey<T>& key : org_keys<T>()) {
    if (key.name == name) return &key;
    names.push_back(key.name);
  }
  const auto meant = nearest(name, names);
  return wrong(meant.empty() ? format("unknown key {}; a {} has {}", quoted(name),
                                      name_of(org_kind_of<T>), fmt::join(names, ", "))
                             : format("unknown key {}; did you mean '{}'?", quoted(name), meant));
}
template Result<const OrgKey<Department>*> find_org_key<Department>(std::string_view);
template Result<const OrgKey<Project>*> find_org_key<Project>(std::string_view);
template Result<const OrgKey<Queue>*> find_org_key<Queue>(std::string_view);
template Result<const OrgKey<UserDefaults>*> find_org_key<UserDefaults>(std::string_view);

std::string words_text(const Words& words) { return format("{}", fmt::join(words, ",")); }

Result<void> apply_settings(Project& project, const std::vector<OrgSetting>& settings) {
  for (const OrgSetting& setting : settings) {
    ROTA_TRY(const auto* key, find_org_key<Project>(setting.key));
    if (auto done = key->set(project, setting.words); !done)
      return wrong(format("{}: {}", key->name, done.error().detail));
  }
  return {};
}

}  // namespace rota
