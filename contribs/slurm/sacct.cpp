// contribs/slurm/sacct.cpp - sacct: jobs that have run, from the controller's records.
#include <algorithm>
#include <array>
#include <ctime>

#include "commands/dates.h"
#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/output.h"
#include "commands/table.h"
#include "common/clock.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"
#include "fields.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using namespace commands;

enum : int {
  id_account = option_own,
  id_all_users,
  id_brief,
  id_delimiter,
  id_end,
  id_format,
  id_help_format,
  id_jobs,
  id_name,
  id_nodelist,
  id_noheader,
  id_parsable,
  id_parsable2,
  id_partition,
  id_start,
  id_state,
  id_user,
  id_ignored,
};

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_account, 'A', "accounts", "LIST", "only jobs of these projects", here, "account"},
    {id_all_users, 'a', "allusers", "", "jobs of all users", here},
    {id_ignored, 'X', "allocations", "", "accepted: steps are not listed", here},
    {id_brief, 'b', "brief", "", "JobID, State and ExitCode", here},
    {id_delimiter, 0, "delimiter", "TEXT", "between columns, with -p and -P", here},
    {id_ignored, 'D', "duplicates", "", "accepted", here},
    {id_end, 'E', "endtime", "DATE", "only jobs that ran before this", here},
    {id_format, 'o', "format", "LIST", "fields to print: JobID,State%20", here},
    {id_help_format, 'e', "helpformat", "", "show the names of the fields", here},
    {id_jobs, 'j', "jobs", "LIST", "only these jobs", here, "job"},
    {id_ignored, 'l', "long", "", "accepted", here},
    {id_ignored, 'M', "clusters", "LIST", "accepted: there is one", here},
    {id_name, 0, "name", "LIST", "only jobs with these names", here},
    {id_nodelist, 'N', "nodelist", "NODES", "only jobs on these nodes", here},
    {id_ignored, 0, "noconvert", "", "accepted", here},
    {id_noheader, 'n', "noheader", "", "print no header line", here},
    {id_parsable, 'p', "parsable", "", "columns separated by '|', one at the end too", here},
    {id_parsable2, 'P', "parsable2", "", "columns separated by '|'", here},
    {id_partition, 'r', "partition", "LIST", "only jobs of these queues", here},
    {id_start, 'S', "starttime", "DATE", "only jobs that ran after this; default: midnight", here},
    {id_state, 's', "state", "LIST", "only jobs in these states", here},
    {id_ignored, 0, "truncate", "", "accepted", here},
    {id_ignored, 'T', "use-local-uid", "", "accepted", here},
    {id_ignored, 0, "units", "UNIT", "accepted", here},
    {id_user, 'u', "user", "LIST", "only jobs of these users", here, "uid"},
    verbose_option,
    {option_help, 'h', "help", "", "show this help and end", here},
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 1> synopses{"[OPTION...]"};
constexpr Command command{.name = "sacct",
                          .synopses = synopses,
                          .summary = "Show jobs that ran, as Slurm does: see rqueue(1).",
                          .options = table};

constexpr std::string_view default_format =
    "jobid,jobname,partition,account,alloccpus,state,exitcode";

struct Wanted {
  JobFilter filter;
  std::vector<std::string> queues;
  std::vector<std::string> nodes;
  std::vector<Column> columns;
  WallTime start;
  WallTime end;
  std::string delimiter;  // "": columns have widths
  bool last_too = false;  // one behind the last column
  bool header = true;
};

WallTime last_midnight(WallTime now) {
  std::time_t seconds = now.microseconds / 1'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return {std::int64_t{std::mktime(&local)} * 1'000'000};
}

