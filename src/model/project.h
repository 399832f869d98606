// model/project.h - who may hold how much: projects, departments above them, queues, users'
// defaults.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "model/job.h"

namespace rota {

/// Like gpu_unit: amounts of CPUs are thousandths; memory counts in bytes.
inline constexpr std::int64_t cpu_unit = 1'000;

/// What a project or a department is promised, and what it may take beyond that.
struct QuotaPolicy {
  std::int64_t gpu_quota = 0;                // guaranteed
  std::optional<std::int64_t> cpu_quota;     // none: CPUs are not part of the promise
  std::optional<std::int64_t> memory_quota;  // none: nor is memory
  std::optional<std::int64_t> gpu_limit;     // never more than this; none: no limit
  std::optional<std::int64_t> cpu_limit;
  std::optional<std::int64_t> memory_limit;
  std::optional<std::int64_t> weight;  // of the surplus, in millionths; none: its GPU quota
  std::int32_t rank = 100;             // of the surplus: higher is served first
  bool over_quota = true;              // may hold more than its quota while others leave it idle

  std::int64_t weight_or_quota() const { return weight.value_or(gpu_quota); }
  friend bool operator==(const QuotaPolicy&, const QuotaPolicy&) = default;
  static auto fields(auto& m) {
    return std::tie(m.gpu_quota, m.cpu_quota, m.memory_quota, m.gpu_limit, m.cpu_limit,
                    m.memory_limit, m.weight, m.rank, m.over_quota);
  }
};

/// How its jobs are taken from it, and how it takes from others. None: as the department above
/// says, and at the top the cluster.
struct PreemptionPolicy {
  std::optional<std::int64_t> grace_seconds;                // between SIGTERM and SIGKILL
  std::optional<std::int64_t> min_runtime_reclaim_seconds;  // safe from other projects so long
  std::optional<std::int64_t> min_runtime_preempt_seconds;  // safe from its own project so long
  std::optional<std::int64_t> delay_seconds;  // a job waits so long before it takes from others

  friend bool operator==(const PreemptionPolicy&, const PreemptionPolicy&) = default;
  static auto fields(auto& m) {
    return std::tie(m.grace_seconds, m.min_runtime_reclaim_seconds, m.min_runtime_preempt_seconds,
                    m.delay_seconds);
  }
};

/// Where jobs of one kind may run. An empty list: anywhere.
struct KindPolicy {
  JobKind kind = JobKind::train;
  std::vector<std::string> node_types;
  std::vector<std::string> node_groups;

  friend bool operator==(const KindPolicy&, const KindPolicy&) = default;
  static auto fields(auto& m) { return std::tie(m.kind, m.node_types, m.node_groups); }
};

/// A user's part of what a project's users share.
struct UserWeight {
  std::string user;
  std::int64_t weight = gpu_unit;  // in millionths; who is not named has 1

  friend bool operator==(const UserWeight&, const UserWeight&) = default;
  static auto fields(auto& m) { return std::tie(m.user, m.weight); }
};

inline constexpr std::string_view default_project = "default";

/// The quota entity. Every job belongs to one.
struct Project {
  std::string name;
  std::string department;  // "": directly below the cluster
  QuotaPolicy quota;
  PreemptionPolicy preemption;
  std::vector<KindPolicy> kinds;  // by kind; only those that are restricted
  std::string default_queue;      // "": none
  std::optional<std::int64_t> interactive_time_limit_seconds;
  std::optional<std::int64_t> time_limit_max_seconds;
  std::vector<std::string> users;   // members; with no users and no groups: everybody
  std::vector<std::string> groups;  // Unix groups whose users are members
  std::vector<UserWeight> user_weights;
  std::int64_t half_life_seconds = 7 * 86'400;  // of the users' usage; 0: nothing is forgotten
  std::uint64_t serial = 0;  // given by the controller when it was made: smaller is older
  // How long all GPUs of its jobs may be idle; 0: for ever. None: as the site says.
  std::optional<std::int64_t> interactive_idle_limit_seconds;
  std::optional<std::int64_t> train_idle_limit_seconds;

