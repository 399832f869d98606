// model/gpu.h - one GPU as its node describes it.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "model/mig.h"

namespace rota {

/// Amounts of GPUs are whole numbers of this small part of one, so that they add up exactly.
inline constexpr std::int64_t gpu_unit = 1'000'000;

/// What NVML says of a device. The UUID is its identity; the index may change with the driver.
struct Gpu {
  std::string uuid;
  std::string model;  // "Tesla V100-SXM2-32GB"
  std::uint64_t memory_bytes = 0;
  std::uint32_t index = 0;      // NVML's order
  std::uint32_t minor = 0;      // the N of /dev/nvidiaN
  std::string pci_bus_id;       // "00000000:06:00.0"
  std::int32_t numa_node = -1;  // -1: not known
  /// Distance to every GPU of the node in NVML's order, itself included: number of NVLinks
  /// when positive, else minus NVML's topology level (-10 one switch ... -50 across sockets).
  std::vector<std::int32_t> links;
  MigGeometry mig;

  friend bool operator==(const Gpu&, const Gpu&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uuid, m.model, m.memory_bytes, m.index, m.minor, m.pci_bus_id, m.numa_node,
                    m.links, m.mig);
  }
};

/// What a GPU does right now, for rinfo.
struct GpuUsage {
  std::string uuid;
  std::uint32_t utilization_percent = 0;
  std::uint64_t memory_used_bytes = 0;
  std::uint32_t process_count = 0;

  friend bool operator==(const GpuUsage&, const GpuUsage&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uuid, m.utilization_percent, m.memory_used_bytes, m.process_count);
  }
};

}  // namespace rota
