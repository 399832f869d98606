// contribs/slurm/squeue.cpp - squeue: the jobs that wait and run.
#include <algorithm>
#include <array>

#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/output.h"
#include "commands/table.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "fields.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using namespace commands;

enum : int {
  id_account = option_own,
  id_all,
  id_array,
  id_noheader,
  id_job,
  id_long,
  id_me,
  id_name,
  id_format,
  id_names_format,
  id_partition,
  id_qos,
  id_sort,
  id_start,
  id_states,
  id_user,
  id_nodelist,
  id_steps,
  id_iterate,
  id_ignored,
};

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_account, 'A', "account", "LIST", "only jobs of these projects", here, "accounts"},
    {id_all, 'a', "all", "", "accepted: all queues are shown", here},
    {id_array, 'r', "array", "", "accepted: tasks that run have a line each", here},
    {id_ignored, 0, "array-unique", "", "accepted", here},
    {id_noheader, 'h', "noheader", "", "print no header line", here},
    {id_job, 'j', "jobs", "LIST", "only these jobs, also when they have ended", here, "job"},
    {id_long, 'l', "long", "", "more columns", here},
    {id_me, 0, "me", "", "only your own jobs", here},
    {id_name, 'n', "name", "LIST", "only jobs with these names", here, "names"},
    {id_format, 'o', "format", "FORMAT", "letters of what to print: %i %j", here},
    {id_names_format, 'O', "Format", "LIST", "names of what to print: JobID:20,State", here},
    {id_partition, 'p', "partition", "LIST", "only jobs of these queues", here, "partitions"},
    {id_qos, 'q', "qos", "LIST", "accepted: there are none", here},
    {id_sort, 'S', "sort", "LIST", "letters to sort by, '-' before one: downwards", here},
    {id_start, 0, "start", "", "when waiting jobs are expected to start", here},
    {id_states, 't', "states", "LIST", "only jobs in these states; all", here, "state"},
    {id_user, 'u', "user", "LIST", "only jobs of these users", here, "users"},
    {id_nodelist, 'w', "nodelist", "NODES", "only jobs on these nodes", here},
    {id_steps, 's', "steps", "[LIST]", "refused: steps are not listed", here},
    {id_iterate, 'i', "iterate", "SECONDS", "refused: rqueue --watch follows changes", here},
    {id_ignored, 'M', "clusters", "LIST", "accepted: there is one", here},
    {id_ignored, 0, "local", "", "accepted", here},
    {id_ignored, 0, "noconvert", "", "accepted", here},
    verbose_option,
    {option_help, 0, "help", "", "show this help and end", here},
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 1> synopses{"[OPTION...]"};
constexpr Command command{
    .name = "squeue",
    .synopses = synopses,
    .summary = "Show the jobs that wait and run, as Slurm does: see rqueue(1).",
    .options = table};

constexpr std::string_view short_format = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr std::string_view long_format = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";

struct Wanted {
  JobFilter filter;
  std::vector<std::string> queues;
  std::vector<std::string> nodes;
  std::vector<Column> columns;
  std::string sort;
  bool header = true;
  bool by_job = false;
};

/// Slurm's names for our states.
std::string own_states(std::string text) {
  for (const auto& [theirs, ours] :
       {std::pair{"CONFIGURING", "STARTING"}, std::pair{"BOOT_FAIL", "LAUNCH_FAILED"}})
    for (std::size_t at; (at = text.find(theirs)) != std::string::npos;)
      text.replace(at, std::string_view(theirs).size(), ours);
  return text;
}

