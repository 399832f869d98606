// commands/rattach.cpp - rattach: back to the terminal of an rrun whose connection was lost.
#include <array>

#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "commands/job_change.h"
#include "commands/job_filter.h"
#include "commands/log_read.h"
#include "commands/program.h"
#include "common/format.h"
#include "common/units.h"
#include "model/job.h"

namespace rota::commands {
namespace {

enum : int { id_task = option_own, id_no_stdin };

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_no_stdin, 0, "no-stdin", "", "only look on: no key goes to the session", here},
    {id_task, 0, "task", "N", "of a job without a session: output of this task; default: 0", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] JOB"};

constexpr Command command{
    .name = "rattach",
    .synopses = synopses,
    .summary =
        "Take up the terminal of 'rrun --pty' again after its connection was lost. Of any other "
        "job, follow the output.",
    .options = table,
};

awaitable<Result<int>> attach_or_follow(const Program& program, net::ConnectOptions controller,
                                        ExecOptions options) {
  auto code = co_await run_exec(controller, options, program);
  if (code || code.error().code != Errc::not_found) co_return code;
  program.say(format("job {} has no terminal to attach to; its output follows", options.job.value));
  LogOptions log;
  log.job = options.job;
  log.task = options.task;
  log.follow = true;
  ROTA_CO_CHECK(co_await print_log(controller, log));
  co_return exit_ok;
}

Result<int> attach(Program& program, Arguments arguments) {
  ExecOptions options;
  options.attach = options.pty = options.keeps = options.input = true;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_no_stdin) options.input = false;
    if (given.option->id != id_task) continue;
    const auto task = number_parse(given.value, JobBounds::task_count_max - 1);
    if (!task) return bad_value(given, task.error().detail);
    options.task = static_cast<std::uint32_t>(*task);
  }
  if (arguments.operands.size() != 1)
    return Error{Errc::usage,
                 format("one job number is needed, {} were given", arguments.operands.size())};
  ROTA_TRY(options.job, job_named(program, arguments.operands.front()));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  return run_to_end(attach_or_follow(program, controller, options));
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, attach);
}
