// model/job.h - a job: what was asked, what it carries, what became of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/box.h"
#include "common/result.h"
#include "common/shared_text.h"
#include "common/time.h"
#include "model/container.h"
#include "model/ids.h"
#include "model/job_rules.h"
#include "model/node_wish.h"
#include "model/placement.h"
#include "model/run_usage.h"
#include "model/service.h"
#include "model/topology_request.h"

namespace rota {

enum class JobKind : std::uint8_t { train = 1, interactive = 2, inference = 3 };

/// Whether others may take back what a job holds. By its kind: train yes, the others no. `semi`: of
/// an elastic job only what is above its minimum.
enum class Preemptibility : std::uint8_t { by_kind = 0, yes = 1, no = 2, semi = 3 };
/// "preemptible", "non-preemptible" or "semi", as rsubmit --preemptibility takes it.
std::string_view name_of(Preemptibility preemptibility);
std::optional<Preemptibility> preemptibility_from(std::string_view text);

/// Numbers are on the wire and in the store: never changed, never reused. Names are users.md 1.7.
enum class JobState : std::uint8_t {
  pending = 1,
  starting = 2,    // placed; its nodes have been told
  running = 3,     // every node has started it
  completing = 4,  // ending; some node still holds a part
  preempted = 5,   // being ended to make way; it returns to the queue
  suspended = 6,   // holds nothing, and waits until somebody resumes it
  completed = 10,
  failed = 11,
  cancelled = 12,
  timeout = 13,
  node_fail = 14,
  out_of_memory = 15,
  launch_failed = 16,
  deadline = 17,  // it could not be over by its deadline
};

/// "PENDING" and "PD": the words that scripts match on.
std::string_view name_of(JobState state);
std::string_view code_of(JobState state);
/// Takes either word in any case.
std::optional<JobState> job_state_from(std::string_view text);
inline bool is_final(JobState state) { return state >= JobState::completed; }
/// It still holds something, and is being ended.
inline bool is_ending(JobState state) {
  return state == JobState::completing || state == JobState::preempted;
}
std::string_view name_of(JobKind kind);
std::optional<JobKind> job_kind_from(std::string_view text);
/// A number from 1 to JobBounds::priority_max, or one of the names from very-low (25) to very-high
/// (150).
std::optional<std::int32_t> priority_from(std::string_view text);

/// Why a pending job waits: Slurm's short words, with the numbers behind them in JobView::reason.
enum class WaitReason : std::uint8_t {
  none = 0,
  resources = 1,     // first in line, its resources are held by others
  priority = 2,      // jobs before it wait as well
  node_down = 3,     // would fit, if nodes that are down were up
  limit = 4,         // its project or department would hold more than its limit
  quota = 5,         // cannot be preempted, and its project's or department's quota is used up
  promised = 6,      // has its place, as soon as others have left it
  start_failed = 7,  // a node could not start it; it is tried again after a pause
  held_by_user = 8,
  held_by_admin = 9,
  dependency = 10,        // others have to start or end before
  dependency_never = 11,  // and they did so in a way that never lets it start
  begin_time = 12,        // it shall not start before a date
  array_limit = 13,       // as many tasks of its array run as may at a time
};
std::string_view name_of(WaitReason reason);

/// What every task needs for itself.
struct TaskRequest {
  std::uint32_t gpu_count = 0;
  std::uint32_t cpu_count = 1;
  std::uint64_t memory_bytes = 0;
  // A part of each of those GPUs instead of all of it; at most one of the two.
  std::uint32_t gpu_share = 0;       // millionths; 0: not asked for
  std::uint32_t gpu_memory_mib = 0;  // 0: not asked for
  // Up to so much of each while nobody else needs it; 0: no more than the part.
  std::uint32_t gpu_share_limit = 0;
  std::uint32_t gpu_memory_limit_mib = 0;
  // MIG instances instead of GPUs: `mig_count` of this profile; mig_auto: whichever holds the part.
  SharedText mig_profile;
  std::uint32_t mig_count = 0;
  static constexpr const char* mig_auto = "auto";
  // At most so much of its GPU's compute, in percent, by MPS; 0: not asked for. mps_by_memory: as
  // much as it has of the GPU's memory, which its node knows.
  std::uint8_t mps_percent = 0;
  static constexpr std::uint8_t mps_by_memory = 255;

