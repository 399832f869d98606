// common/units.cpp - reads and writes durations, sizes and dates.
#include "common/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <limits>
#include <vector>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota {
namespace {

/// Wide enough for the product of any two 64-bit numbers: one check at the end is enough.
__extension__ typedef unsigned __int128 Wide;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error invalid(std::string detail) { return {Errc::invalid_argument, std::move(detail)}; }

struct DurationUnit {
  std::string_view name;
  std::int64_t nanoseconds;
};
/// Largest first: the order in which they may be combined.
constexpr std::array<DurationUnit, 7> duration_units{{{"d", 86'400'000'000'000},
                                                      {"h", 3'600'000'000'000},
                                                      {"m", 60'000'000'000},
                                                      {"s", 1'000'000'000},
                                                      {"ms", 1'000'000},
                                                      {"us", 1'000},
                                                      {"ns", 1}}};
/// A hundred years: more is a typing error, and sums of two still fit into 64 bits.
constexpr std::int64_t duration_max = 36'500LL * 86'400'000'000'000;

/// Takes the digits at the front of `text`. What no 64-bit number holds comes back as 2^64, so that
/// the caller's own limit speaks.
Wide take_number(std::string_view& text) {
  Wide number = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1))
    number = std::min(number * 10 + static_cast<unsigned>(text.front() - '0'), Wide{1} << 64);
  return number;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  const std::string_view letters = text.substr(0, end);
  text.remove_prefix(end);
  return letters;
}

Result<Duration> duration_from(Wide nanoseconds, std::string_view text) {
  if (nanoseconds > static_cast<Wide>(duration_max))
    return invalid(format("duration {} is over 36500d", quoted(text)));
  return Duration(static_cast<std::int64_t>(nanoseconds));
}

Error duration_error(std::string_view text) {
  return invalid(
      format("{} is no duration; write a number and a unit, such as 90s, 1h30m, 2d or 500ms",
             quoted(text)));
}

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<SizeUnit, 7> size_units{{{"B", 1},
                                              {"KiB", std::uint64_t{1} << 10},
                                              {"MiB", std::uint64_t{1} << 20},
                                              {"GiB", std::uint64_t{1} << 30},
                                              {"TiB", std::uint64_t{1} << 40},
                                              {"PiB", std::uint64_t{1} << 50},
                                              {"EiB", std::uint64_t{1} << 60}}};

/// "g", "gb" and "gib" in any case; nothing for a unit we do not know.
std::uint64_t size_unit_bytes(std::string_view name) {
  const std::string wanted = lower_case(name);
  for (const SizeUnit& unit : size_units) {
    const std::string full = lower_case(unit.name);
    if (wanted == full || wanted == full.substr(0, 1)) return unit.bytes;
    if (full.size() == 3 && wanted == std::string{full[0], 'b'}) return unit.bytes;
  }
  return 0;
}

/// "h:m:s" or less into fields; at most three.
Result<std::vector<Wide>> colon_fields(std::string_view fields, std::string_view text) {
  std::vector<Wide> numbers;
  while (true) {
    if (fields.empty() || !is_digit(fields.front()) || numbers.size() == 3) break;
    numbers.push_back(take_number(fields));
    if (fields.empty()) return numbers;
    if (fields.front() != ':') break;
    fields.remove_prefix(1);
  }
  return invalid(
      format("{} is no time limit; write minutes, h:m:s, d-h:m:s or a duration such as 90m",
             quoted(text)));
}

}  // namespace

Result<Duration> duration_parse(std::string_view text) {
  if (text == "0") return Duration(0);
  std::string_view rest = text;
  Wide total = 0;
  auto allowed = duration_units.begin();
  while (!rest.empty()) {
    if (!is_digit(rest.front())) return duration_error(text);
    const std::string_view before = rest;
    const Wide number = take_number(rest);
    const std::string_view digits = before.substr(0, before.size() - rest.size());
    if (rest.empty())
      return invalid(format("{} has no unit; write {}s, {}m, {}h or {}d (also ms)", quoted(text),
                            digits.substr(0, 20), digits.substr(0, 20), digits.substr(0, 20),
                            digits.substr(0, 20)));
    const std::string_view name = take_letters(rest);
    const auto known = [name](const DurationUnit& unit) { return unit.name == name; };
    const auto unit = std::find_if(duration_units.begin(), duration_units.end(), known);
    if (name.empty()) return duration_error(text);
    if (unit == duration_units.end())
      return invalid(
          format("{} in {} is no unit of time; ms, s, m, h and d are", quoted(name), quoted(text)));
    if (unit < allowed)
      return invalid(
          format("{} has its units out of order; write the largest first, each once, as in "
                 "1h30m",
                 quoted(text)));
    allowed = unit + 1;
    total += number * static_cast<Wide>(unit->nanoseconds);
  }
  if (text.empty()) return duration_error(text);
  return duration_from(total, text);
}

std::string duration_format(Duration duration) {
  if (duration.count() == 0) return "0s";
  std::string text = duration.count() < 0 ? "-" : "";
  // Unsigned, because the smallest 64-bit number has no positive twin.
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration.count() < 0) rest = 0 - rest;
  for (const DurationUnit& unit : duration_units) {
    const auto size = static_cast<std::uint64_t>(unit.nanoseconds);
    if (rest >= size) text += format("{}{}", rest / size, unit.name);
    rest %= size;
  }
  return text;
}

