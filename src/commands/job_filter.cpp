// commands/job_filter.cpp - reads the lists that choose jobs.
#include "commands/job_filter.h"

#include <unistd.h>

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/names.h"
#include "common/units.h"

namespace rota::commands {
namespace {

Error usage(std::string detail) { return {Errc::usage, std::move(detail)}; }

bool is_all(std::string_view word) { return word == "all" || word == "ALL"; }

}  // namespace

Result<std::vector<std::string>> list_from(std::string_view text) {
  std::vector<std::string> items;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (item.empty()) return usage("an entry of the list is empty");
    if (items.size() == list_size_max)
      return usage(format("the list is too long; at most {} entries are allowed", list_size_max));
    items.emplace_back(item);
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

Result<JobId> job_id_from(std::string_view text) {
  const auto number = number_parse(text, UINT64_MAX);
  if (!number || *number == 0) return usage(format("{} is no job number", quoted(text)));
  return JobId{*number};
}

namespace {

/// "12,13_[1-3,5]" at the commas that stand in no brackets.
std::vector<std::string> jobs_split(std::string_view text) {
  std::vector<std::string> items(1);
  bool in_brackets = false;
  for (const char c : text) {
    if (c == ',' && !in_brackets) {
      items.emplace_back();
      continue;
    }
    in_brackets = c == '[' || (in_brackets && c != ']');
    items.back() += c;
  }
  return items;
}

/// "12_3" or "12_[1-5,7]".
Result<ArrayTasks> tasks_from(std::string_view text, std::size_t line) {
  std::string_view tasks = text.substr(line + 1);
  if (tasks.starts_with('[') && tasks.ends_with(']')) tasks = tasks.substr(1, tasks.size() - 2);
  ArrayTasks made;
  ROTA_TRY(made.array, job_id_from(text.substr(0, line)));
  auto parsed = IndexSet::parse(tasks);
  if (!parsed) return usage(format("{}: {}", quoted(text), parsed.error().detail));
  made.tasks = *std::move(parsed);
  return made;
}

}  // namespace

Result<void> add_jobs(std::string_view text, JobFilter& filter) {
  for (const std::string& item : jobs_split(text)) {
    if (item.empty()) return usage("an entry of the list is empty");
    if (const std::size_t line = item.find('_'); line != std::string::npos) {
      ROTA_TRY(filter.tasks.emplace_back(), tasks_from(item, line));
      if (filter.tasks.size() > list_size_max)
        return usage(format("too many jobs are named; at most {} are allowed", list_size_max));
      continue;
    }
    ROTA_TRY(const auto id, job_id_from(item));
    filter.jobs.push_back(id);
  }
  std::sort(filter.jobs.begin(), filter.jobs.end());
  filter.jobs.erase(std::unique(filter.jobs.begin(), filter.jobs.end()), filter.jobs.end());
  if (filter.jobs.size() > list_size_max)
    return usage(format("too many jobs are named; at most {} are allowed", list_size_max));
  return {};
}

Result<void> add_words(std::string_view text, std::vector<std::string>& words) {
  ROTA_TRY(auto items, list_from(text));
  for (std::string& item : items) words.push_back(std::move(item));
  return {};
}

Result<void> add_states(std::string_view text, JobFilter& filter) {
  ROTA_TRY(const auto items, list_from(text));
  for (const std::string& item : items) {
    if (is_all(item)) {
      filter.ended_too = true;
      continue;
    }
    const auto state = job_state_from(item);
    if (!state)
      return usage(format(
          "{} is no state of a job; known are PENDING, STARTING, RUNNING, "
          "COMPLETING, PREEMPTED, SUSPENDED, COMPLETED, FAILED, CANCELLED, TIMEOUT, NODE_FAIL, "
          "OUT_OF_MEMORY, LAUNCH_FAILED, DEADLINE, their short forms, and all",
          quoted(item)));
    filter.states.push_back(*state);
  }
  return {};
}

std::string own_user() {
  const auto user = user_of_uid(getuid());
  return user && *user ? **user : format("{}", getuid());
}

}  // namespace rota::commands
