// proto/messages.h - every message, once. `fields` is the only list of a message's fields.
//
// Numbers are on the wire: never changed, never reused. Fields are only added at the end. size_max
// bounds the encoded body; a longer frame ends the session. 1-99 any session, 101-199 a command and
// rctld, 201-299 rgpud and rctld, 301-399 a command and rgpud.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/job.h"
#include "model/node.h"
#include "model/project.h"

namespace rota::proto {

inline constexpr std::uint32_t small_message = 64 << 10;
inline constexpr std::uint32_t large_message = 16 << 20;

/// Any answer that is an error.
struct ErrorReply {
  static constexpr std::uint16_t number = 1;
  static constexpr std::uint32_t size_max = small_message;
  std::uint16_t code = 0;  // Errc
  std::string detail;
  friend bool operator==(const ErrorReply&, const ErrorReply&) = default;
  static auto fields(auto& m) { return std::tie(m.code, m.detail); }
};

/// command -> rctld or rgpud: are you there, and who are you?
struct PingRequest {
  static constexpr std::uint16_t number = 2;
  static constexpr std::uint32_t size_max = small_message;
  std::uint64_t token = 0;
  friend bool operator==(const PingRequest&, const PingRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.token); }
};
struct PingReply {
  static constexpr std::uint16_t number = 3;
  static constexpr std::uint32_t size_max = small_message;
  std::uint64_t token = 0;
  std::string version;
  std::string cluster_name;
  std::string trouble;  // "" or why the controller takes no changes now
  WallTime up_since;
  std::uint64_t jobs_waiting = 0;
  std::uint64_t jobs_running = 0;
  std::uint32_t nodes_up = 0;
  std::uint32_t nodes_down = 0;
  friend bool operator==(const PingReply&, const PingReply&) = default;
  static auto fields(auto& m) {
    return std::tie(m.token, m.version, m.cluster_name, m.trouble, m.up_since, m.jobs_waiting,
                    m.jobs_running, m.nodes_up, m.nodes_down);
  }
};

/// rsubmit -> rctld: queue one job. Answered by SubmitReply once the store holds it.
struct SubmitRequest {
  static constexpr std::uint16_t number = 101;
  static constexpr std::uint32_t size_max = large_message;
  RequestId request;
  JobSpec spec;
  JobPayload payload;
  friend bool operator==(const SubmitRequest&, const SubmitRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.spec, m.payload); }
};
struct SubmitReply {
  static constexpr std::uint16_t number = 102;
  static constexpr std::uint32_t size_max = small_message;
  JobId job;
  friend bool operator==(const SubmitReply&, const SubmitReply&) = default;
  static auto fields(auto& m) { return std::tie(m.job); }
};

/// rcancel -> rctld: end the jobs that the filter names, or only send them a signal.
struct CancelRequest {
  static constexpr std::uint16_t number = 103;
  static constexpr std::uint32_t size_max = large_message;
  RequestId request;
  JobFilter filter;
  std::int32_t signal = 0;  // 0: end the job; else deliver this to its processes
  friend bool operator==(const CancelRequest&, const CancelRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.filter, m.signal); }
};
/// One job that a request named but did not change, and why.
struct JobRefusal {
  JobId job;
  std::uint16_t code = 0;  // Errc
  std::string detail;
  friend bool operator==(const JobRefusal&, const JobRefusal&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.code, m.detail); }
};
struct CancelReply {
  static constexpr std::uint16_t number = 104;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<JobId> done;
  std::vector<JobRefusal> refused;
  friend bool operator==(const CancelReply&, const CancelReply&) = default;
  static auto fields(auto& m) { return std::tie(m.done, m.refused); }
};

/// rqueue -> rctld: the jobs that match, in one or more QueueReply frames (flag `more` on all but
/// the last). With `watch`, the call stays open after that: every later change of a matching job
/// comes as a further QueueReply with `more` set, until the command closes the session.
struct QueueRequest {
  static constexpr std::uint16_t number = 105;
  static constexpr std::uint32_t size_max = large_message;
  JobFilter filter;
  bool watch = false;
  friend bool operator==(const QueueRequest&, const QueueRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.filter, m.watch); }
};
struct QueueReply {
  static constexpr std::uint16_t number = 106;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<JobView> jobs;
  bool complete = false;  // all that matched at the time of the request has now been sent
  friend bool operator==(const QueueReply&, const QueueReply&) = default;
  static auto fields(auto& m) { return std::tie(m.jobs, m.complete); }
};

