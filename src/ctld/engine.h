// ctld/engine.h - the one writer of the cluster's state: event in, effects out.
//
// No sockets, no clock, no files, no threads. The shell (ctld/effects) commits the rows first and
// only then sends anything. The same code runs in rctld and in the simulation tests.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "ctld/engine_org.h"
#include "ctld/request_log.h"
#include "ctld/rows.h"
#include "ctld/secret_book.h"
#include "ctld/usage.h"
#include "model/job.h"
#include "model/node.h"
#include "proto/messages.h"
#include "sched/job_state.h"
#include "sched/scheduler.h"

namespace rota::ctld {

struct EngineSettings {
  NodeSettings node;
  std::uint64_t restarts_max = 3;
  std::int64_t launch_backoff_ms = 10'000;
  std::uint64_t job_count_max = 2'000'000;
  std::uint64_t ended_kept = 10'000;
  std::int64_t time_limit_default_seconds = 0;
  std::int64_t time_limit_max_seconds = 0;  // 0: none
  bool root_allowed = false;
  std::int64_t interactive_idle_limit_seconds = 0;  // 0: none
  std::int64_t train_idle_limit_seconds = 0;
  std::vector<NamedNodes> node_groups = {};
  NetworkTopology topology = {};
  std::vector<DataVolume> data = {};
  std::string proxy_url = {};  // where browsers find ports of jobs; "": nowhere
  sched::Policy policy = sched::live_policy();
};

/// Who asks.
struct Caller {
  Owner owner;
  bool is_admin = false;  // whatever the store says of him: root, and the controller's own user
  std::vector<std::string> groups = {};  // Unix groups of the owner
};

struct JobSubmitted {
  Owner owner;
  JobSpec spec;
  JobPayload payload;
  std::vector<std::string> groups = {};  // Unix groups of the owner
};

/// What a change of the organisation does, or would do.
struct OrgOutcome {
  std::uint64_t revision = 0;
  std::vector<std::string> lines;  // the difference; the first of very many
  std::uint64_t line_count = 0;
  std::vector<std::string> warnings;
};

/// A node opened a session: who it is, what it has, what it runs.
struct NodeJoined {
  NodeIdentity identity;
  NodeInventory inventory;
  std::vector<proto::RunReport> runs;
  std::vector<GpuHealth> health = {};
  std::string node_reason = {};  // not "": it takes no more jobs
};

/// For the node's live session; a launch has no payload yet, the shell adds it from the store. So
/// it does with what fetching an image needs of it.
struct NodeOrder {
  NodeId node;
  std::uint64_t join =
      0;  // only for the session that this join opened: a newer one was settled anew
  std::variant<proto::LaunchRun, proto::EndRun, proto::ForgetRun, proto::SignalRun,
               proto::GpuHealthTaken, proto::HealthOrder, proto::TellRun, proto::FetchImage,
               proto::LimitRun>
      message;
};

/// Something that the owner of a job asked to be told of.
struct Notice {
  std::uint32_t event = 0;  // one MailEvent
  JobView job;
};

struct Effects {
  std::vector<Row> rows;           // commit these first
  std::vector<NodeOrder> orders;   // then send these
  std::vector<NodeId> silent;      // and close the sessions of nodes that went silent
  std::vector<JobId> changed;      // for those who watch the queue; ascending, no repeats
  std::vector<std::string> notes;  // for the log
  std::vector<Notice> notices;     // for people who asked to be told

  bool empty() const {
    return rows.empty() && orders.empty() && silent.empty() && changed.empty() && notes.empty() &&
           notices.empty();
  }
};

class Engine {
 public:
  Engine(EngineSettings settings, Snapshot snapshot, Now now);

  /// Queues a job, or says why it cannot be one.
  Result<JobId> submit(JobSubmitted event, Now now);
  /// Ends (or signals) the jobs that the filter names, as far as the caller may.
  Result<proto::CancelReply> cancel(const Caller& caller, const JobFilter& filter, int signal,
                                    Now now);
  /// Holds, releases, requeues, suspends, resumes or updates the jobs that are named.
  Result<proto::JobChangeReply> change(const Caller& caller, const proto::JobChangeRequest& request,
                                       Now now);
  /// The job's work is safe: what it does from now on is all that could be lost.
  Result<proto::SavedReply> saved(const Caller& caller, JobId id, Now now);