Result<Wanted> wanted_from(const Arguments& arguments) {
  Wanted wanted;
  std::string_view format_text = short_format;
  std::string own;
  bool by_names = false;
  for (const Given& given : arguments.options) {
    JobFilter& filter = wanted.filter;
    Result<void> taken;
    switch (given.option->id) {
      case id_account:
        taken = add_words(given.value, filter.projects);
        break;
      case id_noheader:
        wanted.header = false;
        break;
      case id_job:
        taken = add_jobs(given.value, filter);
        wanted.by_job = true;
        break;
      case id_long:
        format_text = long_format;
        break;
      case id_me:
        filter.users.push_back(own_user());
        break;
      case id_name:
        taken = add_words(given.value, filter.names);
        break;
      case id_format:
      case id_names_format:
        own = given.value;
        by_names = given.option->id == id_names_format;
        format_text = own;
        break;
      case id_partition:
        taken = add_words(given.value, wanted.queues);
        break;
      case id_sort:
        wanted.sort = given.value;
        break;
      case id_start:
        format_text = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %R";
        filter.states.push_back(JobState::pending);
        break;
      case id_states:
        taken = add_states(own_states(given.value), filter);
        break;
      case id_user:
        taken = add_words(given.value, filter.users);
        break;
      case id_nodelist: {
        ROTA_TRY(wanted.nodes, hostlist_expand(given.value));
        break;
      }
      case id_steps:
      case id_iterate:
        return Error{Errc::usage, format("--{} is {}", given.option->name, given.option->help)};
      default:
        break;
    }
    if (!taken) return bad_value(given, taken.error().detail);
  }
  if (!arguments.operands.empty())
    return Error{Errc::usage, format("Unrecognized argument: {}", arguments.operands.front())};
  ROTA_TRY(wanted.columns,
           by_names ? columns_by_names(format_text) : columns_by_letters(format_text));
  return wanted;
}

std::string line_of(const std::vector<Column>& columns, const JobView* job) {
  std::string line;
  for (const Column& column : columns) {
    line += column.literal;
    if (column.field == nullptr) continue;
    line +=
        fitted(job == nullptr ? std::string(column.header) : printable(column.field->text(*job)),
               column.width, column.right);
  }
  while (line.ends_with(' ')) line.pop_back();
  return line + "\n";
}

/// By the letters, the first counting most; -S without any leaves the order of numbers.
Result<void> sort_jobs(std::vector<JobView>& jobs, std::string_view letters) {
  std::vector<std::pair<Column, bool>> keys;
  bool down = false;
  for (const char c : letters) {
    if (c == ',' || c == '+') continue;
    if (c == '-') {
      down = true;
      continue;
    }
    const std::string one{'%', c};
    ROTA_TRY(auto column, columns_by_letters(one));
    keys.emplace_back(std::move(column.front()), std::exchange(down, false));
  }
  std::stable_sort(jobs.begin(), jobs.end(), [&keys](const JobView& a, const JobView& b) {
    for (const auto& [column, is_down] : keys) {
      const bool by_number = column.field->letter == 'i' || column.field->letter == 'A';
      const auto order = by_number ? a.id.value <=> b.id.value
                         : column.field->letter == 'Q' || column.field->letter == 'p'
                             ? a.spec.priority_or_kinds() <=> b.spec.priority_or_kinds()
                             : column.field->text(a) <=> column.field->text(b);
      if (order != 0) return is_down ? order > 0 : order < 0;
    }
    return false;
  });
  return {};
}

Result<int> show(Program& program, Arguments arguments) {
  ROTA_TRY(const Wanted wanted, wanted_from(arguments));
  ROTA_TRY(auto jobs, jobs_matching(program, wanted.filter));
  std::erase_if(
      jobs, [&wanted](const JobView& job) { return !is_within(job, wanted.queues, wanted.nodes); });
  if (jobs.empty() && wanted.by_job) return Error{Errc::usage, "Invalid job id specified"};
  ROTA_CHECK(sort_jobs(jobs, wanted.sort));
  std::string text;
  if (wanted.header) text += line_of(wanted.columns, nullptr);
  for (const JobView& job : jobs) text += line_of(wanted.columns, &job);
  ROTA_CHECK(print(text));
  return exit_ok;
}

}  // namespace

int squeue(const std::vector<std::string>& words) { return slurm_main(command, words, show); }

}  // namespace rota::slurm
