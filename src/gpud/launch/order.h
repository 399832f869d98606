// gpud/launch/order.h - all that rstepd needs to run one job's part, and what the two tell each
// other.
//
// rgpud resolves names, groups, paths and variables into a StepOrder; rstepd looks nothing up.
// These records are encoded with proto/codec.h, but never leave the node.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gpud/container/order.h"
#include "gpud/share/order.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::gpud {

/// The cgroup directories of one run. Empty paths: not used. Where one cgroup v2 hierarchy has all
/// controllers, the paths are the same and the directory is made once.
struct CgroupPlan {
  std::string tracking;  // every process of the run is in it, so that none is missed
  bool tracking_v2 = false;
  std::string memory;
  bool memory_v2 = false;
  std::string cpuset;
  bool cpuset_v2 = false;
  std::string devices;
  bool devices_v2 = false;

  bool empty() const {
    return tracking.empty() && memory.empty() && cpuset.empty() && devices.empty();
  }
  friend bool operator==(const CgroupPlan&, const CgroupPlan&) = default;
  static auto fields(auto& m) {
    return std::tie(m.tracking, m.tracking_v2, m.memory, m.memory_v2, m.cpuset, m.cpuset_v2,
                    m.devices, m.devices_v2);
  }
};

/// Which of the node's GPUs a run may open, by the minors of their device files.
struct DeviceGate {
  bool is_closed = false;           // false: any
  std::vector<std::uint32_t> open;  // its own
  std::vector<std::uint32_t> shut;  // the others that this node knows
  // The files of MIG instances, under a major of their own.
  std::uint32_t caps_major = 0;  // 0: the driver has none
  std::vector<std::uint32_t> caps_open;
  std::vector<std::uint32_t> caps_shut;  // named for cgroup v1 only

  friend bool operator==(const DeviceGate&, const DeviceGate&) = default;
  static auto fields(auto& m) {
    return std::tie(m.is_closed, m.open, m.shut, m.caps_major, m.caps_open, m.caps_shut);
  }
};

/// Which NUMA nodes a run's memory comes from.
struct MemoryBinding {
  std::vector<std::uint32_t> nodes;  // none: any
  bool strict = false;               // from nowhere else; else: first from there

  friend bool operator==(const MemoryBinding&, const MemoryBinding&) = default;
  static auto fields(auto& m) { return std::tie(m.nodes, m.strict); }
};

/// One process to start.
struct TaskOrder {
  std::string stdout_path;
  std::string stderr_path;  // "": the same open file as stdout
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::vector<std::string> environment;  // besides the order's; never a name that stands there

  friend bool operator==(const TaskOrder&, const TaskOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.stdout_path, m.stderr_path, m.stdout_truncated, m.stderr_truncated,
                    m.environment);
  }
};

/// How the sources of launch.payload.git are fetched.
struct FetchOrder {
  std::string directory;  // each goes to "0", "1", ... in it; "": straight to where it is wanted
  std::vector<std::string> environment;  // of git
  std::int64_t limit_ms = 600'000;       // for all of them
  std::uint64_t bytes_max = 0;           // of one file

  friend bool operator==(const FetchOrder&, const FetchOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.directory, m.environment, m.limit_ms, m.bytes_max);
  }
};
/// Of that directory, which lies beside the run's script.
inline constexpr std::string_view fetch_suffix = ".git";

struct StepOrder {
  // payload.environment is complete here but for secrets, payload.script is still text. Of secrets
  // and logins nothing is ever written down: launch/secrets.h.
  proto::LaunchRun launch;
  std::vector<std::uint32_t> cpus;    // held; bound only with cpu_list
  std::string cpu_list;               // the same as "0-3,8"; "": not bound
  std::vector<std::uint32_t> groups;  // supplementary, of the owner
  std::vector<TaskOrder> tasks;       // empty: of an rgpud of old, a node that only holds its part
  CgroupPlan cgroups;
  std::string memory_nodes;  // cgroup v1: the parent's cpuset.mems
  std::string boot_id;
  std::string spool_dir;
  std::string script_path;  // where the batch script is written for the owner
  std::int64_t kill_wait_ms = 30'000;
  bool slurm_environment = false;
  DeviceGate devices;
  ShareOrder share;
  MemoryBinding memory;
  std::int64_t unkillable_after_ms = 30'000;  // so long SIGKILL may take
  ContainerOrder container;
  // LaunchMode::hold, and the further nodes of a script: none of `tasks` is started; processes are
  // put beside the first of them.
  bool holds = false;
  std::int64_t linger_ms = -1;  // so long it lasts with nobody in it; below 0: without end
  std::string secrets_dir;      // for files of secrets, on a tmpfs; "": it has none of its own
  FetchOrder fetch;

