// testsuite/unit/fakegpu/tap.h - the Test Anything Protocol for the C tests of the fake GPUs.
#pragma once
#include <stdio.h>
#include <string.h>

static int tap_count;
static int tap_failures;

static inline void tap_result(int good, const char* what, const char* file, int line) {
  printf("%sok %d - %s\n", good ? "" : "not ", ++tap_count, what);
  if (!good) {
    ++tap_failures;
    printf("# %s:%d\n", file, line);
  }
}

#define OK(condition, what) tap_result((condition) != 0, what, __FILE__, __LINE__)

#define IS_NUMBER(got, wanted, what)                                         \
  do {                                                                       \
    const long long got_ = (long long)(got), wanted_ = (long long)(wanted);  \
    OK(got_ == wanted_, what);                                               \
    if (got_ != wanted_) printf("# got %lld, wanted %lld\n", got_, wanted_); \
  } while (0)

#define IS_TEXT(got, wanted, what)                                                      \
  do {                                                                                  \
    const char *got_ = (got), *wanted_ = (wanted);                                      \
    OK(strcmp(got_, wanted_) == 0, what);                                               \
    if (strcmp(got_, wanted_) != 0) printf("# got '%s', wanted '%s'\n", got_, wanted_); \
  } while (0)

static inline int tap_done(void) {
  printf("1..%d\n", tap_count);
  return tap_failures == 0 ? 0 : 1;
}
