// testsuite/unit/model/index_set_test.cpp - sets of array tasks, against plain sets.
#include "model/index_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace rota {
namespace {

std::string parsed(std::string_view text) {
  const auto set = IndexSet::parse(text);
  return set ? set->text() : set.error().detail;
}

TEST(IndexSet, ReadsRangesListsAndSteps) {
  EXPECT_EQ(parsed("0-99"), "0-99");
  EXPECT_EQ(parsed("1,3,5"), "1,3,5");
  EXPECT_EQ(parsed("0-15:4"), "0,4,8,12");
  EXPECT_EQ(parsed("5,1-3,4,2-3"), "1-5");
  EXPECT_EQ(parsed("7"), "7");
  EXPECT_EQ(parsed("4000000"), "4000000");
}

TEST(IndexSet, SaysWhatIsWrong) {
  const std::string form = "; write numbers and ranges from 0 to 4000000: 0-99, 1,3,5 or 0-15:4";
  EXPECT_EQ(parsed(""), "'' is no range of array tasks" + form);
  EXPECT_EQ(parsed("1,,2"), "'' is no range of array tasks" + form);
  EXPECT_EQ(parsed("9-1"), "'9-1' runs backwards" + form);
  EXPECT_EQ(parsed("0-9:0"), "'0-9:0' is no range of array tasks" + form);
  EXPECT_EQ(parsed("3:2"), "'3:2' is no range of array tasks" + form);
  EXPECT_EQ(parsed("0-4000001"), "'0-4000001' is no range of array tasks" + form);
  EXPECT_EQ(parsed("0-4000000:2"), "'0-4000000:2' has more than 65536 ranges" + form);
}

TEST(IndexSet, LongOnesAreCut) { EXPECT_EQ(IndexSet::parse("0-18:2")->text(8), "0,2,4,6,8,..."); }

TEST(IndexSet, WhatCameOverTheWireMayBeUnsound) {
  EXPECT_TRUE(IndexSet::parse("0-3,7")->is_sound());
  EXPECT_TRUE(IndexSet().is_sound());
  EXPECT_FALSE(IndexSet::of(3, 1).is_sound());
  EXPECT_FALSE(IndexSet::of(0, IndexSet::index_max + 1).is_sound());
}

class Both {
 public:
  void check() const {
    EXPECT_TRUE(set.is_sound());
    EXPECT_EQ(set.size(), plain.size());
    for (std::uint32_t i = 0; i < 40; ++i)
      ASSERT_EQ(set.contains(i), plain.contains(i)) << i << " of " << set.text();
  }
  IndexSet set;
  std::set<std::uint32_t> plain;
};

TEST(IndexSet, DoesWhatASetDoes) {
  std::mt19937 random(7);
  const auto draw = [&random](std::uint32_t below) { return random() % below; };
  for (int round = 0; round < 300; ++round) {
    Both a, b;
    for (int i = 0; i < 25; ++i) {
      for (Both* each : {&a, &b}) {
        const std::uint32_t index = draw(40);
        if (draw(3) > 0) {
          each->set.insert(index);
          each->plain.insert(index);
        } else {
          EXPECT_EQ(each->set.erase(index), each->plain.erase(index) == 1);
        }
      }
    }
    a.check();
    b.check();
    Both common, left = a;
    common.set = a.set.common_with(b.set);
    left.set.erase_all(b.set);
    for (const std::uint32_t index : a.plain)
      if (b.plain.contains(index)) {
        common.plain.insert(index);
        left.plain.erase(index);
      }
    common.check();
    left.check();
  }
}

}  // namespace
}  // namespace rota
