// testsuite/unit/net/refusal_log_test.cpp - how many lines a flood may write.
#include "net/refusal_log.h"

#include <gtest/gtest.h>

namespace rota::net {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime start{1'000'000'000'000};

int admitted(RefusalCount& count, Errc cause, int tries, MonoTime now) {
  int lines = 0;
  for (int i = 0; i < tries; ++i)
    if (count.admit(cause, "refused a:" + std::to_string(i), now)) ++lines;
  return lines;
}

TEST(RefusalCount, AFloodGetsABurstAndACount) {
  RefusalCount count;
  EXPECT_EQ(admitted(count, Errc::busy, 10'000, start), 20);
  EXPECT_TRUE(count.has_left_out());
  const auto summaries = count.take_summaries();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0], "9980 more like it were not logged; the last: refused a:9999");
  EXPECT_FALSE(count.has_left_out());
  EXPECT_EQ(count.take_summaries().size(), 0u);
}

TEST(RefusalCount, AFewAreAllWritten) {
  RefusalCount count;
  EXPECT_EQ(admitted(count, Errc::busy, 20, start), 20);
  EXPECT_FALSE(count.has_left_out());
}

// A flood of half-open connections must not hide the one node with the wrong key.
TEST(RefusalCount, OneCauseDoesNotHideAnother) {
  RefusalCount count;
  admitted(count, Errc::busy, 10'000, start);
  EXPECT_EQ(admitted(count, Errc::auth_failed, 1, start), 1);
}

TEST(RefusalCount, TheAllowanceComesBackOneLineInTwoSeconds) {
  RefusalCount count;
  admitted(count, Errc::busy, 100, start);
  EXPECT_EQ(admitted(count, Errc::busy, 100, start + 1s), 0);
  EXPECT_EQ(admitted(count, Errc::busy, 100, start + 7s), 3);
  EXPECT_EQ(admitted(count, Errc::busy, 100, start + 8s), 1);
  EXPECT_EQ(admitted(count, Errc::busy, 100, start + 1h), 20);
}

TEST(RefusalCount, ADayOfFloodIsSmall) {
  RefusalCount count;
  int lines = 0;
  for (int second = 0; second < 86'400; ++second) {
    lines += admitted(count, Errc::busy, 3, start + std::chrono::seconds(second));
    if (second % 10 == 0) lines += static_cast<int>(count.take_summaries().size());
  }
  EXPECT_LT(lines, 60'000);
  EXPECT_GT(lines, 40'000);
}

}  // namespace
}  // namespace rota::net
