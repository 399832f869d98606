// sched/workload.h - the demand: jobs as gangs of tasks, in groups with minimums.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/demand.h"
#include "sched/fleet.h"
#include "sched/quota_tree.h"

namespace rota::sched {

enum class TaskState : std::uint8_t {
  waiting,
  gated,     // may not be placed yet
  starting,  // placed by this pass on what is free now
  running,   // holds its resources
  promised,  // placed by this pass on what others are leaving
  leaving,   // being ended; its resources come free
  stuck,     // being ended for too long
  succeeded,
  failed,
};

/// Counts towards its gang: it holds or is promised its resources.
inline bool is_placed(TaskState state) {
  return state == TaskState::starting || state == TaskState::running ||
         state == TaskState::promised;
}
/// Really has its resources.
inline bool is_active(TaskState state) {
  return state == TaskState::starting || state == TaskState::running;
}

struct TopologyWish {
  std::uint32_t topology = 0;
  std::optional<std::uint32_t> required;   // level; all tasks in one domain of it
  std::optional<std::uint32_t> preferred;  // level; tried first, then wider ones

  friend auto operator<=>(const TopologyWish&, const TopologyWish&) = default;
};

/// A gang in groups of so many tasks, each of which lies together.
struct Segments {
  std::uint32_t size = 0;
  TopologyWish wish;  // of each group

  friend auto operator<=>(const Segments&, const Segments&) = default;
};

/// Tasks that are alike to their gang, e.g. the workers.
struct TaskSet {
  std::string name;
  std::uint32_t minimum = 1;
  std::optional<TopologyWish> topology;
};

/// Task sets and further groups, of which a number must be there.
struct Group {
  std::string name;
  std::vector<std::uint32_t> sets;
  std::vector<std::uint32_t> groups;
  std::optional<std::uint32_t> minimum;  // of its children; none: all
  std::optional<TopologyWish> topology;
};

/// The shape of a gang: groups[0] is the job itself.
struct Gang {
  std::vector<TaskSet> sets;
  std::vector<Group> groups;

  static Gang simple(std::uint32_t minimum, std::optional<TopologyWish> topology = {});
  /// The wish of the whole job, if it requires a level.
  const TopologyWish* required_topology() const {
    const auto& wish = groups.front().topology;
    return wish && wish->required ? &*wish : nullptr;
  }
  /// The same of its first set, where only sets have one.
  const TopologyWish* required_of_sets() const {
    const auto& wish = sets.front().topology;
    return !groups.front().topology && wish && wish->required ? &*wish : nullptr;
  }
};

/// What one task asks for. Tasks stand in the order in which they are placed.
struct TaskShape {
  std::uint32_t set = 0;
  std::shared_ptr<const Demand> demand;
  std::shared_ptr<const NodeList> nodes;  // the only ones it may run on, ascending; none: any
  std::uint32_t process_count = 1;        // that it stands for; nothing is decided by it

  bool may_run_on(NodeIndex node) const {
    return nodes == nullptr || std::binary_search(nodes->begin(), nodes->end(), node);
  }
};

struct JobShape;
/// A task whose nodes are those of all tasks of the shape; else one that may run anywhere.
const TaskShape& place_of_all(const JobShape& shape);

/// How the tasks of a gang lie together.
enum class Lie : std::uint8_t {
  free,       // each where it fits best
  apart,      // each on a node of its own
  few_nodes,  // on as few nodes as possible; all tasks are alike
};

/// All of a job that jobs may have in common; shared by those that have.
struct JobShape {
  Gang gang;
  std::vector<TaskShape> tasks;
  Lie lie = Lie::free;
  bool spread = false;  // goes to the emptiest nodes, not to the fullest

