// commands/exit_code.h - what a command's exit status says, for scripts.
#pragma once
#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// Part of the interface: described in every man page, never changed.
enum ExitCode : int {
  exit_ok = 0,
  exit_error = 1,
  exit_usage = 2,
  exit_not_found = 3,
  exit_denied = 4,
  exit_refused = 5,        // by policy, quota or the size of the cluster
  exit_unreachable = 69,   // EX_UNAVAILABLE of sysexits.h
  exit_broken_pipe = 141,  // as the shell shows a command that SIGPIPE ended
};

ExitCode exit_code_of(Errc code);

/// What `rsubmit --wait` returns for a job that has ended: its own code, 128 and the signal, and
/// never 0 for a job that did not complete.
int exit_code_of(const JobView& job);

}  // namespace rota::commands
