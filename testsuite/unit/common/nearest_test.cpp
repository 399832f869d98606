// testsuite/unit/common/nearest_test.cpp - what a mistyped word most likely meant.
#include "common/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace rota {
namespace {

constexpr std::array<std::string_view, 5> known{"heartbeat", "lost_after", "fence_after", "name",
                                                "file"};

TEST(Nearest, FindsTheWordBehindATypingError) {
  EXPECT_EQ(nearest("hartbeat", known), "heartbeat");    // left out
  EXPECT_EQ(nearest("heartbeatt", known), "heartbeat");  // added
  EXPECT_EQ(nearest("hearthbeat", known), "heartbeat");
  EXPECT_EQ(nearest("heartbaet", known), "heartbeat");  // swapped
  EXPECT_EQ(nearest("fence_afer", known), "fence_after");
  EXPECT_EQ(nearest("nmae", known), "name");  // a swap is one error
}

TEST(Nearest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("gpus", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("x", known), "");
  EXPECT_EQ(nearest("heartbeat", {}), "");
  EXPECT_EQ(nearest(std::string(65, 'h'), known), "");
}

TEST(Nearest, TheFirstOfEqualsWins) {
  constexpr std::array<std::string_view, 2> pair{"abcd", "abce"};
  EXPECT_EQ(nearest("abcx", pair), "abcd");
  EXPECT_EQ(nearest("abce", pair), "abce");
}

}  // namespace
}  // namespace rota