  /// Can do with fewer tasks than it has: one set of them, all alike.
  bool is_elastic() const {
    return gang.sets.size() == 1 && gang.sets.front().minimum < tasks.size();
  }
};

/// Where one task is. A job none of whose tasks was ever looked at has none of these.
struct Task {
  TaskState state = TaskState::waiting;
  /// Set when this pass took its place away: the state it had. It may be placed again.
  std::optional<TaskState> evicted;
  Spot spot;                   // where it is or will be
  std::optional<Spot> leaves;  // the place it is moved away from, while it is promised another
  Amount charge;               // what its project is charged for it, as held or as waiting
};

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int32_t as_policy = std::numeric_limits<std::int32_t>::min();

/// A million of them wait in memory: every field counts.
struct SchedJob {
  std::uint64_t id = 0;  // settles ties: the smaller is older
  std::shared_ptr<const JobShape> shape;
  QuotaIndex project = quota_root;
  std::int32_t priority = 50;
  std::int32_t stale_grace = as_policy;  // seconds; below 0: never stale
  std::uint32_t user = 0;                // of the project; 0: nobody in particular
  bool preemptible = true;
  bool semi = false;           // and only above its minimum; of an elastic job
  bool background = false;     // nobody plans with it: see background.h
  std::uint8_t evictions = 0;  // before its present run; no more than fit
  std::uint32_t image = 0;     // of World::images; 0: none
  std::int64_t submitted = 0;  // seconds
  std::int64_t started = never;
  std::int64_t saved = never;           // its work of this run, when it last said so
  std::int64_t limit_seconds = 0;       // of a run; 0: none
  std::int64_t preempts_after = never;  // may cause no eviction before this time
  std::int64_t stale_since = never;
  std::vector<Task> tasks;  // as many as in the shape; none: all wait

  std::uint32_t task_count() const { return static_cast<std::uint32_t>(shape->tasks.size()); }
  TaskState state(std::uint32_t task) const {
    return tasks.empty() ? TaskState::waiting : tasks[task].state;
  }
  /// One whose promise was taken back in this pass has had its turn.
  bool waits(std::uint32_t task) const {
    return state(task) == TaskState::waiting && (tasks.empty() || !tasks[task].evicted);
  }
  /// What it has done since then is lost if it has to start anew; never: nothing is.
  std::int64_t works_since() const { return started == never ? never : std::max(started, saved); }
  const Demand& demand(std::uint32_t task) const { return *shape->tasks[task].demand; }
  /// What it has by this task is never taken back, and lies within the quota.
  bool is_firm(std::uint32_t task) const {
    return !preemptible || (semi && task < shape->gang.sets.front().minimum);
  }
};

/// Where a job stands towards its minimum; the order in which jobs of equal priority are served.
enum class Fill : std::uint8_t { below, exact, above };
/// `gone`: tasks that do not count; empty: all do.
Fill fill_of(const SchedJob& job, const std::vector<bool>& gone = {});

/// At least its minimum of tasks that live and are not gated, in every group that is needed.
bool is_ready(const SchedJob& job);
bool has_waiting(const SchedJob& job);
bool has_placed(const SchedJob& job);

/// A task set or group, by its place in the gang.
struct Member {
  bool is_group = false;
  std::uint32_t index = 0;
};
/// Those of a group, as they are served: who needs most first.
std::vector<Member> members_in_order(const SchedJob& job, std::uint32_t group);

/// What is tried at once: all that is missing to the minimum, else one step more. `Which::evicted`
/// looks at what this pass has evicted instead of what waits.
enum class Which : std::uint8_t { waiting, evicted };
std::vector<std::uint32_t> tasks_to_place(const SchedJob& job, Which which = Which::waiting);

/// Whether what is tried at once has to lie within the quota.
bool is_firm_step(const SchedJob& job, const std::vector<std::uint32_t>& tasks);

/// What is evicted at once: one task above the minimum, one group too many, else all (`is_whole`).
struct EvictionUnit {
  std::vector<std::uint32_t> tasks;
  bool is_whole = false;
};
EvictionUnit tasks_to_evict(const SchedJob& job, const std::vector<bool>& gone);

/// Some of it runs, none has succeeded, and a group that is needed is below its minimum.
bool is_stale(const SchedJob& job);

}  // namespace rota::sched
