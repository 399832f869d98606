// testsuite/cmocka_compat.h - CMocka's assertions, mocks and groups on top of GoogleTest.
//
// For tests of our C parts: a test program written for <cmocka.h> (compiled as C++, with the C code
// under test in extern "C") includes this instead, last of its headers, and links libtestmain.a.
// Its results then come out like those of every other test. What differs from CMocka:
//  - a failed assertion throws where CMocka does longjmp(): destructors run, and C code in between
//    is unwound, which compilers of the platforms we support prepare for by default;
//  - the assertions and mocks work in GoogleTest's TEST() too;
//  - the test_malloc() family is not here: the sanitizer build finds leaks.
#pragma once
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

using LargestIntegralType = std::uintmax_t;
/// Non-zero when `value` is as `data` wants it.
using CheckParameterValue = int (*)(LargestIntegralType value, LargestIntegralType data);
using CMUnitTestFunction = void (*)(void** state);
using CMFixtureFunction = int (*)(void** state);

struct CMUnitTest {
  const char* name = nullptr;
  CMUnitTestFunction test_func = nullptr;
  CMFixtureFunction setup_func = nullptr;
  CMFixtureFunction teardown_func = nullptr;
  void* initial_state = nullptr;
};

namespace testing {
class TestEventListener;
}

namespace rota::cmocka {

struct Place {
  const char* file;
  int line;
};

/// Any integer, enumerator or pointer as CMocka hands it around.
template <class T>
LargestIntegralType value_of(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<std::uintptr_t>(value);
  else if constexpr (std::is_null_pointer_v<T>)
    return 0;
  else
    return static_cast<LargestIntegralType>(value);
}
template <class T>
T from_value(LargestIntegralType value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(value));
  else
    return static_cast<T>(value);
}

/// Records the failure and leaves the test.
[[noreturn]] void stop_failed(Place place, const std::string& message);
[[noreturn]] void stop_skipped(Place place);
std::string formatted(const char* format, ...) __attribute__((format(printf, 1, 2)));

// What an assertion compares. Each returns when it holds and stops the test when it does not.
void assert_holds(Place place, bool holds, const char* expression);
void assert_integers(Place place, LargestIntegralType a, LargestIntegralType b, bool equal);
void assert_pointers(Place place, const void* a, const void* b, bool equal);
void assert_floats(Place place, double a, double b, double epsilon, bool equal);
void assert_strings(Place place, const char* a, const char* b, bool equal);
void assert_memory(Place place, const void* a, const void* b, std::size_t size, bool equal);
void assert_range(Place place, LargestIntegralType value, LargestIntegralType min,
                  LargestIntegralType max, bool inside);
void assert_set(Place place, LargestIntegralType value, const LargestIntegralType* values,
                std::size_t count, bool inside);
void assert_return(Place place, std::intmax_t result, int error);

/// How often a value or expectation serves: a number, or one of these.
inline constexpr int always = -1;  // any number of times, once at least
inline constexpr int maybe = -2;   // any number of times, or never

/// What is wrong with a parameter's value; nothing when it is as expected.
using Check = std::function<std::optional<std::string>(LargestIntegralType)>;
Check is_any();
Check is_value(LargestIntegralType expected, bool equal);
Check is_in_range(LargestIntegralType min, LargestIntegralType max, bool inside);
Check is_in_set(std::vector<LargestIntegralType> values, bool inside);
Check is_string(std::string expected, bool equal);
Check is_memory(const void* expected, std::size_t size, bool equal);
Check is_checked_by(CheckParameterValue check, LargestIntegralType data);

void add_return(Place place, const char* function, LargestIntegralType value, int count);
LargestIntegralType take_return(Place place, const char* function);
void add_check(Place place, const char* function, const char* parameter, Check check, int count);
void check_parameter(Place place, const char* function, const char* parameter,
                     LargestIntegralType value);
void add_call(Place place, const char* function, int count);
void note_call(Place place, const char* function);

