// testsuite/unit/sched/geometries.h - ways in which GPUs can be cut, as NVML reports them.
#pragma once
#include <string>
#include <vector>

#include "model/mig.h"

namespace rota::sched {

inline MigProfile mig_profile(const std::string& name, std::uint32_t compute, std::uint32_t size,
                              std::vector<std::uint32_t> starts, std::uint32_t count_max = 0) {
  MigProfile profile;
  profile.name = name;
  profile.compute_slices = compute;
  profile.size = size;
  profile.count_max = count_max > 0 ? count_max : static_cast<std::uint32_t>(starts.size());
  profile.starts = std::move(starts);
  profile.memory_bytes = std::uint64_t{size} * 4864 << 20;
  return profile;
}

/// The five that every A100 has.
inline MigGeometry classic() {
  MigGeometry geometry;
  geometry.profiles = {mig_profile("1g.5gb", 1, 1, {0, 1, 2, 3, 4, 5, 6}),
                       mig_profile("2g.10gb", 2, 2, {0, 2, 4}),
                       mig_profile("3g.20gb", 3, 4, {0, 4}), mig_profile("4g.20gb", 4, 4, {0}),
                       mig_profile("7g.40gb", 7, 8, {0})};
  geometry.switches = true;
  return geometry;
}

/// With those that later drivers brought.
inline MigGeometry a100() {
  MigGeometry geometry = classic();
  geometry.profiles.push_back(mig_profile("1g.5gb+me", 1, 1, {0, 1, 2, 3, 4, 5, 6}, 1));
  geometry.profiles.push_back(mig_profile("1g.10gb", 1, 2, {0, 2, 4, 6}));
  return geometry;
}

inline MigGeometry a30() {
  MigGeometry geometry;
  geometry.profiles = {mig_profile("1g.6gb", 1, 1, {0, 1, 2, 3}),
                       mig_profile("2g.12gb", 2, 2, {0, 2}), mig_profile("4g.24gb", 4, 4, {0})};
  geometry.switches = true;
  return geometry;
}

/// An axis of twelve.
inline MigGeometry rtx_pro() {
  MigGeometry geometry;
  geometry.profiles = {mig_profile("1g.24gb", 1, 3, {0, 3, 6, 9}),
                       mig_profile("2g.48gb", 2, 6, {0, 6}), mig_profile("4g.96gb", 4, 12, {0})};
  geometry.switches = true;
  return geometry;
}

/// None has been built: places of one profile overlap.
inline MigGeometry overlapping() {
  MigGeometry geometry;
  geometry.profiles = {mig_profile("1g.1gb", 1, 1, {0, 1, 2, 3, 4, 5}),
                       mig_profile("2g.2gb", 2, 2, {0, 1, 2, 3, 4}),
                       mig_profile("3g.3gb", 3, 3, {0, 1, 3})};
  geometry.switches = true;
  return geometry;
}

}  // namespace rota::sched
