// commands/exit_code.cpp - errors and ended jobs as exit codes.
#include "commands/exit_code.h"

namespace rota::commands {

ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::usage:
      return exit_usage;
    case Errc::not_found:
    case Errc::no_such_job:
    case Errc::no_such_node:
    case Errc::no_such_project:
    case Errc::no_such_queue:
      return exit_not_found;
    case Errc::denied:
      return exit_denied;
    case Errc::never_fits:
    case Errc::queue_full:
    case Errc::policy_refused:
    case Errc::org_in_use:
      return exit_refused;
    // A session that could not be made or kept: trying again later may help.
    case Errc::timed_out:
    case Errc::peer_lost:
    case Errc::unreachable:
    case Errc::auth_failed:
    case Errc::protocol_mismatch:
    case Errc::busy:
      return exit_unreachable;
    default:
      return exit_error;
  }
}

int exit_code_of(const JobView& job) {
  if (job.state == JobState::completed) return exit_ok;
  if (job.exit_signal > 0) return 128 + job.exit_signal;
  // The low byte is all that a parent sees of an exit code: 256 must not read as success.
  const int code = job.exit_code & 0xff;
  return code != 0 ? code : exit_error;
}

}  // namespace rota::commands