  /// Makes the organisation what `desired` says, all of it or nothing; a dry run only tells. With a
  /// `revision`, only if nobody has changed it since. What live jobs belong to is not deleted.
  Result<OrgOutcome> apply_org(const Caller& caller, Org desired, bool dry_run,
                               std::optional<std::uint64_t> revision);
  /// The same for one project.
  Result<OrgOutcome> change_project(const Caller& caller, proto::ProjectVerb verb,
                                    const std::string& name,
                                    const std::vector<OrgSetting>& settings);
  const Org& org() const { return org_.org(); }
  /// An administrator may touch everybody's jobs.
  UserRole role_of(const Caller& caller) const;
  bool is_admin(const Caller& caller) const { return role_of(caller) == UserRole::admin; }
  std::uint64_t org_revision() const { return org_.revision(); }

  /// The names of the caller's secrets. What one says comes here sealed and goes to the store.
  const SecretBook& secrets() const { return secrets_; }
  Result<proto::SecretEntry> put_secret(const Caller& caller, const std::string& name,
                                        std::string sealed, Now now);
  Result<proto::SecretEntry> remove_secret(const Caller& caller, const std::string& name);

  /// (Re)connects a node and settles what it runs against what it should run.
  NodeId node_joined(NodeJoined event, Now now);
  void node_left(NodeId id, std::string reason, Now now);
  void node_heard(NodeId id, std::vector<GpuUsage> usage, Now now);
  /// What the node's runs have done with their GPUs so far. True: effects have come of it.
  bool runs_heard(NodeId id, const std::vector<proto::RunUsageReport>& reports, Now now);
  /// How its GPUs are now, and what has happened to them; what is on record already is skipped.
  void node_health(NodeId id, proto::GpuHealthReport report, Now now);
  /// Drains or resumes, all of the nodes or none. The lines say what was done.
  Result<std::vector<std::string>> change_nodes(const Caller& caller,
                                                const proto::NodeChangeRequest& request, Now now);
  /// The latest events of all nodes, ascending.
  const std::deque<HealthPut>& health_events() const { return health_events_; }
  void run_started(NodeId id, RunId run, WallTime start_time, Now now);
  /// Which image the job's name meant on this node, before it is told as started there.
  void run_image(NodeId id, RunId run, const std::string& digest);
  /// The images that the node has, by their names: all of them each time.
  void node_images(NodeId id, std::vector<std::string> images);
  /// How far its start has come there, for people. True: effects have come of it.
  bool run_progress(NodeId id, RunId run, std::string text);
  void run_ended(NodeId id, RunId run, RunEnd end, WallTime start_time, Now now);

  /// About once a second: nodes that went silent, nodes to give up, records to drop.
  void tick(Now now);
  /// One pass of the scheduler, if anything has changed since the last one.
  void schedule(Now now);

  /// What the events since the last call ask for.
  Effects take_effects();

  /// The answer that a mutating call already got, and putting one on record with its change.
  const RequestLog::Answer* answer_to(std::uint32_t uid, RequestId request) const {
    return requests_.find(uid, request);
  }
  void record_answer(StoredRequest answer, Now now);
  const EngineSettings& settings() const { return settings_; }

  /// A node as the engine keeps it.
  struct Node {
    NodeId id;
    NodeIdentity identity;
    NodeInventory inventory;
    std::vector<bool> gpu_absent;
    bool connected = false;
    std::uint64_t joins = 0;  // counts its sessions
    std::string reason = "not heard from since the controller started";
    WallTime since;
    MonoTime heard;
    std::optional<MonoTime> left;  // when its last session ended
    std::vector<GpuUsage> usage;
    std::map<JobId, std::optional<MonoTime>> jobs;  // that hold a part here, and since when
    /// Runs it has that nobody wants: their processes hold GPUs that are not on our books, so the
    /// node takes nothing new until they are gone.
    std::set<RunId> unwanted;
    std::vector<GpuHealth> health;      // as it told last
    std::string node_reason;            // not "": it takes no new jobs, as it says itself
    std::string drain_reason;           // the same, as an administrator says
    std::vector<GpuDrain> gpu_drains;   // GPUs that an administrator keeps new jobs off
    std::uint64_t health_sequence = 0;  // of its last event on record
    bool has_images = false;            // it has said which: it runs images, and can fetch some
  };

  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<NodeId, Node>& nodes() const { return nodes_; }
  const sched::Scheduler& scheduler() const { return scheduler_; }
  const Job* find(JobId id) const;
  const Node* find_node(const std::string& name) const;
  std::size_t waiting_count() const { return waiting_count_; }
  std::size_t live_count() const { return live_count_; }
  /// It waits for time to pass after a node could not start it; the scheduler does not know it.
  bool rests(JobId id) const;
  /// How many times the scheduler knows it as waiting: of an array once for each head.
  std::size_t times_in_line(const Job& job) const;
  /// The job of a task of an array; none: it has none, or none any more.
  std::optional<JobId> task_of(JobId array, std::uint32_t index) const;

