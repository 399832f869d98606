// commands/log_lines.cpp - times in text, and what they decide.
#include "commands/log_lines.h"

#include <ctime>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

/// So much is looked through for a first time.
constexpr std::size_t unsure_max = 64 << 10;

/// Takes `count` digits off the front.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return number;
}
bool skip(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// "2026-11-17" into the fields of a broken-down time.
bool take_date(std::string_view& text, std::tm& time) {
  const auto year = digits(text, 4);
  if (!year || !skip(text, "-")) return false;
  const auto month = digits(text, 2);
  if (!month || !skip(text, "-")) return false;
  const auto day = digits(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
  time.tm_year = *year - 1900;
  time.tm_mon = *month - 1;
  time.tm_mday = *day;
  return true;
}

/// "12:30" or "12:30:05".
bool take_clock(std::string_view& text, std::tm& time, bool needs_seconds) {
  const auto hour = digits(text, 2);
  if (!hour || !skip(text, ":")) return false;
  const auto minute = digits(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return false;
  time.tm_hour = *hour;
  time.tm_min = *minute;
  if (!skip(text, ":")) return !needs_seconds;
  const auto second = digits(text, 2);
  if (!second || *second > 60) return false;
  time.tm_sec = *second;
  return true;
}

WallTime local(std::tm time) {
  time.tm_isdst = -1;
  return {std::int64_t{std::mktime(&time)} * 1'000'000};
}

}  // namespace

Result<WallTime> since_from(std::string_view text, WallTime now) {
  std::string_view rest = text;
  std::tm time{};
  if (take_date(rest, time)) {
    if (rest.empty()) return local(time);
    if (skip(rest, "T ") && take_clock(rest, time, false) && rest.empty()) return local(time);
  }
  const std::time_t today = static_cast<std::time_t>(now.microseconds / 1'000'000);
  localtime_r(&today, &time);
  time.tm_sec = 0;
  rest = text;
  if (take_clock(rest, time, false) && rest.empty()) return local(time);
  if (const auto ago = duration_parse(text))
    return WallTime{now.microseconds - *ago / std::chrono::microseconds(1)};
  return Error{Errc::usage,
               format("{} is no time: write 10m (ago), 12:30 or 2026-11-17T12:30", quoted(text))};
}

std::optional<WallTime> time_of_line(std::string_view line) {
  skip(line, "[");
  std::tm time{};
  if (!take_date(line, time) || !skip(line, "T ") || !take_clock(line, time, true))
    return std::nullopt;
  std::int64_t microseconds = 0;
  if (skip(line, ".,")) {
    std::int64_t unit = 100'000;
    for (; !line.empty() && line.front() >= '0' && line.front() <= '9'; line.remove_prefix(1)) {
      microseconds += (line.front() - '0') * unit;
      unit /= 10;
    }
  }
  const char zone = line.empty() ? ' ' : line.front();
  if (zone != 'Z' && zone != '+' && zone != '-')
    return WallTime{local(time).microseconds + microseconds};
  std::int64_t seconds = timegm(&time);
  line.remove_prefix(1);
  if (zone != 'Z') {
    const auto hours = digits(line, 2);
    skip(line, ":");
    const auto minutes = digits(line, 2);
    if (!hours || !minutes) return std::nullopt;
    const int offset = *hours * 3600 + *minutes * 60;
    seconds -= zone == '+' ? offset : -offset;
  }
  return WallTime{seconds * 1'000'000 + microseconds};
}

void LogLines::give(std::string_view line, WallTime now, std::string& out) const {
  if (timestamps_) out += rfc3339(now) + ' ';
  out += line;
}

void LogLines::take_line(std::string_view line, WallTime now, std::string& out) {
  if (!since_ || (is_open_ && !has_times_)) return give(line, now, out);
  const auto time = time_of_line(line);
  if (time) {
    has_times_ = true;
    unsure_.clear();
    // What was written late may carry an earlier time: once it has begun, it goes on.
    if (*time >= *since_) is_open_ = true;
  }
  if (is_open_) return give(line, now, out);
  if (has_times_) return;
  unsure_ += line;
  if (unsure_.size() < unsure_max) return;
  is_open_ = true;
  const std::string all = std::exchange(unsure_, {});
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
    give(std::string_view(all).substr(at, end - at), now, out);
    at = end;
  }
}

std::string LogLines::take(std::string_view bytes, WallTime now) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      part_ += bytes;
      break;
    }
    const std::string_view line = bytes.substr(0, end + 1);
    if (part_.empty()) {
      take_line(line, now, out);
    } else {
      part_ += line;
      take_line(std::exchange(part_, {}), now, out);
    }
    bytes.remove_prefix(end + 1);
  }
  return out;
}

std::string LogLines::rest(WallTime now) {
  std::string out;
  if (!part_.empty()) take_line(std::exchange(part_, {}), now, out);
  if (unsure_.empty()) return out;
  is_open_ = true;
  for (std::string_view all = unsure_; !all.empty();) {
    const std::size_t end = std::min(all.find('\n'), all.size() - 1) + 1;
    give(all.substr(0, end), now, out);
    all.remove_prefix(end);
  }
  unsure_.clear();
  return out;
}

}  // namespace rota::commands