  friend bool operator==(const StepOrder&, const StepOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.launch, m.cpus, m.cpu_list, m.groups, m.tasks, m.cgroups, m.memory_nodes,
                    m.boot_id, m.spool_dir, m.script_path, m.kill_wait_ms, m.slurm_environment,
                    m.devices, m.share, m.memory, m.unkillable_after_ms, m.container, m.holds,
                    m.linger_ms, m.secrets_dir, m.fetch);
  }
};

/// What rstepd tells rgpud, one per packet. `kind` decides which fields mean something.
struct StepReport {
  enum class Kind : std::uint8_t {
    hello = 1,    // first packet after a reconnect: who calls
    started = 2,  // start_time
    note = 3,     // detail: a line for the log
    ended = 4,    // end, start_time; nothing of the run is left
    left = 5,     // detail: its container could not be removed
  };
  Kind kind = Kind::hello;
  RunId run;
  WallTime start_time;
  RunEnd end;
  std::string detail;
  bool is_free = false;  // ended: this rstepd waits for another run on the same line

  friend bool operator==(const StepReport&, const StepReport&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.run, m.start_time, m.end, m.detail, m.is_free);
  }
};

/// What rgpud tells rstepd.
struct StepCommand {
  std::int32_t signal = 0;               // 0: end the run; else deliver this to its processes
  std::int32_t end_signal = 0;           // with which the end begins; 0: SIGTERM
  std::int64_t grace_ms = -1;            // from it to SIGKILL; below 0: the kill wait
  std::vector<GpuHolders> held;          // not empty: only this news of its shared GPUs
  std::vector<GpuCeiling> ceilings;      // with it: what it may hold of them now
  EndCause cause = EndCause::cancelled;  // of an end
  std::string detail;                    // of the cause, for people
  std::string tell;                      // not "": only this line, for the output of the first task
  bool exec = false;                     // only this: a socket comes along, with an ExecOrder in it
  std::int64_t limit_seconds = -1;       // 0 or more: only this, the new time limit

  friend bool operator==(const StepCommand&, const StepCommand&) = default;
  static auto fields(auto& m) {
    return std::tie(m.signal, m.end_signal, m.grace_ms, m.held, m.ceilings, m.cause, m.detail,
                    m.tell, m.exec, m.limit_seconds);
  }
};

/// Longer ones are not sent: some thousands of processes on the GPUs of one job.
inline constexpr std::size_t command_bytes_max = 64 << 10;
inline constexpr std::size_t tell_bytes_max = 1024;

/// To rstepd's nursery: read a file as its owner and send it over the socket that comes along.
struct LogOrder {
  Owner owner;
  std::vector<std::uint32_t> groups;
  std::string path;
  bool follow = false;
  std::uint64_t offset = 0;
  std::int64_t tail_lines = -1;

  friend bool operator==(const LogOrder&, const LogOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.owner, m.groups, m.path, m.follow, m.offset, m.tail_lines);
  }
};

/// To rstepd's nursery: run a program of ours as a user, outside of all jobs, and tell its end over
/// the socket that comes along. When rgpud hangs up, it is killed; what it left running is not.
struct UserOrder {
  Owner owner;
  std::vector<std::uint32_t> groups;
  std::vector<std::string> words;        // the program, by a path or for the PATH below
  std::vector<std::string> environment;  // all of it
  std::string input;
  std::int64_t limit_ms = 10'000;  // then it is killed
  bool with_children = false;      // and its process group with it

  friend bool operator==(const UserOrder&, const UserOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.owner, m.groups, m.words, m.environment, m.input, m.limit_ms,
                    m.with_children);
  }
};

/// How that ended.
struct UserEnd {
  std::int32_t code = -1;  // of its exit; -1: it had none
  std::string output;      // standard output and errors, the end of them
  std::string trouble;     // why it had no exit code

  friend bool operator==(const UserEnd&, const UserEnd&) = default;
  static auto fields(auto& m) { return std::tie(m.code, m.output, m.trouble); }
};
inline constexpr std::size_t user_bytes_max = 4096;  // of its input, and of its output

/// The log reader's packets: one byte of kind, then the rest.
enum class LogPacket : char {
  data = 'd',   // bytes of the file
  end = 'e',    // all has been sent
  error = 'x',  // text: why the file cannot be read
};
/// rgpud to the log reader: the run has ended, so stop at the file's end.
inline constexpr char log_run_ended = 'e';
inline constexpr std::size_t log_packet_bytes_max = 64 << 10;

}  // namespace rota::gpud
