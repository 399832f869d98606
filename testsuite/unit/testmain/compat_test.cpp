// testsuite/unit/testmain/compat_test.cpp - what the CMocka layer says when something does not
// hold.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <regex>

#include "cmocka_compat.h"

namespace {

/// The failures of `body`, with this file's places as "here:LINE"; addresses as "ADDRESS".
template <class Body>
std::string failure_of(Body body) {
  testing::TestPartResultArray parts;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
    try {
      body();
    } catch (const testing::AssertionException&) {
    }
  }
  std::string text;
  for (int i = 0; i < parts.size(); ++i)
    text += (text.empty() ? "" : "\n") + std::string(parts.GetTestPartResult(i).message());
  text = std::regex_replace(text, std::regex("[^\n]*compat_test.cpp:\\d+"), "here");
  return std::regex_replace(text, std::regex("0x[0-9a-f]{6,}"), "ADDRESS");
}

TEST(CmockaAssertions, SayWhatDoesNotHold) {
  const LargestIntegralType set[] = {1, 2};
  int number = 0;
  EXPECT_EQ(failure_of([] { assert_true(1 + 1 == 3); }), "1 + 1 == 3");
  EXPECT_EQ(failure_of([] { assert_false(1 + 1 == 2); }), "1 + 1 == 2");
  EXPECT_EQ(failure_of([] { assert_int_equal(1, 2); }), "0x1 != 0x2");
  EXPECT_EQ(failure_of([] { assert_int_not_equal(2, 2); }), "0x2 == 0x2");
  EXPECT_EQ(failure_of([] { assert_string_equal("a", "b"); }), "\"a\" != \"b\"");
  EXPECT_EQ(failure_of([] { assert_string_equal(nullptr, "b"); }), "(null) != \"b\"");
  EXPECT_EQ(failure_of([] { assert_string_not_equal("a", "a"); }), "\"a\" == \"a\"");
  EXPECT_EQ(failure_of([&] { assert_null(&number); }), "&number");
  EXPECT_EQ(failure_of([] { assert_non_null(nullptr); }), "nullptr");
  EXPECT_EQ(failure_of([&] { assert_ptr_equal(&number, nullptr); }), "ADDRESS != 0");
  EXPECT_EQ(failure_of([] { assert_float_equal(1.0, 2.0, 0.5); }), "1.000000 != 2.000000");
  EXPECT_EQ(failure_of([] { assert_float_not_equal(1.0, 1.0, 0.5); }), "1.000000 == 1.000000");
  EXPECT_EQ(failure_of([] { assert_in_range(5, 1, 3); }), "5 is not within the range 1-3");
  EXPECT_EQ(failure_of([] { assert_not_in_range(2, 1, 3); }), "2 is within the range 1-3");
  EXPECT_EQ(failure_of([&] { assert_in_set(5, set, 2); }), "5 is not in the set (0x1, 0x2)");
  EXPECT_EQ(failure_of([&] { assert_not_in_set(2, set, 2); }), "2 is in the set (0x1, 0x2)");
  EXPECT_EQ(failure_of([] { assert_return_code(-1, ENOENT); }),
            "-1 < 0, errno(2): No such file or directory");
  EXPECT_EQ(failure_of([] { assert_memory_equal("abcd", "abxy", 4); }),
            "difference at offset 2 0x63 0x78\ndifference at offset 3 0x64 0x79\n"
            "2 bytes of ADDRESS and ADDRESS differ");
  EXPECT_EQ(failure_of([] { assert_memory_not_equal("ab", "ab", 2); }),
            "2 bytes of ADDRESS and ADDRESS the same");
  EXPECT_EQ(failure_of([] { fail_msg("%d of %d", 1, 2); }), "ERROR: 1 of 2");
  EXPECT_EQ(failure_of([] { mock_assert(0, "x > 0", "f.c", 1); }), "ASSERT: x > 0");
  EXPECT_EQ(failure_of([] { expect_assert_failure(static_cast<void>(0)); }),
            "Expected assert in static_cast<void>(0)");
}

TEST(CmockaAssertions, AFailureEndsTheTestFromAnyDepth) {
  bool after = false;
  const auto deep = [] { assert_true(false); };
  EXPECT_EQ(failure_of([&] {
              deep();
              after = true;
            }),
            "false");
  EXPECT_FALSE(after);
}

