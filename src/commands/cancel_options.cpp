// commands/cancel_options.cpp - reads rcancel's options, and what came of the request.
#include "commands/cancel_options.h"

#include <array>

#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/signals.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

enum : int {
  id_name = option_own,
  id_user,
  id_me,
  id_project,
  id_state,
  id_signal,
  id_quiet,
};

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_name, 'n', "name", "LIST", "only jobs with these names", here, "job-name"},
    {id_user, 'u', "user", "LIST", "only jobs of these users", here},
    {id_me, 0, "me", "", "only your own jobs", here},
    {id_project, 'A', "project", "LIST", "only jobs of these projects", here, "account"},
    {id_state, 't', "state", "LIST", "only jobs in these states: PENDING or PD, RUNNING or R, ...",
     here, "states"},
    {id_signal, 's', "signal", "SIGNAL",
     "send this signal (USR1, 10, ...) to the jobs' processes instead of ending them", here},
    {id_quiet, 'Q', "quiet", "", "do not say which jobs could not be cancelled", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] [JOB...]"};

constexpr Command command{
    .name = "rcancel",
    .synopses = synopses,
    .summary = "End jobs, or send them a signal.",
    .options = table,
};

Result<void> apply(const Given& given, const Me& me, CancelOptions& options) {
  switch (given.option->id) {
    case id_name:
      return add_words(given.value, options.filter.names);
    case id_user:
      return add_words(given.value, options.filter.users);
    case id_me:
      options.filter.users.push_back(me.user());
      return {};
    case id_project:
      return add_words(given.value, options.filter.projects);
    case id_state:
      return add_states(given.value, options.filter);
    case id_signal: {
      ROTA_TRY(options.signal, signal_from(given.value));
      return {};
    }
    case id_quiet:
      options.quiet = true;
      return {};
    default:
      return {};
  }
}

bool is_empty(const JobFilter& filter) { return filter == JobFilter{}; }

}  // namespace

const Command& cancel_command() { return command; }

Result<CancelOptions> cancel_options_from(const Arguments& arguments, const Me& me) {
  CancelOptions options;
  for (const Given& given : arguments.options)
    if (auto taken = apply(given, me, options); !taken)
      return bad_value(given, taken.error().detail);
  for (const std::string& operand : arguments.operands)
    ROTA_CHECK(add_jobs(operand, options.filter));
  JobFilter& filter = options.filter;
  if (is_empty(filter))
    return Error{Errc::usage,
                 "name the jobs: their numbers, or --name, --user, --me, --project, --state"};
  // Only ended jobs lie beyond what can be cancelled: "all" asks for nothing more.
  filter.ended_too = false;
  if (!filter.names_jobs() && filter.users.empty() && (!me.is_root || is_empty(filter)))
    filter.users.push_back(me.user());
  return options;
}

int exit_code_of(const std::vector<proto::JobRefusal>& refused) {
  int code = exit_ok;
  for (const proto::JobRefusal& refusal : refused) {
    const int one = exit_code_of(static_cast<Errc>(refusal.code));
    if (code != exit_ok && code != one) return exit_error;
    code = one;
  }
  return code;
}

std::string refusal_text(const proto::JobRefusal& refusal) {
  const Error error{static_cast<Errc>(refusal.code), refusal.detail};
  return format("job {}: {}", refusal.job.value, error.message());
}

}  // namespace rota::commands
