// commands/cancel_options.h - rcancel's options: the table, and which jobs they mean.
#pragma once
#include "commands/cli.h"
#include "common/result.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::commands {

struct CancelOptions {
  JobFilter filter;
  int signal = 0;  // 0: end the jobs
  bool quiet = false;
};

const Command& cancel_command();

/// Who runs the command.
struct Me {
  std::string (*user)();  // asked only when it matters
  bool is_root = false;
};
/// Without ids and users, only the jobs of the one who asks are meant, except for root.
Result<CancelOptions> cancel_options_from(const Arguments& arguments, const Me& me);

/// What the jobs that were not changed make of the exit code: the code of all, or 1 when they
/// differ.
int exit_code_of(const std::vector<proto::JobRefusal>& refused);
/// "job 12: permission denied: it belongs to ada".
std::string refusal_text(const proto::JobRefusal& refusal);

}  // namespace rota::commands
