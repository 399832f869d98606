// sched/history.h - what projects and departments held in the past, as a part of the cluster.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/quota_tree.h"

namespace rota::sched {

/// Sums over a window that slides in steps of a small part of it, so nothing has to be remembered
/// singly. With a half-life, what is older counts less. Times are seconds on a clock that never
/// steps; what was before it began is negative.
class History {
 public:
  /// A half-life of 0: all of the window counts the same.
  History(std::int64_t window_seconds, std::int64_t half_life_seconds);

  /// The project held this in the meantime; departments above it count it too.
  void add(const QuotaTree& quotas, QuotaIndex project, const Amount& held, std::int64_t from,
           std::int64_t to);
  /// That much there was to hold.
  void add_capacity(const Amount& total, std::int64_t from, std::int64_t to);

  /// Tells the tree: 0 to about 1 of what there was, for each resource.
  void tell(QuotaTree& quotas, std::int64_t now) const;

 private:
  using Sums = std::array<double, 3>;
  struct Slice {
    std::int64_t number = std::numeric_limits<std::int64_t>::min();
    Sums sums{};
  };
  struct Series {
    std::string name;  // of the node: its place in the tree may become another's
    std::vector<Slice> slices;
  };
  void add_to(Series& series, const Amount& amount, std::int64_t from, std::int64_t to) const;
  Sums sum_of(const Series& series, std::int64_t now) const;

  std::int64_t window_, half_life_;
  std::int64_t step_;  // seconds of a slice
  std::unordered_map<QuotaIndex, Series> nodes_;
  Series capacity_;
};

}  // namespace rota::sched
