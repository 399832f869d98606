// common/nearest.cpp - edit distance over short words.
#include "common/nearest.h"

#include <algorithm>
#include <vector>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota {
namespace {

constexpr std::size_t words_named_max = 10;
constexpr std::size_t word_bytes_max = 64;  // longer words are no typing errors of ours

/// Optimal string alignment: Levenshtein's distance, with a swap of neighbours counted once.
std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > word_bytes_max) return "";
  std::string_view best;
  // A third of the word may be wrong: beyond that a suggestion only misleads.
  std::size_t errors_max = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string_view candidate : known) {
    const std::size_t errors = typing_errors(word, candidate);
    if (errors > errors_max || (!best.empty() && errors == errors_max)) continue;
    best = candidate;
    errors_max = errors;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known) {
  std::vector<std::string> lower;
  for (const std::string_view each : known) lower.push_back(lower_case(each));
  const std::vector<std::string_view> words(lower.begin(), lower.end());
  if (const auto meant = nearest(lower_case(word), words); !meant.empty()) {
    const auto at = std::find(words.begin(), words.end(), meant);
    return format("did you mean {}?", quoted(known[static_cast<std::size_t>(at - words.begin())]));
  }
  if (known.empty()) return "none is known";
  const std::size_t shown = std::min(known.size(), words_named_max);
  return format("known are {}{}", fmt::join(known.begin(), known.begin() + shown, ", "),
                known.size() > shown ? format(" and {} more", known.size() - shown) : "");
}

}  // namespace rota