/// rinfo -> rctld: the nodes, all or those named.
struct NodesRequest {
  static constexpr std::uint16_t number = 109;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<std::string> names;
  friend bool operator==(const NodesRequest&, const NodesRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.names); }
};
struct NodesReply {
  static constexpr std::uint16_t number = 110;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<NodeView> nodes;  // several frames when there are many
  friend bool operator==(const NodesReply&, const NodesReply&) = default;
  static auto fields(auto& m) { return std::tie(m.nodes); }
};

/// rinfo --health -> rctld: what has happened to GPUs and nodes, the latest last.
struct HealthRequest {
  static constexpr std::uint16_t number = 113;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<std::string> nodes;  // none: all
  std::uint32_t count_max = 1000;
  friend bool operator==(const HealthRequest&, const HealthRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.nodes, m.count_max); }
};
struct HealthReply {
  static constexpr std::uint16_t number = 114;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<HealthEvent> events;
  friend bool operator==(const HealthReply&, const HealthReply&) = default;
  static auto fields(auto& m) { return std::tie(m.events); }
};

/// radmin -> rctld: keep new jobs off nodes or off a GPU, or let them return.
enum class NodeVerb : std::uint8_t {
  drain = 1,       // the nodes take no new jobs
  resume = 2,      // they do again
  drain_gpu = 3,   // the GPU takes no new jobs
  return_gpu = 4,  // it is tested, and then it does again
};
struct NodeChangeRequest {
  static constexpr std::uint16_t number = 117;
  static constexpr std::uint32_t size_max = large_message;
  RequestId request;
  NodeVerb verb = NodeVerb::drain;
  std::vector<std::string> nodes;
  std::string gpu;  // index or UUID; "" unless the verb is about one
  std::string reason;
  friend bool operator==(const NodeChangeRequest&, const NodeChangeRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.verb, m.nodes, m.gpu, m.reason); }
};
struct NodeChangeReply {
  static constexpr std::uint16_t number = 118;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<std::string> lines;  // what was done, as people read it
  friend bool operator==(const NodeChangeReply&, const NodeChangeReply&) = default;
  static auto fields(auto& m) { return std::tie(m.lines); }
};

/// rlogs -> rctld: where is this job's output, and let me read it.
struct LogsRequest {
  static constexpr std::uint16_t number = 111;
  static constexpr std::uint32_t size_max = small_message;
  JobId job;
  std::uint32_t task = 0;
  friend bool operator==(const LogsRequest&, const LogsRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.task); }
};
/// The controller's word to a node that this user may do this, for a few seconds. The node sealed
/// the key it is signed with to the controller when it registered.
struct Ticket {
  std::uint32_t uid = 0;  // who may present it
  JobId job;
  std::uint32_t restart = 0;
  std::string purpose;  // "logs", "exec"
  Owner owner;          // as whom the node acts
  std::string stdout_path;
  std::string stderr_path;
  WallTime expires;
  std::string signature;     // HMAC-SHA256 over all fields, encoded with an empty signature
  std::uint32_t growth = 0;  // of the run, as in RunId
  friend bool operator==(const Ticket&, const Ticket&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uid, m.job, m.restart, m.purpose, m.owner, m.stdout_path, m.stderr_path,
                    m.expires, m.signature, m.growth);
  }
};
struct LogsReply {
  static constexpr std::uint16_t number = 112;
  static constexpr std::uint32_t size_max = small_message;
  std::string node;
  std::string address;         // of the node's rgpud
  std::uint32_t node_uid = 0;  // as whom it runs: the command's credential is for this uid only
  Ticket ticket;
  friend bool operator==(const LogsReply&, const LogsReply&) = default;
  static auto fields(auto& m) { return std::tie(m.node, m.address, m.node_uid, m.ticket); }
};

