// model/job_rules.cpp - reads and writes what --dependency, --array, --mail-type and --label say.
#include "model/job_rules.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota {
namespace {

struct KindWord {
  DependencyKind kind;
  std::string_view name;
};
constexpr std::array kind_words{
    KindWord{DependencyKind::after, "after"},
    KindWord{DependencyKind::after_ok, "afterok"},
    KindWord{DependencyKind::after_any, "afterany"},
    KindWord{DependencyKind::after_not_ok, "afternotok"},
    KindWord{DependencyKind::after_corr, "aftercorr"},
    KindWord{DependencyKind::singleton, "singleton"},
};

struct MailWord {
  std::uint32_t event;
  std::string_view name;
};
constexpr std::array mail_words{
    MailWord{mail_begin, "BEGIN"},
    MailWord{mail_end, "END"},
    MailWord{mail_fail, "FAIL"},
    MailWord{mail_requeue, "REQUEUE"},
    MailWord{mail_time_limit, "TIME_LIMIT"},
    MailWord{mail_time_limit_90, "TIME_LIMIT_90"},
    MailWord{mail_time_limit_80, "TIME_LIMIT_80"},
    MailWord{mail_time_limit_50, "TIME_LIMIT_50"},
    MailWord{mail_invalid_depend, "INVALID_DEPEND"},
    MailWord{mail_array_tasks, "ARRAY_TASKS"},
};
constexpr std::uint32_t mail_all =
    mail_begin | mail_end | mail_fail | mail_requeue | mail_invalid_depend;

Error wrong(std::string detail) { return {Errc::invalid_argument, std::move(detail)}; }
Error invalid(std::string detail) { return {Errc::job_invalid, std::move(detail)}; }

constexpr std::string_view dependency_form =
    "write afterok:12, afterany:12:13, afternotok:12, after:12+5, aftercorr:12 or singleton, with "
    "',' between for all of them or '?' for any of them";

/// "12", "12_3", and of `after` "12+5".
Result<Dependency> dependency_of(DependencyKind kind, std::string_view text) {
  Dependency made;
  made.kind = kind;
  std::string_view id = text;
  if (const std::size_t plus = id.find('+'); plus != std::string_view::npos) {
    const auto minutes = number_parse(id.substr(plus + 1), RuleBounds::delay_seconds_max / 60);
    if (kind != DependencyKind::after || !minutes)
      return wrong(
          format("{}: only 'after' takes a delay in minutes; {}", quoted(text), dependency_form));
    made.delay_seconds = static_cast<std::int64_t>(*minutes) * 60;
    id = id.substr(0, plus);
  }
  if (const std::size_t line = id.find('_'); line != std::string_view::npos) {
    const auto task = number_parse(id.substr(line + 1), IndexSet::index_max);
    if (!task || kind == DependencyKind::after_corr)
      return wrong(format("{} is no task of an array; {}", quoted(text), dependency_form));
    made.is_task = true;
    made.task = static_cast<std::uint32_t>(*task);
    id = id.substr(0, line);
  }
  const auto number = number_parse(id, UINT64_MAX);
  if (!number || *number == 0)
    return wrong(format("{} is no job number; {}", quoted(text), dependency_form));
  made.job = JobId{*number};
  return made;
}

/// "afterok:12:13" or "singleton".
Result<void> add_dependencies(std::string_view text, std::vector<Dependency>& all) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto known = std::find_if(kind_words.begin(), kind_words.end(),
                                  [word](const KindWord& each) { return each.name == word; });
  if (known == kind_words.end())
    return wrong(format("{} is no kind of dependency; {}", quoted(word), dependency_form));
  if ((known->kind == DependencyKind::singleton) != (colon == std::string_view::npos))
    return wrong(format(
        "{} {}; {}", quoted(text),
        known->kind == DependencyKind::singleton ? "names jobs, and needs none" : "names no job",
        dependency_form));
  if (colon == std::string_view::npos) {
    all.push_back({.kind = DependencyKind::singleton});
    return {};
  }
  for (std::string_view rest = text.substr(colon + 1);;) {
    const std::size_t next = rest.find(':');
    ROTA_TRY(all.emplace_back(), dependency_of(known->kind, rest.substr(0, next)));
    if (all.size() > RuleBounds::dependencies_max)
      return wrong(format("more than {} dependencies", RuleBounds::dependencies_max));
    if (next == std::string_view::npos) return {};
    rest.remove_prefix(next + 1);
  }
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<void> check_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max)
    return invalid(format("{} has {} bytes, at most {} are allowed", what, text.size(), bytes_max));
  if (has_control(text)) return invalid(format("{} has a control character", what));
  return {};
}

