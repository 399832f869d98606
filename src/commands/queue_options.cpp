// commands/queue_options.cpp - reads rqueue's options.
#include "commands/queue_options.h"

#include <array>

#include "commands/job_filter.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

enum : int {
  id_user = option_own,
  id_me,
  id_project,
  id_state,
  id_name,
  id_job,
  id_all,
  id_format,
  id_no_header,
  id_parsable,
  id_json,
  id_watch,
  id_long,
};

constexpr auto everywhere = Scope::environment;
constexpr auto table = std::to_array<Option>({
    {id_user, 'u', "user", "LIST", "only jobs of these users"},
    {id_me, 0, "me", "", "only your own jobs"},
    {id_project, 'A', "project", "LIST", "only jobs of these projects", everywhere, "account"},
    {id_state, 't', "state", "LIST",
     "only jobs in these states: PENDING or PD, RUNNING or R, ...; 'all' for every state",
     everywhere, "states"},
    {id_name, 0, "name", "LIST", "only jobs with these names"},
    {id_job, 'j', "job", "LIST", "only these jobs, also when they have ended", everywhere, "jobs"},
    {id_all, 'a', "all", "", "also jobs that have ended"},
    {id_long, 'l', "long", "", "also what the jobs do with their GPUs"},
    {id_format, 'o', "format", "FORMAT",
     "what to print of each job: %i, %.8j, %{kind}, ... (see rqueue(1))"},
    {id_no_header, 'n', "noheader", "", "print no header line"},
    {id_parsable, 'P', "parsable", "", "print columns separated by '|', without blanks"},
    {id_json, 0, "json", "", "print JSON, as doc/json.md describes it"},
    {id_watch, 0, "watch", "", "stay, and show every change as it happens"},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...]"};

constexpr Command command{
    .name = "rqueue",
    .synopses = synopses,
    .summary = "Show the jobs that wait and run.",
    .options = table,
    .environment_prefix = "ROTA_QUEUE_",
};

Result<void> apply_filter(const Given& given, std::string (*me)(), JobFilter& filter) {
  switch (given.option->id) {
    case id_user:
      return add_words(given.value, filter.users);
    case id_me:
      filter.users.push_back(me());
      return {};
    case id_project:
      return add_words(given.value, filter.projects);
    case id_state:
      return add_states(given.value, filter);
    case id_name:
      return add_words(given.value, filter.names);
    case id_job:
      return add_jobs(given.value, filter);
    case id_all:
      filter.ended_too = true;
      return {};
    default:
      return {};
  }
}

void apply_flag(int id, QueueOptions& options) {
  switch (id) {
    case id_no_header:
      options.header = false;
      break;
    case id_parsable:
      options.parsable = true;
      break;
    case id_json:
      options.json = true;
      break;
    case id_watch:
      options.watch = true;
      break;
    case id_long:
      options.is_long = true;
      break;
    default:
      break;
  }
}

}  // namespace

const Command& queue_command() { return command; }

Result<QueueOptions> queue_options_from(const Arguments& arguments, std::string (*me)()) {
  if (!arguments.operands.empty())
    return Error{Errc::usage, format("unexpected argument {}; jobs are chosen with --job, --name, "
                                     "--user, --project and --state",
                                     quoted(arguments.operands.front()))};
  QueueOptions options;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_format) {
      auto format = JobFormat::parse(given.value);
      if (!format) return bad_value(given, format.error().detail);
      options.format = *std::move(format);
    } else if (auto taken = apply_filter(given, me, options.filter); !taken) {
      return bad_value(given, taken.error().detail);
    }
    apply_flag(given.option->id, options);
  }
  return options;
}

}  // namespace rota::commands