/// rexec and its sisters -> rctld: let me into this job, on the node of this task.
struct TicketRequest {
  static constexpr std::uint16_t number = 126;
  static constexpr std::uint32_t size_max = small_message;
  JobId job;
  std::uint32_t task = 0;
  std::string purpose;  // "exec"
  friend bool operator==(const TicketRequest&, const TicketRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.task, m.purpose); }
};
struct TicketReply {
  static constexpr std::uint16_t number = 127;
  static constexpr std::uint32_t size_max = small_message;
  std::string node;
  std::string address;         // as in LogsReply
  std::uint32_t node_uid = 0;  // the same
  Ticket ticket;
  friend bool operator==(const TicketReply&, const TicketReply&) = default;
  static auto fields(auto& m) { return std::tie(m.node, m.address, m.node_uid, m.ticket); }
};

/// radmin, rproject, rshare -> rctld: all projects, departments, queues and users' defaults, and
/// with `shares` who holds what. In one or more OrgShowReply frames, whose lists belong one behind
/// the other.
struct OrgShowRequest {
  static constexpr std::uint16_t number = 120;
  static constexpr std::uint32_t size_max = small_message;
  bool shares = false;
  friend bool operator==(const OrgShowRequest&, const OrgShowRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.shares); }
};
struct OrgShowReply {
  static constexpr std::uint16_t number = 121;
  static constexpr std::uint32_t size_max = large_message;
  std::uint64_t revision = 0;
  Org org;
  std::vector<ShareView> shares;  // in the order of a tree: each followed by what is below it
  friend bool operator==(const OrgShowReply&, const OrgShowReply&) = default;
  static auto fields(auto& m) { return std::tie(m.revision, m.org, m.shares); }
};

/// radmin apply -> rctld: make it so, all of it or nothing. `dry_run` only says what would change.
struct OrgApplyRequest {
  static constexpr std::uint16_t number = 122;
  static constexpr std::uint32_t size_max = large_message;
  RequestId request;
  Org desired;
  bool dry_run = false;
  std::optional<std::uint64_t> revision;  // refused when another one has come in between
  friend bool operator==(const OrgApplyRequest&, const OrgApplyRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.desired, m.dry_run, m.revision); }
};
struct OrgApplyReply {
  static constexpr std::uint16_t number = 123;
  static constexpr std::uint32_t size_max = large_message;
  std::uint64_t revision = 0;      // after the change; of a dry run the present one
  std::vector<std::string> lines;  // the difference, as people read it; the first of very many
  std::uint64_t line_count = 0;
  std::vector<std::string> warnings;
  friend bool operator==(const OrgApplyReply&, const OrgApplyReply&) = default;
  static auto fields(auto& m) { return std::tie(m.revision, m.lines, m.line_count, m.warnings); }
};

/// rproject -> rctld: one project. Settings are keys and values of projects.yaml.
enum class ProjectVerb : std::uint8_t { create = 1, update = 2, remove = 3 };
struct ProjectChangeRequest {
  static constexpr std::uint16_t number = 124;
  static constexpr std::uint32_t size_max = large_message;
  RequestId request;
  ProjectVerb verb = ProjectVerb::update;
  std::string name;
  std::vector<OrgSetting> settings;
  friend bool operator==(const ProjectChangeRequest&, const ProjectChangeRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.verb, m.name, m.settings); }
};
struct ProjectChangeReply {
  static constexpr std::uint16_t number = 125;
  static constexpr std::uint32_t size_max = large_message;
  std::uint64_t revision = 0;
  std::vector<std::string> lines;
  std::vector<std::string> warnings;
  friend bool operator==(const ProjectChangeReply&, const ProjectChangeReply&) = default;
  static auto fields(auto& m) { return std::tie(m.revision, m.lines, m.warnings); }
};

/// What a node does for one run, for the reconciliation at every (re)connect.
enum class RunPhase : std::uint8_t { starting = 1, running = 2, ended = 3 };
struct RunReport {
  RunId run;
  RunPhase phase = RunPhase::starting;
  RunEnd end;           // when ended
  WallTime start_time;  // when running or ended
  friend bool operator==(const RunReport&, const RunReport&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.phase, m.end, m.start_time); }
};