/// Whether `body` ended in a failed mock_assert().
bool asserts(const std::function<void()>& body);

/// Fails the test that ends with values that nobody took, and clears them for the next one.
testing::TestEventListener* make_leftover_check();

/// Runs the tests as GoogleTest tests of the suite `name`; the number that failed.
int run_group(const char* name, const CMUnitTest* tests, std::size_t count,
              CMFixtureFunction group_setup, CMFixtureFunction group_teardown);
/// Whether a suite came from run_group(): its tests are printed by their bare names.
bool is_group(const std::string& suite);
/// The test property that marks a test which could not be run, with the reason.
inline constexpr const char* error_property = "cmocka_error";

}  // namespace rota::cmocka

#define ROTA_CMOCKA_PLACE \
  ::rota::cmocka::Place { __FILE__, __LINE__ }
#define ROTA_CMOCKA_VALUE(value) ::rota::cmocka::value_of(value)
// The caller's place and name, for what can be a function instead of a macro.
#define ROTA_CMOCKA_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()

// ---- assertions ----
#define assert_true(c) ::rota::cmocka::assert_holds(ROTA_CMOCKA_PLACE, static_cast<bool>(c), #c)
#define assert_false(c) ::rota::cmocka::assert_holds(ROTA_CMOCKA_PLACE, !static_cast<bool>(c), #c)
#define assert_non_null(p) ::rota::cmocka::assert_holds(ROTA_CMOCKA_PLACE, (p) != nullptr, #p)
#define assert_null(p) ::rota::cmocka::assert_holds(ROTA_CMOCKA_PLACE, (p) == nullptr, #p)
#define assert_return_code(rc, error) \
  ::rota::cmocka::assert_return(ROTA_CMOCKA_PLACE, static_cast<std::intmax_t>(rc), error)
#define assert_int_equal(a, b)                                                                   \
  ::rota::cmocka::assert_integers(ROTA_CMOCKA_PLACE, ROTA_CMOCKA_VALUE(a), ROTA_CMOCKA_VALUE(b), \
                                  true)
#define assert_int_not_equal(a, b)                                                               \
  ::rota::cmocka::assert_integers(ROTA_CMOCKA_PLACE, ROTA_CMOCKA_VALUE(a), ROTA_CMOCKA_VALUE(b), \
                                  false)
#define assert_ptr_equal(a, b) ::rota::cmocka::assert_pointers(ROTA_CMOCKA_PLACE, a, b, true)
#define assert_ptr_not_equal(a, b) ::rota::cmocka::assert_pointers(ROTA_CMOCKA_PLACE, a, b, false)
#define assert_float_equal(a, b, epsilon) \
  ::rota::cmocka::assert_floats(ROTA_CMOCKA_PLACE, a, b, epsilon, true)
#define assert_float_not_equal(a, b, epsilon) \
  ::rota::cmocka::assert_floats(ROTA_CMOCKA_PLACE, a, b, epsilon, false)
#define assert_double_equal(a, b, epsilon) assert_float_equal(a, b, epsilon)
#define assert_double_not_equal(a, b, epsilon) assert_float_not_equal(a, b, epsilon)
#define assert_string_equal(a, b) ::rota::cmocka::assert_strings(ROTA_CMOCKA_PLACE, a, b, true)
#define assert_string_not_equal(a, b) ::rota::cmocka::assert_strings(ROTA_CMOCKA_PLACE, a, b, false)
#define assert_memory_equal(a, b, size) \
  ::rota::cmocka::assert_memory(ROTA_CMOCKA_PLACE, a, b, size, true)
#define assert_memory_not_equal(a, b, size) \
  ::rota::cmocka::assert_memory(ROTA_CMOCKA_PLACE, a, b, size, false)
#define assert_in_range(value, min, max)                                    \
  ::rota::cmocka::assert_range(ROTA_CMOCKA_PLACE, ROTA_CMOCKA_VALUE(value), \
                               ROTA_CMOCKA_VALUE(min), ROTA_CMOCKA_VALUE(max), true)
