// gpud/mig/keeper.h - makes the MIG instances of runs and ends them, on time and off the loop.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/inventory/nvml_worker.h"
#include "gpud/mig/ledger.h"
#include "gpud/mig/work.h"
#include "model/gpu.h"
#include "model/ids.h"

namespace rota::gpud {

/// Knows what should be on every GPU that can be cut, and lets NvmlWorker bring it about: one GPU
/// at a time has one piece of work under way. Lives on the daemon's loop and never waits there.
class MigKeeper {
 public:
  struct Options {
    std::string ledger_path;
    std::vector<Gpu> gpus;                         // the node's, in its order
    Duration hold = std::chrono::minutes(5);       // MIG mode stays on for the next job
    Duration patience = std::chrono::seconds(15);  // with what is still in use
    Duration call_limit = std::chrono::seconds(60);
    bool ends_strangers = false;
  };
  MigKeeper(boost::asio::any_io_executor executor, NvmlWorker& nvml, Options options);

  /// A run that goes on from an earlier rgpud.
  struct Living {
    RunId run;
    std::vector<MigSlot> slots;
    std::vector<std::string> gpu_uuids;  // as in prepare()
  };
  /// Once, before the first run: takes over what is ours, lets go of what nobody has any more, and
  /// tells of each GPU how it can be cut now, without what others have on it.
  std::vector<MigGeometry> settle(const std::vector<Living>& living,
                                  const std::map<std::string, MigSeen>& seen, MonoTime now);

  /// The instances of a part, in its order, once all of them are there; or why they are not. For a
  /// part with GPUs: nothing, once these are out of MIG mode. `gpu_uuids` names the GPU of each
  /// instance, or those of the part. May call `ready` at once.
  using Ready = std::function<void(Result<std::vector<MigDevice>>)>;
  void prepare(RunId run, const std::vector<MigSlot>& slots,
               const std::vector<std::string>& gpu_uuids, MonoTime now, Ready ready);
  /// The run is over, or not wanted any more: then `ready` is not called.
  void release(RunId run, MonoTime now);
  /// What the run has, in no special order.
  std::vector<MigDevice> devices_of(RunId run) const;

  /// About once a second.
  void tick(MonoTime now);

  /// Called when a GPU's MIG mode was changed: what others know of it is void.
  std::function<void()> on_switched;

 private:
  struct Entry {
    std::uint64_t key = 0;
    MigOwned owned;
    std::size_t order = 0;  // in its part
    bool is_leaving = false;
    bool is_made = false;
    MigDevice device;
    MonoTime since;  // of leaving
    bool is_reported = false;
  };
  struct Work {
    std::uint16_t position = 0;
    MigGeometry geometry;
    std::vector<Entry> entries;
    bool is_on = false;
    bool is_switched = false;  // on, by us
    bool is_busy = false;
    bool is_troubled = false;  // it could not be asked: said once
    bool is_due = false;       // something has changed since the work under way began
    MonoTime idle_since;
    MonoTime retry_at;
    std::set<RunId> whole;  // runs that want it as a whole
  };
  struct Waiting {
    Ready ready;
    MonoTime give_up;
    std::string trouble;  // why it still waits, as far as it is known
  };

  Result<std::vector<MigOwned>> owned_of(RunId run, const std::vector<MigSlot>& slots,
                                         const std::vector<std::string>& gpu_uuids) const;
  Result<MigOwned> owned_of(RunId run, const MigSlot& slot, const std::string& uuid) const;
  void add_entry(const std::string& uuid, MigOwned owned, std::size_t order);
  void take_over(const std::string& uuid, Work& work, const MigSeen* seen,
                 const std::vector<Living>& living, MonoTime now);
  void pump(const std::string& uuid, MonoTime now);
  void done(const std::string& uuid, const std::vector<std::uint64_t>& keys, const MigWish& wish,
            Result<MigOutcome> outcome);
  void note(Work& work, Entry& entry, bool was_leaving, const MigOutcome::Entry& result,
            MonoTime now);
  bool is_whole_again(const Work& work) const;
  void give_up_waiting(MonoTime now);
  void fail(RunId run, std::string why, MonoTime now);
  void answer(RunId run);
  void save();
  bool is_waiting(RunId run) const { return waiting_.contains(run); }

  boost::asio::any_io_executor executor_;
  NvmlWorker& nvml_;
  Options options_;
  std::map<std::string, Work> work_;  // by UUID
  std::map<RunId, Waiting> waiting_;
  std::uint64_t keys_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // gone when we are
};

}  // namespace rota::gpud
