// commands/run_options.h - the options of rrun and ralloc: rsubmit's that fit, and their own.
#pragma once
#include <string_view>

#include "commands/cli.h"

namespace rota::commands {

/// rrun's own, above rsubmit's.
enum : int {
  run_pty = 1000,
  run_label,
  run_overlap,
  run_kill,
  run_output,
  run_error,
  run_mpi,
};

const Command& run_command();
const Command& alloc_command();

/// Whether rrun takes the option of this name inside of a job, where it starts a step.
bool is_for_step(std::string_view name);

}  // namespace rota::commands
