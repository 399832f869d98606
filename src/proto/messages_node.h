// proto/messages_node.h - messages between a command and rgpud: into a running job. By way of
// messages.h, which says what holds for all.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/job.h"

namespace rota::proto {

inline constexpr std::uint32_t small_message = 64 << 10;
inline constexpr std::uint32_t large_message = 16 << 20;

/// The controller's word to a node that this user may do this, for a few seconds. The node sealed
/// the key it is signed with to the controller when it registered.
struct Ticket {
  std::uint32_t uid = 0;  // who may present it
  JobId job;
  std::uint32_t restart = 0;
  std::string purpose;  // "logs", "exec", "port"
  Owner owner;          // as whom the node acts
  std::string stdout_path;
  std::string stderr_path;
  WallTime expires;
  std::string signature;     // HMAC-SHA256 over all fields, encoded with an empty signature
  std::uint32_t growth = 0;  // of the run, as in RunId
  std::uint16_t port = 0;    // of purpose "port": the only one that it opens
  std::string masks;         // of purpose "logs": what is not to be shown, sealed with the key
  friend bool operator==(const Ticket&, const Ticket&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uid, m.job, m.restart, m.purpose, m.owner, m.stdout_path, m.stderr_path,
                    m.expires, m.signature, m.growth, m.port, m.masks);
  }
};
/// One node of a job, for a step on it.
struct NodeTicket {
  std::string node;
  std::string address;         // of its rgpud; "": it cannot be reached now
  std::uint32_t node_uid = 0;  // as whom that runs
  Ticket ticket;
  std::uint32_t task_count = 0;  // of the job there
  std::uint32_t cpu_count = 0;
  std::uint32_t gpu_count = 0;  // or MIG instances
  friend bool operator==(const NodeTicket&, const NodeTicket&) = default;
  static auto fields(auto& m) {
    return std::tie(m.node, m.address, m.node_uid, m.ticket, m.task_count, m.cpu_count,
                    m.gpu_count);
  }
};
/// What a command wants inside a running job.
enum class ExecKind : std::uint8_t {
  command = 1,  // a process: `words`
  connect = 2,  // a TCP connection to `port` of the job's own loopback
  hold = 3,     // nothing: an allocation without processes of its own lasts while it is held
  attach = 4,   // the process of an earlier one that was kept when its connection was lost
  step = 5,  // nothing yet: on the job's first node, a number for a step; it holds as `hold` does
  task = 6,  // a process of a step: made ready, and run at ExecControl::go. 7: pmix_words.h
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
  // Of a step's task: it sees `gpu_count` of the job's GPUs on this node, from this one on. 0: all.
  std::uint32_t gpu_first = 0;
  std::uint32_t gpu_count = 0;
  bool wants_port = false;  // it is the first of its step: the others meet at a port of its node
  friend bool operator==(const ExecStart&, const ExecStart&) = default;
  static auto fields(auto& m) {
    return std::tie(m.ticket, m.kind, m.task, m.words, m.environment, m.pty, m.input, m.rows,
                    m.columns, m.credit, m.port, m.ends_run, m.keeps, m.directory, m.gpu_first,
                    m.gpu_count, m.wants_port);
  }
};
struct ExecStarted {
  static constexpr std::uint16_t number = 304;
  static constexpr std::uint32_t size_max = small_message;
  std::uint64_t credit = 0;  // for input
  bool pty = false;
  std::uint32_t step = 0;  // of ExecKind::step: its number in this run
  std::uint16_t port = 0;  // of a task that wanted one: nobody listens on it
  friend bool operator==(const ExecStarted&, const ExecStarted&) = default;
  static auto fields(auto& m) { return std::tie(m.credit, m.pty, m.step, m.port); }
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
  std::int32_t signal = 0;               // for the process
  std::optional<std::int32_t> finish;    // of a hold: the run is over, with this exit code
  bool go = false;                       // of a step's task: all are ready; run
  std::vector<std::string> environment;  // with it: what was not known before
  friend bool operator==(const ExecControl&, const ExecControl&) = default;
  static auto fields(auto& m) {
    return std::tie(m.credit, m.rows, m.columns, m.signal, m.finish, m.go, m.environment);
  }
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

}  // namespace rota::proto
