// gpud/inventory/nvml_worker.h - the thread that waits for NVML so that nobody else has to.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/share/order.h"
#include "model/gpu.h"

namespace rota::gpud {

/// Asks NVML on a thread of its own. A call that does not come back costs its GPU's numbers, never
/// the caller's time: it is reported once, its thread is left behind, and a fresh thread goes on
/// with the other GPUs. When the call does come back, its GPU is asked again.
class NvmlWorker {
 public:
  /// Starts the thread. The library is opened there at the first question. `call_limit` is how long
  /// the calls for one GPU may take before they count as hanging.
  explicit NvmlWorker(std::string library, Duration call_limit = std::chrono::seconds(10));
  /// Waits a moment for a call under way, and never for one that hangs.
  ~NvmlWorker();
  NvmlWorker(const NvmlWorker&) = delete;
  NvmlWorker& operator=(const NvmlWorker&) = delete;

  /// The node's GPUs, or timed_out after `limit`. Without a library or a driver: none, said once in
  /// the log.
  Result<std::vector<Gpu>> gpus(Duration limit);

  /// Lists the GPUs again, for who has reset one: its handle is void. Returns at once.
  void relist();

  /// Asks the thread to look at every GPU of the last gpus(); returns at once.
  void sample();
  /// What the samples so far found, in the order of the last gpus(); a GPU that has not answered
  /// yet is left out. Never waits for NVML.
  std::vector<GpuUsage> last_usage() const;
  /// Who held memory of each GPU in its last sample; a GPU that has not answered is left out.
  std::vector<GpuHolders> last_holders() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rota::gpud
