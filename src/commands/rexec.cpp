// commands/rexec.cpp - rexec: run a command inside a job that runs.
#include <array>

#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "commands/job_change.h"
#include "commands/job_filter.h"
#include "commands/output.h"
#include "commands/program.h"
#include "common/format.h"
#include "common/units.h"
#include "common/version.h"
#include "model/job.h"

namespace rota::commands {
namespace {

enum : int { id_task = option_own, id_interactive, id_tty, id_pty };

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_interactive, 'i', "interactive", "", "pass standard input on to the command", here},
    {id_tty, 't', "tty", "", "run it on a terminal of its own", here},
    {id_pty, 0, "pty", "", "the same as -it", here},
    {id_task, 0, "task", "N", "beside this task, counted from 0; default: 0", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] JOB [--] [COMMAND [ARGUMENT...]]"};

constexpr Command command{
    .name = "rexec",
    .synopses = synopses,
    .summary =
        "Run a command inside a running job: as its owner, with its variables, limits and GPUs. "
        "Without a command, a shell.",
    .options = table,
    .options_anywhere = false,
};

Result<void> apply(const Given& given, ExecOptions& options) {
  switch (given.option->id) {
    case id_interactive:
      options.input = true;
      break;
    case id_tty:
      options.pty = true;
      break;
    case id_pty:
      options.input = options.pty = true;
      break;
    case id_task: {
      const auto task = number_parse(given.value, JobBounds::task_count_max - 1);
      if (!task) return bad_value(given, task.error().detail);
      options.task = static_cast<std::uint32_t>(*task);
      break;
    }
    default:
      break;
  }
  return {};
}

/// Options may stand on both sides of the job; behind the command all words are its own.
Result<int> exec(Program& program, Arguments arguments) {
  if (arguments.operands.empty()) return Error{Errc::usage, "in which job? Its number is needed"};
  ExecOptions options;
  ROTA_TRY(options.job, job_named(program, arguments.operands.front()));
  const std::vector<std::string> rest(arguments.operands.begin() + 1, arguments.operands.end());
  Arguments behind;
  if (const auto bad = parse_words(command, rest, behind)) return Error{Errc::usage, bad->what};
  for (const auto* list : {&arguments.options, &behind.options})
    for (const Given& given : *list) ROTA_CHECK(apply(given, options));
  for (const Given& given : behind.options) {
    if (given.option->id == option_verbose) ++program.verbosity;
    const bool is_help = given.option->id == option_help || given.option->id == option_usage ||
                         given.option->id == option_version;
    if (is_help)
      return Error{Errc::usage, format("--{} stands alone, without a job", given.option->name)};
  }
  options.words = std::move(behind.operands);
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  return run_to_end(run_exec(controller, options, program));
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, exec);
}