/// rgpud -> rctld: here I am, this is what I have and what I run. First message of its session.
struct NodeHello {
  static constexpr std::uint16_t number = 201;
  static constexpr std::uint32_t size_max = large_message;
  NodeIdentity identity;
  NodeInventory inventory;
  std::vector<RunReport> runs;
  std::string ticket_key;         // 32 bytes, new for each start of rgpud
  std::vector<GpuHealth> health;  // of its GPUs: no job may meet one that is ill
  std::string node_reason;        // not "": the node takes no more jobs, and why
  friend bool operator==(const NodeHello&, const NodeHello&) = default;
  static auto fields(auto& m) {
    return std::tie(m.identity, m.inventory, m.runs, m.ticket_key, m.health, m.node_reason);
  }
};
struct NodeWelcome {
  static constexpr std::uint16_t number = 202;
  static constexpr std::uint32_t size_max = small_message;
  NodeId id;
  NodeSettings settings;
  friend bool operator==(const NodeWelcome&, const NodeWelcome&) = default;
  static auto fields(auto& m) { return std::tie(m.id, m.settings); }
};

struct RunUsageReport {
  RunId run;
  RunUsage usage;
  friend bool operator==(const RunUsageReport&, const RunUsageReport&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.usage); }
};

/// rgpud -> rctld, at the interval of NodeSettings; answered by HeartbeatReply.
struct Heartbeat {
  static constexpr std::uint16_t number = 203;
  static constexpr std::uint32_t size_max = small_message;
  std::vector<GpuUsage> usage;
  std::vector<RunUsageReport> runs;
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
  static auto fields(auto& m) { return std::tie(m.usage, m.runs); }
};
struct HeartbeatReply {
  static constexpr std::uint16_t number = 204;
  static constexpr std::uint32_t size_max = small_message;
  bool known = true;
  friend bool operator==(const HeartbeatReply&, const HeartbeatReply&) = default;
  static auto fields(auto& m) { return std::tie(m.known); }
};

/// rctld -> rgpud: start your part of this run. Repeating it changes nothing.
struct LaunchRun {
  static constexpr std::uint16_t number = 205;
  static constexpr std::uint32_t size_max = large_message;
  RunId run;
  JobSpec spec;
  Owner owner;
  NodePart part;
  std::vector<std::string> gpu_uuids;  // of part.gpus_used(), in that order
  std::uint32_t node_index = 0;        // of this node among the job's nodes
  std::vector<std::string> nodes;      // of the job, in task order
  std::vector<std::uint32_t> tasks_per_node;
  WallTime submit_time;
  JobPayload payload;
  friend bool operator==(const LaunchRun&, const LaunchRun&) = default;
  static auto fields(auto& m) {
    return std::tie(m.run, m.spec, m.owner, m.part, m.gpu_uuids, m.node_index, m.nodes,
                    m.tasks_per_node, m.submit_time, m.payload);
  }
};
/// rctld -> rgpud: end this run: a signal, some grace, then SIGKILL. Answered by RunEnded; at once
/// if the node knows nothing of it. A second order can only shorten the grace.
struct EndRun {
  static constexpr std::uint16_t number = 206;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  std::int32_t signal = 0;     // 0: SIGTERM
  std::int64_t grace_ms = -1;  // below 0: the kill wait
  friend bool operator==(const EndRun&, const EndRun&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.signal, m.grace_ms); }
};
/// rctld -> rgpud: the end of this run is on record here; forget it.
struct ForgetRun {
  static constexpr std::uint16_t number = 207;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  friend bool operator==(const ForgetRun&, const ForgetRun&) = default;
  static auto fields(auto& m) { return std::tie(m.run); }
};
/// rctld -> rgpud: deliver a signal to all processes of this run.
struct SignalRun {
  static constexpr std::uint16_t number = 208;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  std::int32_t signal = 0;
  friend bool operator==(const SignalRun&, const SignalRun&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.signal); }
};
/// rctld -> rgpud: a line for those who read the output of this run's first task.
struct TellRun {
  static constexpr std::uint16_t number = 213;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  std::string text;
  friend bool operator==(const TellRun&, const TellRun&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.text); }
};
/// rgpud -> rctld: the run's processes exist.
struct RunStarted {
  static constexpr std::uint16_t number = 209;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  WallTime start_time;
  friend bool operator==(const RunStarted&, const RunStarted&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.start_time); }
};
/// rgpud -> rctld: nothing of the run is left on the node. Repeated until ForgetRun comes.
struct RunEnded {
  static constexpr std::uint16_t number = 210;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  RunEnd end;
  WallTime start_time;
  friend bool operator==(const RunEnded&, const RunEnded&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.end, m.start_time); }
};

