// gpud/inventory/nvml_worker.h - the thread that waits for NVML so that nobody else has to.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/meter/sample.h"
#include "gpud/mig/instances.h"
#include "gpud/share/order.h"
#include "model/gpu.h"

namespace rota::gpud {

class Nvml;

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
  /// Asks the thread to look at every GPU of the last gpus(); returns at once.
  void sample();
  /// What the samples so far found, in the order of the last gpus(); a GPU that has not answered
  /// yet is left out. Never waits for NVML.
  std::vector<GpuUsage> last_usage() const;
  /// Who held memory of each GPU in its last sample; a GPU that has not answered is left out.
  std::vector<GpuHolders> last_holders() const;
  /// The last sample of each GPU, whenever that was; a GPU that has not answered is left out.
  std::vector<GpuSample> last_samples() const;
  /// Of which GPUs it matters what each process does: several runs have a part of them.
  void set_shared(std::set<std::string> uuids);

  /// The MIG instances that the last gpus() found, by the UUID of their GPU.
  std::map<std::string, MigSeen> last_instances() const;

  /// Something to be done with one GPU on the thread, after what was asked for before. What it
  /// returns is called there when it is done in time; it may neither block nor call us, and is not
  /// called once we are being destroyed.
  using Errand = std::function<std::function<void()>(const Nvml&)>;
  /// Called the same way, or from within a call to us, when it could not be begun or did not come
  /// back.
  using GaveUp = std::function<void(const Error&)>;
  void ask(std::string uuid, Duration limit, Errand errand, GaveUp gave_up);
  /// Handles are void: lists the GPUs again, and returns at once.
  void refresh();
  /// Now and then: gives up on a call that does not come back.
  void look_after();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rota::gpud
