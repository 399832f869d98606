// testsuite/unit/testmain/sample_cmocka.cpp - CMocka tests with every outcome, for t0002.
#include <cstdlib>

#include "cmocka_compat.h"

namespace {

int mocked() { return mock_type(int); }
void checked(int value) { check_expected(value); }

void passes(void**) { assert_true(1); }
void fails(void**) { assert_int_equal(1, 2); }
void skips(void**) { skip(); }
void misses_a_value(void**) { mocked(); }
void leaves_a_value(void**) { will_return(mocked, 1); }
void gets_a_wrong_value(void**) {
  expect_value(checked, value, 3);
  checked(4);
}
int cannot(void**) { return -1; }

}  // namespace

int main() {
  const CMUnitTest every_outcome[] = {
      cmocka_unit_test(passes),
      cmocka_unit_test(fails),
      cmocka_unit_test(skips),
      cmocka_unit_test(misses_a_value),
      cmocka_unit_test(leaves_a_value),
      cmocka_unit_test(gets_a_wrong_value),
      cmocka_unit_test_setup(passes, cannot),
      cmocka_unit_test_teardown(passes, cannot),
  };
  int failed = cmocka_run_group_tests_name("outcomes", every_outcome, nullptr, nullptr);
  if (std::getenv("SAMPLE_TWO_GROUPS") != nullptr) {
    const CMUnitTest more[] = {cmocka_unit_test(passes)};
    failed += cmocka_run_group_tests(more, nullptr, nullptr);
  }
  return failed;
}