/// Of times gone by: "16:00" is today's, "now-2days" is behind us.
Result<WallTime> past_date(const Given& given, WallTime now) {
  const std::string& text = given.value;
  if (text == "today" || text == "midnight") return last_midnight(now);
  if (text.starts_with("now-")) {
    ROTA_TRY(const WallTime ahead, date_parse("now+" + text.substr(4), now));
    return WallTime{2 * now.microseconds - ahead.microseconds};
  }
  const auto date = date_parse(text, now);
  if (!date) return bad_value(given, date.error().detail);
  constexpr std::int64_t day = std::int64_t{86'400} * 1'000'000;
  const bool is_clock =
      text.find_first_of("-/T") == std::string::npos && text.find(':') != text.npos;
  return is_clock && *date > now ? WallTime{date->microseconds - day} : *date;
}

Result<void> take(const Given& given, WallTime now, std::string& format_text, Wanted& wanted) {
  JobFilter& filter = wanted.filter;
  Result<void> taken;
  switch (given.option->id) {
    case id_account:
      taken = add_words(given.value, filter.projects);
      break;
    case id_brief:
      format_text = "jobid,state,exitcode";
      break;
    case id_delimiter:
      wanted.delimiter = given.value;
      break;
    case id_end: {
      ROTA_TRY(wanted.end, past_date(given, now));
      break;
    }
    case id_start: {
      ROTA_TRY(wanted.start, past_date(given, now));
      break;
    }
    case id_format:
      format_text = given.value;
      break;
    case id_jobs: {
      // "12.batch" and "12.0" are of job 12.
      std::string jobs = given.value;
      for (std::size_t dot; (dot = jobs.find('.')) != std::string::npos;)
        jobs.erase(dot, jobs.find(',', dot) == std::string::npos ? std::string::npos
                                                                 : jobs.find(',', dot) - dot);
      taken = add_jobs(jobs, filter);
      break;
    }
    case id_name:
      taken = add_words(given.value, filter.names);
      break;
    case id_nodelist: {
      ROTA_TRY(wanted.nodes, hostlist_expand(given.value));
      break;
    }
    case id_noheader:
      wanted.header = false;
      break;
    case id_parsable:
    case id_parsable2:
      if (wanted.delimiter.empty()) wanted.delimiter = "|";
      wanted.last_too = given.option->id == id_parsable;
      break;
    case id_partition:
      taken = add_words(given.value, wanted.queues);
      break;
    case id_state:
      taken = add_states(given.value, filter);
      break;
    case id_user:
      taken = add_words(given.value, filter.users);
      break;
    default:
      break;
  }
  if (!taken) return bad_value(given, taken.error().detail);
  return {};
}

std::string line_of(const Wanted& wanted, const JobView* job, bool is_rule = false) {
  std::string line;
  for (const Column& column : wanted.columns) {
    const bool is_last = &column == &wanted.columns.back();
    std::string value =
        job == nullptr ? std::string(column.header) : printable(column.field->text(*job));
    if (!wanted.delimiter.empty()) {
      line += value + (is_last && !wanted.last_too ? "" : wanted.delimiter);
      continue;
    }
    if (is_rule) value.assign(column.width, '-');
    // The number of a job stands on the left, whatever its header does.
    const bool right = column.right && !(job != nullptr && column.field->letter == 'i');
    line += fitted(std::move(value), column.width, right, true) + " ";
  }
  return line + "\n";
}

Result<int> show(Program& program, Arguments arguments) {
  const WallTime now = wall_now();
  Wanted wanted;
  wanted.filter.ended_too = true;
  std::string format_text(default_format);
  bool is_for_all = false;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_help_format) {
      ROTA_CHECK(print(format("{}\n", fmt::join(accounting_names(), " "))));
      return exit_ok;
    }
    is_for_all = is_for_all || given.option->id == id_all_users;
    ROTA_CHECK(take(given, now, format_text, wanted));
  }
  ROTA_TRY(wanted.columns, accounting_columns(format_text));
  const bool names_jobs = wanted.filter.names_jobs();
  if (!names_jobs && !wanted.start) wanted.start = last_midnight(now);
  if (!names_jobs && !is_for_all && wanted.filter.users.empty() && wanted.filter.projects.empty())
    wanted.filter.users.push_back(own_user());
  ROTA_TRY(auto jobs, jobs_matching(program, wanted.filter));
  std::erase_if(jobs, [&wanted](const JobView& job) {
    const bool was_over = wanted.start && job.end_time && job.end_time < wanted.start;
    const bool came_later = wanted.end && job.submit_time > wanted.end;
    return !is_within(job, wanted.queues, wanted.nodes) || was_over || came_later;
  });
  std::string text;
  if (wanted.header) text += line_of(wanted, nullptr);
  if (wanted.header && wanted.delimiter.empty()) text += line_of(wanted, nullptr, true);
  for (const JobView& job : jobs) text += line_of(wanted, &job);
  ROTA_CHECK(print(text));
  return exit_ok;
}

}  // namespace

int sacct(const std::vector<std::string>& words) { return slurm_main(command, words, show); }

}  // namespace rota::slurm
