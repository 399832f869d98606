// sched/world.h - all that a decision may look at, and the sheet of changes that can be undone.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sched/fleet.h"
#include "sched/image_book.h"
#include "sched/job_row.h"
#include "sched/least_loss.h"
#include "sched/quota_tree.h"
#include "sched/reservations.h"
#include "sched/topology.h"
#include "sched/workload.h"

namespace rota::sched {

/// How a site wants it.
struct Policy {
  // What makes one node better than another; the smallest number wins when nothing does.
  bool prefer_topology = true;
  bool prefer_beside_others = true;  // a fraction goes where a shared GPU has room
  bool prefer_now = true;
  bool prefer_cpu_nodes = true;  // for tasks without GPUs
  bool spare_free_gpus = false;  // they keep away from nodes with free GPUs
  bool prefer_full = true;       // pack; else the order of nodes, or spread
  bool least_loss = false;       // to where expected tasks lose least, before all of that
  bool spread_gpu = false;
  bool spread_cpu = false;
  bool pack_shared = true;
  bool check_quota = true;

  double history_weight = 0;  // k of time-based fairness; 0: the past does not count
  std::int64_t history_window_seconds = 7 * 86'400;
  std::int64_t history_half_life_seconds = 0;  // 0: all of the window counts the same
  double saturation_multiplier = 1;
  std::int64_t reclaim_min_runtime_seconds = 0;
  std::int64_t preempt_min_runtime_seconds = 0;
  std::int64_t preemption_delay_seconds = 0;
  /// Who had to make way once is left alone so long after the next start, twice as long after the
  /// second time, and so on up to a bound. 0: not.
  std::int64_t evicted_rest_seconds = 0;
  std::int64_t stale_grace_seconds = 60;
  std::uint32_t reservations_max = 0;           // jobs for which a place is kept in time
  std::int64_t limit_assumed_seconds = 86'400;  // of jobs without a time limit, for such plans
  std::uint32_t consolidate_jobs_max = 16;      // 0: no consolidation
  std::uint32_t scenarios_max = 64;             // that one search for victims may simulate per size
  std::uint64_t search_work_max = 0;  // nodes looked at in a pass by such searches; 0: no bound
};

/// What keeps a job waiting, in the numbers that decided it.
struct WaitCause {
  enum class Kind : std::uint8_t {
    none,
    not_ready,  // fewer tasks than its minimum may be placed
    limit,      // of `project`
    quota,      // of `project`, for what cannot be preempted
    resources,  // `placed` of `wanted` tasks found a place
    delay,      // may not cause evictions yet
    promised,   // has its place, as soon as others have left it
    reserved,   // would delay `job`
  };
  Kind kind = Kind::none;
  QuotaIndex project = quota_root;
  std::uint32_t placed = 0, wanted = 0;
  std::uint64_t job = 0;  // its id
};

enum class Action : std::uint8_t { allocate, consolidate, reclaim, preempt, evict_stale, give_way };
inline constexpr std::size_t action_count = 6;

/// A job that lost its place, or some of it, to another.
struct Displacement {
  std::uint32_t victim = 0;
  std::uint32_t taker = 0;
  Action action = Action::reclaim;
};

/// Among the jobs of a project: the first is served first, the last is taken from first.
struct JobKey {
  std::int32_t priority = 0;
  Fill fill = Fill::below;
  std::int64_t works_since = 0;  // only of those that are taken from
  std::uint32_t user_rank = 0;
  std::int64_t submitted = 0;
  std::uint64_t id = 0;
  std::uint32_t job = 0;

  friend bool operator<(const JobKey& a, const JobKey& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.fill != b.fill) return a.fill < b.fill;
    if (a.works_since != b.works_since) return a.works_since < b.works_since;
    if (a.user_rank != b.user_rank) return a.user_rank < b.user_rank;
    if (a.submitted != b.submitted) return a.submitted < b.submitted;
    return a.id < b.id;
  }
};

/// Waiting jobs that are alike to the scheduler: one that cannot start speaks for all behind it. A
/// job that is partly placed has a class of its own.
struct QueueClass {
  JobRow jobs;
  std::int32_t limit = 0;       // how long they take at most: more for longer ones
  Amount step;                  // what the first of them would take next
  std::uint64_t failed_at = 0;  // the stamp of the action in which it failed last
  std::array<std::uint64_t, action_count> searched_in{};  // passes, by action: 0: never
  std::int64_t moves_after = 0;  // when it is worth to look again whether others could move for it
  std::int64_t moves_pause = 0;  // how long that was after the last time
  WaitCause cause;
};

