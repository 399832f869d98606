// testsuite/fuzz/fuzz_units.cpp - durations, time limits, sizes and index lists from anybody.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/assert.h"
#include "common/idset.h"
#include "common/units.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto duration = rota::duration_parse(text)) {
    ROTA_ASSERT(duration->count() >= 0);
    ROTA_ASSERT(rota::duration_parse(rota::duration_format(*duration)).value() == *duration);
  }
  if (const auto limit = rota::time_limit_parse(text)) ROTA_ASSERT(limit->count() >= 0);
  if (const auto bytes = rota::size_parse(text)) {
    ROTA_ASSERT(rota::size_parse(rota::size_exact(*bytes)).value() == *bytes);
    // Rounded for people, the largest become 16EiB, which is one byte too many.
    if (*bytes >> 63 == 0) ROTA_ASSERT(rota::size_parse(rota::size_format(*bytes)));
  }
  if (const auto ids = rota::idset_parse(text)) {
    ROTA_ASSERT(std::is_sorted(ids->begin(), ids->end()));
    ROTA_ASSERT(rota::idset_parse(rota::idset_format(*ids)).value() == *ids);
  }
  if (const auto number = rota::number_parse(text, 1000)) ROTA_ASSERT(*number <= 1000);
  return 0;
}