  JobView view(const Job& job) const;
  NodeView view(const Node& node) const;
  /// Adds what is the due of each, as the last pass divided it. What has been deleted since stays
  /// without.
  std::vector<ShareView> with_fair_shares(std::vector<ShareView> shares) const;
  /// What the project's users have used of late.
  std::vector<UsageBook::Line> usage_of(const std::string& project, Now now) const {
    return usage_.lines(project, now.mono);
  }

 private:
  Result<void> check_volumes(const ContainerSpec& container, std::string_view project) const;
  Result<void> admit(const Owner& owner, const std::vector<std::string>& groups,
                     JobSpec& spec) const;
  Result<void> check_editor(const Caller& caller, const Org& desired) const;
  Result<void> check_unused(const Org& desired) const;
  Result<OrgOutcome> change_org(Org desired, bool dry_run);
  void renew_waiting();
  void advance(Job& job, sched::JobEvent event, JobState final_state = JobState::completed);
  // ctld/engine_line: what keeps a job that waits from standing in line.
  struct Gate {
    WaitReason why = WaitReason::none;
    WallTime opens;  // by itself; never: not
    std::string text;
  };
  enum class Verdict : std::uint8_t { met, open, never };
  void wait(Job& job, Now now);
  void line_up(Job& job, Now now);
  void leave_line(const Job& job);
  bool is_in_line(const Job& job) const;
  std::optional<Gate> gate_of(Job& job, Now now);
  std::optional<Gate> dependency_gate(Job& job, Now now);
  const Job* dependency_job(const Dependency& dependency) const;
  Verdict verdict_of(const Job& job, const Dependency& dependency) const;
  Verdict task_verdict(const Dependency& dependency) const;
  Result<void> check_dependencies(const JobSpec& spec) const;
  void forget_dependent(const Job& job);
  void know_singleton(const Job& job);
  void forget_singleton(const Job& job, Now now);
  void look_again(JobId id, Now now);
  void wake_dependents(JobId id, Now now);
  void open_gates(Now now);
  void miss_deadline(Job& job, Now now);
  void mark_time(const Job& job, Now now);
  void end_waiting(Job& job, JobState final_state, std::string why, Now now);
  void bury(Job& job, Now now);
  void tell_people(const Job& job, std::uint32_t events);

  // ctld/engine_arrays: jobs that stand for many.
  struct Array {
    IndexSet waiting;                      // not started, and may yet
    IndexSet succeeded;                    // ended well
    std::uint64_t failed = 0;              // did not
    std::int32_t worst_code = 0;           // of those
    std::map<std::uint32_t, JobId> tasks;  // that live, by index
    std::set<JobId> heads;                 // what the scheduler knows of those that wait
    std::uint32_t heads_wanted = 0;        // at most
    bool is_stopping = false;
  };
  void adopt(Job& job, Now now);
  void adopt_array(const Job& job);
  void adopt_tasks(const std::vector<EndedTask>& ended);
  static void note_end(Array& array, const EndedTask& task);
  IndexSet ready_tasks(const Job& job) const;
  void refill(Job& job, Now now);
  void drop_head(Array& array, JobId head);
  void drop_heads(JobId id);
  const Job& job_behind(JobId id) const;
  Job& hand_out(JobId head);
  void begin_array(JobId id, Now now);
  void settle_array(Job& whole, Now now);
  void task_ended(const Job& job, Now now);
  void stop_array(Job& whole, Now now);
  void drop_waiting(Job& whole, const IndexSet& tasks, Now now);
  void end_array(Job& whole, Now now);
  void settle_counterparts(const Job& whole, Now now);

