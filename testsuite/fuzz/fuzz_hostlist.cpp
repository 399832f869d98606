// testsuite/fuzz/fuzz_hostlist.cpp - host lists from anybody: names that fold and come back, or an
// error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/assert.h"
#include "common/hostlist.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = rota::hostlist_expand(text);
  if (!names) {
    ROTA_ASSERT(std::string_view(names.error().detail).starts_with("host list column "));
    return 0;
  }
  ROTA_ASSERT(names->size() <= rota::hostlist_size_max);
  // Long lists are slow and fold no differently: the time is better spent on more inputs.
  if (names->size() > 1000) return 0;
  const auto again = rota::hostlist_expand(rota::hostlist_fold(*names));
  ROTA_ASSERT(again && *again == *names);
  return 0;
}