  bool uses_mps() const { return mps_percent > 0; }
  bool uses_mig() const { return !mig_profile.empty(); }
  bool shares_gpus() const { return gpu_share > 0 || gpu_memory_mib > 0; }
  friend auto operator<=>(const TaskRequest&, const TaskRequest&) = default;
  static auto fields(auto& m) {
    return std::tie(m.gpu_count, m.cpu_count, m.memory_bytes, m.gpu_share, m.gpu_memory_mib,
                    m.gpu_share_limit, m.gpu_memory_limit_mib, m.mig_profile, m.mig_count,
                    m.mps_percent);
  }
};

/// "0.5 of ": which part of its GPUs a task asks for; "" for all.
std::string gpu_part_text(const TaskRequest& task);
/// "50%", or "by memory": its share of the compute by MPS; "" for none.
std::string mps_text(const TaskRequest& task);

/// What a job needs on each of its nodes besides its tasks' own (--gpus-per-node, --mem).
struct NodeRequest {
  std::uint32_t gpu_count = 0;
  std::uint64_t memory_bytes = 0;

  friend auto operator<=>(const NodeRequest&, const NodeRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.gpu_count, m.memory_bytes); }
};

/// What the scheduler and the queue need to know of a job. Small: a million of them wait in memory.
struct JobSpec {
  std::string name;
  SharedText project = "default";  // submitted "": the user's default project
  SharedText queue;                // "": none
  JobKind kind = JobKind::train;
  bool requeue = true;      // may start again after its node failed
  bool background = false;  // takes what nobody else wants, and gives way to everybody
  Preemptibility preemptibility = Preemptibility::by_kind;
  std::uint8_t signal = 0;          // tells it that it has to make way; 0: SIGTERM
  std::int32_t signal_seconds = 0;  // so long before its time limit, too; 0: not
  std::int32_t grace_seconds = -1;  // from the signal to SIGKILL; below 0: as its project says
  std::int32_t priority = 0;        // 0: its kind's; higher is served first in its project
  std::uint32_t task_count = 1;
  std::uint32_t node_count = 0;  // 0: as few as possible
  std::uint32_t node_count_max =
      0;  // elastic: grows up to that many, shrinks to node_count; 0: not
  TaskRequest task;
  NodeRequest node;
  std::int64_t time_limit_seconds = 0;  // 0: none
  Box<NodeWish> nodes;                  // that it may run on; hardly any job says
  Box<TopologyRequest> topology;        // how close together; the same
  SharedText image;                     // that it runs in; "": on the node itself
  Box<ServiceWish> service;             // the ports that it listens on; hardly any job does
  Box<JobRules> rules;                  // when it may start, and more that hardly any job says

  bool is_elastic() const { return node_count_max > 0; }
  /// It stands for many jobs, of which it is none itself.
  bool is_array() const { return !rules->array.tasks.empty(); }
  /// On each node of an elastic job.
  std::uint32_t tasks_per_node() const { return task_count / node_count; }
  /// As it is for this kind: never by_kind.
  Preemptibility preemptibility_or_kinds() const {
    if (preemptibility != Preemptibility::by_kind) return preemptibility;
    return kind == JobKind::train ? Preemptibility::yes : Preemptibility::no;
  }
  /// At least what is above its minimum.
  bool is_preemptible() const { return preemptibility_or_kinds() != Preemptibility::no; }
  bool is_semi_preemptible() const { return preemptibility == Preemptibility::semi; }
  /// What it has on one node is never taken back: of a semi-preemptible job its first nodes are.
  bool is_firm(const NodePart& part) const {
    if (!is_semi_preemptible()) return !is_preemptible();
    return part.task_first / tasks_per_node() < node_count;
  }
  /// Its own, or its kind's: train 50, interactive 100 (75 when it may be preempted), inference
  /// 125.
  std::int32_t priority_or_kinds() const;
  /// GPUs that the whole job is on, when it runs on `node_count` nodes (at least one).
  std::uint64_t gpu_devices() const {
    return std::uint64_t{task_count} * task.gpu_count +
           std::uint64_t{node_count == 0 ? 1 : node_count} * node.gpu_count;
  }

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
  static auto fields(auto& m) {
    return std::tie(m.name, m.project, m.kind, m.task_count, m.node_count, m.task, m.node,
                    m.time_limit_seconds, m.requeue, m.queue, m.priority, m.preemptibility,
                    m.signal, m.signal_seconds, m.grace_seconds, wish_of(m), m.node_count_max,
                    topology_of(m), m.background, m.image, service_of(m), rules_of(m));
  }
  /// Told when all fields have been read.
  void decoded() {
    nodes.tidy();
    topology.tidy();
    service.tidy();
    rules.tidy();
  }

