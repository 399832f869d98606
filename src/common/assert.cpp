// common/assert.cpp - the end of a process that found itself wrong.
#include "common/assert.h"

#include <cstdio>
#include <cstdlib>

namespace rota {

void assertion_failed(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "rota: assertion failed: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace rota
