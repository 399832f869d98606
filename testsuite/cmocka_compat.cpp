// testsuite/cmocka_compat.cpp - CMocka's assertions and groups, carried out by GoogleTest.
#include "cmocka_compat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

#include "unit/cmocka_output.h"

namespace rota::cmocka {
namespace {

/// What a failed mock_assert() throws inside expect_assert_failure().
struct AssertCaught {};
int asserts_expected = 0;

std::string formatted_list(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(static_cast<std::size_t>(std::max(size, 0)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string hex(LargestIntegralType value) {
  return formatted("0x%llx", static_cast<unsigned long long>(value));
}
std::string decimal(LargestIntegralType value) { return std::to_string(value); }

std::string in_double_quotes(const char* text) {
  return text == nullptr ? "(null)" : "\"" + std::string(text) + "\"";
}

/// Every byte that differs, sixteen at most, and how many there are.
std::string differences(const unsigned char* a, const unsigned char* b, std::size_t size) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] == b[i]) continue;
    if (++count <= 16) text += formatted("difference at offset %zu 0x%02x 0x%02x\n", i, a[i], b[i]);
  }
  if (count > 16) text += "...\n";
  if (count == 0) return "";
  return text + formatted("%zu bytes of %p and %p differ", count, static_cast<const void*>(a),
                          static_cast<const void*>(b));
}

void assert_no(Place place, const std::optional<std::string>& problem) {
  if (problem) stop_failed(place, *problem);
}

std::set<std::string>& groups() {
  static std::set<std::string> names;
  return names;
}

/// One entry of a CMocka group.
class GroupTest : public testing::Test {
 public:
  GroupTest(const CMUnitTest& test, void* group_state, bool group_ready)
      : test_(test),
        state_(test.initial_state != nullptr ? test.initial_state : group_state),
        group_ready_(group_ready) {}

  void TestBody() override {
    if (!group_ready_) return could_not_run("Group setup failed");
    if (test_.setup_func != nullptr && test_.setup_func(&state_) != 0)
      return could_not_run("Test setup failed");
    try {
      test_.test_func(&state_);
    } catch (const testing::AssertionException&) {
      // Reported already by whoever threw it.
    } catch (...) {
      tear_down();
      throw;
    }
    tear_down();
  }

 private:
  void tear_down() {
    const bool good = test_.teardown_func == nullptr || test_.teardown_func(&state_) == 0;
    if (!good && !HasFailure()) could_not_run("Test teardown failed");
  }
  void could_not_run(const char* reason) {
    RecordProperty(error_property, reason);
    ADD_FAILURE() << reason;
  }

  CMUnitTest test_;
  void* state_;
  bool group_ready_;
};

}  // namespace

std::string formatted(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = formatted_list(format, arguments);
  va_end(arguments);
  return text;
}

void stop_failed(Place place, const std::string& message) {
  GTEST_MESSAGE_AT_(place.file, place.line, message.c_str(),
                    testing::TestPartResult::kFatalFailure);
  // GoogleTest takes this exception for a failure that was reported already.
  throw testing::AssertionException(testing::TestPartResult(
      testing::TestPartResult::kFatalFailure, place.file, place.line, message.c_str()));
}

void stop_skipped(Place place) {
  GTEST_MESSAGE_AT_(place.file, place.line, "", testing::TestPartResult::kSkip);
  throw testing::AssertionException(
      testing::TestPartResult(testing::TestPartResult::kSkip, place.file, place.line, ""));
}

void assert_holds(Place place, bool holds, const char* expression) {
  if (!holds) stop_failed(place, expression);
}

void assert_integers(Place place, LargestIntegralType a, LargestIntegralType b, bool equal) {
  assert_no(place, is_value(b, equal)(a));
}

void assert_pointers(Place place, const void* a, const void* b, bool equal) {
  if ((a == b) != equal)
    stop_failed(place,
                formatted("%#llx %s %#llx", static_cast<unsigned long long>(value_of(a)),
                          equal ? "!=" : "==", static_cast<unsigned long long>(value_of(b))));
}

void assert_floats(Place place, double a, double b, double epsilon, bool equal) {
  const bool near = a == b || std::fabs(a - b) <= std::fabs(epsilon);
  if (near != equal) stop_failed(place, formatted("%f %s %f", a, equal ? "!=" : "==", b));
}

void assert_strings(Place place, const char* a, const char* b, bool equal) {
  const bool same = a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
  if (same != equal)
    stop_failed(place, in_double_quotes(a) + (equal ? " != " : " == ") + in_double_quotes(b));
}

void assert_memory(Place place, const void* a, const void* b, std::size_t size, bool equal) {
  const std::string differing =
      differences(static_cast<const unsigned char*>(a), static_cast<const unsigned char*>(b), size);
  if (equal && !differing.empty()) stop_failed(place, differing);
  if (!equal && differing.empty())
    stop_failed(place, formatted("%zu bytes of %p and %p the same", size, a, b));
}

void assert_range(Place place, LargestIntegralType value, LargestIntegralType min,
                  LargestIntegralType max, bool inside) {
  assert_no(place, is_in_range(min, max, inside)(value));
}

void assert_set(Place place, LargestIntegralType value, const LargestIntegralType* values,
                std::size_t count, bool inside) {
  assert_no(place, is_in_set({values, values + count}, inside)(value));
}

