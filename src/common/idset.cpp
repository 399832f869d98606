// common/idset.cpp - ranges to indexes and back.
#include "common/idset.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"

namespace rota {
namespace {

Error at_column(std::size_t position, std::string_view what) {
  return {Errc::invalid_argument, format("index list column {}: {}", position + 1, what)};
}

Result<std::uint32_t> take_index(std::string_view text, std::size_t& position) {
  const std::size_t start = position;
  std::uint32_t index = 0;
  while (position < text.size() && text[position] >= '0' && text[position] <= '9') {
    index = index * 10 + static_cast<std::uint32_t>(text[position++] - '0');
    if (index > idset_index_max)
      return at_column(start, format("the largest index is {}", idset_index_max));
  }
  if (position > start) return index;
  if (start == text.size()) return at_column(start, "a number is missing at the end");
  return at_column(
      start, format("a number is needed, as in 0-3,7, not {}", quoted(text.substr(start, 1))));
}

}  // namespace

std::string idset_format(const std::vector<std::uint32_t>& ids) {
  std::string text;
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t last = first;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == first ? format("{}", ids[first]) : format("{}-{}", ids[first], ids[last]);
    first = last + 1;
  }
  return text;
}

Result<std::vector<std::uint32_t>> idset_parse(std::string_view text) {
  std::vector<bool> seen;  // so that "0-9,0-9,..." costs no more than the largest index
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t start = position;
    ROTA_TRY(const std::uint32_t first, take_index(text, position));
    std::uint32_t last = first;
    if (position < text.size() && text[position] == '-') {
      ROTA_TRY(last, take_index(text, ++position));
      if (last < first)
        return at_column(start, format("{}-{} counts down; write {}-{}", first, last, last, first));
    }
    if (seen.size() <= last) seen.resize(last + 1);
    std::fill(seen.begin() + first, seen.begin() + last + 1, true);
    if (position == text.size()) break;
    if (text[position] != ',')
      return at_column(position, format("a comma or a range is needed, not {}",
                                        quoted(text.substr(position, 1))));
    if (++position == text.size()) return at_column(position, "a number is missing at the end");
  }
  std::vector<std::uint32_t> ids;
  for (std::uint32_t index = 0; index < seen.size(); ++index)
    if (seen[index]) ids.push_back(index);
  return ids;
}

}  // namespace rota
