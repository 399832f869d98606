// testsuite/unit/common/result_test.cpp - errors as values, and the end of a process that is wrong.
#include "common/result.h"

#include <gtest/gtest.h>

#include <map>

#include "common/assert.h"

namespace rota {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Errc::invalid_argument, std::to_string(number) + " is odd"};
  return number / 2;
}
Result<int> quarter(int number) {
  ROTA_TRY(const int once, half(number));
  ROTA_TRY(const int twice, half(once));
  return twice;
}
Result<void> is_even(int number) {
  ROTA_CHECK(half(number));
  return {};
}

TEST(Result, TryTakesTheValueOrPassesTheErrorOn) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message(), "invalid argument: 3 is odd");
  EXPECT_TRUE(is_even(2));
  EXPECT_EQ(is_even(3).error().code, Errc::invalid_argument);
}

TEST(Result, AnErrorReadsAsItsTextAndItsDetail) {
  EXPECT_EQ((Error{Errc::never_fits, "9 GPUs on one node, the largest node has 8"}.message()),
            "request can never fit this cluster: 9 GPUs on one node, the largest node has 8");
  EXPECT_EQ((Error{Errc::timed_out, ""}.message()), "timed out");
  EXPECT_EQ(text_of(static_cast<Errc>(1)), "unknown error");
}

TEST(Result, CodesHaveDifferentNumbersAndTexts) {
  std::map<std::string_view, Errc> texts;
#define ROTA_ERROR(name, number, text) \
  EXPECT_TRUE(texts.emplace(text_of(Errc::name), Errc::name).second) << #name;
#include "common/error.def"
#undef ROTA_ERROR
  EXPECT_GT(texts.size(), 20u);
}

TEST(ResultDeathTest, ReadingTheValueOfAnErrorEndsTheProcess) {
  EXPECT_DEATH((void)half(3).value(), "assertion failed: invalid argument: 3 is odd");
}

TEST(AssertDeathTest, SaysWhatBrokeAndWhere) {
  const int gpus = 9;
  ROTA_ASSERT(gpus == 9);
  EXPECT_DEATH(ROTA_ASSERT(gpus <= 8), "assertion failed: gpus <= 8 \\(.*result_test.cpp:");
}

}  // namespace
}  // namespace rota