/// The state of the scheduler. Tasks move through start, promise, evict and restore; whatever was
/// done since a mark can be undone. Who waits and who could be evicted is kept in order throughout.
class World {
 public:
  Fleet fleet;
  QuotaTree quotas;
  std::vector<Topology> topologies;
  Policy policy;
  Reservations reservations;
  LeastLoss least_loss;  // used where the policy says so
  ImageBook images;
  std::int64_t now = 0;

  /// Takes the job with its tasks as they are; charges what they hold. Returns its number.
  std::uint32_t add(SchedJob job);
  /// It has ended: gives back what it holds, and its number to the next.
  void remove(std::uint32_t job);
  const SchedJob& job(std::uint32_t index) const { return jobs_[index]; }
  std::size_t job_count() const { return jobs_.size(); }
  const Task& task(TaskRef ref) const { return jobs_[ref.job].tasks[ref.task]; }
  const Demand& demand(TaskRef ref) const { return jobs_[ref.job].demand(ref.task); }
  void set_started(std::uint32_t job, std::int64_t at) { set_work(job, at, jobs_[job].saved); }
  /// It could go on from what it has done until then.
  void set_saved(std::uint32_t job, std::int64_t at) { set_work(job, jobs_[job].started, at); }
  void set_stale_since(std::uint32_t job, std::int64_t at) { jobs_[job].stale_since = at; }

  void start(TaskRef ref, Spot spot);
  void promise(TaskRef ref, Spot spot);
  void evict(TaskRef ref);
  /// Undoes the eviction of a task that is still where it was.
  void restore(TaskRef ref);
  /// One that was started becomes a promise: its gang is not complete.
  void demote(TaskRef ref);

  std::size_t mark() const { return log_.size(); }
  void undo_to(std::size_t mark);
  /// The same, and what it takes to do it all again with redo(), as long as nothing else changes.
  struct Undone {
    std::vector<std::pair<TaskRef, Task>> changes;
    std::vector<Reservations::Change> kept;
  };
  Undone take_back_to(std::size_t mark, std::size_t kept_mark);
  void redo(Undone undone);
  /// Ends a pass: what was started or evicted is so from now on; promises are only for one pass,
  /// the next makes them again while they hold. Nothing can be undone after that.
  void settle();
  /// Jobs that wait and were promised a place by the last pass: others have been told to leave it
  /// for them. And those that were themselves moved, once they are back.
  std::vector<std::uint32_t> promised() const;
  /// The task that was started runs.
  void set_running(TaskRef ref);
  /// It is being ended: what it has comes free; and then it has given it back.
  void set_leaving(TaskRef ref);
  void set_gone(TaskRef ref);
  /// What it had it has given back, and may get something again.
  void set_waiting(TaskRef ref);
  /// It gave up a part of itself and goes on: it causes no evictions to grow again, for a while.
  void note_shrunk(std::uint32_t job);
  /// Rules may send two jobs after each other for ever: each entitled to the place of the other,
  /// because neither can be divided. Then each turn takes twice as long as the one before.
  std::int64_t rest_seconds(const SchedJob& job) const;
  /// Tasks that were changed since the mark, each once.
  std::vector<TaskRef> changed_since(std::size_t mark) const;

  /// What tasks ask for before it is known where they run.
  Amount estimate(const SchedJob& job, const std::vector<std::uint32_t>& tasks,
                  bool largest_gpu = false) const;
  /// After nodes have come or gone.
  void measure_gpus();

  /// When a job that starts now is over at the latest, as far as plans go.
  std::int64_t end_if_started(const SchedJob& job) const { return now + seconds_planned(job); }
  /// When one that holds something is over.
  std::int64_t end_of(std::uint32_t job) const {
    return members_[job].ends_at == never ? end_if_started(jobs_[job]) : members_[job].ends_at;
  }
  /// Until when other jobs have a part of every shared GPU of this spot (`of_any`: of one of them);
  /// 0: they have not.
  std::int64_t shared_until(std::uint32_t job, const Spot& spot, bool of_any = false) const;
  /// Jobs that hold something, by when they are over.
  using Ends = std::set<std::pair<std::int64_t, std::uint32_t>>;
  const Ends& ends() const { return ends_; }

