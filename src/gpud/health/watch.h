// gpud/health/watch.h - threads that ask NVML how the GPUs are, one for each of them.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/inventory/nvml_health.h"

namespace rota::gpud {

/// A GPU that does not answer keeps its own thread and nobody else's: neither the daemon nor the
/// other GPUs wait for it. One more thread waits for what the driver tells by itself.
class HealthWatch {
 public:
  /// Called on the executor's thread, until the watch is destroyed.
  struct Events {
    std::function<void(const std::string& uuid, Result<GpuVitals>, bool after_reset)> answered;
    std::function<void(const GpuEvent&)> told;
    /// The driver cannot say what is wrong with which GPU: look at all of them.
    std::function<void()> alarmed;
  };
  HealthWatch(boost::asio::any_io_executor executor, std::string library,
              std::vector<std::string> uuids, Events events);
  /// Waits a moment for calls under way, and never for one that hangs.
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  /// Asks for the GPU's vitals; after a reset it is looked for anew. While an earlier question is
  /// open, its answer is all that comes.
  void ask(const std::string& uuid, bool after_reset = false);
  /// Since when a question about it is open.
  std::optional<MonoTime> asked_at(const std::string& uuid) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rota::gpud
