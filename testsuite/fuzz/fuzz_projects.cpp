// testsuite/fuzz/fuzz_projects.cpp - projects.yaml from anybody: a valid Org that can be written
// and read back, or an error with its place.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/assert.h"
#include "model/org_diff.h"
#include "model/org_yaml.h"
#include "model/project.h"

namespace {

/// "f:12:3: " in front of the sentence.
bool has_place(std::string_view detail) {
  if (!detail.starts_with("f:")) return false;
  detail.remove_prefix(2);
  for (int i = 0; i < 2; ++i) {
    std::size_t digits = 0;
    while (digits < detail.size() && std::isdigit(static_cast<unsigned char>(detail[digits])))
      ++digits;
    if (digits == 0 || detail[0] == '0' || digits == detail.size() || detail[digits] != ':')
      return false;
    detail.remove_prefix(digits + 1);
  }
  return detail.size() > 1 && detail[0] == ' ';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto org = rota::org_parse(text, "f");
  if (!org) {
    ROTA_ASSERT(has_place(org.error().detail));
    return 0;
  }
  ROTA_ASSERT(rota::find_project(*org, "default") != nullptr);
  const auto again = rota::org_parse(rota::org_yaml(*org), "f");
  ROTA_ASSERT(again && *again == *org);
  ROTA_ASSERT(rota::difference(*org, *again).empty());
  return 0;
}
