// commands/step_client.h - a step: the same command once for each task, on nodes of a job that
// runs.
#pragma once
#include <string>
#include <vector>

#include "commands/program.h"
#include "commands/session.h"
#include "commands/step_layout.h"
#include "commands/step_pmix.h"
#include "commands/step_sinks.h"
#include "model/ids.h"

namespace rota::commands {

struct StepOptions {
  JobId job;
  std::vector<std::string> words;
  std::vector<std::string> environment;  // besides the job's
  std::string directory;                 // "": the job's
  StepRequest request;
  SinkOptions sinks;
  bool kill_on_bad_exit = false;
  MpiKind mpi = MpiKind::automatic;
  bool keeps_address = false;  // MASTER_ADDR is the user's own
  bool keeps_port = false;     // MASTER_PORT is
  bool ends_run = false;       // the job is an allocation that was made for this step
};

/// Runs it to its end. Either all tasks are ready, and then all run; or none does, and what was
/// wrong is told. Standard input goes to task 0, signals to all. The exit code is the highest of
/// the tasks', a signal counting 128 more; 126 or 127 when the command cannot be run.
/// `is_job_over`: with ends_run, the node knows that the job is over.
awaitable<Result<int>> run_step(net::ConnectOptions controller, StepOptions options,
                                const Program& program, bool& is_job_over);

}  // namespace rota::commands
