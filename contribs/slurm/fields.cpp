// contribs/slurm/fields.cpp - one row for each thing that can be shown of a job.
#include "fields.h"

#include <algorithm>
#include <array>

#include "commands/job_fields.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/lower.h"
#include "common/units.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using View = const JobView&;

std::string limit_text(View job) {
  return job.spec.time_limit_seconds == 0
             ? "UNLIMITED"
             : elapsed_format(std::chrono::seconds(job.spec.time_limit_seconds));
}
std::string left_text(View job) {
  if (job.spec.time_limit_seconds == 0) return "UNLIMITED";
  const Duration limit = std::chrono::seconds(job.spec.time_limit_seconds);
  return elapsed_format(std::max(Duration(0), limit - commands::elapsed_of(job)));
}
std::string nodes_text(View job) { return hostlist_fold(job.nodes); }
std::string nodes_or_none(View job) {
  return job.nodes.empty() ? "None assigned" : hostlist_fold(job.nodes);
}
std::string reason_text(View job) {
  const std::string_view reason =
      job.state == JobState::pending ? name_of(job.wait) : std::string_view();
  return std::string(reason.empty() ? "None" : reason);
}
std::string nodes_or_reason(View job) {
  if (job.state == JobState::pending) return "(" + reason_text(job) + ")";
  return nodes_text(job);
}
std::string cpus_text(View job) { return format("{}", cpus_of(job)); }
std::string gres_text(View job) {
  return job.gpu_amount == 0 ? "N/A" : format("gres/gpu:{}", decimal_format(job.gpu_amount, 6));
}
std::string start_text(View job) {
  return date_text(job.start_time ? job.start_time : job.expected_start, "N/A");
}
std::string end_text(View job) {
  if (job.end_time || !job.start_time || job.spec.time_limit_seconds == 0)
    return date_text(job.end_time, "N/A");
  return date_text({job.start_time.microseconds + job.spec.time_limit_seconds * 1'000'000});
}
std::string memory_text(View job) {
  const std::uint64_t bytes = std::max(job.spec.node.memory_bytes, job.spec.task.memory_bytes);
  return bytes == 0 ? "0" : size_format(bytes);
}
std::string state_text(View job) {
  // Who did it is for sacct's readers: "CANCELLED by 1000" has no counterpart.
  return std::string(state_name(job.state));
}
std::string tasks_text(View job) { return format("{}", job.spec.task_count); }
std::string node_count_text(View job) { return format("{}", commands::node_count(job)); }
std::string elapsed_text(View job) { return long_duration(commands::elapsed_of(job)); }
std::string exit_text(View job) { return format("{}:{}", job.exit_code, job.exit_signal); }
std::string array_job_text(View job) {
  return format("{}", (job.array.of ? job.array.of : job.id).value);
}
std::string array_task_text(View job) {
  return job.array.of          ? format("{}", job.array.index)
         : job.spec.is_array() ? job.waiting.text()
                               : "N/A";
}
std::string none(View) { return "(null)"; }
std::string empty(View) { return {}; }