/// What goes to a program as one word must not look like one of its options, and be one address.
Result<void> check_mail_user(std::string_view address) {
  ROTA_CHECK(check_text("the mail address", address, RuleBounds::address_bytes_max));
  if (address.empty()) return {};
  const bool is_plain = std::all_of(address.begin(), address.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("@._+-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!is_plain || address.front() == '-')
    return invalid(format("{} is no mail address; write name or name@host", quoted(address)));
  return {};
}

Result<void> check_webhook(std::string_view url) {
  ROTA_CHECK(check_text("the webhook", url, RuleBounds::url_bytes_max));
  if (url.empty() || url.starts_with("https://") || url.starts_with("http://")) return {};
  return invalid(format("the webhook {} is no http:// or https:// address", quoted(url)));
}

}  // namespace

std::string_view name_of(DependencyKind kind) {
  for (const KindWord& word : kind_words)
    if (word.kind == kind) return word.name;
  return "unknown";
}

Result<Dependencies> dependencies_parse(std::string_view text) {
  Dependencies made;
  const bool has_any = text.find('?') != std::string_view::npos;
  if (has_any && text.find(',') != std::string_view::npos)
    return wrong(format("{} has both ',' (all) and '?' (any); use one of them", quoted(text)));
  made.any = has_any;
  const char separator = has_any ? '?' : ',';
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find(separator);
    ROTA_CHECK(add_dependencies(rest.substr(0, end), made.all));
    if (end == std::string_view::npos) return made;
    rest.remove_prefix(end + 1);
  }
}

std::string text_of(const Dependency& dependency) {
  if (dependency.kind == DependencyKind::singleton) return "singleton";
  std::string text = format("{}:{}", name_of(dependency.kind), dependency.job.value);
  if (dependency.is_task) text += format("_{}", dependency.task);
  if (dependency.delay_seconds > 0) text += format("+{}", dependency.delay_seconds / 60);
  return text;
}

std::string text_of(const Dependencies& dependencies) {
  std::string text;
  for (const Dependency& each : dependencies.all) {
    if (!text.empty()) text += dependencies.any ? '?' : ',';
    text += text_of(each);
  }
  return text;
}

Result<ArrayWish> array_parse(std::string_view text) {
  ArrayWish made;
  const std::size_t percent = text.find('%');
  const std::string_view tasks = text.substr(0, percent);
  ROTA_TRY(made.tasks, IndexSet::parse(tasks));
  if (percent != std::string_view::npos) {
    const auto most = number_parse(text.substr(percent + 1), UINT32_MAX);
    if (!most || *most == 0)
      return wrong(
          format("{}: behind % stands how many tasks may run at a time, 1 or more", quoted(text)));
    made.parallel_max = static_cast<std::uint32_t>(*most);
  }
  if (tasks.find(',') == std::string_view::npos)
    if (const std::size_t colon = tasks.find(':'); colon != std::string_view::npos)
      made.step = static_cast<std::uint32_t>(*number_parse(tasks.substr(colon + 1), UINT32_MAX));
  return made;
}

std::string text_of(const ArrayWish& array) {
  std::string text = array.tasks.text();
  if (array.parallel_max > 0) text += format("%{}", array.parallel_max);
  return text;
}

