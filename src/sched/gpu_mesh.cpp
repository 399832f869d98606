// sched/gpu_mesh.cpp - sets of GPUs: all of them compared where they are few, else grown one by
// one.
#include "sched/gpu_mesh.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {
namespace {

/// One NVLink is worth more than any way over PCIe.
constexpr std::int64_t nvlink_worth = 1000;
/// NVML's levels go from 0 (one board) to 50 (across sockets).
constexpr std::int64_t level_most = 60;
/// Up to so many sets are compared: all of 8 GPUs, and of 16 all but the middle sizes.
constexpr std::uint64_t sets_max = 2000;

/// Gpu::links in one scale: more is closer.
std::int64_t worth_of(std::int32_t link) {
  return link > 0 ? nvlink_worth * link : std::max<std::int64_t>(0, level_most + link);
}

/// The number of sets of `count` out of `of`, or one more than the most that is asked for.
std::uint64_t set_count(std::uint64_t of, std::uint64_t count) {
  std::uint64_t sets = 1;
  for (std::uint64_t i = 0; i < std::min(count, of - count); ++i) {
    sets = sets * (of - i) / (i + 1);
    if (sets > sets_max) return sets_max + 1;
  }
  return sets;
}

}  // namespace

/// A choice, and what decides between two.
struct GpuMesh::Set {
  std::vector<std::uint32_t> gpus;
  std::int64_t inside = -1;
  std::int64_t left = -1;  // among the idle ones that it leaves

  bool is_better_than(const Set& other) const {
    if (inside != other.inside) return inside > other.inside;
    if (left != other.left) return left > other.left;
    return gpus < other.gpus;
  }
};

std::shared_ptr<const GpuMesh> GpuMesh::of(const NodeInventory& inventory,
                                           const std::vector<bool>& gpu_absent) {
  // Links are told in NVML's order of those that are there.
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < inventory.gpus.size(); ++i)
    if (!gpu_absent[i]) order.push_back(i);
  std::sort(order.begin(), order.end(), [&inventory](std::uint32_t a, std::uint32_t b) {
    return std::pair(inventory.gpus[a].index, a) < std::pair(inventory.gpus[b].index, b);
  });
  auto mesh = std::make_shared<GpuMesh>();
  mesh->size_ = inventory.gpus.size();
  mesh->pairs_.assign(mesh->size_ * mesh->size_, 0);
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& links = inventory.gpus[order[i]].links;
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (i == j) continue;
      const std::int64_t worth = j < links.size() ? worth_of(links[j]) : 0;
      mesh->pairs_[order[i] * mesh->size_ + order[j]] = worth;
      least = std::min(least, worth);
      most = std::max(most, worth);
    }
  }
  return least >= most ? nullptr : mesh;
}

std::int64_t GpuMesh::to_all(std::uint32_t gpu, const std::vector<std::uint32_t>& gpus) const {
  std::int64_t sum = 0;
  for (const std::uint32_t other : gpus) sum += at(gpu, other);
  return sum;
}

std::int64_t GpuMesh::closeness(const std::vector<std::uint32_t>& gpus) const {
  std::int64_t sum = 0;
  for (const std::uint32_t gpu : gpus) sum += to_all(gpu, gpus);
  return sum;  // each pair from both sides: the two may see it differently
}

GpuMesh::Set GpuMesh::set_of(std::vector<std::uint32_t> gpus,
                             const std::vector<std::uint32_t>& idle) const {
  std::sort(gpus.begin(), gpus.end());
  std::vector<std::uint32_t> rest;
  std::set_difference(idle.begin(), idle.end(), gpus.begin(), gpus.end(), std::back_inserter(rest));
  Set set;
  set.inside = closeness(gpus);
  set.left = closeness(rest);
  set.gpus = std::move(gpus);
  return set;
}

GpuMesh::Set GpuMesh::best_of_all(const std::vector<std::uint32_t>& idle,
                                  std::uint32_t count) const {
  std::vector<bool> in(idle.size(), false);
  std::fill(in.begin(), in.begin() + count, true);
  Set best;
  do {
    std::vector<std::uint32_t> gpus;
    for (std::size_t i = 0; i < idle.size(); ++i)
      if (in[i]) gpus.push_back(idle[i]);
    Set set = set_of(std::move(gpus), idle);
    if (set.is_better_than(best)) best = std::move(set);
  } while (std::prev_permutation(in.begin(), in.end()));
  return best;
}

/// From each GPU on, always the one next that is closest to those already taken.
GpuMesh::Set GpuMesh::best_grown(const std::vector<std::uint32_t>& idle,
                                 std::uint32_t count) const {
  Set best;
  for (const std::uint32_t first : idle) {
    std::vector<std::uint32_t> gpus{first};
    std::vector<std::uint32_t> others = idle;
    std::erase(others, first);
    while (gpus.size() < count) {
      const auto next = std::max_element(
          others.begin(), others.end(), [this, &gpus](std::uint32_t a, std::uint32_t b) {
            return to_all(a, gpus) < to_all(b, gpus);  // of equals the first is taken
          });
      gpus.push_back(*next);
      others.erase(next);
    }
    Set set = set_of(std::move(gpus), idle);
    if (set.is_better_than(best)) best = std::move(set);
  }
  return best;
}

std::vector<std::uint32_t> GpuMesh::choose(const std::vector<std::uint32_t>& idle,
                                           std::uint32_t count) const {
  ROTA_ASSERT(count <= idle.size());
  if (count == 0) return {};
  if (count == idle.size()) return idle;
  return set_count(idle.size(), count) <= sets_max ? best_of_all(idle, count).gpus
                                                   : best_grown(idle, count).gpus;
}

}  // namespace rota::sched