Result<Duration> time_limit_parse(std::string_view text) {
  const std::string lower = lower_case(text.substr(0, 16));
  if (lower == "infinite" || lower == "unlimited") return Duration(0);
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) &&
      is_digit(text.front()))
    return duration_parse(text);
  std::string_view rest = text;
  Wide seconds = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    std::string_view days = rest.substr(0, dash);
    rest.remove_prefix(dash + 1);
    ROTA_TRY(const auto day_fields, colon_fields(days, text));
    ROTA_TRY(auto fields, colon_fields(rest, text));
    if (day_fields.size() != 1) return colon_fields("", text).error();
    fields.resize(3);
    seconds = day_fields[0] * 86400 + fields[0] * 3600 + fields[1] * 60 + fields[2];
  } else {
    ROTA_TRY(const auto fields, colon_fields(rest, text));
    if (fields.size() == 3)
      seconds = fields[0] * 3600 + fields[1] * 60 + fields[2];
    else
      seconds = fields[0] * 60 + (fields.size() == 2 ? fields[1] : 0);
  }
  return duration_from(std::min(seconds, Wide{1} << 64) * 1'000'000'000, text);
}

std::string elapsed_format(Duration duration) {
  const std::int64_t seconds = std::max<std::int64_t>(0, duration / std::chrono::seconds(1));
  const std::int64_t days = seconds / 86400;
  const std::int64_t hours = seconds / 3600 % 24;
  const std::int64_t minutes = seconds / 60 % 60;
  if (days > 0) return format("{}-{:02}:{:02}:{:02}", days, hours, minutes, seconds % 60);
  if (hours > 0) return format("{:02}:{:02}:{:02}", hours, minutes, seconds % 60);
  return format("{}:{:02}", minutes, seconds % 60);
}

Result<std::uint64_t> size_parse(std::string_view text) { return size_parse(text, 1); }