  // ctld/engine_change: what people change.
  std::optional<Error> check_owner(const Caller& caller, const Job& job) const;
  std::optional<Error> change_one(const Caller& caller, Job& job,
                                  const proto::JobChangeRequest& request, Now now);
  std::optional<Error> hold_job(const Caller& caller, Job& job, Now now);
  std::optional<Error> release_job(const Caller& caller, Job& job, Now now);
  std::optional<Error> requeue_job(const Caller& caller, Job& job);
  std::optional<Error> suspend_job(const Caller& caller, Job& job);
  std::optional<Error> resume_job(Job& job, Now now);
  std::optional<Error> update_job(const Caller& caller, Job& job,
                                  const std::vector<OrgSetting>& settings, Now now);
  std::optional<Error> check_update(const Caller& caller, const Job& job, JobSpec& spec) const;
  void interrupt(Job& job, AfterEnd after, std::string why);

  void return_to_queue(Job& job, Now now);
  bool is_retried(const Job& job) const;
  void schedule_round(Now now);
  void note_failure_on(Job& job, const Node& node, const RunEnd& end);
  void avoid(const Job& job, Now now);
  void renew_avoiding();
  void rest(const Job& job, Now now);
  void end_rests(Now now);
  std::vector<NodeId> avoided(const Job& job) const;
  std::string start_failure_text(const Job& job) const;
  sched::Wait wait_of(const Job& job) const;
  sched::Wait wait_of_array(const Job& job) const;
  void start(Job& job, Placement placement, Now now);
  void hold(const Job& job, const NodePart& part, Now now);
  void grow(Job& job, Placement parts, Now now);
  void shrink(Job& job, const sched::Eviction& eviction);
  const Node* lost_beside(const Job& job, NodeId id, Now now) const;
  bool goes_on_without(const Job& job, const NodePart& part, const RunEnd& end) const;
  void lose_part(Job& job, const NodePart& part, const RunEnd& end, Now now);
  void note_started(Job& job, Now now);
  void begin_ending(Job& job);
  void preempt(Job& job, const sched::Eviction& eviction);
  std::string displaced_text(const Job& job, const sched::Eviction& eviction) const;
  void launch(const Job& job, const NodePart& part);
  void order_launch(const Job& job, const NodePart& part);
  bool awaits_image(const Job& job, const NodePart& part) const;
  void launch_others(const Job& job);
  void order_fetch(const Job& job, NodeId node);
  void fetch_images(const sched::Expected& expected);
  void forget_images(Node& node);
  proto::EndRun end_order(const Job& job, const NodePart& part) const;
  void order_end_everywhere(const Job& job);
  void order(NodeId id, decltype(NodeOrder::message) message);
  void release(Job& job, const NodePart& part, bool may_regrow, Now now);
  void finish(Job& job, Now now);
  void drop_old_records(Now now);
  void stop_waiting_for_lost(Now now);
  void rank_users(Now now);
  void recall(const std::vector<PastRun>& past, Now now);
  void note(const Job& job) { dirty_.insert(job.id); }
  void put_allocation(const Job& job, const NodePart& part, WallTime start, WallTime end,
                      std::int64_t held_ms, const RunUsage& usage = {});

  /// Live jobs, ascending, and tasks of arrays that have not started.
  struct Selection {
    std::vector<JobId> jobs;
    std::vector<ArrayTasks> waiting;
  };
  Selection select(const JobFilter& filter, std::vector<proto::JobRefusal>& refused) const;
  void select_tasks(const ArrayTasks& named, Selection& selection,
                    std::vector<proto::JobRefusal>& refused) const;
  std::optional<Error> cancel_one(const Caller& caller, Job& job, int signal, Now now);
  void stop(Job& job, Now now);