  bool is_open() const { return users.empty() && groups.empty(); }
  friend bool operator==(const Project&, const Project&) = default;
  static auto fields(auto& m) {
    return std::tie(m.name, m.department, m.quota, m.preemption, m.kinds, m.default_queue,
                    m.interactive_time_limit_seconds, m.time_limit_max_seconds, m.users, m.groups,
                    m.user_weights, m.half_life_seconds, m.serial, m.interactive_idle_limit_seconds,
                    m.train_idle_limit_seconds);
  }
};

/// A group of projects and of further departments, with a quota that rules over theirs.
struct Department {
  std::string name;
  std::string parent;  // "": directly below the cluster
  QuotaPolicy quota;
  PreemptionPolicy preemption;
  std::uint64_t serial = 0;

  friend bool operator==(const Department&, const Department&) = default;
  static auto fields(auto& m) {
    return std::tie(m.name, m.parent, m.quota, m.preemption, m.serial);
  }
};

enum class QueuePlacement : std::uint8_t { pack = 1, spread = 2 };

/// A named door into the cluster: Slurm's partition.
struct Queue {
  std::string name;
  std::string node_group;  // "": any
  std::optional<std::int64_t> time_limit_default_seconds;
  std::optional<std::int64_t> time_limit_max_seconds;
  std::vector<std::string> projects;  // that may use it; none: all
  std::int32_t priority = 0;          // of its jobs that ask for none; 0: their kind's
  QueuePlacement placement = QueuePlacement::pack;
  std::string container_runtime;  // of its jobs with an image; "": as their nodes say

  friend bool operator==(const Queue&, const Queue&) = default;
  static auto fields(auto& m) {
    return std::tie(m.name, m.node_group, m.time_limit_default_seconds, m.time_limit_max_seconds,
                    m.projects, m.priority, m.placement, m.container_runtime);
  }
};

/// What a user may do. Numbers are in the store: never changed, never reused.
enum class UserRole : std::uint8_t {
  researcher = 0,  // submit jobs, and do anything to their own
  viewer = 1,      // look
  editor = 2,      // as a researcher; and change projects, departments and queues
  admin = 3,       // everything
};
/// "researcher", "viewer", "editor", "admin".
std::string_view name_of(UserRole role);
std::optional<UserRole> user_role_from(std::string_view text);

/// What a user need not say, and what he may do.
struct UserDefaults {
  std::string name;
  std::string project;  // "": the default one
  UserRole role = UserRole::researcher;

  friend bool operator==(const UserDefaults&, const UserDefaults&) = default;
  static auto fields(auto& m) { return std::tie(m.name, m.project, m.role); }
};

/// All of it. Each list is in the order of names, each name once (see normalize).
struct Org {
  std::vector<Department> departments;
  std::vector<Project> projects;
  std::vector<Queue> queues;
  std::vector<UserDefaults> users;

  friend bool operator==(const Org&, const Org&) = default;
  static auto fields(auto& m) { return std::tie(m.departments, m.projects, m.queues, m.users); }
};

/// One key of projects.yaml and its words, as single changes travel (rproject).
struct OrgSetting {
  std::string key;
  std::vector<std::string> words;