/// rgpud -> rctld: how its GPUs are, all of them, and what has happened since the last report that
/// was taken. Repeated until GpuHealthTaken comes.
struct GpuHealthReport {
  static constexpr std::uint16_t number = 211;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<GpuHealth> gpus;
  std::vector<HealthEvent> events;  // ascending
  std::string node_reason;          // not "": the node takes no more jobs, and why
  friend bool operator==(const GpuHealthReport&, const GpuHealthReport&) = default;
  static auto fields(auto& m) { return std::tie(m.gpus, m.events, m.node_reason); }
};
/// rctld -> rgpud: events up to this one are on record.
struct GpuHealthTaken {
  static constexpr std::uint16_t number = 212;
  static constexpr std::uint32_t size_max = small_message;
  std::uint64_t sequence = 0;
  friend bool operator==(const GpuHealthTaken&, const GpuHealthTaken&) = default;
  static auto fields(auto& m) { return std::tie(m.sequence); }
};

/// rctld -> rgpud: an administrator says that this GPU, or with "" whatever keeps the node from
/// taking jobs, is to be tried again.
struct HealthOrder {
  static constexpr std::uint16_t number = 219;
  static constexpr std::uint32_t size_max = small_message;
  std::string uuid;
  friend bool operator==(const HealthOrder&, const HealthOrder&) = default;
  static auto fields(auto& m) { return std::tie(m.uuid); }
};

/// rlogs -> rgpud: send me the output, from `offset` (or the last `tail_lines`), and with `follow`
/// what comes later until the job ends. Answered by LogChunk frames.
struct LogRead {
  static constexpr std::uint16_t number = 301;
  static constexpr std::uint32_t size_max = small_message;
  Ticket ticket;
  bool errors = false;  // the stderr file
  bool follow = false;
  std::uint64_t offset = 0;
  std::int64_t tail_lines = -1;  // -1: all
  friend bool operator==(const LogRead&, const LogRead&) = default;
  static auto fields(auto& m) {
    return std::tie(m.ticket, m.errors, m.follow, m.offset, m.tail_lines);
  }
};
struct LogChunk {
  static constexpr std::uint16_t number = 302;
  static constexpr std::uint32_t size_max = 1 << 20;
  std::string data;
  friend bool operator==(const LogChunk&, const LogChunk&) = default;
  static auto fields(auto& m) { return std::tie(m.data); }
};

