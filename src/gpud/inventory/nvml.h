// gpud/inventory/nvml.h - the door to NVML: opened at run time, asked for GPUs and what they do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "gpud/meter/sample.h"
#include "gpud/mig/instances.h"
#include "gpud/share/order.h"
#include "model/gpu.h"

struct NvmlDevice;

namespace rota::gpud {

/// One opened NVML library. Every call may block for as long as a sick GPU likes, so a daemon asks
/// through NvmlWorker. Calls from several threads at once are fine.
class Nvml {
 public:
  /// Loads `library` (a name for the dynamic loader, or a path) and initialises it.
  /// not_found: there is no such library, or no driver is loaded: a node without GPUs.
  /// Anything else is a driver in trouble. `sysfs` is where the NUMA node of a PCI device is looked
  /// up when the driver does not tell it.
  static Result<std::unique_ptr<Nvml>> open(const std::string& library,
                                            const std::string& sysfs = "/sys");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// The driver's version, "535.183.01"; "" when it does not say.
  std::string driver_version() const;

  /// All GPUs that this process may open, in NVML's order, with their links. A GPU that is lost or
  /// not ours to open is left out with a warning in the log.
  Result<std::vector<Gpu>> gpus();

  /// What one GPU of the last gpus() does now; not_found for any other UUID.
  Result<GpuUsage> usage(const std::string& uuid) const;
  /// The same for all of them; those that do not answer are left out.
  Result<std::vector<GpuUsage>> usage() const;
  /// Who holds memory of this GPU: compute, clients of MPS and graphics, each process once, by pid.
  Result<std::vector<GpuProcess>> processes(const std::string& uuid) const;

  /// MIG of one GPU of the last gpus(). What is in use is no error: the answer is false then.
  Result<MigSeen> mig(const std::string& uuid) const;
  Result<bool> mig_switch(const std::string& uuid, bool on) const;
  /// The id of the new GPU instance, which has no compute instance yet.
  Result<std::uint32_t> mig_create(const std::string& uuid, std::uint32_t profile_id,
                                   std::uint32_t start, std::uint32_t size) const;
  Result<void> mig_create_compute(const std::string& uuid, std::uint32_t instance) const;
  /// True: it is gone, or was before.
  Result<bool> mig_destroy_compute(const std::string& uuid, std::uint32_t instance,
                                   std::uint32_t compute) const;
  Result<bool> mig_destroy(const std::string& uuid, std::uint32_t instance) const;
  /// All of that, power and energy in one go; `with_loads`: also what each process does.
  Result<GpuSample> sample(const std::string& uuid, bool with_loads) const;
  // For the other files of this door (nvml_health.h), which ask for themselves.
  /// A function of the library; null: this driver does not have it.
  void* function(const char* name) const;
  /// The handle of a GPU of the last gpus(); not_found for any other.
  Result<NvmlDevice*> handle(const std::string& uuid) const;
  /// The GPU has another one from now on.
  void set_handle(const std::string& uuid, NvmlDevice* device);
  /// What the code of a call means.
  Error failure(const char* call, int code) const;

  /// The NVML function that runs now, for the message about one that does not come back; "" if
  /// none.
  std::string current_call() const;

 private:
  struct State;
  explicit Nvml(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Drivers disagree on how long an entry of the process list is (16, 24 or 32 bytes) without saying
/// so. `buffer` was filled with `process_sentinel` before the driver wrote `count` entries: gives
/// the entry's length by the last byte written, or 0 when no known length explains it.
inline constexpr std::uint8_t process_sentinel = 0xA5;
std::size_t process_stride(std::span<const std::uint8_t> buffer, std::size_t count);

}  // namespace rota::gpud
