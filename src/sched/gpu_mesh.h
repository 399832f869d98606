// sched/gpu_mesh.h - how close the GPUs of a node are to each other, and which of them to take.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "model/node.h"

namespace rota::sched {

/// The pairs of a node's GPUs by how fast they talk: NVLinks first, then the way over PCIe.
class GpuMesh {
 public:
  /// From what the node reports; GPUs that are absent are close to nobody. Null where all pairs are
  /// alike (one switch for all, or nothing known): then no set is better than another.
  static std::shared_ptr<const GpuMesh> of(const NodeInventory& inventory,
                                           const std::vector<bool>& gpu_absent);

  /// `count` GPUs of `idle` (numbers, ascending, at least so many), ascending: those closest to
  /// each other; among equals, those that leave the others closest to each other, for whoever comes
  /// next; then the lowest numbers.
  std::vector<std::uint32_t> choose(const std::vector<std::uint32_t>& idle,
                                    std::uint32_t count) const;

  /// How close these are to each other, all pairs together.
  std::int64_t closeness(const std::vector<std::uint32_t>& gpus) const;

 private:
  std::int64_t at(std::uint32_t a, std::uint32_t b) const { return pairs_[a * size_ + b]; }
  std::int64_t to_all(std::uint32_t gpu, const std::vector<std::uint32_t>& gpus) const;
  struct Set;
  Set set_of(std::vector<std::uint32_t> gpus, const std::vector<std::uint32_t>& idle) const;
  Set best_of_all(const std::vector<std::uint32_t>& idle, std::uint32_t count) const;
  Set best_grown(const std::vector<std::uint32_t>& idle, std::uint32_t count) const;

  std::size_t size_ = 0;
  std::vector<std::int64_t> pairs_;  // size_ x size_
};

}  // namespace rota::sched