constexpr auto fields = std::to_array<Field>({
    {'i', "jobarrayid", "JOBID", "JobID", 12, [](View job) { return id_text(job); }},
    {'A', "jobid", "JOBID", "JobIDRaw", 12, [](View job) { return format("{}", job.id.value); }},
    {'F', "arrayjobid", "ARRAY_JOB_ID", "", 12, array_job_text},
    {'K', "arraytaskid", "ARRAY_TASK_ID", "", 12, array_task_text},
    {'j', "name", "NAME", "JobName", 10, [](View job) { return job.spec.name; }},
    {'u', "username", "USER", "User", 9, [](View job) { return std::string(job.owner.user); }},
    {'U', "userid", "USER", "UID", 6, [](View job) { return format("{}", job.owner.uid); }},
    {'G', "groupid", "GROUP", "GID", 6, [](View job) { return format("{}", job.owner.gid); }},
    {'g', "groupname", "GROUP", "Group", 9, [](View job) { return format("{}", job.owner.gid); }},
    {'a', "account", "ACCOUNT", "Account", 10,
     [](View job) { return std::string(job.spec.project); }},
    {'P', "partition", "PARTITION", "Partition", 10,
     [](View job) { return std::string(job.spec.queue); }},
    {'t', "statecompact", "ST", "", 2, [](View job) { return std::string(code_of(job.state)); }},
    {'T', "state", "STATE", "State", 10, state_text},
    {'M', "timeused", "TIME", "", 10,
     [](View job) { return elapsed_format(commands::elapsed_of(job)); }},
    {0, "", "", "Elapsed", 10, elapsed_text},
    {0, "", "", "ElapsedRaw", 10,
     [](View job) { return format("{}", job.elapsed_ms / 1000); }},
    {'l', "timelimit", "TIME_LIMIT", "Timelimit", 10, limit_text},
    {0, "", "", "TimelimitRaw", 12,
     [](View job) {
       return job.spec.time_limit_seconds == 0 ? "UNLIMITED"
                                               : format("{}", job.spec.time_limit_seconds / 60);
     }},
    {'L', "timeleft", "TIME_LEFT", "", 10, left_text},
    {'D', "numnodes", "NODES", "NNodes", 8, node_count_text},
    {0, "", "", "AllocNodes", 10, node_count_text},
    {0, "", "", "ReqNodes", 8, node_count_text},
    {'N', "nodelist", "NODELIST", "NodeList", 15, nodes_or_none},
    {'R', "reasonlist", "NODELIST(REASON)", "", 15, nodes_or_reason},
    {'r', "reason", "REASON", "Reason", 22, reason_text},
    {'C', "numcpus", "CPUS", "AllocCPUS", 10, cpus_text},
    {0, "", "", "NCPUS", 10, cpus_text},
    {0, "", "", "ReqCPUS", 8, cpus_text},
    {0, "numtasks", "TASKS", "NTasks", 8, tasks_text},
    {'m', "minmemory", "MIN_MEMORY", "ReqMem", 10, memory_text},
    {'b', "tres-per-node", "TRES_PER_NODE", "", 20, gres_text},
    {0, "gres", "GRES", "", 20, gres_text},
    {0, "tres-alloc", "TRES_ALLOC", "AllocTRES", 10, tres_text},
    {0, "tres", "TRES", "ReqTRES", 10, tres_text},
    {'V', "submittime", "SUBMIT_TIME", "Submit", 19,
     [](View job) { return date_text(job.submit_time); }},
    {0, "", "", "Eligible", 19, [](View job) { return date_text(job.submit_time); }},
    {'S', "starttime", "START_TIME", "", 19, start_text},
    {0, "", "", "Start", 19, [](View job) { return date_text(job.start_time); }},
    {'e', "endtime", "END_TIME", "", 19, end_text},
    {0, "", "", "End", 19, [](View job) { return date_text(job.end_time); }},
    {'E', "dependency", "DEPENDENCY", "", 20,
     [](View job) {
       const std::string text = text_of(job.spec.rules->dependencies);
       return text.empty() ? "(null)" : text;
     }},
    {'k', "comment", "COMMENT", "Comment", 14,
     [](View job) { return std::string(job.spec.rules->comment); }},
    {'p', "priority", "PRIORITY", "", 10,
     [](View job) { return format("{}", job.spec.priority_or_kinds()); }},
    {'Q', "prioritylong", "PRIORITY", "Priority", 10,
     [](View job) { return format("{}", job.spec.priority_or_kinds()); }},
    {'y', "nice", "NICE", "", 10, [](View job) { return format("{}", job.spec.rules->nice); }},
    {'f', "feature", "FEATURES", "Constraints", 12,
     [](View job) {
       return job.spec.nodes->constraint.empty() ? "(null)" : job.spec.nodes->constraint;
     }},
    {'n', "reqnodes", "REQ_NODES", "", 15, [](View job) { return job.spec.nodes->only; }},
    {'x', "excnodes", "EXC_NODES", "", 15, [](View job) { return job.spec.nodes->except; }},
    {'q', "qos", "QOS", "QOS", 10, [](View) { return std::string("normal"); }},
    {'h', "oversubscribe", "OVER_SUBSCRIBE", "", 14, [](View) { return std::string("OK"); }},
    {'B', "batchhost", "EXEC_HOST", "", 10,
     [](View job) { return job.nodes.empty() ? "n/a" : job.nodes.front(); }},
    {'v', "reservation", "RESERVATION", "Reservation", 20, none},
    {'w', "wckey", "WCKEY", "WCKey", 10, none},
    {0, "restartcnt", "RESTART_COUNT", "Restarts", 8,
     [](View job) { return format("{}", job.restarts); }},
    {0, "exit_code", "EXIT_CODE", "ExitCode", 8, exit_text},
    {0, "", "", "DerivedExitCode", 15, exit_text},
    {0, "", "", "Cluster", 10, [](View) { return std::string("rota"); }},
    {0, "", "", "CPUTimeRAW", 10,
     [](View job) {
       return format("{}", job.elapsed_ms / 1000 * static_cast<std::int64_t>(cpus_of(job)));
     }},
    {0, "", "", "CPUTime", 10,
     [](View job) {
       return long_duration(commands::elapsed_of(job) * static_cast<std::int64_t>(cpus_of(job)));
     }},
    // What is not measured here is empty, as it is in Slurm for a job that has not run.
    {0, "", "", "MaxRSS", 10, empty},
    {0, "", "", "AveRSS", 10, empty},
    {0, "", "", "TotalCPU", 10, empty},
    {0, "", "", "UserCPU", 10, empty},
    {0, "", "", "SystemCPU", 10, empty},
    {0, "", "", "ConsumedEnergy", 14,
     [](View job) { return format("{}", job.usage.energy_mj / 1000); }},
    {0, "", "", "WorkDir", 20, empty},
});

