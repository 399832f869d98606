// gpud/meter/keeper.h - the meter of this node's runs, and its memory on disk.
//
// SPOOL/usage  what was counted so far; written every half minute and after an end
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/time.h"
#include "gpud/meter/meter.h"
#include "proto/messages.h"

namespace rota::gpud {

class UsageKeeper {
 public:
  /// Reads what an earlier rgpud left in `spool_dir`. `node_directory` names the runs' cgroups.
  UsageKeeper(const std::string& spool_dir, std::string node_directory, std::string step_program);

  void set_idle_window(Duration window) { meter_.set_idle_window(window); }

  /// A run with GPUs has started, or goes on under this rgpud.
  void begin(MeteredRun run, MonoTime now);
  /// It is over: what it did, kept until drop() in case nobody hears of it before we are killed.
  RunUsage end(RunId run);
  void drop(RunId run);
  /// At the start: no others have a record any more.
  void forget_others(const std::set<RunId>& runs);

  /// About once a second, while is_needed(): what the GPUs did, and from time to time to disk.
  void take(const std::vector<GpuSample>& samples, MonoTime now);
  bool is_needed() const { return !meter_.empty() || unsaved_; }
  std::set<std::string> shared() const { return meter_.shared(); }
  std::map<std::string, std::map<RunId, std::uint64_t>> held(MonoTime now) const {
    return meter_.held(now);
  }

  /// For a heartbeat; of very many runs, some, and others the next time.
  std::vector<proto::RunUsageReport> reports(std::size_t count_max);

 private:
  void load();
  void save();

  std::string path_;
  std::string node_directory_;
  std::string step_program_;
  UsageMeter meter_;
  std::map<RunId, SavedUsage> known_;      // that are over, or have not begun here
  std::map<std::uint32_t, RunId> owners_;  // of processes in the last samples
  MonoTime saved_at_;
  bool unsaved_ = false;
  bool complained_ = false;
  RunId reported_last_;
};

}  // namespace rota::gpud
