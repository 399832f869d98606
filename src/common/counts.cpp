// common/counts.cpp - equal neighbours are said once.
#include "common/counts.h"

#include "common/format.h"

namespace rota {

std::string repeated_list(const std::vector<std::uint32_t>& counts) {
  std::string text;
  for (std::size_t at = 0; at < counts.size();) {
    std::size_t end = at;
    while (end < counts.size() && counts[end] == counts[at]) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(counts[at]);
    if (end - at > 1) text += format("(x{})", end - at);
    at = end;
  }
  return text;
}

}  // namespace rota
