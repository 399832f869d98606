// testsuite/unit/ctld/usage_test.cpp - what users have used of late, and whose turn it is by that.
#include "ctld/usage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/format.h"

namespace rota::ctld {
namespace {

constexpr std::int64_t hour = 3600;

/// Both clocks `seconds` after some moment; the wall clock stands `off` seconds wrong.
Now at(std::int64_t seconds, std::int64_t off = 0) {
  return {{(1'000'000 + seconds) * 1'000'000'000}, {(5'000'000 + seconds + off) * 1'000'000}};
}

Org org_with(std::int64_t half_life) {
  Org org;
  Project project;
  project.name = "team";
  project.half_life_seconds = half_life;
  org.projects = {project};
  return org;
}

double used(const UsageBook& book, const std::string& user, Now now) {
  for (const auto& line : book.lines("team", now.mono))
    if (line.user == user) return line.used;
  return -1;
}

std::vector<StoredUsage> stored(UsageBook& book) {
  std::vector<Row> rows;
  book.take_rows(rows);
  std::vector<StoredUsage> stored;
  for (const Row& row : rows) stored.push_back(std::get<UsagePut>(row).usage);
  return stored;
}

TEST(Usage, CountsHalfAfterAHalfLife) {
  UsageBook book({{"team", "ada", 1'000'000'000, at(0).wall}}, org_with(hour), at(0));
  EXPECT_NEAR(used(book, "ada", at(0)), 1000, 1e-6);
  EXPECT_NEAR(used(book, "ada", at(hour)), 500, 1e-6);
  EXPECT_NEAR(used(book, "ada", at(3 * hour)), 125, 1e-6);
}

TEST(Usage, WithoutAHalfLifeNothingIsForgotten) {
  UsageBook book({}, org_with(0), at(0));
  book.hold("team", "ada", 2 * gpu_unit, at(0));
  book.hold("team", "ada", -2 * gpu_unit, at(100));
  EXPECT_NEAR(used(book, "ada", at(1'000'000)), 200, 1e-6);
}

/// The same holding in one piece and in many: how often it is looked at changes nothing.
TEST(Usage, WhatIsHeldAddsToItAllTheTime) {
  UsageBook one({}, org_with(hour), at(0)), many({}, org_with(hour), at(0));
  one.hold("team", "ada", gpu_unit / 2, at(0));
  for (std::int64_t i = 0; i < 100; ++i) {
    many.hold("team", "ada", gpu_unit / 2, at(i * 72));
    many.hold("team", "ada", -gpu_unit / 2, at((i + 1) * 72));
  }
  // The integral of half a GPU over two half-lives: a quarter of it is left of the first moment.
  const double exact = 0.5 * 0.75 * hour / std::log(2.0);
  EXPECT_NEAR(used(one, "ada", at(2 * hour)), exact, 1e-6);
  EXPECT_NEAR(used(many, "ada", at(2 * hour)), exact, 1e-6);
}

TEST(Usage, GoesOnWhereTheLastControllerStopped) {
  UsageBook book({}, org_with(hour), at(0));
  book.hold("team", "ada", gpu_unit, at(0));
  book.hold("team", "bob", 3 * gpu_unit, at(600));
  const auto rows = stored(book);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(stored(book).empty());
  UsageBook next(rows, org_with(hour), at(1800));
  next.resume("team", "ada", gpu_unit, at(1800));
  next.resume("team", "bob", 3 * gpu_unit, at(1800));
  EXPECT_NEAR(used(next, "ada", at(1800)), used(book, "ada", at(1800)), 1e-3);
  EXPECT_NEAR(used(next, "bob", at(hour)), used(book, "bob", at(hour)), 1e-3);
}

TEST(Usage, AClockThatWasSetBackTakesNothingAway) {
  UsageBook book({{"team", "ada", 1'000'000'000, at(0).wall}}, org_with(hour), at(0, -90'000));
  EXPECT_NEAR(used(book, "ada", at(0, -90'000)), 1000, 1e-6);
}

TEST(Usage, AnotherHalfLifeCountsFromNowOn) {
  UsageBook book({{"team", "ada", 1'000'000'000, at(0).wall}}, org_with(hour), at(0));
  book.set_org(org_with(0), at(hour));
  EXPECT_NEAR(used(book, "ada", at(100 * hour)), 500, 1e-6);
  EXPECT_EQ(stored(book).size(), 1u);
}

TEST(Usage, IsForgottenWithItsProject) {
  UsageBook book({{"team", "ada", 1'000'000'000, at(0).wall}}, org_with(hour), at(0));
  book.set_org(Org{}, at(1));
  std::vector<Row> rows;
  book.take_rows(rows);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(std::get<UsageDrop>(rows[0]).user, "ada");
  EXPECT_TRUE(book.lines("team", at(1).mono).empty());
}

std::string ranks(const std::vector<UsageBook::Line>& lines, std::vector<UserWeight> weights = {}) {
  Project project;
  project.user_weights = std::move(weights);
  std::string text;
  for (const auto& each : rank_users(lines, project))
    text += format("{}{}={}", text.empty() ? "" : " ", each.user, each.rank);
  return text;
}

TEST(Usage, WhoHasUsedLeastComesFirst) {
  EXPECT_EQ(ranks({{"ada", 30}, {"bob", 10}, {"eve", 20}}), "ada=3 bob=1 eve=2");
  EXPECT_EQ(ranks({{"ada", 0}, {"bob", 10}}), "bob=1");  // like those who are not named
  EXPECT_EQ(ranks({{"ada", 10}, {"bob", 10}, {"eve", 20}}), "ada=1 bob=1 eve=3");
}

TEST(Usage, WeightsCount) {
  EXPECT_EQ(ranks({{"ada", 30}, {"bob", 20}}, {{"ada", 2 * gpu_unit}}), "ada=1 bob=2");
  EXPECT_EQ(ranks({{"ada", 1}, {"bob", 20}}, {{"ada", 0}}), "ada=2 bob=1");
}

}  // namespace
}  // namespace rota::ctld
