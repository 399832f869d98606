// sched/demand.h - what one task asks of a node, and what that counts against a quota.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sched/amount.h"

namespace rota::sched {

/// MIG slices of one profile, e.g. two of "1g.10gb".
struct MigAsk {
  std::string profile;
  std::uint32_t count = 0;

  friend auto operator<=>(const MigAsk&, const MigAsk&) = default;
};

/// The N of a profile "Ng.MMgb"; 0 if there is none.
std::uint32_t mig_slices(const std::string& profile);

struct Demand {
  enum class Gpu : std::uint8_t {
    none,
    whole,    // `devices` GPUs for itself
    portion,  // `portion` of each of `devices` GPUs of one node
    memory,   // `memory_mib` on each of `devices` GPUs of one node
    cut,      // `devices` MIG instances on GPUs of one node
  };

  Gpu gpu = Gpu::none;
  std::uint32_t devices = 0;
  std::int64_t portion = 0;  // of one_gpu; of a kind of instance, what it counts for at most
  std::int64_t memory_mib = 0;
  /// Of a cut: which kind of instance. "": the smallest that has `portion` of a GPU, or
  /// `memory_mib`.
  std::string profile;
  std::vector<MigAsk> mig;  // on nodes that count their slices
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  /// It has the node to itself: all CPUs and GPUs of it, whatever it asked for. `devices` are those
  /// of the smallest node that it could have.
  bool whole_node = false;

  bool is_cut() const { return gpu == Gpu::cut; }
  /// Others may have the rest of its GPUs.
  bool is_shared() const { return gpu == Gpu::portion || gpu == Gpu::memory || is_cut(); }
  bool wants_gpu() const { return gpu != Gpu::none || !mig.empty(); }
  std::uint32_t whole_gpus() const { return gpu == Gpu::whole ? devices : 0; }
  /// Of each of its GPUs, where one has `gpu_memory_mib`.
  std::int64_t share_mib(std::int64_t gpu_memory_mib) const;
  /// Where a GPU has `gpu_memory_mib`; only a request for memory depends on it.
  Amount charge(std::int64_t gpu_memory_mib) const;

  friend auto operator<=>(const Demand&, const Demand&) = default;
};

}  // namespace rota::sched
