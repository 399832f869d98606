// gpud/launch/pmix_book.cpp - ranks to places, contributions to outcomes.
#include "gpud/launch/pmix_book.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace rota::gpud {

PmixMap::PmixMap(const std::vector<std::uint32_t>& tasks) : first_(tasks.size() + 1) {
  std::partial_sum(tasks.begin(), tasks.end(), first_.begin() + 1);
}

std::optional<std::uint32_t> PmixMap::place_of(std::uint32_t rank) const {
  if (rank >= first_.back()) return std::nullopt;
  const auto behind = std::upper_bound(first_.begin(), first_.end(), rank);
  return static_cast<std::uint32_t>(behind - first_.begin()) - 1;
}

std::optional<std::vector<std::uint32_t>> PmixMap::places_of(
    const std::vector<std::uint32_t>& ranks) const {
  std::set<std::uint32_t> places;
  for (const std::uint32_t rank : ranks) {
    const auto place = place_of(rank);
    if (!place) return std::nullopt;
    places.insert(*place);
  }
  if (ranks.empty())
    for (std::uint32_t place = 0; place < place_count(); ++place) places.insert(place);
  return std::vector<std::uint32_t>(places.begin(), places.end());
}

std::optional<PmixBook::Outcome> PmixBook::bring(const std::vector<std::uint32_t>& ranks,
                                                 std::uint32_t place, std::string data,
                                                 bool& is_good) {
  const auto places = map_.places_of(ranks);
  is_good = places && std::ranges::find(*places, place) != places->end();
  if (!is_good) return std::nullopt;
  auto& brought = open_[ranks];
  is_good = brought.emplace(place, std::move(data)).second;
  if (!is_good || brought.size() < places->size()) return std::nullopt;
  Outcome outcome;
  outcome.places = *places;
  for (const auto& [from, bytes] : brought) outcome.data += bytes;
  open_.erase(ranks);
  return outcome;
}

}  // namespace rota::gpud
