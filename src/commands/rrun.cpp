// commands/rrun.cpp - rrun: a command in an allocation of its own, or in the job around it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "commands/allocation.h"
#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/run_options.h"
#include "commands/step_client.h"
#include "common/format.h"
#include "common/hostlist.h"

namespace rota::commands {
namespace {

/// What is asked of rrun besides the job: of a step, or of a terminal.
struct RunOptions {
  bool pty = false;
  StepOptions step;
};

Result<void> apply_own(const Given& given, RunOptions& options) {
  switch (given.option->id) {
    case run_pty:
      options.pty = true;
      break;
    case run_mpi:
      if (given.value != "pmix" && given.value != "none")
        return bad_value(given, "pmix and none are possible");
      options.step.mpi = given.value == "pmix" ? MpiKind::pmix : MpiKind::none;
      break;
    case run_label:
      options.step.sinks.label = true;
      break;
    case run_output:
      options.step.sinks.output = given.value;
      break;
    case run_error:
      options.step.sinks.error = given.value;
      break;
    case run_kill:
      if (!given.value.empty() && given.value != "0" && given.value != "1")
        return bad_value(given, "0 or 1 is possible");
      options.step.kill_on_bad_exit = given.value != "0";
      break;
    default:
      break;
  }
  return {};
}

/// A terminal is one, whoever writes to it.
Result<void> check_terminal(const RunOptions& options, std::uint32_t tasks) {
  if (!options.pty) return {};
  const SinkOptions& sinks = options.step.sinks;
  if (tasks > 1) return Error{Errc::usage, "--pty is for one task on one node"};
  if (sinks.label || !sinks.output.empty() || !sinks.error.empty())
    return Error{Errc::usage, "with --pty the output goes to the terminal, as it is"};
  return {};
}

/// Of a step's own shape, by rsubmit's options.
Result<void> take_shape(const SubmitOptions& given, StepOptions& step) {
  const ShapeRequest& shape = given.shape;
  if (shape.nodes_max)
    return Error{Errc::usage, "a step has a number of nodes, not a range (--nodes)"};
  if (shape.gpu_share)
    return Error{Errc::usage, "tasks of a step see whole GPUs of the job (--gpus-per-task)"};
  step.request.nodes = shape.nodes;
  step.request.tasks = shape.tasks;
  step.request.tasks_per_node = shape.tasks_per_node;
  step.request.cpus_per_task = shape.cpus_per_task;
  step.request.gpus_per_task = shape.gpus_per_task.value_or(0);
  if (!given.nodes.only.empty()) {
    ROTA_TRY(step.request.nodelist, hostlist_expand(given.nodes.only));
  }
  step.directory = given.directory;
  return {};
}

/// What this process has changed of its variables goes along; what the job itself says does not.
std::vector<std::string> variables_for_step() {
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  std::vector<std::string> variables = environment_of({environ, count});
  std::erase_if(variables, [](const std::string& variable) {
    for (const std::string_view prefix :
         {"ROTA_", "SLURM_", "CUDA_", "NVIDIA_", "LD_LIBRARY_PATH="})
      if (variable.starts_with(prefix)) return true;
    return false;
  });
  return variables;
}

/// The job's variable says something else than the job does: somebody has set it since.
bool is_own_choice(const char* name) {
  const char* now = std::getenv(name);
  const char* given = std::getenv(format("ROTA_{}", name).c_str());
  return now != nullptr && (given == nullptr || std::string_view(now) != given);
}

ExecOptions terminal_of(const StepOptions& step) {
  ExecOptions options;
  options.job = step.job;
  options.words = step.words;
  options.environment = step.environment;
  options.directory = step.directory;
  options.input = options.pty = true;
  return options;
}

/// Its own are taken, those of a step's shape too; the rest is about a job.
Result<SubmitOptions> shape_inside(const Arguments& arguments, JobId job) {
  SubmitOptions shape;
  for (const Given& given : arguments.options) {
    if (given.option->id < option_own || given.option->id >= run_pty) continue;
    if (!is_for_step(given.option->name))
      return Error{Errc::usage,
                   format("inside job {} the command runs on what the job has: --{} cannot be "
                          "chosen here; a job of its own is made with rsubmit",
                          job.value, given.option->name)};
    ROTA_CHECK(apply(given, shape));
  }
  return shape;
}

Result<int> run_in_job(const Program& program, const net::ConnectOptions& controller,
                       const Arguments& arguments, RunOptions options) {
  StepOptions& step = options.step;
  ROTA_TRY(const SubmitOptions shape, shape_inside(arguments, step.job));
  ROTA_CHECK(take_shape(shape, step));
  ROTA_CHECK(check_terminal(
      options, std::max(step.request.tasks.value_or(1), step.request.nodes.value_or(1))));
  step.environment = variables_for_step();
  step.keeps_address = is_own_choice("MASTER_ADDR");
  step.keeps_port = is_own_choice("MASTER_PORT");
  ROTA_TRY(const std::string here_is, current_directory());
  step.directory = step.directory.empty() ? here_is : absolute_path(step.directory, here_is);
  if (options.pty) return run_to_end(run_exec(controller, terminal_of(step), program));
  bool is_job_over = false;
  return run_to_end(run_step(controller, std::move(step), program, is_job_over));
}

awaitable<void> leave(net::ConnectOptions controller, JobId job, const Program& program) {
  auto given = co_await give_back(controller, job);
  if (!given) program.say(given.error().message());
}

/// Waits, runs, and leaves no allocation behind, except for a session that rattach may take up.
awaitable<Result<int>> run_allocated(const Program& program, net::ConnectOptions controller,
                                     proto::SubmitRequest request, RunOptions options) {
  int interrupted = 0;
  auto job = co_await allocate(controller, std::move(request), program, interrupted);
  if (!job) co_return job.error();
  if (interrupted != 0) {
    program.say(format("job {} was cancelled", job->id.value));
    co_return 128 + interrupted;
  }
  if (job->state != JobState::running) {
    program.say(format("job {} ended: {}{}{}", job->id.value, name_of(job->state),
                       job->reason.empty() ? "" : ": ", job->reason));
    co_return exit_code_of(*job);
  }
  program.note(format("job {} runs on {}", job->id.value, fmt::join(job->nodes, ",")));
  const JobId id = options.step.job = job->id;
  options.step.ends_run = true;
  if (!options.pty) {
    bool is_job_over = false;
    auto code = co_await run_step(controller, options.step, program, is_job_over);
    if (!is_job_over) co_await leave(controller, id, program);
    co_return code;
  }
  ExecOptions terminal = terminal_of(options.step);
  terminal.ends_run = terminal.keeps = true;
  auto code = co_await run_exec(controller, terminal, program);
  if (code) co_return code;
  const Errc error = code.error().code;
  if (error == Errc::peer_lost || error == Errc::timed_out)
    program.say(
        format("the session goes on for a while: 'rattach {}' takes it up again", id.value));
  else
    co_await leave(controller, id, program);
  co_return code;
}

Result<int> run(Program& program, Arguments arguments) {
  RunOptions options;
  std::vector<Given> of_job;
  for (const Given& given : arguments.options) {
    ROTA_CHECK(apply_own(given, options));
    if (given.option->id < run_pty) of_job.push_back(given);
  }
  if (arguments.operands.empty())
    return Error{Errc::usage, "nothing to run: give a command, as in rrun --pty -g 1 bash"};
  options.step.words = std::move(arguments.operands);
  ROTA_TRY(const auto around, job_around());
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  if (around) {
    options.step.job = *around;
    return run_in_job(program, controller, arguments, std::move(options));
  }
  ROTA_TRY(auto request, allocation_from(of_job, base_name(options.step.words.front())));
  const JobSpec& spec = request.spec;
  if (spec.is_elastic())
    return Error{Errc::usage, "rrun's command has a number of nodes, not a range: use rsubmit"};
  ROTA_CHECK(check_terminal(options, spec.task_count));
  for (const std::string& variable : request.payload.container.environment) {
    if (variable.starts_with("MASTER_ADDR=")) options.step.keeps_address = true;
    if (variable.starts_with("MASTER_PORT=")) options.step.keeps_port = true;
  }
  // The job is laid out for it: as many tasks where they are, each with its own GPUs.
  if (spec.task.uses_mig())
    options.step.request.gpus_per_task = spec.task.mig_count;
  else if (!spec.task.shares_gpus())
    options.step.request.gpus_per_task = spec.task.gpu_count;
  return run_to_end(run_allocated(program, controller, std::move(request), std::move(options)));
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(run_command(), argc, argv, run);
}