const Field* by_letter(char letter) {
  const auto found = std::ranges::find(fields, letter, &Field::letter);
  return found == fields.end() ? nullptr : &*found;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string fitted(std::string text, std::size_t width, bool right, bool plus) {
  if (width == 0) return text;
  if (text.size() > width) {
    text.resize(width);
    if (plus) text.back() = '+';
  }
  const std::string fill(width - text.size(), ' ');
  return right ? fill + text : text + fill;
}

Result<std::vector<Column>> columns_by_letters(std::string_view format_text) {
  std::vector<Column> columns;
  std::string literal;
  for (std::size_t i = 0; i < format_text.size(); ++i) {
    if (format_text[i] != '%' || i + 1 == format_text.size()) {
      literal += format_text[i];
      continue;
    }
    Column column;
    ++i;
    if (format_text[i] == '.') column.right = true, ++i;
    while (i < format_text.size() && is_digit(format_text[i]))
      column.width = std::min<std::size_t>(
          column.width * 10 + static_cast<std::size_t>(format_text[i++] - '0'), 10'000);
    const char letter = i < format_text.size() ? format_text[i] : '\0';
    column.field = by_letter(letter);
    if (column.field == nullptr)
      return Error{Errc::usage, format("invalid job format specification: {}", letter)};
    column.header = column.field->header;
    column.literal = std::exchange(literal, {});
    columns.push_back(std::move(column));
  }
  if (!literal.empty()) columns.push_back({.literal = std::move(literal)});
  return columns;
}

Result<std::vector<Column>> columns_by_names(std::string_view list) {
  std::vector<Column> columns;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    Column column;
    column.width = 20;
    if (const std::size_t colon = one.find(':'); colon != std::string_view::npos) {
      std::string_view width = one.substr(colon + 1);
      if (width.starts_with('.')) column.right = true, width.remove_prefix(1);
      const auto number = number_parse(std::string(width), 10'000);
      if (number) column.width = static_cast<std::size_t>(*number);
      one = one.substr(0, colon);
    }
    const std::string name = lower_case(one);
    const auto found = std::ranges::find(fields, std::string_view(name), &Field::long_name);
    if (name.empty() || found == fields.end())
      return Error{Errc::usage, format("invalid job format specification: {}", one)};
    column.field = &*found;
    column.header = found->header;
    columns.push_back(std::move(column));
  }
  return columns;
}

Result<std::vector<Column>> accounting_columns(std::string_view list) {
  std::vector<Column> columns;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::string name = lower_case(one.substr(0, one.find('%')));
    const auto found = std::ranges::find_if(fields, [&name](const Field& field) {
      return !field.accounting.empty() && lower_case(field.accounting) == name;
    });
    if (found == fields.end())
      return Error{Errc::usage, format("Invalid field requested: \"{}\"", one)};
    Column column{.field = &*found, .header = found->accounting, .right = true};
    column.width = static_cast<std::size_t>(found->width);
    if (const std::size_t percent = one.find('%'); percent != std::string_view::npos) {
      std::string_view width = one.substr(percent + 1);
      if (width.starts_with('-')) column.right = false, width.remove_prefix(1);
      const auto number = number_parse(std::string(width), 10'000);
      if (!number) return Error{Errc::usage, format("{} is no width", quoted(width))};
      column.width = static_cast<std::size_t>(*number);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<std::string_view> accounting_names() {
  std::vector<std::string_view> names;
  for (const Field& field : fields)
    if (!field.accounting.empty()) names.push_back(field.accounting);
  return names;
}

}  // namespace rota::slurm