TEST(CmockaAssertions, NameTheirPlace) {
  testing::TestPartResultArray parts;
  const int line = __LINE__ + 5;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
    try {
      fail();
    } catch (const testing::AssertionException&) {
    }
  }
  ASSERT_EQ(parts.size(), 1);
  EXPECT_EQ(parts.GetTestPartResult(0).line_number(), line);
  EXPECT_TRUE(std::string(parts.GetTestPartResult(0).file_name()).ends_with("compat_test.cpp"));
}

int add(int a, const char* b) {
  check_expected(a);
  check_expected_ptr(b);
  return mock_type(int);
}
void first() { function_called(); }
void second() { function_called(); }

TEST(CmockaMocks, AMissingValueNamesTheMock) {
  EXPECT_EQ(failure_of([] { add(1, "x"); }),
            "No entries for symbol add.\n"
            "here: error: Could not get value to check parameter a of function add\n"
            "There were no previously declared parameter values for this test.");
  EXPECT_EQ(failure_of([] {
              expect_any_count(add, a, 2);
              expect_any_count(add, b, 2);
              will_return(add, 1);
              add(1, "x");
              add(2, "y");
            }),
            "No entries for symbol add.\n"
            "here: error: Could not get value to mock function add\n"
            "here: note: Previously returned mock value was declared here");
}

TEST(CmockaMocks, AWrongParameterNamesBothPlaces) {
  const std::string places =
      "\nhere: error: Check of parameter a, function add failed\n"
      "here: note: Expected parameter declared here";
  EXPECT_EQ(failure_of([] {
              expect_value(add, a, 3);
              add(4, "x");
            }),
            "0x4 != 0x3" + places);
  EXPECT_EQ(failure_of([] {
              expect_in_range(add, a, 1, 3);
              add(4, "x");
            }),
            "4 is not within the range 1-3" + places);
  EXPECT_EQ(failure_of([] {
              expect_check(
                  add, a, [](LargestIntegralType v, LargestIntegralType d) { return int(v == d); },
                  5);
              add(4, "x");
            }),
            "the check refused 0x4" + places);
}

TEST(CmockaMocks, WrongStringsAndMemoryAreShown) {
  EXPECT_EQ(failure_of([] {
              expect_any(add, a);
              expect_string(add, b, "x");
              add(1, "y");
            }).substr(0, 10),
            "\"y\" != \"x\"");
  EXPECT_EQ(failure_of([] {
              expect_any(add, a);
              expect_memory(add, b, "ax", 2);
              add(1, "ay");
            }).substr(0, 32),
            "difference at offset 1 0x79 0x78");
}

TEST(CmockaMocks, CallsOutOfOrderAreNamed) {
  EXPECT_EQ(failure_of([] {
              expect_function_call(first);
              expect_function_call(second);
              second();
            }),
            "here: error: Expected call to first but received called() in second\n"
            "here: note: Expected call was declared here");
  first();
  second();
  EXPECT_EQ(failure_of([] { first(); }),
            "here: error: No mock calls expected but called() was invoked in first");
}

TEST(CmockaMocks, ValuesComeInTheirOrderAndAsManyTimesAsTold) {
  expect_any_always(add, a);
  expect_any_always(add, b);
  will_return_count(add, 1, 2);
  will_return(add, -5);
  will_return_always(add, 9);
  std::string values;
  for (int i = 0; i < 5; ++i) values += std::to_string(add(i, "")) + " ";
  EXPECT_EQ(values, "1 1 -5 9 9 ");
  will_return_maybe(first, 1);
  ignore_function_calls(first);
}

TEST(CmockaMocks, PointersTravelAsValues) {
  static int target = 5;
  const auto give = [](const char* name) {
    return rota::cmocka::from_value<int*>(rota::cmocka::take_return({__FILE__, __LINE__}, name));
  };
  will_return(give, &target);
  EXPECT_EQ(give("give"), &target);
  // A namespace in front of the mock's name does not matter.
  will_return(rota::nowhere::give, nullptr);
  EXPECT_EQ(give("give"), nullptr);
}

// Each test starts with nothing promised: leftovers of a failed one are gone.
TEST(CmockaMocks, NothingIsLeftFromTheTestBefore) {
  EXPECT_NE(failure_of([] { first(); }), "");
}

}  // namespace
