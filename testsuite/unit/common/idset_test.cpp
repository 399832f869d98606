// testsuite/unit/common/idset_test.cpp - "0-3,7" and back.
#include "common/idset.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace rota {
namespace {

/// What `text` stands for, one index after the other; or the error.
std::string parsed(std::string_view text) {
  const auto ids = idset_parse(text);
  if (!ids) return ids.error().detail;
  std::string all;
  for (const auto id : *ids) all += (all.empty() ? "" : " ") + std::to_string(id);
  return all;
}

TEST(Idset, ReadsRangesAndSingles) {
  EXPECT_EQ(parsed(""), "");
  EXPECT_EQ(parsed("7"), "7");
  EXPECT_EQ(parsed("0-3,7"), "0 1 2 3 7");
  EXPECT_EQ(parsed("5-5"), "5");
  EXPECT_EQ(parsed("007"), "7");
}

TEST(Idset, SortsAndFoldsRepeats) {
  EXPECT_EQ(parsed("7,0-3"), "0 1 2 3 7");
  EXPECT_EQ(parsed("1,1,0-2"), "0 1 2");
}

TEST(Idset, SaysTheColumnOfWhatItCannotRead) {
  EXPECT_EQ(parsed("a"), "index list column 1: a number is needed, as in 0-3,7, not 'a'");
  EXPECT_EQ(parsed("1,,2"), "index list column 3: a number is needed, as in 0-3,7, not ','");
  EXPECT_EQ(parsed("1,"), "index list column 3: a number is missing at the end");
  EXPECT_EQ(parsed("1-"), "index list column 3: a number is missing at the end");
  EXPECT_EQ(parsed("1 2"), "index list column 2: a comma or a range is needed, not ' '");
  EXPECT_EQ(parsed("0,3-1"), "index list column 3: 3-1 counts down; write 1-3");
  EXPECT_EQ(parsed("-1"), "index list column 1: a number is needed, as in 0-3,7, not '-'");
  EXPECT_EQ(parsed("1\n"), "index list column 2: a comma or a range is needed, not '\\n'");
}

TEST(Idset, ALargeIndexIsAnErrorAndCostsNothing) {
  EXPECT_EQ(parsed("65535"), "65535");
  EXPECT_EQ(parsed("65536"), "index list column 1: the largest index is 65535");
  EXPECT_EQ(parsed("0-4000000000"), "index list column 3: the largest index is 65535");
  EXPECT_EQ(parsed("0,99999999999999999999"), "index list column 3: the largest index is 65535");
  EXPECT_EQ(idset_parse("0-65535")->size(), 65536u);
}

TEST(Idset, WritesTheShortestForm) {
  EXPECT_EQ(idset_format({}), "");
  EXPECT_EQ(idset_format({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(idset_format({0, 2, 4}), "0,2,4");
  EXPECT_EQ(idset_format({8, 9}), "8-9");
}

TEST(Idset, ReadingWhatWasWrittenGivesTheSame) {
  std::mt19937 random(20261116);
  for (int round = 0; round < 500; ++round) {
    std::set<std::uint32_t> wanted;
    const std::uint32_t largest = 1 + random() % 40;
    for (std::uint32_t count = random() % 30; count > 0; --count) wanted.insert(random() % largest);
    const std::vector<std::uint32_t> ids(wanted.begin(), wanted.end());
    const std::string text = idset_format(ids);
    ASSERT_EQ(idset_parse(text).value(), ids) << text;
  }
}

}  // namespace
}  // namespace rota