void assert_return(Place place, std::intmax_t result, int error) {
  if (result >= 0) return;
  stop_failed(place,
              formatted("%lld < 0", static_cast<long long>(result)) +
                  (error == 0 ? "" : formatted(", errno(%d): %s", error, std::strerror(error))));
}

Check is_any() {
  return [](LargestIntegralType) { return std::optional<std::string>(); };
}

Check is_value(LargestIntegralType expected, bool equal) {
  return [=](LargestIntegralType value) -> std::optional<std::string> {
    if ((value == expected) == equal) return std::nullopt;
    return hex(value) + (equal ? " != " : " == ") + hex(expected);
  };
}

Check is_in_range(LargestIntegralType min, LargestIntegralType max, bool inside) {
  return [=](LargestIntegralType value) -> std::optional<std::string> {
    if ((value >= min && value <= max) == inside) return std::nullopt;
    return decimal(value) + (inside ? " is not within" : " is within") + " the range " +
           decimal(min) + "-" + decimal(max);
  };
}

Check is_in_set(std::vector<LargestIntegralType> values, bool inside) {
  return [=](LargestIntegralType value) -> std::optional<std::string> {
    bool found = false;
    std::string list;
    for (const auto one : values) {
      found = found || one == value;
      list += (list.empty() ? "" : ", ") + hex(one);
    }
    if (found == inside) return std::nullopt;
    return decimal(value) + (inside ? " is not in" : " is in") + " the set (" + list + ")";
  };
}

Check is_string(std::string expected, bool equal) {
  return [=](LargestIntegralType value) -> std::optional<std::string> {
    const char* text = from_value<const char*>(value);
    if ((text != nullptr && text == expected) == equal) return std::nullopt;
    return in_double_quotes(text) + (equal ? " != " : " == ") + in_double_quotes(expected.c_str());
  };
}

Check is_memory(const void* expected, std::size_t size, bool equal) {
  // A copy: the caller's buffer may be gone when the mock is called.
  const auto* bytes = static_cast<const unsigned char*>(expected);
  const std::vector<unsigned char> copy(bytes, bytes + size);
  return [=](LargestIntegralType value) -> std::optional<std::string> {
    const auto* given = from_value<const unsigned char*>(value);
    if (given == nullptr) return equal ? std::optional<std::string>("NULL") : std::nullopt;
    const std::string differing = differences(given, copy.data(), copy.size());
    if (differing.empty() == equal) return std::nullopt;
    return equal ? differing : formatted("%zu bytes the same", copy.size());
  };
}

Check is_checked_by(CheckParameterValue check, LargestIntegralType data) {
  return [=](LargestIntegralType value) -> std::optional<std::string> {
    if (check(value, data) != 0) return std::nullopt;
    return "the check refused " + hex(value);
  };
}

bool asserts(const std::function<void()>& body) {
  ++asserts_expected;
  bool caught = false;
  try {
    body();
  } catch (const AssertCaught&) {
    caught = true;
  } catch (...) {
    --asserts_expected;
    throw;
  }
  --asserts_expected;
  return caught;
}

bool is_group(const std::string& suite) { return groups().contains(suite); }

int run_group(const char* name, const CMUnitTest* tests, std::size_t count,
              CMFixtureFunction group_setup, CMFixtureFunction group_teardown) {
  static const bool first = [] {
    testing::InitGoogleTest();
    testmain::install_listeners();
    return true;
  }();
  static const std::string filter_given = GTEST_FLAG_GET(filter);
  static_cast<void>(first);
  // Groups that have run stay registered: the filter keeps them from running again.
  std::string filter = filter_given;
  for (std::string done : groups()) {
    std::replace(done.begin(), done.end(), '-', '?');  // a '-' starts the list of what is left out
    filter += (filter.find('-') == std::string::npos ? "-" : ":") + done + ".*";
  }
  GTEST_FLAG_SET(filter, filter);
  groups().insert(name);

  void* group_state = nullptr;
  const bool ready = group_setup == nullptr || group_setup(&group_state) == 0;
  for (std::size_t i = 0; i < count; ++i) {
    const CMUnitTest& test = tests[i];
    testing::RegisterTest(name, test.name, nullptr, nullptr, __FILE__, __LINE__,
                          [test, group_state, ready]() -> GroupTest* {
                            return new GroupTest(test, group_state, ready);
                          });
  }
  const int result = RUN_ALL_TESTS();
  int failed = testing::UnitTest::GetInstance()->failed_test_count();
  if (group_teardown != nullptr && ready && group_teardown(&group_state) != 0) {
    print_error("[  FAILED  ] GROUP TEARDOWN\n[  ERROR   ] %s\n", name);
    ++failed;
  }
  return result != 0 && failed == 0 ? 1 : failed;
}

}  // namespace rota::cmocka

void mock_assert(int result, const char* expression, const char* file, int line) {
  if (result != 0) return;
  if (rota::cmocka::asserts_expected > 0) throw rota::cmocka::AssertCaught{};
  rota::cmocka::stop_failed({file, line}, std::string("ASSERT: ") + expression);
}

void print_message(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stdout, format, arguments);
  va_end(arguments);
  std::fflush(stdout);
}

void print_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
}
