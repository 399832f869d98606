// model/index_set.cpp - reads, writes and changes sets of array tasks.
#include "model/index_set.h"

#include <algorithm>
#include <utility>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota {
namespace {

Error wrong(std::string_view text, std::string_view why) {
  return {Errc::invalid_argument,
          format("{} {}; write numbers and ranges from 0 to {}: 0-99, 1,3,5 or 0-15:4",
                 quoted(text), why, IndexSet::index_max)};
}

struct Steps {
  std::uint32_t first = 0, last = 0, step = 1;
};

/// "7", "0-9" or "0-15:4".
Result<Steps> steps_parse(std::string_view text) {
  Steps steps;
  const std::size_t colon = text.find(':');
  const std::string_view range = text.substr(0, colon);
  const std::size_t dash = range.find('-');
  const auto first = number_parse(range.substr(0, dash), IndexSet::index_max);
  if (!first) return wrong(text, "is no range of array tasks");
  steps.first = steps.last = static_cast<std::uint32_t>(*first);
  if (dash != std::string_view::npos) {
    const auto last = number_parse(range.substr(dash + 1), IndexSet::index_max);
    if (!last) return wrong(text, "is no range of array tasks");
    steps.last = static_cast<std::uint32_t>(*last);
  }
  if (steps.last < steps.first) return wrong(text, "runs backwards");
  if (colon == std::string_view::npos) return steps;
  const auto step = number_parse(text.substr(colon + 1), IndexSet::index_max);
  if (!step || *step == 0 || dash == std::string_view::npos)
    return wrong(text, "is no range of array tasks");
  steps.step = static_cast<std::uint32_t>(*step);
  return steps;
}

}  // namespace

IndexSet IndexSet::of(std::uint32_t first, std::uint32_t last) {
  IndexSet set;
  set.ranges_.push_back({first, last});
  return set;
}

Result<IndexSet> IndexSet::parse(std::string_view text) {
  std::vector<IndexRange> found;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    ROTA_TRY(const Steps steps, steps_parse(rest.substr(0, comma)));
    const std::uint64_t count = (steps.last - steps.first) / steps.step + 1;
    if (found.size() + (steps.step == 1 ? 1 : count) > ranges_max)
      return wrong(text.substr(0, 60), format("has more than {} ranges", ranges_max));
    if (steps.step == 1)
      found.push_back({steps.first, steps.last});
    else
      for (std::uint64_t i = steps.first; i <= steps.last; i += steps.step)
        found.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::sort(found.begin(), found.end(),
            [](const IndexRange& a, const IndexRange& b) { return a.first < b.first; });
  IndexSet set;
  for (const IndexRange& range : found) {
    if (!set.ranges_.empty() && range.first <= set.ranges_.back().last + 1)
      set.ranges_.back().last = std::max(set.ranges_.back().last, range.last);
    else
      set.ranges_.push_back(range);
  }
  return set;
}

std::uint64_t IndexSet::size() const {
  std::uint64_t count = 0;
  for (const IndexRange& range : ranges_) count += std::uint64_t{range.last} - range.first + 1;
  return count;
}

/// The first range that does not end before it.
std::vector<IndexRange>::const_iterator IndexSet::find(std::uint32_t index) const {
  return std::lower_bound(
      ranges_.begin(), ranges_.end(), index,
      [](const IndexRange& range, std::uint32_t each) { return range.last < each; });
}

bool IndexSet::contains(std::uint32_t index) const {
  const auto at = find(index);
  return at != ranges_.end() && at->first <= index;
}

void IndexSet::insert(std::uint32_t index) {
  const auto place = find(index);
  if (place != ranges_.end() && place->first <= index) return;
  auto at = ranges_.begin() + (place - ranges_.cbegin());
  const bool joins_next = at != ranges_.end() && at->first == index + 1;
  const bool joins_before = at != ranges_.begin() && std::prev(at)->last + 1 == index;
  if (joins_next && joins_before) {
    std::prev(at)->last = at->last;
    ranges_.erase(at);
  } else if (joins_next) {
    at->first = index;
  } else if (joins_before) {
    std::prev(at)->last = index;
  } else {
    ranges_.insert(at, {index, index});
  }
}

bool IndexSet::erase(std::uint32_t index) {
  const auto place = find(index);
  if (place == ranges_.end() || place->first > index) return false;
  const auto at = ranges_.begin() + (place - ranges_.cbegin());
  if (at->first == at->last) {
    ranges_.erase(at);
  } else if (at->first == index) {
    ++at->first;
  } else if (at->last == index) {
    --at->last;
  } else {
    const IndexRange behind{index + 1, at->last};
    at->last = index - 1;
    ranges_.insert(std::next(at), behind);
  }
  return true;
}

IndexSet IndexSet::common_with(const IndexSet& other) const {
  IndexSet common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const std::uint32_t first = std::max(a->first, b->first);
    const std::uint32_t last = std::min(a->last, b->last);
    if (first <= last) common.ranges_.push_back({first, last});
    if (a->last < b->last)
      ++a;
    else
      ++b;
  }
  return common;
}

void IndexSet::erase_all(const IndexSet& others) {
  std::vector<IndexRange> left;
  auto other = others.ranges_.begin();
  for (IndexRange range : ranges_) {
    bool is_gone = false;
    while (other != others.ranges_.end() && other->last < range.first) ++other;
    for (auto each = other; each != others.ranges_.end() && each->first <= range.last; ++each) {
      if (each->first > range.first) left.push_back({range.first, each->first - 1});
      if (each->last >= range.last) {
        is_gone = true;
        break;
      }
      range.first = each->last + 1;
    }
    if (!is_gone) left.push_back(range);
  }
  ranges_ = std::move(left);
}

bool IndexSet::is_sound() const {
  if (ranges_.size() > ranges_max) return false;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const IndexRange& range = ranges_[i];
    if (range.first > range.last || range.last > index_max) return false;
    if (i > 0 && range.first <= ranges_[i - 1].last + 1) return false;
  }
  return true;
}

std::string IndexSet::text(std::size_t bytes_max) const {
  std::string text;
  for (const IndexRange& range : ranges_) {
    if (!text.empty()) text += ',';
    if (text.size() > bytes_max) return text + "...";
    text += range.first == range.last ? format("{}", range.first)
                                      : format("{}-{}", range.first, range.last);
  }
  return text;
}

}  // namespace rota
