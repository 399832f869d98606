// gpud/share/order.h - what a job may hold of each of its GPUs, and who holds what, as rgpud tells
// it to rstepd.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace rota::gpud {

/// A process that holds memory of a GPU. `memory_bytes` is 0 where the driver does not say.
struct GpuProcess {
  std::uint32_t pid = 0;
  std::uint64_t memory_bytes = 0;

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
  static auto fields(auto& m) { return std::tie(m.pid, m.memory_bytes); }
};

/// Who holds memory of one GPU, as the driver says, each process once.
struct GpuHolders {
  std::string uuid;
  std::vector<GpuProcess> processes;

  friend bool operator==(const GpuHolders&, const GpuHolders&) = default;
  static auto fields(auto& m) { return std::tie(m.uuid, m.processes); }
};

/// The job's part of one GPU.
struct GpuShare {
  std::string uuid;               // "GPU-8f4c..."
  std::uint64_t limit_bytes = 0;  // rota_region_no_limit: the whole GPU
  std::uint64_t context_bytes = 305ull << 20;
  std::uint64_t request_bytes = 0;  // guaranteed, the rest is lent; 0: the limit

  friend bool operator==(const GpuShare&, const GpuShare&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uuid, m.limit_bytes, m.context_bytes, m.request_bytes);
  }
};

/// What the job may hold of a GPU at the moment.
struct GpuCeiling {
  std::string uuid;
  std::uint64_t bytes = 0;

  friend bool operator==(const GpuCeiling&, const GpuCeiling&) = default;
  static auto fields(auto& m) { return std::tie(m.uuid, m.bytes); }
};

/// Of the directory of a run's shares, which lies beside its script and is named after the run.
inline constexpr const char* share_suffix = ".gpu";

/// A run's shares, and the libraries that show them. No GPUs: it has none, or whole ones.
struct ShareOrder {
  std::vector<GpuShare> gpus;
  std::string directory;  // the run's own: made before the tasks, removed after them
  std::string shim_dir;   // our libcuda.so.1, libnvidia-ml.so.1 and rota-gpuprobe
  std::string real_cuda;  // the driver's; "": there is none
  std::string real_nvml;
  bool mounts = false;         // the tasks have a mount namespace each; decided by rstepd
  bool driver_limits = false;  // the driver may be able to do it without the shim
  bool by_driver = false;      // it does; decided by rstepd
  std::vector<std::string> driver_environment;  // rgpud's, in which NVML works

  bool empty() const { return gpus.empty(); }
  friend bool operator==(const ShareOrder&, const ShareOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.gpus, m.directory, m.shim_dir, m.real_cuda, m.real_nvml, m.mounts,
                    m.driver_limits, m.by_driver, m.driver_environment);
  }
};

}  // namespace rota::gpud