  void order_end_of_unwanted(Node& node, RunId run);
  void update_usable(const Node& node);
  bool is_usable(const Node& node) const;
  std::vector<bool> closed_gpus(const Node& node) const;
  bool has_closed_gpus() const;
  void put_in_scheduler(const Node& node);
  void set_health(Node& node, std::vector<GpuHealth> gpus, std::string node_reason);
  StoredNode stored(const Node& node) const;
  Result<void> check_returnable(const Node& node, const std::string& uuid) const;
  std::string change_node(Node& node, proto::NodeVerb verb, const std::string& uuid,
                          std::string reason, Now now);
  std::vector<GpuHealth> health_view(const Node& node) const;
  void merge_inventory(Node& node, NodeInventory inventory);
  void settle_reported(Node& node, const proto::RunReport& report, Now now);
  void settle_unreported(Node& node, const std::set<RunId>& reported, bool rebooted, Now now);
  void note_usage(const Job& job, const NodePart& part, const RunUsage& usage);
  RunUsage usage_on(const Job& job, const NodePart& part) const;
  RunUsage usage_of(const Job& job) const;
  std::int64_t idle_ms(const Job& job) const;
  struct IdleRule {
    std::int64_t limit_seconds = 0;  // 0: none
    std::string_view whose;
  };
  IdleRule idle_rule(const Job& job) const;
  std::string idle_text(const Job& job) const;
  void judge_idle(Job& job, Now now);
  void tell(const Job& job, std::string text);
  std::string progress_text(const Job& job) const;
  std::string reason_of(const Job& job, const sched::Wait& wait) const;
  WallTime expected_start(const Job& job) const;

  EngineSettings settings_;
  std::map<JobId, Job> jobs_;
  std::deque<JobId> ended_;  // of jobs_, oldest first
  std::size_t live_count_ = 0;
  JobId job_last_;
  std::map<NodeId, Node> nodes_;
  std::unordered_map<std::string, NodeId> node_names_;
  sched::Scheduler scheduler_;
  std::size_t waiting_count_ = 0;
  RequestLog requests_;
  OrgBook org_;
  SecretBook secrets_;
  UsageBook usage_;
  std::map<std::string, std::vector<sched::Scheduler::UserRank>> user_ranks_;  // as last told
  MonoTime ranked_at_;
  Now ticked_at_;
  /// What a job that a node could not start has to wait for; until it starts again.
  struct Setback {
    MonoTime again_at;      // rests until then
    MonoTime avoids_until;  // the nodes that could not start it
    bool rests = true;
  };
  std::map<JobId, Setback> setbacks_;
  std::map<JobId, Gate> gates_;  // of jobs that wait, and not in line
  std::set<std::pair<WallTime, JobId>> openings_, deadlines_;
  /// When owners are told how much of a time limit has passed.
  std::set<std::tuple<WallTime, JobId, MailEvent>> marks_;
  std::set<std::pair<JobId, JobId>> dependents_;  // of each job: who waits for it
  /// Live jobs of an owner and name, where one of them shall be alone.
  std::map<std::pair<std::uint32_t, std::string>, std::set<JobId>> singletons_;
  std::map<JobId, Array> arrays_;  // that have not ended
  std::map<JobId, JobId> heads_;   // the array of each
  /// Nodes that are out of contact and may be back in a moment, and until when that is believed. As
  /// long as there are any, what is missing with them is nobody's reason to evict others.
  std::map<NodeId, MonoTime> awaited_;
  /// What the parts of the jobs that run did with their GPUs, as their nodes last said; the store
  /// has it once a part has ended. By node and growth: an elastic job may hold a node twice.
  std::map<JobId, std::map<std::pair<NodeId, std::uint32_t>, RunUsage>> run_usage_;
  struct IdleSpell {
    WallTime since;
    bool is_told = false;  // the job was, that it will be ended
  };
  std::map<JobId, IdleSpell> idle_;  // jobs with nothing on all of their GPUs
  /// How far jobs that start have come on each node, as those last said.
  std::map<JobId, std::map<NodeId, std::string>> progress_;
  /// Nodes that were told to fetch the image of a job that waits.
  std::map<JobId, std::set<NodeId>> fetched_;
  std::deque<HealthPut> health_events_;
  std::uint64_t health_serial_ = 0;
  bool plan_needed_ = true;
  Now planned_at_;  // when the last plan was made

  std::set<JobId> dirty_;
  Effects effects_;
};

}  // namespace rota::ctld
