// testsuite/fuzz/fuzz_yaml.cpp - rota.yaml from anybody: a Config, or an error with its place.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/assert.h"
#include "common/config.h"

namespace {

/// "f:12:3: " in front of the sentence.
bool has_place(std::string_view detail) {
  if (!detail.starts_with("f:")) return false;
  detail.remove_prefix(2);
  for (const char end : {':', ':'}) {
    std::size_t digits = 0;
    while (digits < detail.size() && std::isdigit(static_cast<unsigned char>(detail[digits])))
      ++digits;
    if (digits == 0 || detail[0] == '0' || digits == detail.size() || detail[digits] != end)
      return false;
    detail.remove_prefix(digits + 1);
  }
  return detail.size() > 1 && detail[0] == ' ';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = rota::config_parse(text, "f");
  if (config) {
    ROTA_ASSERT(config->nodes_lost_after > config->nodes_heartbeat);
    ROTA_ASSERT(config->nodes_heartbeat.count() > 0);
    ROTA_ASSERT(!config->controller_state_dir.empty() && config->controller_state_dir[0] == '/');
  } else {
    ROTA_ASSERT(has_place(config.error().detail));
  }
  return 0;
}