#define assert_not_in_range(value, min, max)                                \
  ::rota::cmocka::assert_range(ROTA_CMOCKA_PLACE, ROTA_CMOCKA_VALUE(value), \
                               ROTA_CMOCKA_VALUE(min), ROTA_CMOCKA_VALUE(max), false)
#define assert_in_set(value, values, count) \
  ::rota::cmocka::assert_set(ROTA_CMOCKA_PLACE, ROTA_CMOCKA_VALUE(value), values, count, true)
#define assert_not_in_set(value, values, count) \
  ::rota::cmocka::assert_set(ROTA_CMOCKA_PLACE, ROTA_CMOCKA_VALUE(value), values, count, false)
#define fail_msg(...) \
  ::rota::cmocka::stop_failed(ROTA_CMOCKA_PLACE, "ERROR: " + ::rota::cmocka::formatted(__VA_ARGS__))
[[noreturn]] inline void fail(ROTA_CMOCKA_CALLER) { rota::cmocka::stop_failed({file, line}, ""); }
[[noreturn]] inline void skip(ROTA_CMOCKA_CALLER) { rota::cmocka::stop_skipped({file, line}); }

// ---- what mocks return ----
#define will_return_count(function, value, count) \
  ::rota::cmocka::add_return(ROTA_CMOCKA_PLACE, #function, ROTA_CMOCKA_VALUE(value), count)
#define will_return(function, value) will_return_count(function, value, 1)
#define will_return_always(function, value) \
  will_return_count(function, value, ::rota::cmocka::always)
#define will_return_maybe(function, value) will_return_count(function, value, ::rota::cmocka::maybe)
inline LargestIntegralType mock(ROTA_CMOCKA_CALLER, const char* function = __builtin_FUNCTION()) {
  return rota::cmocka::take_return({file, line}, function);
}
#define mock_type(type) ::rota::cmocka::from_value<type>(mock())
#define mock_ptr_type(type) ::rota::cmocka::from_value<type>(mock())

// ---- what mocks are given ----
#define ROTA_CMOCKA_EXPECT(function, parameter, check, count) \
  ::rota::cmocka::add_check(ROTA_CMOCKA_PLACE, #function, #parameter, ::rota::cmocka::check, count)
#define expect_any_count(function, parameter, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_any(), count)
#define expect_any(function, parameter) expect_any_count(function, parameter, 1)
#define expect_any_always(function, parameter) \
  expect_any_count(function, parameter, ::rota::cmocka::always)
#define expect_value_count(function, parameter, value, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_value(ROTA_CMOCKA_VALUE(value), true), count)
#define expect_value(function, parameter, value) expect_value_count(function, parameter, value, 1)
#define expect_not_value_count(function, parameter, value, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_value(ROTA_CMOCKA_VALUE(value), false), count)
#define expect_not_value(function, parameter, value) \
  expect_not_value_count(function, parameter, value, 1)
#define expect_in_range_count(function, parameter, min, max, count) \
  ROTA_CMOCKA_EXPECT(function, parameter,                           \
                     is_in_range(ROTA_CMOCKA_VALUE(min), ROTA_CMOCKA_VALUE(max), true), count)
#define expect_in_range(function, parameter, min, max) \
  expect_in_range_count(function, parameter, min, max, 1)
#define expect_not_in_range_count(function, parameter, min, max, count) \
  ROTA_CMOCKA_EXPECT(function, parameter,                               \
                     is_in_range(ROTA_CMOCKA_VALUE(min), ROTA_CMOCKA_VALUE(max), false), count)
#define expect_not_in_range(function, parameter, min, max) \
  expect_not_in_range_count(function, parameter, min, max, 1)
#define expect_in_set_count(function, parameter, values, count)                                    \
  ROTA_CMOCKA_EXPECT(function, parameter, is_in_set({std::begin(values), std::end(values)}, true), \
                     count)
#define expect_in_set(function, parameter, values) \
  expect_in_set_count(function, parameter, values, 1)
#define expect_not_in_set_count(function, parameter, values, count) \
  ROTA_CMOCKA_EXPECT(function, parameter,                           \
                     is_in_set({std::begin(values), std::end(values)}, false), count)
#define expect_not_in_set(function, parameter, values) \
  expect_not_in_set_count(function, parameter, values, 1)
#define expect_string_count(function, parameter, string, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_string(string, true), count)
#define expect_string(function, parameter, string) \
  expect_string_count(function, parameter, string, 1)
#define expect_not_string_count(function, parameter, string, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_string(string, false), count)
#define expect_not_string(function, parameter, string) \
  expect_not_string_count(function, parameter, string, 1)
#define expect_memory_count(function, parameter, memory, size, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_memory(memory, size, true), count)
#define expect_memory(function, parameter, memory, size) \
  expect_memory_count(function, parameter, memory, size, 1)
#define expect_not_memory_count(function, parameter, memory, size, count) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_memory(memory, size, false), count)
#define expect_not_memory(function, parameter, memory, size) \
  expect_not_memory_count(function, parameter, memory, size, 1)
#define expect_check(function, parameter, check, data) \
  ROTA_CMOCKA_EXPECT(function, parameter, is_checked_by(check, ROTA_CMOCKA_VALUE(data)), 1)
#define check_expected(parameter)                                          \
  ::rota::cmocka::check_parameter(ROTA_CMOCKA_PLACE, __func__, #parameter, \
                                  ROTA_CMOCKA_VALUE(parameter))
#define check_expected_ptr(parameter) check_expected(parameter)

// ---- that mocks are called, and in which order ----
#define expect_function_calls(function, count) \
  ::rota::cmocka::add_call(ROTA_CMOCKA_PLACE, #function, count)
#define expect_function_call(function) expect_function_calls(function, 1)
#define expect_function_call_any(function) expect_function_calls(function, ::rota::cmocka::always)
#define ignore_function_calls(function) expect_function_calls(function, ::rota::cmocka::maybe)
inline void function_called(ROTA_CMOCKA_CALLER, const char* function = __builtin_FUNCTION()) {
  rota::cmocka::note_call({file, line}, function);
}

// ---- assert() of the code under test ----
void mock_assert(int result, const char* expression, const char* file, int line);
#define expect_assert_failure(call)                                                \
  do {                                                                             \
    if (!::rota::cmocka::asserts([&] { call; }))                                   \
      ::rota::cmocka::stop_failed(ROTA_CMOCKA_PLACE, "Expected assert in " #call); \
  } while (false)

// ---- tests and groups ----
#define cmocka_unit_test_prestate_setup_teardown(function, setup, teardown, state) \
  CMUnitTest { #function, function, setup, teardown, state }
#define cmocka_unit_test(function) \
  cmocka_unit_test_prestate_setup_teardown(function, nullptr, nullptr, nullptr)
#define cmocka_unit_test_setup(function, setup) \
  cmocka_unit_test_prestate_setup_teardown(function, setup, nullptr, nullptr)
#define cmocka_unit_test_teardown(function, teardown) \
  cmocka_unit_test_prestate_setup_teardown(function, nullptr, teardown, nullptr)
#define cmocka_unit_test_setup_teardown(function, setup, teardown) \
  cmocka_unit_test_prestate_setup_teardown(function, setup, teardown, nullptr)
#define cmocka_unit_test_prestate(function, state) \
  cmocka_unit_test_prestate_setup_teardown(function, nullptr, nullptr, state)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
  ::rota::cmocka::run_group(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown) \
  cmocka_run_group_tests_name(#tests, tests, setup, teardown)

void print_message(const char* format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char* format, ...) __attribute__((format(printf, 1, 2)));
