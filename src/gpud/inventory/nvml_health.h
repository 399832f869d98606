// gpud/inventory/nvml_health.h - the door to NVML for who asks how a GPU is.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/inventory/nvml.h"

namespace rota::gpud {

/// What NVML says of a GPU's health; what a driver or a generation does not tell is as if all were
/// well.
struct GpuVitals {
  bool lost = false;
  bool reset_required = false;
  std::uint32_t recovery_action = 0;  // NVML's field 230
  std::uint64_t ecc_uncorrected = 0;  // since the last reset
  bool remap_pending = false;
  bool remap_failed = false;
  bool retire_pending = false;
  bool sram_exceeded = false;
  std::uint32_t temperature = 0;
  std::uint32_t temperature_slowdown = 0;  // 0: not known
  std::uint64_t clock_reasons = 0;
  std::uint64_t links_up = 0;  // a bit for each
  bool in_mig_mode = false;    // no program can use it as a whole
};
/// Clocks that hardware holds down, not a limit that somebody chose.
bool is_throttled(const GpuVitals& vitals);

/// An Xid, or with 0 that the recovery action has changed.
struct GpuEvent {
  std::string uuid;
  std::uint32_t xid = 0;
  std::uint32_t instance = UINT32_MAX;  // of MIG; all ones: all of the GPU
};

/// Every call may block for as long as a sick GPU likes. Calls from several threads are fine, but
/// for the events, which one thread waits for.
class NvmlHealth {
 public:
  explicit NvmlHealth(std::shared_ptr<Nvml> nvml);
  ~NvmlHealth();
  NvmlHealth(const NvmlHealth&) = delete;
  NvmlHealth& operator=(const NvmlHealth&) = delete;

  /// A GPU that is lost is no error here: it is what vitals are about.
  Result<GpuVitals> vitals(const std::string& uuid) const;
  /// After a reset, when handles and registrations are void: finds the GPU by its UUID again.
  Result<void> find_again(const std::string& uuid);

  /// Registers for what the GPUs tell, anew at every call. Those that do not take it are named in
  /// the log. unsupported: this driver tells nothing.
  Result<void> register_events(const std::vector<std::string>& uuids);
  /// The next thing told, or none within `limit`.
  Result<std::optional<GpuEvent>> next_event(Duration limit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rota::gpud