  friend bool operator==(const OrgSetting&, const OrgSetting&) = default;
  static auto fields(auto& m) { return std::tie(m.key, m.words); }
};

/// Numbers are in the store: never changed, never reused.
enum class OrgKind : std::uint8_t { department = 1, project = 2, queue = 3, user = 4 };
/// "department", "project", "queue", "user".
std::string_view name_of(OrgKind kind);

/// Bounds on what one organisation may hold; anything beyond is refused with its name.
struct OrgBounds {
  static constexpr std::size_t project_count_max = 100'000;
  static constexpr std::size_t department_count_max = 10'000;
  static constexpr std::size_t queue_count_max = 1'000;
  static constexpr std::size_t user_count_max = 100'000;
  static constexpr std::size_t level_count_max = 64;
  static constexpr std::size_t list_size_max = 10'000;
  static constexpr std::size_t bytes_max = 15 << 20;  // of all of it: one message takes it
  static constexpr std::int64_t gpus_max = 10'000'000 * gpu_unit;
  static constexpr std::int64_t cpus_max = 1'000'000'000 * cpu_unit;
  static constexpr std::int64_t memory_bytes_max = std::int64_t{1} << 56;
  static constexpr std::int32_t rank_max = 1'000'000;
  static constexpr std::int64_t seconds_max = JobBounds::time_limit_seconds_max;
};

/// Everything in its order: lists by name, members and node types without repeats, kinds that
/// restrict nothing left out. Adds the `default` project (quota 0, may borrow) where there is none.
void normalize(Org& org);

/// Of a normalized Org; nullptr when there is none of that name.
const Project* find_project(const Org& org, std::string_view name);
const Department* find_department(const Org& org, std::string_view name);
const Queue* find_queue(const Org& org, std::string_view name);
const UserDefaults* find_user(const Org& org, std::string_view name);

/// "did you mean 'research'?", "known are a, b, c" or, of many, the first ten and how many more.
std::string known_projects(const Org& org, std::string_view wanted);
std::string known_departments(const Org& org, std::string_view wanted);
std::string known_queues(const Org& org, std::string_view wanted);

/// About what each takes of a message, and never less.
std::size_t bytes_of(const Project& project);
std::size_t bytes_of(const Department& department);
std::size_t bytes_of(const Queue& queue);
std::size_t bytes_of(const UserDefaults& user);
std::size_t bytes_of(const Org& org);

/// Whether a user in these Unix groups belongs to the project.
bool is_member(const Project& project, std::string_view user,
               const std::vector<std::string>& groups);
/// "ada, bob and the groups vision, speech".
std::string members_text(const Project& project);

/// Something that is wrong, and where.
struct OrgFault {
  OrgKind kind = OrgKind::project;
  std::string name;  // of the project, department ...; "": the list as a whole
  std::string key;   // as in projects.yaml; "": all of it
  std::string what;

  /// "project 'team-a': department 'reserch' does not exist; did you mean 'research'?".
  std::string text() const;
};

/// The first thing that is wrong with a normalized Org: names, bounds, references, cycles.
std::optional<OrgFault> find_fault(const Org& org);
/// The same as an error.
Result<void> validate(const Org& org);

/// What is allowed and probably not meant: a department whose projects are promised more than it.
std::vector<std::string> warnings_of(const Org& org);

/// One project or department and what it has, for rshare. Amounts are millionths of a GPU.
enum class ShareKind : std::uint8_t { department = 1, project = 2, user = 3 };
struct ShareView {
  ShareKind kind = ShareKind::project;
  std::string name;
  std::string parent;  // of a user its project, else the department; "": directly below the cluster
  std::int64_t quota = 0;                  // of a department or project
  std::int64_t weight = 0;                 // of the surplus; of a user among its project's
  std::optional<std::int64_t> fair_share;  // none: nobody has divided yet
  std::int64_t held_in_quota = 0;
  std::int64_t held_over_quota = 0;
  std::int64_t waiting = 0;           // asked for by jobs that wait
  std::optional<std::int64_t> usage;  // millionths of GPU hours, of late; none: not measured
  std::uint64_t jobs_running = 0;
  std::uint64_t jobs_waiting = 0;

  friend bool operator==(const ShareView&, const ShareView&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.name, m.parent, m.quota, m.weight, m.fair_share, m.held_in_quota,
                    m.held_over_quota, m.waiting, m.usage, m.jobs_running, m.jobs_waiting);
  }
};
std::size_t bytes_of(const ShareView& share);

}  // namespace rota
