// sched/amount.h - what quotas count: GPUs, CPUs and memory, in whole small units.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace rota::sched {

enum class Resource : std::uint8_t { gpu = 0, cpu = 1, memory = 2 };
inline constexpr std::array resources{Resource::gpu, Resource::cpu, Resource::memory};

/// Larger than anything; only as a quota, a limit or a share.
inline constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();
/// GPUs are counted in millionths, so that fractions add up exactly.
inline constexpr std::int64_t one_gpu = 1'000'000;

/// Millionths of GPUs, thousandths of CPUs, bytes of memory.
struct Amount {
  std::array<std::int64_t, resources.size()> of{};

  std::int64_t& operator[](Resource r) { return of[static_cast<std::size_t>(r)]; }
  std::int64_t operator[](Resource r) const { return of[static_cast<std::size_t>(r)]; }

  Amount& operator+=(const Amount& other) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] += other.of[i];
    return *this;
  }
  Amount& operator-=(const Amount& other) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] -= other.of[i];
    return *this;
  }
  friend Amount operator+(Amount a, const Amount& b) { return a += b; }
  friend Amount operator-(Amount a, const Amount& b) { return a -= b; }
  friend bool operator==(const Amount&, const Amount&) = default;

  static Amount all(std::int64_t value) { return {{value, value, value}}; }
};

/// a <= b in every resource. `unbounded` in b lets anything through.
inline bool within(const Amount& a, const Amount& b) {
  for (std::size_t i = 0; i < a.of.size(); ++i)
    if (a.of[i] > b.of[i]) return false;
  return true;
}

}  // namespace rota::sched
