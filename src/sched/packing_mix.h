// sched/packing_mix.h - which requests are to be expected: those seen, the recent ones for more.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

#include "sched/packing_fleet.h"

namespace rota::sched {

/// How often each request was seen. The past fades: whenever the total passes `window`, and
/// whenever there are too many different ones, all counts are halved, and what falls to nothing is
/// forgotten. So the memory is bounded, and a mix that was true last month does not count for ever.
class PackMix {
 public:
  static constexpr std::int64_t window = 1 << 15;
  static constexpr std::size_t requests_max = 1 << 12;

  void add(const PackRequest& request, std::int64_t count);
  std::int64_t total() const { return total_; }
  const std::map<PackRequest, std::int64_t>& counts() const { return counts_; }

 private:
  void halve();

  std::map<PackRequest, std::int64_t> counts_;
  std::int64_t total_ = 0;
};

}  // namespace rota::sched