Result<std::uint32_t> mail_events_parse(std::string_view text) {
  std::uint32_t events = 0;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    std::string word(rest.substr(0, comma));
    for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const auto known = std::find_if(mail_words.begin(), mail_words.end(),
                                    [&word](const MailWord& each) { return each.name == word; });
    if (known != mail_words.end())
      events |= known->event;
    else if (word == "ALL")
      events |= mail_all;
    else if (word != "NONE")
      return wrong(
          format("{} is no event to be told of; known are NONE, BEGIN, END, FAIL, REQUEUE, ALL, "
                 "TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50, INVALID_DEPEND, "
                 "ARRAY_TASKS",
                 quoted(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return events;
    rest.remove_prefix(comma + 1);
  }
}

std::string mail_events_text(std::uint32_t events) {
  std::string text;
  for (const MailWord& word : mail_words)
    if ((events & word.event) != 0) text += (text.empty() ? "" : ",") + std::string(word.name);
  return text;
}

Result<Label> label_parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  Label label{std::string(text.substr(0, equals)), {}};
  if (equals != std::string_view::npos) label.value = text.substr(equals + 1);
  if (label.key.empty())
    return wrong(format("{} is no label; write KEY=VALUE or KEY", quoted(text)));
  return label;
}

Result<void> validate(const JobRules& rules) {
  const Dependencies& dependencies = rules.dependencies;
  if (dependencies.all.size() > RuleBounds::dependencies_max)
    return invalid(format("{} dependencies, at most {} are allowed", dependencies.all.size(),
                          RuleBounds::dependencies_max));
  for (const Dependency& each : dependencies.all) {
    if (name_of(each.kind) == "unknown") return invalid("a dependency is of an unknown kind");
    if ((each.kind == DependencyKind::singleton) == bool(each.job))
      return invalid(format("the dependency {} names no job", text_of(each)));
    if (each.delay_seconds < 0 || each.delay_seconds > RuleBounds::delay_seconds_max)
      return invalid(format("the dependency {} has a delay beyond a year", text_of(each)));
    if (each.kind == DependencyKind::after_corr && (rules.array.tasks.empty() || dependencies.any))
      return invalid(
          "aftercorr is between the tasks of two arrays: give --array, and no '?' beside it");
  }
  if (rules.nice < -RuleBounds::nice_max || rules.nice > RuleBounds::nice_max)
    return invalid(format("nice is {}, it must be {} to {}", rules.nice, -RuleBounds::nice_max,
                          RuleBounds::nice_max));
  if (rules.retries > RuleBounds::retries_max)
    return invalid(
        format("{} retries, at most {} are allowed", rules.retries, RuleBounds::retries_max));
  if (!rules.array.tasks.is_sound()) return invalid("the tasks of the array are out of order");
  if (rules.array.tasks.size() > RuleBounds::array_tasks_max)
    return invalid(format("an array of {} tasks, at most {} are allowed", rules.array.tasks.size(),
                          RuleBounds::array_tasks_max));
  if (rules.array.tasks.empty() && (rules.array.parallel_max > 0 || rules.array.successes_max > 0))
    return invalid("only an array has bounds on its tasks: give --array");
  ROTA_CHECK(check_text("the comment", rules.comment, RuleBounds::comment_bytes_max));
  if (rules.labels.size() > RuleBounds::labels_max)
    return invalid(
        format("{} labels, at most {} are allowed", rules.labels.size(), RuleBounds::labels_max));
  for (const Label& label : rules.labels) {
    if (label.key.empty()) return invalid("a label has no key");
    ROTA_CHECK(check_text("the label's key", label.key, RuleBounds::label_bytes_max));
    ROTA_CHECK(check_text("the label's value", label.value, RuleBounds::label_bytes_max));
  }
  ROTA_CHECK(check_mail_user(rules.mail_user));
  ROTA_CHECK(check_webhook(rules.webhook));
  return {};
}

}  // namespace rota
