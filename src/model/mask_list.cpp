// model/mask_list.cpp - secrets cut into lines.
#include "model/mask_list.h"

#include <algorithm>

namespace rota {
namespace {

std::string_view bare(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = line.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

}  // namespace

void MaskList::add(std::string_view secret) {
  for (std::size_t at = 0; at <= secret.size();) {
    const std::size_t end = std::min(secret.find('\n', at), secret.size());
    const std::string_view line = bare(secret.substr(at, end - at));
    at = end + 1;
    if (line.size() < line_bytes_min) continue;
    const Mask mask{std::string(line.substr(0, start_bytes_max)),
                    static_cast<std::uint32_t>(line.size())};
    if (std::ranges::find(masks, mask) == masks.end()) masks.push_back(mask);
  }
}

bool MaskList::fits() const {
  std::size_t bytes = 0;
  for (const Mask& mask : masks) bytes += mask.start.size() + 8;
  return bytes <= bytes_max;
}

}  // namespace rota
