// sim/pack_run.h - the packing experiment: tasks arrive and stay, and how many GPUs are in use.
#pragma once
#include <cstdint>
#include <optional>

#include "sim/pack_trace.h"

namespace rota::sim {

enum class PackPolicy : std::uint8_t {
  least_loss,  // sched/packing: where the expected tasks lose least
  first_fit,   // the first node that has room, there the GPUs with the smallest numbers
};

/// GPUs in use, in percent of all, when the tasks that have arrived ask for 100 % or 130 % of them:
/// the mean over all arrivals at which the running total rounds to that. None where no arrival is.
struct PackOutcome {
  std::optional<double> alloc100, alloc130;
  std::int64_t decisions = 0;
  double cpu_microseconds = 0;  // of all decisions together
};

/// Every task is placed as it arrives, or never.
PackOutcome run_pack(const PackTrace& trace, const Arrivals& arrivals, PackPolicy policy);

}  // namespace rota::sim
