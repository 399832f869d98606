// sched/fair_share.h - dividing one resource among siblings: guarantees first, then the surplus by
// rank and weight.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace rota::sched {

/// One sibling, in the resource's own unit (GPUs, thousandths of CPUs, bytes).
struct Claim {
  double deserved = 0;   // infinity: everything this level has
  double limit = 0;      // infinity: none
  double weight = 0;     // of the surplus
  double requested = 0;  // held and waiting
  double usage = 0;      // of the past, normalized like weight / sum of weights
  std::int32_t rank = 0;
  std::uint64_t age_order = 0;  // smaller is older; settles equal remainders, then the name does
  std::string_view name;        // equal ones: the position
  double share = 0;             // the result; for divide_surplus also what phase one gave
};

/// Phase one: everybody gets what was promised, as far as it is asked for. Returns what is left,
/// never below 0.
double divide_guaranteed(std::vector<Claim>& claims, double total);

/// Phases two and three: `left` goes out by rank, within a rank by weight (and the past, by `k`),
/// in whole units but for the last crumbs. Returns what nobody wants.
double divide_surplus(std::vector<Claim>& claims, double left, double k);

}  // namespace rota::sched
