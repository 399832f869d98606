// gpud/share/burst.h - how much beyond its request each run may hold now of a GPU that it shares.
//
// Pure: what runs hold comes in, what they may hold goes out; no clock but the ticks, no file.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/time.h"
#include "gpud/share/order.h"
#include "model/ids.h"

namespace rota::gpud {

/// A run that holds more than its request of a GPU on which another has not got its own.
struct BurstEviction {
  RunId run;
  std::string why;

  friend bool operator==(const BurstEviction&, const BurstEviction&) = default;
};

/// What is asked for is guaranteed; what is above it, up to the limit, is lent. A ceiling is raised
/// only by what no other could still take, and one that was lowered counts as it was until the
/// driver has been looked at again: so what all may hold together never passes the GPU's memory.
class BurstRoom {
 public:
  /// `held`: bytes that a run holds of a GPU, as the driver said last.
  using Held = std::map<std::string, std::map<RunId, std::uint64_t>>;

  explicit BurstRoom(Duration grace) : grace_(grace) {}

  void set_gpu(const std::string& uuid, std::uint64_t bytes) { gpus_[uuid].bytes = bytes; }

  /// A run that is to start. Nothing but room is kept for it until may_start().
  void add(RunId run, const std::vector<GpuShare>& shares);
  /// A run that runs, of an earlier rgpud: what it was told it may hold is not known.
  void adopt(RunId run, const std::vector<GpuShare>& shares);
  /// Whether its request is free on all of its GPUs, whatever the others do.
  bool may_start(RunId run) const;
  void started(RunId run);
  void remove(RunId run);

  /// About once a second, after a look at the driver. `deaf`: runs that cannot be told anything
  /// now; they go by what they heard last.
  void settle(const Held& held, MonoTime now, const std::set<RunId>& deaf = {});
  /// Whether some run may hold more than it asked for.
  bool is_needed() const;
  /// What the run may hold of each of its GPUs now; empty: always the same.
  std::vector<GpuCeiling> ceilings(RunId run) const;
  /// Who has to go because room that is owed to others has been taken for longer than the grace.
  /// Each is named once.
  std::vector<BurstEviction> take_evictions();

 private:
  struct Claim {
    std::uint64_t request = 0;
    std::uint64_t limit = 0;
    std::uint64_t held = 0;
    std::uint64_t ceiling = 0;  // in force, and the two before it
    std::uint64_t before = 0;
    bool is_started = false;
    bool is_evicted = false;
    bool was_deaf = false;  // when this was last settled

    bool bursts() const { return limit > request; }
    /// What it may hold by now, and what it has to be left.
    std::uint64_t needed() const;
    std::uint64_t bound() const;
  };
  struct SharedGpu {
    std::uint64_t bytes = 0;
    std::map<RunId, Claim> claims;
    MonoTime owed_since;  // none: nobody is owed anything

    bool bursts() const;
    std::uint64_t needed() const;
    std::uint64_t bound() const;
  };

  void put(RunId run, const std::vector<GpuShare>& shares, bool adopted);
  void settle_one(SharedGpu& gpu, const std::set<RunId>& deaf);
  void judge(const std::string& uuid, SharedGpu& gpu, MonoTime now);

  Duration grace_;
  std::map<std::string, SharedGpu> gpus_;
  std::vector<BurstEviction> evictions_;
};

}  // namespace rota::gpud
