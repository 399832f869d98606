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
#include "proto/messages_jobs.h"
#include "proto/messages_node.h"

namespace rota::proto {

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
  std::string purpose;     // "exec", "step", "port"
  std::uint16_t port = 0;  // of purpose "port"
  std::string token;       // the same: UrlReply's, which says for whom rproxy asks
  friend bool operator==(const TicketRequest&, const TicketRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.task, m.purpose, m.port, m.token); }
};
struct TicketReply {
  static constexpr std::uint16_t number = 127;
  static constexpr std::uint32_t size_max = large_message;
  std::string node;
  std::string address;         // as in LogsReply
  std::uint32_t node_uid = 0;  // the same
  Ticket ticket;
  std::vector<NodeTicket> nodes;  // of purpose "step", instead: all of the job, in its order
  std::string job_name;           // the same
  friend bool operator==(const TicketReply&, const TicketReply&) = default;
  static auto fields(auto& m) {
    return std::tie(m.node, m.address, m.node_uid, m.ticket, m.nodes, m.job_name);
  }
};

/// rsecret -> rctld: the caller's secrets, of which only names ever come back.
enum class SecretVerb : std::uint8_t { list = 1, put = 2, remove = 3 };
struct SecretRequest {
  static constexpr std::uint16_t number = 128;
  static constexpr std::uint32_t size_max = 256 << 10;
  RequestId request;
  SecretVerb verb = SecretVerb::list;
  std::string name;
  std::string value;  // of put
  friend bool operator==(const SecretRequest&, const SecretRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.verb, m.name, m.value); }
};
struct SecretEntry {
  std::string name;
  WallTime changed;
  friend bool operator==(const SecretEntry&, const SecretEntry&) = default;
  static auto fields(auto& m) { return std::tie(m.name, m.changed); }
};
struct SecretReply {
  static constexpr std::uint16_t number = 129;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<SecretEntry> secrets;  // of list: all; else the one that was changed
  friend bool operator==(const SecretReply&, const SecretReply&) = default;
  static auto fields(auto& m) { return std::tie(m.secrets); }
};