  /// Who lost their place in this pass, and to whom; in the order decided.
  const std::vector<Displacement>& displaced() const { return displaced_; }
  void note_displaced(const Displacement& displacement) { displaced_.push_back(displacement); }
  /// When time alone may change what the last pass found; `forever` when it cannot.
  static constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();
  std::int64_t next_look() const { return next_look_; }
  void look_again_at(std::int64_t time) { next_look_ = std::min(next_look_, time); }
  /// A pass begins.
  void begin_pass();

  /// Searches for victims that fail are many on a full cluster, and each is dear. Beyond a bound of
  /// work in one pass they take turns: a class that failed is passed over until all others have
  /// been looked at, in as many passes as that takes.
  bool has_turn(Action action, const QueueClass& members) const;
  /// Whether there is work left for this pass.
  bool may_search(Action action);
  void note_failed(Action action, QueueClass& members) {
    members.searched_in[index_of(action)] = pass_;
  }
  void end_searches(Action action);
  void note_work(std::uint64_t nodes) { search_work_ += nodes; }
  std::uint64_t search_work() const { return search_work_; }
  void set_search_work(std::uint64_t nodes) { search_work_ = nodes; }

  /// The waiting classes of a project in order, and its jobs that may be evicted. True as of the
  /// last refresh().
  struct Head {
    JobKey key;
    QueueClass* members = nullptr;
    friend bool operator<(const Head& a, const Head& b) { return a.key < b.key; }
  };
  const std::set<Head>& heads(QuotaIndex project) const { return seats_[project].heads; }
  /// The same with the shortest first where priority and fill are equal: the order in which gaps
  /// before kept places are filled.
  struct Shorter {
    bool operator()(const Head& a, const Head& b) const;
  };
  using Shortest = std::set<Head, Shorter>;
  const Shortest& shortest(QuotaIndex project) const { return seats_[project].shortest; }
  const std::set<JobKey>& evictable(QuotaIndex project) const { return seats_[project].evictable; }
  /// Brings them up to date with what has changed; call before looking.
  void refresh();
  /// How the job stands among those of its project, as filled as that.
  JobKey key_as(Fill fill, std::uint32_t job) const;
  /// The same among those of its project that may be taken from: of equal ones the last, which is
  /// taken first, loses least work for each GPU. As time passes all lose the same more, so that
  /// order stays.
  JobKey key_to_take(Fill fill, std::uint32_t job) const;
  /// Whose jobs come first among those of equal priority: the smaller number. Whoever is not named
  /// keeps his; at first that is 0. Only between passes.
  struct UserRank {
    std::uint32_t user = 0;
    std::uint32_t rank = 0;
  };
  void rank_users(QuotaIndex project, const std::vector<UserRank>& ranks);
  /// Jobs in the background: those that wait, in order, and those that have something.
  struct Background {
    std::set<JobKey> waiting;
    std::set<std::uint32_t> placed;
  };
  const Background& background() const { return background_; }
  /// Jobs of which something is placed, but less than their minimum.
  const std::set<std::uint32_t>& incomplete() const { return incomplete_; }
  /// The class in which it waits; none when it does not, or is not ready.
  QueueClass* class_of(std::uint32_t job) { return members_[job].waits_in; }
  const WaitCause& cause_of(std::uint32_t job) const;
  /// The first of those that wait like it; itself when it waits in no class.
  std::uint32_t first_of_class(std::uint32_t job) const;
  void set_cause(std::uint32_t job, const WaitCause& cause);

  /// No room was found for this shape, and nothing has come free since.
  bool found_no_room(const JobShape* shape) const;
  void note_no_room(const JobShape* shape) { no_room_[shape] = fleet.freed_count(); }

  std::uint64_t new_stamp() { return ++stamp_; }
  /// Whether its parts of GPUs go beside others'.
  bool packs_shared(const SchedJob& job) const {
    // In the background what is fresh is free now; beside others may be somebody's soon.
    return policy.pack_shared && !job.shape->spread && !job.background;
  }

