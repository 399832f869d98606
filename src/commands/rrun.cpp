// commands/rrun.cpp - rrun: a command in an allocation of its own, or in the job around it.
#include <unistd.h>

#include <array>
#include <climits>

#include "commands/allocation.h"
#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "common/format.h"

namespace rota::commands {
namespace {

enum : int { id_pty = 1000 };  // above rsubmit's

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] COMMAND [ARGUMENT...]"};

const Command& command() {
  static const std::vector<Option> table = options_of_rsubmit(
      {"job-name",
       "project",
       "queue",
       "gpus",
       "gpus-per-task",
       "gpu-memory",
       "gpu-devices",
       "mig",
       "mps",
       "nodes",
       "ntasks",
       "cpus-per-task",
       "mem",
       "nodelist",
       "exclude",
       "constraint",
       "time",
       "chdir",
       "kind",
       "priority",
       "image",
       "container-mounts",
       "container-workdir",
       "container-mount-home",
       "container-writable",
       "container-readonly",
       "entrypoint",
       "no-entrypoint",
       "container-entrypoint",
       "no-container-entrypoint",
       "env",
       "container-env",
       "shm-size",
       "large-shm",
       "pull",
       "local-image",
       "data",
       "git",
       "container-name",
       "container-save",
       "runtime",
       "no-container-remap-root",
       "container-remap-root",
       "container-unshare",
       "secret",
       "port",
       "url",
       "external-url"},
      {Option{id_pty, 0, "pty", "", "run it on a terminal of its own", Scope::command_line},
       verbose_option, help_option, usage_option, version_option});
  static const Command it{
      .name = "rrun",
      .synopses = synopses,
      .summary =
          "Wait for the resources asked for, run a command on them and return its exit code. "
          "Inside a job, run it as a part of that job.",
      .options = table,
      .options_anywhere = false,
  };
  return it;
}

/// One command is one process; the options that would mean more are for rsubmit.
Result<void> check_single(const JobSpec& spec) {
  if (spec.task_count > 1 || spec.node_count > 1 || spec.is_elastic())
    return Error{Errc::usage,
                 "rrun runs one command on one node; for several tasks or nodes: rsubmit -N ... -n "
                 "... -- COMMAND"};
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

Result<int> run_in_job(const Program& program, const net::ConnectOptions& controller,
                       const Arguments& arguments, ExecOptions options) {
  for (const Given& given : arguments.options)
    if (given.option->id >= option_own && given.option->id != id_pty)
      return Error{Errc::usage,
                   format("inside job {} the command runs on what the job has: --{} cannot be "
                          "chosen here; a job of its own is made with rsubmit",
                          options.job.value, given.option->name)};
  options.environment = variables_for_step();
  std::array<char, PATH_MAX> here;
  if (getcwd(here.data(), here.size()) != nullptr) options.directory = here.data();
  return run_to_end(run_exec(controller, options, program));
}

/// Waits, runs, and leaves no allocation behind, except for a session that rattach may take up.
awaitable<Result<int>> run_allocated(const Program& program, net::ConnectOptions controller,
                                     proto::SubmitRequest request, ExecOptions options) {
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
  options.job = job->id;
  auto code = co_await run_exec(controller, options, program);
  if (code) co_return code;
  const Errc error = code.error().code;
  const bool is_kept = options.keeps && (error == Errc::peer_lost || error == Errc::timed_out);
  if (is_kept) {
    program.say(format("the session goes on for a while: 'rattach {}' takes it up again",
                       options.job.value));
    co_return code;
  }
  auto given = co_await give_back(controller, options.job);
  if (!given) program.say(given.error().message());
  co_return code;
}

Result<int> run(Program& program, Arguments arguments) {
  ExecOptions options;
  options.input = true;
  for (const Given& given : arguments.options)
    if (given.option->id == id_pty) options.pty = options.keeps = true;
  if (arguments.operands.empty())
    return Error{Errc::usage, "nothing to run: give a command, as in rrun --pty -g 1 bash"};
  options.words = std::move(arguments.operands);
  ROTA_TRY(const auto around, job_around());
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  if (around) {
    options.job = *around;
    options.keeps = false;
    return run_in_job(program, controller, arguments, std::move(options));
  }
  ROTA_TRY(auto request, allocation_from(arguments.options, base_name(options.words.front())));
  ROTA_CHECK(check_single(request.spec));
  options.ends_run = true;
  return run_to_end(run_allocated(program, controller, std::move(request), std::move(options)));
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command(), argc, argv, run);
}
