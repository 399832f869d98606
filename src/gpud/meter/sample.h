// gpud/meter/sample.h - one look at one GPU: what it does, and who does it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/time.h"
#include "gpud/share/order.h"
#include "model/gpu.h"

namespace rota::gpud {

/// What one process makes of a GPU.
struct ProcessLoad {
  std::uint32_t pid = 0;
  std::uint32_t percent = 0;  // of the time, with a kernel of it running

  friend bool operator==(const ProcessLoad&, const ProcessLoad&) = default;
};

struct GpuSample {
  std::string uuid;
  MonoTime at;
  std::optional<std::uint32_t> utilization_percent;  // none: the driver does not say (MIG mode)
  std::uint64_t memory_used_bytes = 0;
  std::uint32_t power_mw = 0;                     // 0: not told
  std::optional<std::uint64_t> energy_mj;         // since the driver was loaded; none: not told
  std::vector<GpuProcess> processes;              // that hold memory, by pid
  bool processes_known = false;                   // false: the driver does not list them
  std::optional<std::vector<ProcessLoad>> loads;  // by pid, only who did anything; none: not told

  friend bool operator==(const GpuSample&, const GpuSample&) = default;
};

/// Of it, what the controller is told of every GPU.
inline GpuUsage usage_from(GpuSample sample) {
  GpuUsage usage;
  usage.uuid = std::move(sample.uuid);
  usage.utilization_percent = sample.utilization_percent.value_or(0);
  usage.memory_used_bytes = sample.memory_used_bytes;
  usage.process_count = static_cast<std::uint32_t>(sample.processes.size());
  return usage;
}

}  // namespace rota::gpud