 private:
  struct Change {
    TaskRef ref;
    Task before;
    bool is_first = false;  // the job had no tasks before
    bool is_there = false;  // it stayed where it was: only its state counts
  };
  struct ClassKey {
    QuotaIndex project = quota_root;
    std::int32_t priority = 0;
    bool preemptible = true;
    bool semi = false;
    Fill fill = Fill::below;
    const JobShape* shape = nullptr;
    std::int32_t limit = 0;  // about
    std::uint32_t user = 0;
    std::uint64_t own = 0;  // the id of a job that is partly placed
    friend auto operator<=>(const ClassKey&, const ClassKey&) = default;
  };
  struct Seat {
    std::set<Head> heads;
    Shortest shortest;  // only kept where places are kept in time
    std::set<JobKey> evictable;
  };
  struct Membership {
    QueueClass* waits_in = nullptr;
    std::int64_t ends_at = never;      // as it stands in `ends_`
    std::optional<Fill> evictable_as;  // how its key stands there
    bool is_dirty = false;
  };

  void become(TaskRef ref, TaskState state, Spot spot, std::optional<Spot> leaves,
              std::optional<TaskState> evicted);
  /// The same of one that stays where it is.
  void become_there(TaskRef ref, TaskState state, std::optional<TaskState> evicted);
  void change_there(TaskRef ref, TaskState state, std::optional<TaskState> evicted);
  void note_change(TaskRef ref);
  void take_back_last();
  void set_state(TaskRef ref, TaskState state, Spot spot);
  /// Tasks of a job and the nodes that they were promised.
  struct Promise {
    std::uint32_t job = 0;
    std::vector<std::pair<std::uint32_t, NodeIndex>> tasks;
  };
  bool start_promised(const Promise& promise);
  void change(TaskRef ref, Task next);
  void attach(TaskRef ref);
  void detach(TaskRef ref);
  void touch(std::uint32_t job);
  void set_work(std::uint32_t job, std::int64_t started, std::int64_t saved);
  void hide_evictable(std::uint32_t job);
  void show_evictable(std::uint32_t job, Fill fill);
  void refresh(std::uint32_t job);
  void refresh_background(std::uint32_t job, bool waits);
  JobKey background_key(std::uint32_t job) const;
  void show_head(QuotaIndex project, const Head& head);
  void hide_head(QuotaIndex project, const Head& head);
  void join_class(std::uint32_t job);
  void leave_class(std::uint32_t job);
  ClassKey class_key(const SchedJob& job) const;
  bool is_before(std::uint32_t a, std::uint32_t b) const;
  void refresh_end(std::uint32_t job, bool holds);
  std::int64_t seconds_planned(const SchedJob& job) const {
    return job.limit_seconds > 0 ? job.limit_seconds : policy.limit_assumed_seconds;
  }

  // Not vectors: those leave as much behind as they hold when they grow.
  std::deque<SchedJob> jobs_;
  std::deque<Membership> members_;
  std::vector<std::uint32_t> dirty_;
  std::vector<Seat> seats_;                // by project
  std::vector<std::uint32_t> user_ranks_;  // by user
  std::set<std::uint32_t> incomplete_;
  Background background_;
  Ends ends_;
  std::vector<std::uint32_t> free_slots_;
  std::map<ClassKey, QueueClass> classes_;
  std::map<const QueueClass*, ClassKey> class_keys_;
  std::map<std::uint32_t, WaitCause> other_causes_;  // of jobs in no class
  std::map<const JobShape*, std::uint64_t> no_room_;
  std::vector<Change> log_;
  struct Promised {
    std::uint64_t id = 0;
    std::optional<std::uint32_t> job;  // none: it has not come back yet
    std::int64_t since = 0;
  };
  std::vector<Promised> promised_;
  struct Searches {
    std::uint64_t round = 1;  // the pass in which it began
    bool is_cut_off = false;  // in this pass
  };
  static std::size_t index_of(Action action) { return static_cast<std::size_t>(action); }

  std::uint64_t pass_ = 0;
  std::uint64_t search_work_ = 0;
  std::array<Searches, action_count> searches_;
  std::vector<Displacement> displaced_;
  std::int64_t next_look_ = forever;
  std::int64_t gpu_memory_least_ = 0;
  std::int64_t gpu_memory_most_ = 0;
  std::uint64_t stamp_ = 0;
};

}  // namespace rota::sched
