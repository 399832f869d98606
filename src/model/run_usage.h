// model/run_usage.h - what a run did with its GPUs, as sampled on its nodes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>

namespace rota {

/// Sums over the GPUs of a run, from samples about once a second; so two nodes' add up.
struct RunUsage {
  std::int64_t sampled_ms = 0;  // GPU time of which the utilisation is known: of MIG's it is not
  std::int64_t busy_ms = 0;     // of it, weighed by utilisation
  std::int64_t idle_ms = 0;     // since all of its GPUs have been idle without a break
  std::uint64_t energy_mj = 0;
  std::uint32_t power_mw = 0;             // at the last sample
  std::uint32_t utilization_percent = 0;  // at the last sample, mean over its GPUs
  std::uint64_t memory_bytes = 0;         // at the last sample
  std::uint64_t memory_max_bytes = 0;

  bool empty() const { return sampled_ms == 0 && energy_mj == 0 && memory_max_bytes == 0; }
  friend bool operator==(const RunUsage&, const RunUsage&) = default;
  static auto fields(auto& m) {
    return std::tie(m.sampled_ms, m.busy_ms, m.idle_ms, m.energy_mj, m.power_mw,
                    m.utilization_percent, m.memory_bytes, m.memory_max_bytes);
  }
};

}  // namespace rota