Result<std::uint64_t> size_parse(std::string_view text, std::uint64_t unit) {
  const auto error = [text] {
    return invalid(
        format("{} is no size; write a number with K, M, G, T or P (powers of 1024), such as "
               "512M, 32GiB or 1.5T",
               quoted(text)));
  };
  std::string_view rest = text;
  if (rest.empty() || !is_digit(rest.front())) return error();
  const Wide whole = take_number(rest);
  std::uint64_t fraction = 0;
  std::uint64_t fraction_of = 1;
  const bool has_point = !rest.empty() && rest.front() == '.';
  if (has_point) {
    rest.remove_prefix(1);
    if (rest.empty() || !is_digit(rest.front())) return error();
    for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
      if (fraction_of >= 1'000'000'000) continue;  // finer than any unit needs
      fraction = fraction * 10 + static_cast<std::uint64_t>(rest.front() - '0');
      fraction_of *= 10;
    }
  }
  const std::uint64_t bytes = rest.empty() ? unit : size_unit_bytes(rest);
  if (bytes == 0) return error();
  if (has_point && bytes == 1)
    return invalid(format("{} is part of a byte; give it a unit, such as 1.5G", quoted(text)));
  const Wide total = whole * bytes + Wide{fraction} * bytes / fraction_of;
  if (total > std::numeric_limits<std::uint64_t>::max())
    return invalid(format("size {} is over 16EiB", quoted(text)));
  return static_cast<std::uint64_t>(total);
}

std::string size_format(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (unit + 1 < size_units.size() && bytes >= size_units[unit + 1].bytes) ++unit;
  double value = static_cast<double>(bytes) / static_cast<double>(size_units[unit].bytes);
  if (value >= 1023.5 && unit + 1 < size_units.size()) {  // would round to 1024 of this unit
    value = 1;
    ++unit;
  }
  std::string number = format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return number + std::string(size_units[unit].name);
}

std::string size_exact(std::uint64_t bytes) {
  std::size_t unit = size_units.size() - 1;
  while (unit > 0 && (bytes == 0 || bytes % size_units[unit].bytes != 0)) --unit;
  return format("{}{}", bytes / size_units[unit].bytes, size_units[unit].name);
}

Result<std::int64_t> decimal_parse(std::string_view text, unsigned digits, std::int64_t max) {
  const auto error = [&](std::string_view what) {
    return invalid(format("{} {}, such as 4{}", quoted(text), what, digits > 0 ? " or 1.5" : ""));
  };
  std::string_view rest = text;
  if (rest.empty() || !is_digit(rest.front())) return error("is no number; write digits");
  Wide units = take_number(rest);
  std::size_t behind = 0;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
      if (++behind > digits)
        return invalid(format("{} has more than {} digits behind the point", quoted(text), digits));
      units = units * 10 + static_cast<unsigned>(rest.front() - '0');
    }
    if (behind == 0) return error("ends with its point; write digits");
  }
  if (!rest.empty()) return error("is no number; write digits");
  for (; behind < digits; ++behind) units *= 10;
  if (units > static_cast<Wide>(max))
    return invalid(format("{} is too large; at most {} is allowed", quoted(text),
                          decimal_format(max, digits)));
  return static_cast<std::int64_t>(units);
}

std::string decimal_format(std::int64_t units, unsigned digits) {
  std::uint64_t scale = 1;
  for (unsigned i = 0; i < digits; ++i) scale *= 10;
  const bool negative = units < 0;
  auto value = static_cast<std::uint64_t>(units);
  if (negative) value = 0 - value;
  std::string text = format("{}{}", negative ? "-" : "", value / scale);
  if (value % scale == 0) return text;
  std::string fraction = format("{:0{}}", value % scale, digits);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

std::string rfc3339(WallTime time) {
  if (!time) return "";
  std::int64_t seconds = time.microseconds / 1'000'000;
  if (time.microseconds % 1'000'000 < 0) --seconds;  // before 1970, towards the past as well
  const auto since_epoch = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&since_epoch, &parts);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Result<std::uint64_t> number_parse(std::string_view text, std::uint64_t max) {
  const bool digits_only = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  if (!digits_only)
    return invalid(format("{} is no number; digits are needed, 0 to {}", quoted(text), max));
  std::string_view rest = text;
  const Wide number = take_number(rest);
  if (number > max)
    return invalid(format("{} is too large; at most {} is allowed", quoted(text), max));
  return static_cast<std::uint64_t>(number);
}

}  // namespace rota
