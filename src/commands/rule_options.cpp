// commands/rule_options.cpp - reads arrays, dependencies, dates, labels and whom to tell.
#include "commands/rule_options.h"

#include <algorithm>

#include "commands/dates.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

template <class T>
Result<void> take(const Given& given, Result<T> parsed, T& target) {
  if (!parsed) return bad_value(given, parsed.error().detail);
  target = *std::move(parsed);
  return {};
}

Result<std::uint32_t> count_from(const Given& given, std::uint64_t min, std::uint64_t max) {
  const auto number = number_parse(given.value, max);
  if (!number || *number < min)
    return bad_value(given, format("{} is no number from {} to {}", quoted(given.value), min, max));
  return static_cast<std::uint32_t>(*number);
}

/// The bounds of an array may be given before it.
Result<void> apply_array(const Given& given, JobRules& rules) {
  ArrayWish array;
  ROTA_CHECK(take(given, array_parse(given.value), array));
  if (array.parallel_max == 0) array.parallel_max = rules.array.parallel_max;
  array.successes_max = rules.array.successes_max;
  rules.array = std::move(array);
  return {};
}

/// Run:ai's completions: so many have to end well. Without --array it may take as many tries again.
Result<void> apply_runs(const Given& given, JobRules& rules) {
  ROTA_TRY(rules.array.successes_max, count_from(given, 1, RuleBounds::array_tasks_max));
  if (rules.array.tasks.empty()) rules.array.tasks = IndexSet::of(0, rules.array.successes_max - 1);
  return {};
}

/// Slurm's bare --nice is 100.
Result<void> apply_nice(const Given& given, JobRules& rules) {
  if (given.value.empty()) {
    rules.nice = 100;
    return {};
  }
  const bool is_negative = given.value.starts_with('-');
  const auto number =
      number_parse(std::string_view(given.value).substr(is_negative ? 1 : 0), RuleBounds::nice_max);
  if (!number)
    return bad_value(given, format("{} is no number from -{} to {}", quoted(given.value),
                                   RuleBounds::nice_max, RuleBounds::nice_max));
  rules.nice = static_cast<std::int32_t>(*number) * (is_negative ? -1 : 1);
  return {};
}

Result<void> apply_label(const Given& given, JobRules& rules) {
  Label label;
  ROTA_CHECK(take(given, label_parse(given.value), label));
  std::erase_if(rules.labels, [&label](const Label& each) { return each.key == label.key; });
  rules.labels.push_back(std::move(label));
  return {};
}

/// Slurm's other ways of sharing are not ours.
Result<void> apply_exclusive(const Given& given, JobRules& rules) {
  if (!given.value.empty() && given.value != "node")
    return bad_value(given, format("{} is not known here: a node is shared with every job or with "
                                   "none; write --exclusive for none",
                                   quoted(given.value)));
  rules.exclusive = true;
  return {};
}

Result<void> apply_kill(const Given& given, JobRules& rules) {
  if (given.value != "yes" && given.value != "no") return bad_value(given, "write yes or no");
  rules.kill_on_invalid_dependency = given.value == "yes";
  return {};
}

}  // namespace

Result<void> apply_rule(const Given& given, JobRules& rules, WallTime now) {
  switch (given.option->id) {
    case id_array:
      return apply_array(given, rules);
    case id_runs:
      return apply_runs(given, rules);
    case id_parallelism: {
      ROTA_TRY(rules.array.parallel_max, count_from(given, 1, UINT32_MAX));
      return {};
    }
    case id_dependency:
      return take(given, dependencies_parse(given.value), rules.dependencies);
    case id_kill_on_invalid:
      return apply_kill(given, rules);
    case id_begin:
      return take(given, date_parse(given.value, now), rules.begin);
    case id_deadline:
      return take(given, date_parse(given.value, now), rules.deadline);
    case id_hold:
      rules.held = true;
      return {};
    case id_nice:
      return apply_nice(given, rules);
    case id_comment:
      rules.comment = given.value;
      return {};
    case id_label:
      return apply_label(given, rules);
    case id_retries: {
      ROTA_TRY(rules.retries, count_from(given, 0, RuleBounds::retries_max));
      return {};
    }
    case id_mail_type:
      return take(given, mail_events_parse(given.value), rules.mail_events);
    case id_mail_user:
      rules.mail_user = given.value;
      return {};
    case id_webhook:
      rules.webhook = given.value;
      if (rules.mail_events == 0) rules.mail_events = mail_end | mail_fail;
      return {};
    case id_exclusive:
      return apply_exclusive(given, rules);
    default:
      return {};
  }
}

}  // namespace rota::commands
