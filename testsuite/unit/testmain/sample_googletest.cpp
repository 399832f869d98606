// testsuite/unit/testmain/sample_googletest.cpp - tests that pass, fail and skip, for t0002.
#include <gtest/gtest.h>

#include <cstdlib>

#include "cmocka_compat.h"

namespace {

TEST(First, Passes) { EXPECT_EQ(1, 1); }
TEST(First, FailsTwice) {
  EXPECT_STREQ("a<b", "c&d]]>");
  EXPECT_TRUE(false) << "second\nmessage";
}
TEST(Second, Skips) { GTEST_SKIP() << "no GPU here"; }
TEST(Second, PassesToo) { SUCCEED(); }
int mocked() { return mock_type(int); }
TEST(Second, LeavesAValueBehind) {
  will_return_count(mocked, 1, 2);
  EXPECT_EQ(mocked(), 1);
}
TEST(Second, Throws) { throw 7; }

/// A suite whose set-up fails when asked to.
class Third : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("SAMPLE_BAD_SUITE") != nullptr) ADD_FAILURE() << "the suite is not ready";
  }
};
TEST_F(Third, Passes) {}

}  // namespace
