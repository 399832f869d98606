// testsuite/unit/testmain/cmocka_style_test.cpp - a program in CMocka's idiom, as one would port
// it.
#include <cstdlib>
#include <cstring>

#include "cmocka_compat.h"
#include "unit/testmain/thermometer.h"

extern "C" int sensor_open(const char* name) {
  function_called();
  check_expected_ptr(name);
  return mock_type(int);
}

extern "C" int sensor_read(int sensor, int index) {
  check_expected(sensor);
  check_expected(index);
  return mock_type(int);
}

extern "C" void sensor_close(int sensor) {
  function_called();
  check_expected(sensor);
}

namespace {

void takes_the_mean_of_three_readings(void**) {
  expect_function_call(sensor_open);
  expect_string(sensor_open, name, "gpu0");
  will_return(sensor_open, 7);
  expect_value_count(sensor_read, sensor, 7, 3);
  expect_value(sensor_read, index, 0);
  expect_in_range_count(sensor_read, index, 1, 2, 2);
  will_return(sensor_read, 60);
  will_return_count(sensor_read, 66, 2);
  expect_function_call(sensor_close);
  expect_not_value(sensor_close, sensor, 0);
  assert_int_equal(thermometer_mean("gpu0", 3), 64);
}

void closes_the_sensor_after_a_bad_reading(void**) {
  ignore_function_calls(sensor_open);
  expect_any(sensor_open, name);
  will_return(sensor_open, 3);
  expect_any_always(sensor_read, sensor);
  expect_any_always(sensor_read, index);
  will_return(sensor_read, 50);
  will_return(sensor_read, -1);
  expect_function_call(sensor_close);
  const LargestIntegralType sensors[] = {1, 2, 3};
  expect_in_set(sensor_close, sensor, sensors);
  assert_int_equal(thermometer_mean("gpu1", 5), -1);
}

void gives_up_without_a_sensor(void**) {
  expect_function_call_any(sensor_open);
  expect_not_string(sensor_open, name, "");
  expect_memory(sensor_open, name, "gpu2", 5);
  will_return_always(sensor_open, -1);
  assert_int_equal(thermometer_mean("gpu9", 1), -1);
  assert_int_equal(thermometer_mean("gpu2", 1), -1);
}

int make_number(void** state) {
  *state = std::malloc(sizeof(int));
  if (*state == nullptr) return -1;
  *static_cast<int*>(*state) = 42;
  return 0;
}
int drop_number(void** state) {
  std::free(*state);
  return 0;
}
void fixtures_hand_over_their_state(void** state) {
  assert_int_equal(*static_cast<int*>(*state), 42);
}

int group_word_is_set;
int set_group_word(void** state) {
  static char word[] = "group";
  *state = word;
  group_word_is_set = 1;
  return 0;
}
int clear_group_word(void** state) {
  return std::strcmp(static_cast<const char*>(*state), "group");
}
void tests_start_with_the_groups_state(void** state) {
  assert_true(group_word_is_set);
  assert_string_equal(static_cast<const char*>(*state), "group");
}

char own_word[] = "own";
void a_prestate_wins_over_the_groups(void** state) {
  assert_string_equal(static_cast<const char*>(*state), "own");
}

void assertions_hold(void**) {
  int numbers[2] = {1, 2};
  const LargestIntegralType set[] = {1, 2, 3};
  assert_true(1 + 1 == 2);
  assert_true(numbers);
  assert_false(nullptr);
  assert_null(nullptr);
  assert_non_null(numbers);
  assert_ptr_equal(numbers, &numbers[0]);
  assert_ptr_not_equal(numbers, &numbers[1]);
  assert_int_equal(-1, -1L);
  assert_int_not_equal(1, 2);
  assert_float_equal(0.1 + 0.2, 0.3, 1e-9);
  assert_float_not_equal(1.0, 1.1, 0.01);
  assert_string_equal("a", "a");
  assert_string_not_equal("a", "b");
  assert_memory_equal("abc", "abd", 2);
  assert_memory_not_equal("abc", "abd", 3);
  assert_in_range(5, 5, 6);
  assert_not_in_range(7, 5, 6);
  assert_in_set(2, set, 3);
  assert_not_in_set(4, set, 3);
  assert_return_code(0, 0);
}

// As a header under test would have it: #define assert(e) mock_assert((e) != 0, #e, __FILE__,
// __LINE__)
void divide(int by) { mock_assert(by != 0, "by != 0", __FILE__, __LINE__); }
void asserts_of_the_code_are_caught(void**) {
  divide(1);
  expect_assert_failure(divide(0));
}

void a_test_may_skip_itself(void**) {
  skip();
  fail_msg("%s", "not reached");
}

}  // namespace

int main() {
  const CMUnitTest thermometer_tests[] = {
      cmocka_unit_test(takes_the_mean_of_three_readings),
      cmocka_unit_test(closes_the_sensor_after_a_bad_reading),
      cmocka_unit_test(gives_up_without_a_sensor),
      cmocka_unit_test_setup_teardown(fixtures_hand_over_their_state, make_number, drop_number),
      cmocka_unit_test(tests_start_with_the_groups_state),
      cmocka_unit_test_prestate(a_prestate_wins_over_the_groups, own_word),
      cmocka_unit_test(assertions_hold),
      cmocka_unit_test(asserts_of_the_code_are_caught),
      cmocka_unit_test(a_test_may_skip_itself),
  };
  return cmocka_run_group_tests(thermometer_tests, set_group_word, clear_group_word);
}