 private:
  static const NodeWish& wish_of(const JobSpec& spec) { return *spec.nodes; }
  static NodeWish& wish_of(JobSpec& spec) { return spec.nodes.edit(); }
  static const TopologyRequest& topology_of(const JobSpec& spec) { return *spec.topology; }
  static TopologyRequest& topology_of(JobSpec& spec) { return spec.topology.edit(); }
  static const ServiceWish& service_of(const JobSpec& spec) { return *spec.service; }
  static ServiceWish& service_of(JobSpec& spec) { return spec.service.edit(); }
  static const JobRules& rules_of(const JobSpec& spec) { return *spec.rules; }
  static JobRules& rules_of(JobSpec& spec) { return spec.rules.edit(); }
};

/// A soft and a hard limit as setrlimit takes them; all-ones is unlimited.
struct ResourceLimit {
  std::uint32_t resource = 0;  // RLIMIT_*
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;

  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
  static auto fields(auto& m) { return std::tie(m.resource, m.soft, m.hard); }
};

/// A secret of the owner's that the job gets at its start. What it says is never part of a job.
struct SecretUse {
  std::string name;    // of the secret, and of the variable that it comes in
  std::string target;  // not "": it comes in this file instead

  friend bool operator==(const SecretUse&, const SecretUse&) = default;
  static auto fields(auto& m) { return std::tie(m.name, m.target); }
};

/// Sources that the node fetches for the job before it starts.
struct GitSource {
  std::string url;
  std::string revision;  // a branch, a tag or a commit; "": the one that it has checked out
  std::string target;    // the directory that they are in, absolute

  friend bool operator==(const GitSource&, const GitSource&) = default;
  static auto fields(auto& m) { return std::tie(m.url, m.revision, m.target); }
};

enum class LaunchMode : std::uint8_t {
  batch = 1,  // the script runs once, on the first node (sbatch)
  tasks = 2,  // the command runs once per task, on all nodes (srun)
  hold = 3,   // nothing runs by itself; processes come and go while it is held (salloc)
};

/// What only the node needs, and only at the start: kept in the store, never in the engine.
struct JobPayload {
  LaunchMode mode = LaunchMode::batch;
  std::string script;                    // batch: the file's text, or "#!/bin/sh" and --wrap
  std::vector<std::string> arguments;    // batch: the script's; tasks: the command's argv
  std::vector<std::string> environment;  // NAME=value, as at submission
  std::string working_directory;
  std::uint32_t umask = 022;
  std::vector<ResourceLimit> limits;
  std::string stdout_pattern;  // "" : rota-%j.out in the working directory
  std::string stderr_pattern;  // "" : joined to stdout
  std::string stdin_path;      // "" : /dev/null
  std::string submit_host;
  ContainerSpec container;  // of a job with an image
  std::vector<SecretUse> secrets;
  std::vector<GitSource> git;

  friend bool operator==(const JobPayload&, const JobPayload&) = default;
  static auto fields(auto& m) {
    return std::tie(m.mode, m.script, m.arguments, m.environment, m.working_directory, m.umask,
                    m.limits, m.stdout_pattern, m.stderr_pattern, m.stdin_path, m.submit_host,
                    m.container, m.secrets, m.git);
  }
};

/// Who submitted: MUNGE's word for the numbers, the controller's user database for the name.
struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  SharedText user;

  friend bool operator==(const Owner&, const Owner&) = default;
  static auto fields(auto& m) { return std::tie(m.uid, m.gid, m.user); }
};

/// How a run ended, as its node tells it.
enum class EndCause : std::uint8_t {
  exited = 1,         // by itself: exit code or signal
  cancelled = 2,      // we ended it on the controller's word
  timeout = 3,        // over its time limit
  out_of_memory = 4,  // the memory limit of its cgroup
  launch_failed = 5,  // never started; `detail` says why
  node_failed = 6,    // the node went down under it, or lost it
  gpu_failed = 7,     // a GPU of it broke, not by its own doing; `detail` says which
  idle = 8,           // its GPUs were idle for longer than its project allows
  gpu_error = 9,      // its own work made a GPU report an error; `detail` says which
  deadline = 10,      // the date by which it should have been over has come
};

/// A process of a node. Numbers come back, so when it was started belongs to its name.
struct ProcessName {
  std::uint32_t pid = 0;
  std::uint64_t start_ticks = 0;  // since the node's boot

  friend bool operator==(const ProcessName&, const ProcessName&) = default;
  static auto fields(auto& m) { return std::tie(m.pid, m.start_ticks); }
};

