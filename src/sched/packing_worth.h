// sched/packing_worth.h - what the room on a node is worth to the tasks that are expected.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sched/packing_fleet.h"
#include "sched/packing_mix.h"

namespace rota::sched {

/// A worth for every room, from a mix of requests and the fleet as it was when both were learned.
///
/// A kind m is a request without its models, p its share of the mix. On a node u copies of it fit
/// the free GPUs alone, and c of them GPUs, CPUs and memory together:
///
///     use(m, node) = sqrt(c * u)
///     supply(m)    = sum of use(m, node) over the nodes whose GPUs it accepts, at least 1
///     weight(m)    = p / (size(m) * supply(m))
///     worth(node)  = sum of weight(m) * use(m, node) over the kinds that accept its GPUs
///
/// size: the share itself, for a share of a GPU; the fourth root of k, for k whole ones. Where a
/// placement takes the least worth, the fleet loses least of what it can still take, counted for
/// each kind in proportion (the sum of p / size * log(supply), to first order): what is scarce
/// becomes dear. doc/design/0007-packing.md says why, and what was measured.
///
/// All of it is integer arithmetic: the same everywhere, whatever the compiler does to floating
/// point.
class PackWorth {
 public:
  /// The most frequent kinds are looked at, so many at most: a bound for the cost of one worth.
  static constexpr std::size_t kinds_max = 128;

  /// Takes over a new mix and the fleet as it is now: every worth may change.
  void learn(const PackMix& mix, const PackFleet& fleet);
  /// Never negative; 0 before anything was learned.
  std::int64_t of(const PackRoom& room) const;

 private:
  static constexpr std::int32_t copies_max = 255;

  /// What a kind asks besides GPUs, as factors that stand for a division.
  struct Kind {
    std::int64_t cpu_milli = 0;
    std::uint64_t per_cpu = 0, per_mib = 0;
  };
  /// Kinds that ask for the same of the GPUs stand together, those with few CPUs first.
  struct Group {
    std::int32_t gpu_count = 0, gpu_share = 0;
    std::uint64_t per_share = 0;
    std::uint32_t begin = 0, end = 0;
  };
  struct KindKey {
    std::int32_t gpu_count = 0, gpu_share = 0;
    std::int64_t cpu_milli = 0, memory_bytes = 0;
    friend auto operator<=>(const KindKey&, const KindKey&) = default;
  };
  using KindIndex = std::map<KindKey, std::uint32_t>;
  using ByModel = std::array<std::vector<std::int64_t>, pack_models_max>;  // then by kind

  static KindKey key_of(const PackRequest& request);
  static std::int32_t copies_on_gpus(const Group& group, const PackRoom& room, std::int32_t whole);
  template <class Visit>
  void for_each_use(const PackRoom& room, Visit visit) const;
  KindIndex choose_kinds(const PackMix& mix);
  void add_kind(const KindKey& key);
  ByModel supply_of(const PackFleet& fleet) const;

  std::vector<Group> groups_;
  std::vector<Kind> kinds_;
  ByModel weights_;
};

}  // namespace rota::sched
