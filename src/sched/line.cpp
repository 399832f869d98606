// sched/line.cpp - a sorted vector with gaps.
#include "sched/line.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {
namespace {
/// Shorter ones are not worth the trouble.
constexpr std::size_t gaps_min = 64;
}  // namespace

/// Where the id stands, or where it would.
std::size_t Line::place_of(JobId job) const {
  const auto at =
      std::lower_bound(places_.begin(), places_.end(), job.value,
                       [](std::uint64_t place, std::uint64_t id) { return id_of(place) < id; });
  return static_cast<std::size_t>(at - places_.begin());
}

bool Line::insert(JobId job) {
  ROTA_ASSERT(!is_gap(job.value));
  const bool last = places_.empty() || id_of(places_.back()) < job.value;
  const std::size_t at = last ? places_.size() : place_of(job);
  if (last) {
    places_.push_back(job.value);
  } else if (id_of(places_[at]) != job.value) {
    places_.insert(places_.begin() + static_cast<std::ptrdiff_t>(at), job.value);
    if (first_ >= at) ++first_;
  } else if (is_gap(places_[at])) {
    places_[at] = job.value;  // back where it stood
  } else {
    return false;
  }
  first_ = count_ == 0 ? at : std::min(first_, at);
  ++count_;
  return true;
}

bool Line::erase(JobId job) {
  const std::size_t at = place_of(job);
  if (at == places_.size() || places_[at] != job.value) return false;
  places_[at] |= gap_mark;
  --count_;
  while (first_ < places_.size() && is_gap(places_[first_])) ++first_;
  if (places_.size() - count_ > std::max(count_, gaps_min)) close_gaps();
  return true;
}

void Line::close_gaps() {
  std::erase_if(places_, is_gap);
  first_ = 0;
}

}  // namespace rota::sched