struct RunEnd {
  EndCause cause = EndCause::exited;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;  // 0: none
  std::int64_t elapsed_ms = 0;   // by the node's monotonic clock
  std::string detail;
  bool by_node = false;  // of launch_failed: the node could not start it, another one may
  RunUsage usage;
  std::vector<ProcessName> left;  // of it that SIGKILL did not end

  friend bool operator==(const RunEnd&, const RunEnd&) = default;
  static auto fields(auto& m) {
    return std::tie(m.cause, m.exit_code, m.exit_signal, m.elapsed_ms, m.detail, m.by_node, m.usage,
                    m.left);
  }
};

/// What only a job that was started has. Kept aside: most jobs that wait never were.
struct LastRun {
  WallTime start_time;
  Placement placement;                        // parts that are held; empty when none is
  std::vector<NodeId> nodes;                  // all of the run, kept after its end
  std::vector<NodeId> started;                // nodes that reported the start
  std::vector<std::uint32_t> tasks_per_node;  // of `nodes`
  std::optional<RunEnd> end;  // first word about how this run ends; decides the final state
  std::int64_t elapsed_ms = 0;
  std::string displaced;      // who took its place, and by what right; kept while it waits again
  std::uint32_t growths = 0;  // of an elastic job: how often it grew
  // Kept while it waits again, and until it runs:
  std::vector<NodeId> start_failed_on;  // nodes that could not start it lately, the latest last
  std::string start_failure;            // the latest: on which node, and why
  // Which image its name meant when it first ran, kept for all its runs; "": none, or not yet.
  std::string image_digest;
  WallTime saved;              // it last said that its work is safe; never: not in this run
  bool limit_changed = false;  // since it was launched: its nodes have to be told

  friend bool operator==(const LastRun&, const LastRun&) = default;
};

/// Who keeps a job from starting.
enum class Hold : std::uint8_t { none = 0, user = 1, admin = 2 };

/// What somebody asked for while it ran: done when its parts have ended.
enum class AfterEnd : std::uint8_t { nothing = 0, requeue = 1, suspend = 2 };

/// How a job belongs to an array.
struct ArrayPlace {
  JobId of;                 // the array that it is a task of; none: it is not
  std::uint32_t index = 0;  // as which task
  IndexSet cancelled;       // of an array: tasks that never start

  friend bool operator==(const ArrayPlace&, const ArrayPlace&) = default;
  static auto fields(auto& m) { return std::tie(m.of, m.index, m.cancelled); }
};

/// A job as the controller keeps it, in memory and in the store.
struct Job {
  JobId id;
  JobSpec spec;
  Owner owner;
  JobState state = JobState::pending;
  LaunchMode mode = LaunchMode::batch;  // of its payload: whether the first node's end is the job's
  bool cancel_requested = false;
  std::uint32_t restarts = 0;
  std::uint32_t preemptions = 0;     // of those
  std::uint32_t start_failures = 0;  // of those, since it last ran: its nodes could not start it
  std::uint32_t asked_restarts = 0;  // of those: somebody asked for it, or --retries did
  std::uint32_t failures = 0;        // of those: it failed by itself
  Hold hold = Hold::none;
  AfterEnd after_end = AfterEnd::nothing;
  WallTime submit_time;
  WallTime end_time;
  Box<LastRun> last;  // the present run, or the latest
  Box<ArrayPlace> array;

  /// Of its part on a node.
  RunId run(const NodePart& part) const { return {id, restarts, part.growth}; }
  friend bool operator==(const Job&, const Job&) = default;
  static auto fields(auto& m) {
    auto& last = last_of(m);
    return std::tie(m.id, m.spec, m.owner, m.state, m.restarts, m.submit_time, last.start_time,
                    m.end_time, last.placement, last.nodes, last.started, last.end,
                    m.cancel_requested, last.elapsed_ms, m.mode, last.tasks_per_node, m.preemptions,
                    last.displaced, m.start_failures, last.start_failed_on, last.start_failure,
                    last.growths, last.image_digest, m.asked_restarts, m.failures, m.hold,
                    m.after_end, array_of(m), last.saved, last.limit_changed);
  }
  /// Told when all fields have been read.
  void decoded() {
    last.tidy();
    array.tidy();
  }

 private:
  static const LastRun& last_of(const Job& job) { return *job.last; }
  static LastRun& last_of(Job& job) { return job.last.edit(); }
  static const ArrayPlace& array_of(const Job& job) { return *job.array; }
  static ArrayPlace& array_of(Job& job) { return job.array.edit(); }
};