/// rota url -> rctld: the address under which a browser finds a port of this job.
struct UrlRequest {
  static constexpr std::uint16_t number = 130;
  static constexpr std::uint32_t size_max = small_message;
  JobId job;
  std::uint16_t port = 0;  // 0: its first
  friend bool operator==(const UrlRequest&, const UrlRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.port); }
};
struct UrlReply {
  static constexpr std::uint16_t number = 131;
  static constexpr std::uint32_t size_max = small_message;
  std::string url;    // without the token
  std::string token;  // who shows it is the caller, for this job alone
  friend bool operator==(const UrlReply&, const UrlReply&) = default;
  static auto fields(auto& m) { return std::tie(m.url, m.token); }
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
  RunEnd end;                // when ended
  WallTime start_time;       // when running or ended
  std::string image_digest;  // as RunStarted's
  friend bool operator==(const RunReport&, const RunReport&) = default;
  static auto fields(auto& m) {
    return std::tie(m.run, m.phase, m.end, m.start_time, m.image_digest);
  }
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

/// What a secret says, on its way to the job.
struct Secret {
  std::string name;
  std::string value;
  friend bool operator==(const Secret&, const Secret&) = default;
  static auto fields(auto& m) { return std::tie(m.name, m.value); }
};
/// As whom a registry is asked; without a user: as nobody.
struct RegistryLogin {
  std::string user;
  std::string password;
  bool empty() const { return user.empty(); }
  friend bool operator==(const RegistryLogin&, const RegistryLogin&) = default;
  static auto fields(auto& m) { return std::tie(m.user, m.password); }
};

/// Of a task of an array, for its variables.
struct ArrayLaunch {
  JobId of;  // none: it is no task of one
  std::uint32_t index = 0;
  std::uint32_t count = 0, first = 0, last = 0, step = 1;  // of all tasks
  friend bool operator==(const ArrayLaunch&, const ArrayLaunch&) = default;
  static auto fields(auto& m) { return std::tie(m.of, m.index, m.count, m.first, m.last, m.step); }
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
  std::string image_digest;  // of an earlier run: the same image is meant; "": whatever it is now
  std::vector<Secret> secrets;  // of payload.secrets
  RegistryLogin login;          // of the owner at the image's registry
  ArrayLaunch array;
  std::uint32_t preemptions = 0;
  std::string first_host;  // where the job's first node is reached: its processes meet there
  friend bool operator==(const LaunchRun&, const LaunchRun&) = default;
  static auto fields(auto& m) {
    return std::tie(m.run, m.spec, m.owner, m.part, m.gpu_uuids, m.node_index, m.nodes,
                    m.tasks_per_node, m.submit_time, m.payload, m.image_digest, m.secrets, m.login,
                    m.array, m.preemptions, m.first_host);
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
/// rctld -> rgpud: the run has this time limit now, counted from its start.
struct LimitRun {
  static constexpr std::uint16_t number = 217;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  std::int64_t time_limit_seconds = 0;  // 0: none
  friend bool operator==(const LimitRun&, const LimitRun&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.time_limit_seconds); }
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
  std::string image_digest;  // of a job with an image: which one its name meant here
  friend bool operator==(const RunStarted&, const RunStarted&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.start_time, m.image_digest); }
};
/// rgpud -> rctld: how far the start of this run has come, for people. A later one replaces it.
struct RunProgress {
  static constexpr std::uint16_t number = 214;
  static constexpr std::uint32_t size_max = small_message;
  RunId run;
  std::string text;          // "image 62 %"
  std::string image_digest;  // as RunStarted's, once the image is there; "": not yet
  friend bool operator==(const RunProgress&, const RunProgress&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.text, m.image_digest); }
};
/// rgpud -> rctld: the images that it has, by the names that jobs gave them: all of them each time.
struct NodeImages {
  static constexpr std::uint16_t number = 215;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<std::string> images;  // the latest used first
  friend bool operator==(const NodeImages&, const NodeImages&) = default;
  static auto fields(auto& m) { return std::tie(m.images); }
};
/// rctld -> rgpud: a job will come with this image; have it there.
struct FetchImage {
  static constexpr std::uint16_t number = 216;
  static constexpr std::uint32_t size_max = small_message;
  JobId job;
  std::string runtime;  // as ContainerSpec's
  std::string image;
  std::string digest;  // as LaunchRun's
  Owner owner;
  RegistryLogin login;
  friend bool operator==(const FetchImage&, const FetchImage&) = default;
  static auto fields(auto& m) {
    return std::tie(m.job, m.runtime, m.image, m.digest, m.owner, m.login);
  }
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

/// Every message, for the size table and for the tests that run over all of them.
using AllMessages =
    std::tuple<ErrorReply, PingRequest, PingReply, SubmitRequest, SubmitReply, CancelRequest,
               CancelReply, QueueRequest, QueueReply, NodesRequest, NodesReply, LogsRequest,
               LogsReply, NodeHello, NodeWelcome, Heartbeat, HeartbeatReply, LaunchRun, EndRun,
               ForgetRun, SignalRun, RunStarted, RunEnded, LogRead, LogChunk, OrgShowRequest,
               OrgShowReply, OrgApplyRequest, OrgApplyReply, ProjectChangeRequest,
               ProjectChangeReply, HealthRequest, HealthReply, GpuHealthReport, GpuHealthTaken,
               NodeChangeRequest, NodeChangeReply, HealthOrder, TellRun, TicketRequest, TicketReply,
               ExecStart, ExecStarted, ExecData, ExecControl, ExecEnd, RunProgress, SecretRequest,
               SecretReply, UrlRequest, UrlReply, NodeImages, FetchImage, JobChangeRequest,
               JobChangeReply, SavedRequest, SavedReply, LimitRun>;

}  // namespace rota::proto