/// What a command wants inside a running job.
enum class ExecKind : std::uint8_t {
  command = 1,  // a process: `words`
  connect = 2,  // a TCP connection to `port` of the job's own loopback
  hold = 3,     // nothing: an allocation without processes of its own lasts while it is held
  attach = 4,   // the process of an earlier one that was kept when its connection was lost
};
/// rexec -> rgpud: begin it. The call stays open: ExecStarted, then ExecData and ExecControl both
/// ways under the same call number, and as the last answer ExecEnd or ErrorReply. Neither side
/// sends more bytes of data than the other has given credit for, so a slow one holds up nothing
/// else.
struct ExecStart {
  static constexpr std::uint16_t number = 303;
  static constexpr std::uint32_t size_max = 256 << 10;
  Ticket ticket;
  ExecKind kind = ExecKind::command;
  std::uint32_t task = 0;                // whose environment and namespaces it gets
  std::vector<std::string> words;        // the program and its arguments
  std::vector<std::string> environment;  // besides the task's: TERM and such
  bool pty = false;                      // on a terminal of its own; else three pipes
  bool input = false;                    // it gets a standard input; else /dev/null
  std::uint16_t rows = 0;                // of the terminal; 0: unknown
  std::uint16_t columns = 0;
  std::uint64_t credit = 0;  // for output
  std::uint16_t port = 0;
  bool ends_run = false;  // a held allocation is over when this process is, with its exit code
  bool keeps = false;     // a lost connection leaves it to be attached again, for a while
  std::string directory;  // where it runs; "": in the task's
  friend bool operator==(const ExecStart&, const ExecStart&) = default;
  static auto fields(auto& m) {
    return std::tie(m.ticket, m.kind, m.task, m.words, m.environment, m.pty, m.input, m.rows,
                    m.columns, m.credit, m.port, m.ends_run, m.keeps, m.directory);
  }
};
struct ExecStarted {
  static constexpr std::uint16_t number = 304;
  static constexpr std::uint32_t size_max = small_message;
  std::uint64_t credit = 0;  // for input
  bool pty = false;
  friend bool operator==(const ExecStarted&, const ExecStarted&) = default;
  static auto fields(auto& m) { return std::tie(m.credit, m.pty); }
};
enum class ExecStream : std::uint8_t {
  input = 0,   // command -> rgpud
  output = 1,  // rgpud -> command, and the two below
  errors = 2,
  notice = 3,  // a line for the person at the terminal; costs no credit
};
/// Some bytes of a stream; none: it has ended.
struct ExecData {
  static constexpr std::uint16_t number = 305;
  static constexpr std::uint32_t size_max = 1 << 20;
  ExecStream stream = ExecStream::input;
  std::string data;
  friend bool operator==(const ExecData&, const ExecData&) = default;
  static auto fields(auto& m) { return std::tie(m.stream, m.data); }
};
/// The same, read or written without a copy of its own.
struct ExecDataView {
  static constexpr std::uint16_t number = ExecData::number;
  ExecStream stream = ExecStream::input;
  std::string_view data;
  static auto fields(auto& m) { return std::tie(m.stream, m.data); }
};
/// What is not 0 counts.
struct ExecControl {
  static constexpr std::uint16_t number = 306;
  static constexpr std::uint32_t size_max = small_message;
  std::uint64_t credit = 0;  // so many more bytes may come, either way
  std::uint16_t rows = 0;    // the terminal's size has changed
  std::uint16_t columns = 0;
  std::int32_t signal = 0;             // for the process
  std::optional<std::int32_t> finish;  // of a hold: the run is over, with this exit code
  friend bool operator==(const ExecControl&, const ExecControl&) = default;
  static auto fields(auto& m) { return std::tie(m.credit, m.rows, m.columns, m.signal, m.finish); }
};
struct ExecEnd {
  static constexpr std::uint16_t number = 307;
  static constexpr std::uint32_t size_max = small_message;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;  // 0: none
  std::string detail;            // not "": why it could not be run, or went without its own doing
  friend bool operator==(const ExecEnd&, const ExecEnd&) = default;
  static auto fields(auto& m) { return std::tie(m.exit_code, m.exit_signal, m.detail); }
};

/// Every message, for the size table and for the tests that run over all of them.
using AllMessages =
    std::tuple<ErrorReply, PingRequest, PingReply, SubmitRequest, SubmitReply, CancelRequest,
               CancelReply, QueueRequest, QueueReply, NodesRequest, NodesReply, LogsRequest,
               LogsReply, NodeHello, NodeWelcome, Heartbeat, HeartbeatReply, LaunchRun, EndRun,
               ForgetRun, SignalRun, RunStarted, RunEnded, LogRead, LogChunk, OrgShowRequest,
               OrgShowReply, OrgApplyRequest, OrgApplyReply, ProjectChangeRequest,
               ProjectChangeReply, HealthRequest, HealthReply, GpuHealthReport, GpuHealthTaken,
               NodeChangeRequest, NodeChangeReply, HealthOrder, TellRun, TicketRequest, TicketReply,
               ExecStart, ExecStarted, ExecData, ExecControl, ExecEnd>;

}  // namespace rota::proto
