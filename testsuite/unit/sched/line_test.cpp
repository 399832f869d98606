// testsuite/unit/sched/line_test.cpp - a line against a plain set, and what it costs.
#include "sched/line.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rota::sched {
namespace {

std::string text_of(const auto& ids) {
  std::string text;
  for (const JobId id : ids) text += (text.empty() ? "" : " ") + std::to_string(id.value);
  return text;
}

TEST(Line, JoinsAtTheEndLeavesAnywhereComesBack) {
  Line line;
  for (const std::uint64_t id : {3, 5, 8}) EXPECT_TRUE(line.insert({id}));
  EXPECT_FALSE(line.insert({5}));
  EXPECT_TRUE(line.erase({5}));
  EXPECT_FALSE(line.erase({5}));
  EXPECT_FALSE(line.erase({4}));
  EXPECT_EQ(text_of(line), "3 8");
  EXPECT_TRUE(line.insert({5}));
  EXPECT_TRUE(line.insert({4}));
  EXPECT_EQ(text_of(line), "3 4 5 8");
  EXPECT_TRUE(line.erase({3}));
  EXPECT_EQ(line.front(), JobId{4});
  EXPECT_TRUE(line.insert({1}));
  EXPECT_EQ(line.front(), JobId{1});
  for (const std::uint64_t id : {1, 4, 5, 8}) EXPECT_TRUE(line.erase({id}));
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(text_of(line), "");
  EXPECT_TRUE(line.insert({2}));
  EXPECT_EQ(text_of(line), "2");
}

TEST(Line, IsASet) {
  Line line;
  std::set<JobId> set;
  std::uint64_t random = 1;
  for (int step = 0; step < 20'000; ++step) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const JobId id{1 + (random >> 40) % 300};
    // Sweeps between nearly full and nearly empty.
    const bool joins = (random >> 20) % 100 < (step / 2000 % 2 == 0 ? 70u : 30u);
    if (joins)
      ASSERT_EQ(line.insert(id), set.insert(id).second);
    else
      ASSERT_EQ(line.erase(id), set.erase(id) == 1);
    ASSERT_EQ(line.size(), set.size());
    ASSERT_EQ(line.empty(), set.empty());
    if (!set.empty()) {
      ASSERT_EQ(line.front(), *set.begin());
    }
    if (step % 50 == 0) {
      ASSERT_EQ(text_of(line), text_of(set));
    }
  }
}

}  // namespace
}  // namespace rota::sched
