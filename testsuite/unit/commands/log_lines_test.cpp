// testsuite/unit/commands/log_lines_test.cpp - rlogs --since and --timestamps.
#include "commands/log_lines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "common/units.h"

namespace rota::commands {
namespace {

class LogLinesTest : public ::testing::Test {
 protected:
  LogLinesTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  static WallTime at(std::string_view text) { return *time_of_line(text); }
  static constexpr WallTime now{1'793'793'600'000'000};  // 2026-11-04T12:00:00Z

  static std::string shown(LogLines& lines, std::initializer_list<std::string_view> chunks) {
    std::string text;
    for (const auto chunk : chunks) text += lines.take(chunk, now);
    return text + lines.rest(now);
  }
};

TEST_F(LogLinesTest, TimesThatLinesBeginWith) {
  const auto read = [](std::string_view line) {
    const auto time = time_of_line(line);
    return time ? rfc3339(*time) : "none";
  };
  EXPECT_EQ(read("2026-11-04 10:00:00,250 INFO x"), rfc3339(at("2026-11-04T10:00:00.25Z")));
  EXPECT_EQ(at("[2026-11-04T10:00:00+01:00] x"), at("2026-11-04T09:00:00Z"));
  EXPECT_EQ(at("2026-11-04T10:00:00-0130 x"), at("2026-11-04T11:30:00Z"));
  for (const auto line : {"", "2026", "2026-11-04", "2026-13-04 10:00:00", "2026-11-04 25:00:00",
                          "2026-11-04 10:00", "x 2026-11-04 10:00:00", "2026-11-04T10:00:00+1"})
    EXPECT_EQ(read(line), "none") << line;
}

TEST_F(LogLinesTest, WhatPeopleWrite) {
  EXPECT_EQ(since_from("10m", now)->microseconds, now.microseconds - 600'000'000);
  EXPECT_EQ(*since_from("2026-11-04", now), at("2026-11-04T00:00:00Z"));
  EXPECT_EQ(*since_from("2026-11-04T09:30", now), at("2026-11-04T09:30:00Z"));
  EXPECT_EQ(*since_from("2026-11-04 09:30:07", now), at("2026-11-04T09:30:07Z"));
  for (const auto text : {"", "soon", "2026-11-04T", "09:3", "2026-11-04T09:30x"})
    EXPECT_FALSE(since_from(text, now)) << text;
}

TEST_F(LogLinesTest, SinceGoesByTheTimesOfLines) {
  LogLines lines(at("2026-11-04T10:00:00Z"), false);
  EXPECT_EQ(shown(lines, {"head\n2026-11-04 09:59:59 old\n  more of old\n2026-11-0",
                          "4 10:00:00 new\n  more of new\n2026-11-04 09:00:00 late\n"}),
            "2026-11-04 10:00:00 new\n  more of new\n2026-11-04 09:00:00 late\n");
  EXPECT_FALSE(lines.is_blind());
}

TEST_F(LogLinesTest, OutputWithoutTimesIsShownWhole) {
  LogLines lines(now, false);
  EXPECT_EQ(shown(lines, {"a\nb", "\nc"}), "a\nb\nc");
  EXPECT_TRUE(lines.is_blind());
  LogLines much(now, false);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "a line\n";
  EXPECT_EQ(shown(much, {text, text}), text + text);
  EXPECT_TRUE(much.is_blind());
}

TEST_F(LogLinesTest, NothingSinceThen) {
  LogLines lines(now, false);
  EXPECT_EQ(shown(lines, {"2026-11-04 09:00:00 a\nb\n"}), "");
  EXPECT_FALSE(lines.is_blind());
}

TEST_F(LogLinesTest, TimestampsStandBeforeWholeLines) {
  LogLines lines(std::nullopt, true);
  const std::string time = rfc3339(now) + " ";
  EXPECT_EQ(lines.take("a\nb", now), time + "a\n");
  EXPECT_EQ(lines.take("c\n", now), time + "bc\n");
  EXPECT_EQ(lines.take("d", now), "");
  EXPECT_EQ(lines.rest(now), time + "d");
}

}  // namespace
}  // namespace rota::commands
