// testsuite/unit/commands/dates_test.cpp - dates as people write them, in a time zone with summer
// time.
#include "commands/dates.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "common/units.h"

namespace rota::commands {
namespace {

// 2026-11-17 14:30:00 in Berlin, 13:30 UTC.
constexpr WallTime now{1'794'922'200'000'000};

class Dates : public testing::Test {
 protected:
  void SetUp() override {
    const char* zone = std::getenv("TZ");
    before_ = zone != nullptr ? zone : "";
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  void TearDown() override {
    if (before_.empty())
      unsetenv("TZ");
    else
      setenv("TZ", before_.c_str(), 1);
    tzset();
  }
  static std::string date(std::string_view text) {
    const auto parsed = date_parse(text, now);
    return parsed ? rfc3339(*parsed) : parsed.error().detail;
  }

 private:
  std::string before_;
};

TEST_F(Dates, FromNow) {
  EXPECT_EQ(date("now"), "2026-11-17T13:30:00Z");
  EXPECT_EQ(date("now+90"), "2026-11-17T13:31:30Z");
  EXPECT_EQ(date("now+1hour"), "2026-11-17T14:30:00Z");
  EXPECT_EQ(date("now+2days"), "2026-11-19T13:30:00Z");
}

TEST_F(Dates, TheNextTimeOfDay) {
  EXPECT_EQ(date("16:00"), "2026-11-17T15:00:00Z");
  EXPECT_EQ(date("14:30"), "2026-11-18T13:30:00Z");
  EXPECT_EQ(date("09:15:30"), "2026-11-18T08:15:30Z");
  EXPECT_EQ(date("noon"), "2026-11-18T11:00:00Z");
  EXPECT_EQ(date("teatime"), "2026-11-17T15:00:00Z");
  EXPECT_EQ(date("midnight"), "2026-11-17T23:00:00Z");
  EXPECT_EQ(date("tomorrow"), "2026-11-18T13:30:00Z");
}

TEST_F(Dates, DaysOnBothSidesOfAClockChange) {
  EXPECT_EQ(date("2027-07-01"), "2027-06-30T22:00:00Z");
  EXPECT_EQ(date("2027-01-01T09:30"), "2027-01-01T08:30:00Z");
  EXPECT_EQ(date("11/18/26"), "2026-11-17T23:00:00Z");
  EXPECT_EQ(date("20261118"), "2026-11-17T23:00:00Z");
}

TEST_F(Dates, WhatIsNone) {
  const std::string form =
      " is no date; write 16:00, 2026-11-18, 2026-11-18T09:30, tomorrow, noon, midnight, teatime, "
      "or now+90, now+2hours";
  for (const char* wrong : {"", "25:00", "12:60", "2026-13-01", "2026-02-30", "now+", "now+1year",
                            "2026-11-18T", "soon", "16:00x", "now-5"})
    EXPECT_EQ(date(wrong), "'" + std::string(wrong) + "'" + form);
}

}  // namespace
}  // namespace rota::commands
