// testsuite/unit/common/units_test.cpp - durations, sizes and dates as people write them.
#include "common/units.h"

#include <gtest/gtest.h>

#include <random>

namespace rota {
namespace {

using namespace std::chrono_literals;

/// A Result as text: the value, or the error's sentence.
std::string duration(std::string_view text) {
  const auto value = duration_parse(text);
  return value ? std::to_string(value->count()) : value.error().detail;
}
std::string limit(std::string_view text) {
  const auto value = time_limit_parse(text);
  return value ? std::to_string(*value / 1s) : value.error().detail;
}
std::string bytes(std::string_view text, std::uint64_t unit = 1) {
  const auto value = size_parse(text, unit);
  return value ? std::to_string(*value) : value.error().detail;
}
std::string number(std::string_view text, std::uint64_t max) {
  const auto value = number_parse(text, max);
  return value ? std::to_string(*value) : value.error().detail;
}

TEST(Duration, TakesUnitsAlone) {
  EXPECT_EQ(duration_parse("90s").value(), 90s);
  EXPECT_EQ(duration_parse("5m").value(), 5min);
  EXPECT_EQ(duration_parse("2h").value(), 2h);
  EXPECT_EQ(duration_parse("2d").value(), 48h);
  EXPECT_EQ(duration_parse("500ms").value(), 500ms);
  EXPECT_EQ(duration_parse("7us").value(), 7us);
  EXPECT_EQ(duration_parse("7ns").value(), 7ns);
  EXPECT_EQ(duration_parse("0").value(), 0s);
  EXPECT_EQ(duration_parse("0s").value(), 0s);
}

TEST(Duration, TakesUnitsCombinedLargestFirst) {
  EXPECT_EQ(duration_parse("1h30m").value(), 90min);
  EXPECT_EQ(duration_parse("1d2h3m4s5ms").value(), 26h + 3min + 4s + 5ms);
  EXPECT_EQ(duration("30m1h"),
            "'30m1h' has its units out of order; write the largest first, each once, as in 1h30m");
  EXPECT_EQ(duration("1m1m"),
            "'1m1m' has its units out of order; write the largest first, each once, as in 1h30m");
}

TEST(Duration, ABareNumberIsAskedForItsUnit) {
  EXPECT_EQ(duration("90"), "'90' has no unit; write 90s, 90m, 90h or 90d (also ms)");
  EXPECT_EQ(duration("00"), "'00' has no unit; write 00s, 00m, 00h or 00d (also ms)");
  EXPECT_EQ(duration("1h30"), "'1h30' has no unit; write 30s, 30m, 30h or 30d (also ms)");
}

TEST(Duration, RefusesWhatIsNone) {
  const std::string shape =
      " is no duration; write a number and a unit, such as 90s, 1h30m, 2d or 500ms";
  for (const std::string text : {"", "s", "-5s", "1.5h", "5 s", " 5s", "+5s", "1:30"})
    EXPECT_EQ(duration(text), "'" + text + "'" + shape);
  EXPECT_EQ(duration("5 minutes"), "'5 minutes'" + shape);
  EXPECT_EQ(duration("5sec"), "'sec' in '5sec' is no unit of time; ms, s, m, h and d are");
  EXPECT_EQ(duration("5S"), "'S' in '5S' is no unit of time; ms, s, m, h and d are");
}

TEST(Duration, HasALargestOne) {
  EXPECT_EQ(duration_parse("36500d").value(), 36500 * 24h);
  EXPECT_EQ(duration("36501d"), "duration '36501d' is over 36500d");
  EXPECT_EQ(duration("36500d1ns"), "duration '36500d1ns' is over 36500d");
  EXPECT_EQ(duration("99999999999999999999999999999999999999999d"),
            "duration '99999999999999999999999999999999999999999d' is over 36500d");
}

TEST(Duration, IsWrittenInTheLargestUnits) {
  EXPECT_EQ(duration_format(90min), "1h30m");
  EXPECT_EQ(duration_format(90s), "1m30s");
  EXPECT_EQ(duration_format(0s), "0s");
  EXPECT_EQ(duration_format(250ms), "250ms");
  EXPECT_EQ(duration_format(48h + 1ns), "2d1ns");
  EXPECT_EQ(duration_format(-90s), "-1m30s");
  EXPECT_EQ(duration_format(Duration::min()), "-106751d23h47m16s854ms775us808ns");
}

TEST(Duration, ReadingWhatWasWrittenGivesTheSame) {
  std::mt19937_64 random(20261116);
  for (int round = 0; round < 2000; ++round) {
    const auto size = std::int64_t{1} << (random() % 61);
    const Duration wanted(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
    ASSERT_EQ(duration_parse(duration_format(wanted)).value(), wanted) << duration_format(wanted);
  }
}

TEST(TimeLimit, TakesSlurmsForms) {
  EXPECT_EQ(limit("90"), "5400");
  EXPECT_EQ(limit("90:30"), "5430");
  EXPECT_EQ(limit("1:30:15"), "5415");
  EXPECT_EQ(limit("00:120:00"), "7200");
  EXPECT_EQ(limit("2-12"), "216000");
  EXPECT_EQ(limit("2-12:30"), "217800");
  EXPECT_EQ(limit("2-12:30:10"), "217810");
  EXPECT_EQ(limit("0"), "0");
  EXPECT_EQ(limit("infinite"), "0");
  EXPECT_EQ(limit("UNLIMITED"), "0");
}

TEST(TimeLimit, TakesOurs) {
  EXPECT_EQ(limit("90m"), "5400");
  EXPECT_EQ(limit("1h30m"), "5400");
  EXPECT_EQ(limit("2d"), "172800");
}

TEST(TimeLimit, RefusesWhatIsNone) {
  const std::string shape =
      " is no time limit; write minutes, h:m:s, d-h:m:s or a duration such as 90m";
  for (const std::string text : {"", "-1", "1-", "-", "1:", ":1", "1:2:3:4", "1-2-3", "1:2-3",
                                 "1-2:3:4:5", "x", "1 2", "never"})
    EXPECT_EQ(limit(text), "'" + text + "'" + shape);
  EXPECT_EQ(limit("5weeks"), "'weeks' in '5weeks' is no unit of time; ms, s, m, h and d are");
  EXPECT_EQ(limit("99999999999999999999"), "duration '99999999999999999999' is over 36500d");
  EXPECT_EQ(limit("99999999999999999999-99999999999999999999"),
            "duration '99999999999999999999-99999999999999999999' is over 36500d");
}

TEST(Elapsed, LooksLikeSlurms) {
  EXPECT_EQ(elapsed_format(26h + 3min + 4s), "1-02:03:04");
  EXPECT_EQ(elapsed_format(2h + 3min + 4s), "02:03:04");
  EXPECT_EQ(elapsed_format(3min + 4s), "3:04");
  EXPECT_EQ(elapsed_format(59s + 999ms), "0:59");
  EXPECT_EQ(elapsed_format(0s), "0:00");
  EXPECT_EQ(elapsed_format(-5s), "0:00");
}

TEST(Size, UnitsArePowersOf1024InAnySpelling) {
  EXPECT_EQ(bytes("512"), "512");
  EXPECT_EQ(bytes("512B"), "512");
  for (const char* text : {"32G", "32g", "32GB", "32GiB", "32gib", "32.0G"})
    EXPECT_EQ(bytes(text), "34359738368") << text;
  EXPECT_EQ(bytes("1K"), "1024");
  EXPECT_EQ(bytes("1M"), "1048576");
  EXPECT_EQ(bytes("1.5T"), "1649267441664");
  EXPECT_EQ(bytes("1P"), "1125899906842624");
  EXPECT_EQ(bytes("0"), "0");
  EXPECT_EQ(bytes("0.5K"), "512");
}

TEST(Size, ABareNumberCountsTheCallersUnit) {
  EXPECT_EQ(bytes("16", 1 << 20), "16777216");
  EXPECT_EQ(bytes("16G", 1 << 20), "17179869184");
  EXPECT_EQ(bytes("16B", 1 << 20), "16");
}

TEST(Size, RefusesWhatIsNone) {
  const std::string shape =
      " is no size; write a number with K, M, G, T or P (powers of 1024), such as 512M, 32GiB or "
      "1.5T";
  for (const std::string text :
       {"", "G", "-1", "1.", ".5G", "1X", "1Gi", "1 G", "1GG", "0x10", "1e3", "1.5.5G"})
    EXPECT_EQ(bytes(text), "'" + text + "'" + shape);
  EXPECT_EQ(bytes("1.5"), "'1.5' is part of a byte; give it a unit, such as 1.5G");
}

TEST(Size, HasALargestOne) {
  EXPECT_EQ(bytes("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(bytes("18446744073709551616"), "size '18446744073709551616' is over 16EiB");
  EXPECT_EQ(bytes("16384P"), "size '16384P' is over 16EiB");
  EXPECT_EQ(bytes("99999999999999999999999999P"),
            "size '99999999999999999999999999P' is over 16EiB");
  EXPECT_EQ(bytes("1.99999999999999999999999999999K"), "2047");
}

TEST(Size, IsWrittenInThreeDigits) {
  EXPECT_EQ(size_format(0), "0B");
  EXPECT_EQ(size_format(1023), "1023B");
  EXPECT_EQ(size_format(1024), "1KiB");
  EXPECT_EQ(size_format(std::uint64_t{32} << 30), "32GiB");
  EXPECT_EQ(size_format(std::uint64_t{3} << 39), "1.5TiB");
  EXPECT_EQ(size_format(std::uint64_t{1230} << 20), "1.2GiB");
  EXPECT_EQ(size_format(std::uint64_t{12345} << 20), "12.1GiB");
  EXPECT_EQ(size_format(std::uint64_t{123456} << 20), "121GiB");
  EXPECT_EQ(size_format((std::uint64_t{1} << 30) - 1), "1GiB");
  EXPECT_EQ(size_format(UINT64_MAX), "16EiB");
}

TEST(Rfc3339, IsUtcInWholeSeconds) {
  EXPECT_EQ(rfc3339(WallTime{}), "");
  EXPECT_EQ(rfc3339(WallTime{1'794'798'000'000'000}), "2026-11-16T03:00:00Z");
  EXPECT_EQ(rfc3339(WallTime{1'794'798'000'999'999}), "2026-11-16T03:00:00Z");
  EXPECT_EQ(rfc3339(WallTime{951'782'400'000'000}), "2000-02-29T00:00:00Z");
  EXPECT_EQ(rfc3339(WallTime{-1}), "1969-12-31T23:59:59Z");
}

TEST(Number, IsDigitsWithinItsLimit) {
  EXPECT_EQ(number("0", 10), "0");
  EXPECT_EQ(number("10", 10), "10");
  EXPECT_EQ(number("0000000000000000000000010", 10), "10");
  EXPECT_EQ(number("11", 10), "'11' is too large; at most 10 is allowed");
  EXPECT_EQ(number("18446744073709551615", UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(number("18446744073709551616", UINT64_MAX),
            "'18446744073709551616' is too large; at most 18446744073709551615 is allowed");
  for (const std::string text : {"", "-1", "+1", "1.0", "1 ", "a", "0x1"})
    EXPECT_EQ(number(text, 10), "'" + text + "' is no number; digits are needed, 0 to 10");
}

TEST(Decimal, IsExactToItsLastDigit) {
  EXPECT_EQ(decimal_parse("1.5", 6, 1'000'000'000).value(), 1'500'000);
  EXPECT_EQ(decimal_parse("0.000001", 6, 1'000'000'000).value(), 1);
  EXPECT_EQ(decimal_parse("4", 0, 10).value(), 4);
  EXPECT_EQ(decimal_parse("2.50", 3, 10'000).value(), 2'500);
  for (const char* bad : {"", ".5", "1.", "-1", "+1", "1,5", "1e3", "1.0000001", "1 ", "1001",
                          "99999999999999999999999999999999999999999999"})
    EXPECT_FALSE(decimal_parse(bad, 6, 1'000'000'000)) << bad;
  EXPECT_EQ(decimal_parse("1.5", 0, 10).error().detail,
            "'1.5' has more than 0 digits behind the point");
  EXPECT_EQ(decimal_format(1'500'000, 6), "1.5");
  EXPECT_EQ(decimal_format(4'000'000, 6), "4");
  EXPECT_EQ(decimal_format(1, 6), "0.000001");
  EXPECT_EQ(decimal_format(-2'500, 3), "-2.5");
  EXPECT_EQ(decimal_format(7, 0), "7");
}

TEST(Size, IsWrittenExactly) {
  EXPECT_EQ(size_exact(0), "0B");
  EXPECT_EQ(size_exact(std::uint64_t{1} << 40), "1TiB");
  EXPECT_EQ(size_exact(std::uint64_t{3} << 39), "1536GiB");
  EXPECT_EQ(size_exact(1023), "1023B");
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{12345678}, UINT64_MAX})
    EXPECT_EQ(size_parse(size_exact(bytes)).value(), bytes);
}

}  // namespace
}  // namespace rota