/// A job for people: rqueue and its --json.
struct JobView {
  JobId id;
  JobSpec spec;
  Owner owner;
  JobState state = JobState::pending;
  std::uint32_t restarts = 0;
  std::uint64_t gpu_count = 0;  // that it is on, or asked to be
  std::vector<std::string> nodes;
  WallTime submit_time;
  WallTime start_time;
  WallTime end_time;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  std::int64_t elapsed_ms = 0;
  WaitReason wait = WaitReason::none;
  std::string reason;  // one sentence: why it waits, or how it ended
  std::uint32_t preemptions = 0;
  std::string displaced;        // who took its place last, and by what right
  std::int64_t gpu_amount = 0;  // of gpu_unit: held, or asked for
  WallTime expected_start;      // while it waits and a place is kept for it: by then, at the latest
  // The narrowest place of the topology that all its nodes lie in; "": none, or it has none.
  std::string place_level;        // "rack"
  std::string place;              // "block-a/rack-1"
  RunUsage usage;                 // of the present run, or the latest
  WallTime idle_since;            // of a running job: all of its GPUs are idle; never: they are not
  std::string image_digest;       // which image its name meant; "": none, or it has not run yet
  std::vector<std::string> urls;  // of a job with --url: where its ports are to be found
  ArrayPlace array;
  IndexSet waiting;  // of an array: tasks that have not started
  Hold hold = Hold::none;
  std::uint32_t failures = 0;
  WallTime saved;

  friend bool operator==(const JobView&, const JobView&) = default;
  static auto fields(auto& m) {
    return std::tie(m.id, m.spec, m.owner, m.state, m.restarts, m.gpu_count, m.nodes, m.submit_time,
                    m.start_time, m.end_time, m.exit_code, m.exit_signal, m.elapsed_ms, m.wait,
                    m.reason, m.preemptions, m.displaced, m.gpu_amount, m.expected_start,
                    m.place_level, m.place, m.usage, m.idle_since, m.image_digest, m.urls, m.array,
                    m.waiting, m.hold, m.failures, m.saved);
  }
};

/// "12", "12_3" for a task of an array, "12_[4-99%8]" for what of an array waits.
std::string id_text(const JobView& job);

/// Some tasks of an array.
struct ArrayTasks {
  JobId array;
  IndexSet tasks;

  friend bool operator==(const ArrayTasks&, const ArrayTasks&) = default;
  static auto fields(auto& m) { return std::tie(m.array, m.tasks); }
};

/// Which jobs a command means. Empty fields do not restrict.
struct JobFilter {
  std::vector<JobId> jobs;
  std::vector<std::string> users;
  std::vector<std::string> projects;
  std::vector<std::string> names;
  std::vector<JobState> states;
  bool ended_too = false;         // without it, and without states or jobs: only what has not ended
  std::vector<ArrayTasks> tasks;  // besides those of `jobs`

  bool names_jobs() const { return !jobs.empty() || !tasks.empty(); }
  friend bool operator==(const JobFilter&, const JobFilter&) = default;
  static auto fields(auto& m) {
    return std::tie(m.jobs, m.users, m.projects, m.names, m.states, m.ended_too, m.tasks);
  }
};

/// Bounds on what one job may ask and carry; anything beyond is refused with its name.
struct JobBounds {
  static constexpr std::uint32_t task_count_max = 1'000'000;
  static constexpr std::uint32_t node_count_max = 100'000;
  static constexpr std::uint32_t gpus_per_task_max = 1024;
  static constexpr std::uint32_t gpu_share_min = 10'000;  // a hundredth
  static constexpr std::uint32_t gpu_memory_mib_max = 16 << 20;
  static constexpr std::uint8_t mps_percent_max = 100;
  static constexpr std::uint32_t cpus_per_task_max = 65'536;
  static constexpr std::int32_t priority_max = 1'000'000;
  static constexpr std::size_t name_bytes_max = 256;
  static constexpr std::size_t script_bytes_max = 4 << 20;
  static constexpr std::size_t environment_bytes_max = 4 << 20;
  static constexpr std::size_t path_bytes_max = 4096;
  static constexpr std::int64_t time_limit_seconds_max = 10LL * 365 * 24 * 3600;
  static constexpr std::int32_t signal_max = 64;
  static constexpr std::int32_t signal_seconds_max = 7 * 24 * 3600;
  static constexpr std::int32_t grace_seconds_max = 24 * 3600;
};

/// Whether the spec is one that could run somewhere; names the field that is wrong.
Result<void> validate(const JobSpec& spec);
Result<void> validate(const JobPayload& payload);
/// Whether the two, each of which is good, can be one job.
Result<void> validate(const JobSpec& spec, const JobPayload& payload);
bool matches(const JobFilter& filter, const Job& job);

}  // namespace rota
