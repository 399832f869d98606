// gpud/share/books.h - who holds what of one job's share of its GPUs: slots, and what the driver
// says.
//
// Pure: works on the two tables of gpushim/region.h, wherever they lie; no files, no clock.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpud/share/order.h"
#include "gpushim/region.h"

namespace rota::gpud {

/// What `millionths` of a GPU with `total_bytes` (as NVML's first form says it) are, or, if
/// `memory_mib` is not 0, so much of it: never more than there is, rounded down to bytes.
std::uint64_t share_limit(std::uint64_t total_bytes, std::uint32_t millionths,
                          std::uint32_t memory_mib);

/// "GPU-" and 32 hexadecimal digits as 16 bytes; nothing for any other text.
std::optional<std::array<std::uint8_t, 16>> uuid_bytes(const std::string& uuid);

/// A slot as one process has it. Its number may have another owner later; then `serial` differs.
struct ShareSlot {
  std::uint32_t number = 0;
  std::uint64_t serial = 0;
};

/// A job that really holds more of a GPU than its share.
struct ShareBreach {
  std::string uuid;
  std::uint64_t held_bytes = 0;
  std::uint64_t limit_bytes = 0;

  friend bool operator==(const ShareBreach&, const ShareBreach&) = default;
};

/// The daemon's side of one job's share. The tables outlive it and are empty at first.
class ShareBooks {
 public:
  /// At most rota_region_gpu_max shares, each with a UUID that uuid_bytes() takes (asserted).
  ShareBooks(RotaRules& rules, RotaCounts& counts, std::vector<GpuShare> shares);

  /// A process that will hold memory gets a slot with nothing in it; none: all are taken.
  std::optional<ShareSlot> join(std::uint32_t pid);
  /// Its connection is closed: it has called exec, or closes files that it does not know. The slot
  /// stays until the driver says that the process holds nothing.
  void hung_up(ShareSlot slot);
  /// It is dead, and all that it held is free. Neither does anything to a slot that is another's.
  void died(ShareSlot slot);

  /// Around each look at the driver, which takes its time: notes what is counted before it.
  void before_sample();
  /// `held[i]`: the processes on GPU i of the job, all users' and jobs'. `is_ours`: a process of
  /// this job, with or without a slot. Gives the first GPU of which the job has held more than its
  /// share, and a margin, in three samples one after the other.
  std::optional<ShareBreach> sample(const std::vector<std::vector<GpuProcess>>& held,
                                    const std::function<bool(std::uint32_t)>& is_ours);

  /// From now on no allocation goes beyond it; what is held already stays.
  void set_ceiling(const GpuCeiling& ceiling);

  /// What the job may hold before it is ended: 2 % or 256 MiB more than its limit.
  static std::uint64_t tolerated(std::uint64_t limit_bytes);

  const std::vector<GpuShare>& shares() const { return shares_; }
  std::uint32_t slots_used() const;

 private:
  struct Slot {
    std::uint32_t pid = 0;  // 0: free
    bool hung_up = false;
    std::uint64_t serial = 0;  // the order of joining: of a pid's slots the newest counts
    std::array<std::uint64_t, rota_region_gpu_max> counted{};
    std::array<std::uint64_t, rota_region_gpu_max> seen{};  // excess, the sample before
  };

  bool is_owned(ShareSlot slot) const;
  void free_slot(std::uint32_t index);
  void set_excess(std::uint32_t gpu, std::uint32_t slot, std::uint64_t held);
  std::optional<std::uint32_t> slot_of(std::uint32_t pid) const;

  RotaRules& rules_;
  RotaCounts& counts_;
  std::vector<GpuShare> shares_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> over_;  // per GPU: samples over the limit, one after the other
  std::uint64_t joins_ = 0;
};

}  // namespace rota::gpud
