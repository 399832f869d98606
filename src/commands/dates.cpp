// commands/dates.cpp - reads sbatch's forms of a date.
#include "commands/dates.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

constexpr std::int64_t seconds_max = 253'370'764'800;  // the year 9999

struct Unit {
  std::string_view name;
  std::int64_t seconds;
};
constexpr std::array units{Unit{"second", 1}, Unit{"minute", 60}, Unit{"hour", 3600},
                           Unit{"day", 86'400}, Unit{"week", 7 * 86'400}};

/// "90", "1hour", "2days".
std::optional<std::int64_t> offset_parse(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const auto number = number_parse(text.substr(0, end), 1'000'000'000);
  if (!number) return std::nullopt;
  if (end == std::string_view::npos) return static_cast<std::int64_t>(*number);
  const std::string_view word = text.substr(end);
  for (const Unit& unit : units)
    if (word == unit.name || (word.ends_with('s') && word.substr(0, word.size() - 1) == unit.name))
      return static_cast<std::int64_t>(*number) * unit.seconds;
  return std::nullopt;
}

/// Exactly these digits with these marks between, as scanf reads them, and nothing behind.
template <class... Numbers>
bool reads(const std::string& text, const char* form, Numbers*... numbers) {
  int end = -1;
  const int count = std::sscanf(text.c_str(), form, numbers..., &end);
  return count == static_cast<int>(sizeof...(numbers)) && end == static_cast<int>(text.size());
}

bool set_clock(const std::string& text, std::tm& time) {
  time.tm_sec = 0;
  if (text == "midnight") {
    time.tm_hour = time.tm_min = 0;
  } else if (text == "noon") {
    time.tm_hour = 12, time.tm_min = 0;
  } else if (text == "teatime") {
    time.tm_hour = 16, time.tm_min = 0;
  } else if (!reads(text, "%2d:%2d:%2d%n", &time.tm_hour, &time.tm_min, &time.tm_sec) &&
             !(time.tm_sec = 0, reads(text, "%2d:%2d%n", &time.tm_hour, &time.tm_min))) {
    return false;
  }
  return time.tm_hour >= 0 && time.tm_hour < 24 && time.tm_min >= 0 && time.tm_min < 60 &&
         time.tm_sec >= 0 && time.tm_sec < 60;
}

bool set_day(const std::string& text, std::tm& time) {
  int year = 0;
  if (reads(text, "%4d-%2d-%2d%n", &year, &time.tm_mon, &time.tm_mday) ||
      (text.size() == 8 && reads(text, "%4d%2d%2d%n", &year, &time.tm_mon, &time.tm_mday))) {
    time.tm_year = year - 1900;
  } else if (reads(text, "%2d/%2d/%2d%n", &time.tm_mon, &time.tm_mday, &year)) {
    time.tm_year = year + 100;
  } else {
    return false;
  }
  --time.tm_mon;
  return time.tm_year >= 70 && time.tm_year < 8000 && time.tm_mon >= 0 && time.tm_mon < 12 &&
         time.tm_mday >= 1 && time.tm_mday <= 31;
}

/// Seconds since 1970 of a local time, whose day may be one too many for its month.
std::optional<std::int64_t> seconds_of(std::tm time) {
  time.tm_isdst = -1;
  const int day = time.tm_mday;
  const std::time_t seconds = std::mktime(&time);
  if (seconds < 0 || time.tm_mday != day) return std::nullopt;
  return seconds;
}

std::optional<std::int64_t> parse(const std::string& text, std::int64_t now) {
  if (text == "now") return now;
  if (text.starts_with("now+")) {
    const auto offset = offset_parse(std::string_view(text).substr(4));
    return offset ? std::optional(now + *offset) : std::nullopt;
  }
  const std::time_t instant = now;
  std::tm time{};
  localtime_r(&instant, &time);
  if (text == "today") return now;
  if (text == "tomorrow") {
    ++time.tm_mday;
    time.tm_isdst = -1;
    return std::mktime(&time);
  }
  if (set_clock(text, time)) {
    const auto today = seconds_of(time);
    if (today && *today > now) return today;
    ++time.tm_mday;
    time.tm_isdst = -1;
    return std::mktime(&time);
  }
  localtime_r(&instant, &time);
  const std::size_t mark = text.find('T');
  if (!set_day(text.substr(0, mark), time)) return std::nullopt;
  time.tm_hour = time.tm_min = time.tm_sec = 0;
  if (mark != std::string::npos && !set_clock(text.substr(mark + 1), time)) return std::nullopt;
  return seconds_of(time);
}

}  // namespace

Result<WallTime> date_parse(std::string_view text, WallTime now) {
  const auto seconds = parse(std::string(text), now.microseconds / 1'000'000);
  if (!seconds || *seconds < 0 || *seconds > seconds_max)
    return Error{Errc::usage,
                 format("{} is no date; write 16:00, 2026-11-18, 2026-11-18T09:30, tomorrow, noon, "
                        "midnight, teatime, or now+90, now+2hours",
                        quoted(text))};
  return WallTime{*seconds * 1'000'000};
}

}  // namespace rota::commands
