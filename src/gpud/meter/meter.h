// gpud/meter/meter.h - what the runs of this node do with their GPUs, added up from samples.
//
// Pure: samples and times come in, no file and no clock is looked at.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/time.h"
#include "gpud/meter/sample.h"
#include "model/ids.h"
#include "model/placement.h"
#include "model/run_usage.h"

namespace rota::gpud {

/// A GPU of a run to be measured, each once.
struct MeteredGpu {
  std::string uuid;
  std::uint32_t share = 0;  // of it, in millionths; 0: all of it
};
struct MeteredRun {
  RunId id;
  std::vector<MeteredGpu> gpus;
};
/// Of what was launched: whole GPUs, parts of them, or MIG instances, which count for their slices.
/// `gpu_uuids` are LaunchRun's.
std::vector<MeteredGpu> metered_gpus(const NodePart& part,
                                     const std::vector<std::string>& gpu_uuids);

/// The driver's energy counter of a whole GPU, up to which its run has been charged.
struct EnergyMark {
  std::string uuid;
  std::uint64_t energy_mj = 0;

  friend bool operator==(const EnergyMark&, const EnergyMark&) = default;
  static auto fields(auto& m) { return std::tie(m.uuid, m.energy_mj); }
};

/// What is kept of a run over a restart of rgpud.
struct SavedUsage {
  RunId run;
  RunUsage usage;
  std::vector<EnergyMark> marks;

  friend bool operator==(const SavedUsage&, const SavedUsage&) = default;
  static auto fields(auto& m) { return std::tie(m.run, m.usage, m.marks); }
};

/// A GPU of one run is that run's, whatever processes are on it. Of a GPU that several runs have
/// parts of, each has the load and the memory of its own processes; the energy goes to them by
/// load, and while none of them does anything by share: what is left over is nobody's.
class UsageMeter {
 public:
  /// Whose process it is; none: nobody's that is known here.
  using OwnerOf = std::function<std::optional<RunId>(std::uint32_t pid)>;

  /// From now on. `saved`: what an earlier rgpud had counted.
  void begin(MeteredRun run, MonoTime now, const SavedUsage* saved = nullptr);
  /// It is over: what it did.
  SavedUsage end(RunId run);

  /// Samples that were taken before are passed over.
  void take(const std::vector<GpuSample>& samples, const OwnerOf& owner_of);

  /// All of a run's GPUs without any load for so long make it idle for so long.
  void set_idle_window(Duration window) { idle_window_ = window; }

  bool empty() const { return runs_.empty(); }
  /// GPUs of which runs have parts.
  std::set<std::string> shared() const;
  std::vector<SavedUsage> all() const;
  /// What each run held of each GPU that has answered of late.
  std::map<std::string, std::map<RunId, std::uint64_t>> held(MonoTime now) const;

 private:
  struct GpuNow {             // as of its last sample
    std::uint32_t share = 0;  // MeteredGpu's
    MonoTime at;              // none before the first
    std::uint32_t percent = 0;
    std::uint64_t memory_bytes = 0;
    std::uint32_t power_mw = 0;
    std::optional<std::uint64_t> mark_mj;  // of a whole GPU
  };
  struct Run {
    RunUsage usage;
    std::map<std::string, GpuNow> gpus;
    MonoTime begun;
    MonoTime window_start;
    bool window_busy = false;
    std::set<std::string> window_seen;  // GPUs with a sample in it
  };
  /// What one sample says of one run.
  struct Part {
    Run* run = nullptr;
    GpuNow* gpu = nullptr;
    std::uint32_t percent = 0;
    std::uint64_t memory_bytes = 0;
    bool busy = false;
  };

  void take_whole(const GpuSample& sample, Part part);
  void take_shared(const GpuSample& sample, std::vector<Part>& parts, const std::vector<RunId>& ids,
                   const OwnerOf& owner_of);
  void count(const GpuSample& sample, const Part& part, std::uint64_t energy_mj,
             std::uint32_t power_mw);
  void close_window(Run& run, MonoTime now);

  std::map<RunId, Run> runs_;
  struct Counter {
    MonoTime at;
    std::optional<std::uint64_t> energy_mj;
  };
  std::map<std::string, Counter> counters_;  // of shared GPUs, as of their last sample
  Duration idle_window_ = std::chrono::seconds(30);
};

}  // namespace rota::gpud
