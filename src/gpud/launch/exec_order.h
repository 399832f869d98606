// gpud/launch/exec_order.h - what rgpud and rstepd tell each other about a process that somebody
// wants inside a run that is there already.
//
// For each one rgpud makes a socket, puts the ExecOrder into it and hands the other end to rstepd
// with StepCommand::exec. Whoever closes it has gone: rstepd then hangs up on the process, rgpud
// tells its command. These records never leave the node.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "proto/messages.h"
#include "proto/pmix_words.h"

namespace rota::gpud {

/// The first packet, from rgpud.
struct ExecOrder {
  proto::ExecKind kind = proto::ExecKind::command;
  std::uint32_t task = 0;                // of the job
  std::vector<std::string> words;        // none: the owner's shell
  std::vector<std::string> environment;  // before the task's own
  bool pty = false;
  bool input = false;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint16_t port = 0;
  bool ends_run = false;
  std::string directory;        // "": the task's
  std::uint32_t gpu_first = 0;  // as in ExecStart
  std::uint32_t gpu_count = 0;

  /// Its place is by the node, not by one of the job's tasks.
  bool is_of_step() const {
    return kind == proto::ExecKind::step || kind == proto::ExecKind::task ||
           kind == proto::exec_pmix;
  }
  friend bool operator==(const ExecOrder&, const ExecOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.task, m.words, m.environment, m.pty, m.input, m.rows, m.columns,
                    m.port, m.ends_run, m.directory, m.gpu_first, m.gpu_count);
  }
};
/// Of the encoded order. A packet must fit into the socket's buffer as a whole.
inline constexpr std::size_t exec_order_bytes_max = 128 << 10;

/// Later ones from rgpud.
struct ExecWord {
  std::int32_t signal = 0;               // not 0: for the process and its group
  std::optional<std::int32_t> finish;    // the run is over, with this exit code
  bool go = false;                       // a step's task may run
  std::vector<std::string> environment;  // with it: further variables, which win

  friend bool operator==(const ExecWord&, const ExecWord&) = default;
  static auto fields(auto& m) { return std::tie(m.signal, m.finish, m.go, m.environment); }
};
/// Of the encoded word. It also fits into the pipe at which the task waits.
inline constexpr std::size_t exec_word_bytes_max = 32 << 10;

/// From rstepd.
struct ExecNews {
  enum class Kind : std::uint8_t {
    opened = 1,  // with open files: the terminal's master; or the pipes: input (if wanted), output,
                 // errors; or the connected socket. Of a step: none, and `code` is its number
    failed = 2,  // code, text
    ended = 3,   // code, signal
    notice = 4,  // text
  };
  Kind kind = Kind::opened;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  std::string text;

  friend bool operator==(const ExecNews&, const ExecNews&) = default;
  static auto fields(auto& m) { return std::tie(m.kind, m.code, m.signal, m.text); }
};
inline constexpr std::size_t exec_news_bytes_max = 16 << 10;

/// What shells say of a command that cannot be run, and of one that is not there.
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

}  // namespace rota::gpud
