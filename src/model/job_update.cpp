// model/job_update.cpp - the keys of `rota update job`.
#include "model/job_update.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"

namespace rota {
namespace {

using Value = std::string_view;

Error wrong(std::string detail) { return {Errc::invalid_argument, std::move(detail)}; }

Result<std::uint32_t> count_from(Value value, std::uint64_t max) {
  const auto number = number_parse(value, max);
  if (!number) return wrong(format("{} is no number from 0 to {}", quoted(value), max));
  return static_cast<std::uint32_t>(*number);
}

Result<WallTime> date_from(Value value) {
  if (value == "none") return WallTime{};
  const auto seconds = number_parse(value, 253'402'300'799);  // the year 9999
  if (!seconds) return wrong(format("{} is no date", quoted(value)));
  return WallTime{static_cast<std::int64_t>(*seconds) * 1'000'000};
}

Result<bool> yes_or_no(Value value) {
  if (value == "yes" || value == "1") return true;
  if (value == "no" || value == "0") return false;
  return wrong(format("{} is neither yes nor no", quoted(value)));
}

Result<void> set_time(JobSpec& spec, Value value) {
  ROTA_TRY(const Duration limit, time_limit_parse(value));
  spec.time_limit_seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
  return {};
}

Result<void> set_priority(JobSpec& spec, Value value) {
  const auto priority = priority_from(value);
  if (!priority)
    return wrong(format("{} is no priority: 1 to {}, or a name from very-low to very-high",
                        quoted(value), JobBounds::priority_max));
  spec.priority = *priority;
  return {};
}

Result<void> set_nice(JobSpec& spec, Value value) {
  const bool is_negative = value.starts_with('-');
  ROTA_TRY(const auto number, count_from(value.substr(is_negative ? 1 : 0), RuleBounds::nice_max));
  spec.rules.edit().nice =
      is_negative ? -static_cast<std::int32_t>(number) : static_cast<std::int32_t>(number);
  return {};
}

Result<void> set_dependency(JobSpec& spec, Value value) {
  if (value.empty() || value == "none") {
    spec.rules.edit().dependencies = {};
    return {};
  }
  ROTA_TRY(spec.rules.edit().dependencies, dependencies_parse(value));
  return {};
}

Result<void> set_label(JobSpec& spec, Value value) {
  ROTA_TRY(Label label, label_parse(value));
  std::vector<Label>& labels = spec.rules.edit().labels;
  const auto known = std::find_if(labels.begin(), labels.end(),
                                  [&label](const Label& each) { return each.key == label.key; });
  if (known != labels.end())
    *known = std::move(label);
  else
    labels.push_back(std::move(label));
  return {};
}

constexpr auto keys =
    std::to_array<JobUpdateKey>(
        {
            {"name", "the job's name", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.name = value;
               return {};
             }},
            {"time", "its time limit, as of rsubmit -t; longer ones are for administrators", true,
             set_time},
            {"priority", "1 and more, or very-low to very-high", false, set_priority},
            {"nice", "so much below its priority", false, set_nice},
            {"comment", "a text for people", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.rules.edit().comment = value;
               return {};
             }},
            {"label", "KEY=VALUE; others stay", true, set_label},
            {"begin", "the date before which it does not start, or none", false,
             [](JobSpec& spec, Value value) -> Result<void> {
               ROTA_TRY(spec.rules.edit().begin, date_from(value));
               return {};
             }},
            {"deadline", "the date by which it is over, or none", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               ROTA_TRY(spec.rules.edit().deadline, date_from(value));
               return {};
             }},
            {"dependency", "as of rsubmit -d, or none", false, set_dependency},
            {"array-parallel", "tasks of an array at a time; 0: no bound", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               ROTA_TRY(spec.rules.edit().array.parallel_max, count_from(value, UINT32_MAX));
               return {};
             }},
            {"requeue", "yes or no: may start again after its node failed", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               ROTA_TRY(spec.requeue, yes_or_no(value));
               return {};
             }},
            {"retries", "how often it is started again after it failed", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               ROTA_TRY(spec.rules.edit().retries, count_from(value, RuleBounds::retries_max));
               return {};
             }},
            {"queue", "the queue that it goes through", false,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.queue = value;
               return {};
             }},
            {"project", "the project that it belongs to", false,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.project = value;
               return {};
             }},
            {"nodelist", "only these nodes; \"\": any", false,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.nodes.edit().only = value;
               return {};
             }},
            {"exclude", "not these nodes", false,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.nodes.edit().except = value;
               return {};
             }},
            {"constraint", "only nodes of these types or groups", false,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.nodes.edit().constraint = value;
               return {};
             }},
            {"mail-type", "as of rsubmit --mail-type", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               ROTA_TRY(spec.rules.edit().mail_events, mail_events_parse(value));
               return {};
             }},
            {"mail-user", "who gets the mail", true,
             [](JobSpec& spec, Value value) -> Result<void> {
               spec.rules.edit().mail_user = value;
               return {};
             }},
        });

Error unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const JobUpdateKey& key : keys) names.push_back(key.name);
  const auto near = nearest(name, names);
  return wrong(near.empty() ? format("a job has no {} that could be changed; known are {}",
                                     quoted(name), fmt::join(names, ", "))
                            : format("a job has no {} that could be changed; did you mean {}?",
                                     quoted(name), near));
}

}  // namespace

std::span<const JobUpdateKey> job_update_keys() { return keys; }

Result<JobSpec> job_updated(JobSpec spec, const std::vector<OrgSetting>& settings,
                            bool is_waiting) {
  if (settings.empty()) return wrong("nothing to change: give KEY=VALUE");
  for (const OrgSetting& setting : settings) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&setting](const JobUpdateKey& each) {
      return each.name == setting.key;
    });
    if (key == keys.end()) return unknown(setting.key);
    if (!is_waiting && !key->while_running)
      return wrong(format("{} can be changed only while the job waits", key->name));
    if (setting.words.size() != 1) return wrong(format("{} takes one value", key->name));
    if (auto applied = key->apply(spec, setting.words.front()); !applied)
      return wrong(format("{}: {}", key->name, applied.error().detail));
  }
  spec.nodes.tidy();
  spec.rules.tidy();
  return spec;
}

}  // namespace rota
