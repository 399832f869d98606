// commands/exec_client.h - a process inside a running job, with this command's own files at its
// ends.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "commands/program.h"
#include "commands/session.h"
#include "model/ids.h"

namespace rota::commands {

struct ExecOptions {
  JobId job;
  std::uint32_t task = 0;
  std::vector<std::string> words;        // none: the owner's shell
  std::vector<std::string> environment;  // besides the task's own
  std::string directory;                 // "": the task's
  bool input = false;                    // our standard input is its
  bool pty = false;
  bool ends_run = false;  // of ExecStart
  bool keeps = false;     // the same
  bool attach = false;    // not a new one: what an earlier command left behind
  int input_fd = 0;       // its standard input and output are at our end these
  int output_fd = 1;
};

/// Runs it to its end. The exit code is the process's, or 128 and its signal, as shells have it;
/// 127 and 126, said on standard error, when there is no such command or it cannot be run. Errors:
/// who asks may not, the job does not run, the connection was lost.
awaitable<Result<int>> run_exec(net::ConnectOptions controller, ExecOptions options,
                                const Program& program);

/// Where this task of the job is, and a ticket that opens its node; good for some seconds.
awaitable<Result<proto::TicketReply>> find_task(net::ConnectOptions controller, JobId job,
                                                std::uint32_t task);

}  // namespace rota::commands
