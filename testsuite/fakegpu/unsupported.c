// testsuite/fakegpu/unsupported.c - NVML's other names: there, as in a real driver, and not
// supported.
#include "core.h"

// Their arguments are not looked at, so that none need be declared.
#define UNSUPPORTED(name)      \
  EXPORT int name(void);       \
  int name(void) {             \
    ENTER(call);               \
    return nvml_not_supported; \
  }
#include "unsupported.def"
