// commands/rlogs.cpp - rlogs: the output of a job.
#include <array>

#include "commands/exit_code.h"
#include "commands/job_change.h"
#include "commands/log_lines.h"
#include "commands/log_read.h"
#include "commands/program.h"
#include "common/clock.h"
#include "common/format.h"
#include "common/units.h"
#include "model/job.h"

namespace rota::commands {
namespace {

enum : int { id_follow = option_own, id_tail, id_since, id_timestamps, id_error, id_task };

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_follow, 'f', "follow", "", "go on with what the job writes, until it ends", here},
    {id_tail, 0, "tail", "N", "only the last N lines", here},
    {id_since, 0, "since", "TIME", "only lines from then on: 10m (ago), 12:30, 2026-11-17T12:30",
     here},
    {id_timestamps, 0, "timestamps", "", "before each line the time at which it came here", here},
    {id_error, 'e', "error", "", "the file for errors instead of the output", here},
    {id_task, 0, "task", "N", "output of this task, counted from 0; default: 0", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] JOB"};

constexpr Command command{
    .name = "rlogs",
    .synopses = synopses,
    .summary = "Print the output of a job, from the node where it runs or ran.",
    .options = table,
};

constexpr std::uint64_t tail_lines_max = 1'000'000'000;

Result<std::uint64_t> number_from(const Given& given, std::uint64_t max) {
  auto number = number_parse(given.value, max);
  if (!number) return bad_value(given, number.error().detail);
  return number;
}

Result<LogOptions> options_from(const Program& program, const Arguments& arguments) {
  LogOptions options;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_follow) options.follow = true;
    if (given.option->id == id_error) options.errors = true;
    if (given.option->id == id_timestamps) options.timestamps = true;
    if (given.option->id == id_since) {
      auto since = since_from(given.value, wall_now());
      if (!since) return bad_value(given, since.error().detail);
      options.since = *since;
    }
    if (given.option->id == id_tail) {
      ROTA_TRY(const auto lines, number_from(given, tail_lines_max));
      options.tail_lines = static_cast<std::int64_t>(lines);
    }
    if (given.option->id == id_task) {
      ROTA_TRY(const auto task, number_from(given, JobBounds::task_count_max - 1));
      options.task = static_cast<std::uint32_t>(task);
    }
  }
  if (arguments.operands.size() != 1)
    return Error{Errc::usage,
                 format("one job number is needed, {} were given", arguments.operands.size())};
  ROTA_TRY(options.job, job_named(program, arguments.operands.front()));
  return options;
}

Result<int> logs(Program& program, Arguments arguments) {
  ROTA_TRY(const auto options, options_from(program, arguments));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  ROTA_TRY(const bool was_known, run_to_end(print_log(controller, options)));
  if (!was_known) program.say("the lines of this output carry no times: --since shows all of it");
  return exit_ok;
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, logs);
}
