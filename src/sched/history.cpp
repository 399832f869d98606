// sched/history.cpp - slices of time in a ring.
#include "sched/history.h"

#include <algorithm>
#include <cmath>

namespace rota::sched {
namespace {

constexpr std::int64_t slice_count = 168;  // of a week: hours
// The slice that has begun, and the one that is only partly past.
constexpr std::int64_t ring_size = slice_count + 2;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

History::History(std::int64_t window_seconds, std::int64_t half_life_seconds)
    : window_(std::max<std::int64_t>(1, window_seconds)),
      half_life_(half_life_seconds),
      step_((window_ + slice_count - 1) / slice_count) {}

void History::add(const QuotaTree& quotas, QuotaIndex project, const Amount& held,
                  std::int64_t from, std::int64_t to) {
  for (QuotaIndex i = project; i != quota_root; i = quotas.at(i).parent) {
    Series& series = nodes_[i];
    if (series.name != quotas.at(i).name) series = {quotas.at(i).name, {}};
    add_to(series, held, from, to);
  }
}

void History::add_capacity(const Amount& total, std::int64_t from, std::int64_t to) {
  add_to(capacity_, total, from, to);
}

void History::add_to(Series& series, const Amount& amount, std::int64_t from,
                     std::int64_t to) const {
  if (series.slices.empty()) series.slices.resize(ring_size);
  from = std::max(from, to - window_ - step_);
  while (from < to) {
    const std::int64_t number = floor_div(from, step_);
    const std::int64_t end = std::min(to, (number + 1) * step_);
    const std::int64_t place = number - floor_div(number, ring_size) * ring_size;
    Slice& slice = series.slices[static_cast<std::size_t>(place)];
    if (slice.number < number) slice = {number, {}};
    // What comes late for a slice that has made room already is too old to count.
    if (slice.number == number)
      for (std::size_t r = 0; r < resources.size(); ++r)
        slice.sums[r] +=
            static_cast<double>(amount[resources[r]]) * static_cast<double>(end - from);
    from = end;
  }
}

History::Sums History::sum_of(const Series& series, std::int64_t now) const {
  Sums sums{};
  for (const Slice& slice : series.slices) {
    if (slice.number == Slice{}.number) continue;
    const std::int64_t begin = slice.number * step_, end = begin + step_;
    if (end <= now - window_) continue;
    // Of the oldest only the part that the window still covers, as if it was held evenly.
    double weight = begin >= now - window_
                        ? 1
                        : static_cast<double>(end - (now - window_)) / static_cast<double>(step_);
    if (half_life_ > 0) {
      const double age = std::max(
          0.0, static_cast<double>(now) - static_cast<double>(begin + std::min(end, now)) / 2);
      weight *= std::exp2(-age / static_cast<double>(half_life_));
    }
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += weight * slice.sums[r];
  }
  return sums;
}

void History::tell(QuotaTree& quotas, std::int64_t now) const {
  const Sums capacity = sum_of(capacity_, now);
  for (QuotaIndex i = 0; i < quotas.size(); ++i) {
    QuotaNode& node = quotas.at(i);
    node.usage = {};
    const auto at = nodes_.find(i);
    if (at == nodes_.end() || at->second.name != node.name) continue;
    const Sums used = sum_of(at->second, now);
    for (std::size_t r = 0; r < used.size(); ++r)
      node.usage[r] = capacity[r] > 0 ? used[r] / capacity[r] : 0;
  }
}

}  // namespace rota::sched
