// model/mig.h - GPUs that can be cut into instances, and the instances a job has.
//
// An instance lies on the GPU's memory slices as an interval. Which intervals there are is NVML's
// word alone: nothing here knows a model of GPU.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/ids.h"

namespace rota {

/// The memory slices of one instance, a bit for each.
using SliceMask = std::uint32_t;
inline constexpr std::uint32_t slices_max = 32;
/// Of what can lie on an axis.
inline SliceMask slice_mask(std::uint32_t start, std::uint32_t size) {
  return size >= slices_max ? ~SliceMask{0} : ((SliceMask{1} << size) - 1) << start;
}

/// A kind of instance that a GPU can be cut into.
struct MigProfile {
  std::string name;                   // "3g.20gb"
  std::uint32_t id = 0;               // the driver's, for creating one; not its place in any list
  std::uint32_t compute_slices = 0;   // the 3 of 3g
  std::uint32_t size = 0;             // memory slices that it takes
  std::vector<std::uint32_t> starts;  // where it may begin, ascending
  std::uint32_t count_max = 0;        // of them on one GPU
  std::uint64_t memory_bytes = 0;

  /// Its places, ascending, lie on an axis; nothing else can be counted with.
  bool is_possible() const {
    return size > 0 && size <= slices_max && !starts.empty() &&
           std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) ==
               starts.end() &&
           starts.back() <= slices_max - size;
  }
  friend bool operator==(const MigProfile&, const MigProfile&) = default;
  static auto fields(auto& m) {
    return std::tie(m.name, m.id, m.compute_slices, m.size, m.starts, m.count_max, m.memory_bytes);
  }
};

/// How a GPU can be cut. No profiles: it cannot.
struct MigGeometry {
  std::vector<MigProfile> profiles;  // ascending by size, then compute slices, then name
  bool is_on = false;                // it is in MIG mode now, and not to be had as a whole
  bool switches = false;  // its mode can be changed for a job: it is idle, and no reset is needed
  SliceMask blocked = 0;  // memory slices under instances that are not ours

  /// Memory slices: as long as the longest interval reaches.
  std::uint32_t slice_count() const {
    std::uint32_t count = 0;
    for (const MigProfile& profile : profiles)
      if (profile.is_possible()) count = std::max(count, profile.starts.back() + profile.size);
    return count;
  }
  bool can_be_cut() const { return !profiles.empty() && (is_on || switches); }
  const MigProfile* find(const std::string& name) const {
    const auto at = std::find_if(profiles.begin(), profiles.end(),
                                 [&](const MigProfile& each) { return each.name == name; });
    return at == profiles.end() ? nullptr : &*at;
  }

  friend bool operator==(const MigGeometry&, const MigGeometry&) = default;
  static auto fields(auto& m) { return std::tie(m.profiles, m.is_on, m.switches, m.blocked); }
};

/// One instance: where the scheduler wants it.
struct MigSlot {
  std::uint16_t gpu = 0;  // position in the node's inventory
  std::uint32_t start = 0;
  std::uint32_t size = 0;    // memory slices
  std::uint32_t amount = 0;  // what it counts for, in millionths of a GPU
  std::string profile;       // "3g.20gb"

  friend auto operator<=>(const MigSlot&, const MigSlot&) = default;
  static auto fields(auto& m) { return std::tie(m.gpu, m.start, m.size, m.amount, m.profile); }
};

/// The same for people: whose it is.
struct MigHolder {
  MigSlot slot;
  JobId job;

  friend bool operator==(const MigHolder&, const MigHolder&) = default;
  static auto fields(auto& m) { return std::tie(m.slot, m.job); }
};

/// "3g.20gb+me": 3 compute slices, 20 GB, and what stands behind.
struct MigName {
  std::uint32_t compute_slices = 0;
  std::uint32_t gigabytes = 0;
  std::string extra;  // "+me"

  static std::optional<MigName> parse(const std::string& text);
  /// Drivers round the memory of one and the same profile differently.
  bool means(const MigName& other) const;
};

}  // namespace rota
