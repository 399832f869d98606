// gpud/share/books.cpp - slots are given and taken back; the driver's word corrects the counts.
#include "gpud/share/books.h"

#include <algorithm>
#include <cstring>

#include "common/assert.h"

namespace rota::gpud {
namespace {

constexpr std::uint32_t breach_samples = 3;

template <class T>
void store(T& shared, T value) {
  __atomic_store_n(&shared, value, __ATOMIC_RELEASE);
}

template <class T>
T load(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

}  // namespace

std::uint64_t share_limit(std::uint64_t total_bytes, std::uint32_t millionths,
                          std::uint32_t memory_mib) {
  if (memory_mib > 0) return std::min(total_bytes, std::uint64_t{memory_mib} << 20);
  constexpr std::uint64_t whole = 1'000'000;
  if (millionths == 0 || millionths >= whole) return total_bytes;
  // In two parts: the product of a large GPU's bytes and a million has more than 64 bits.
  return total_bytes / whole * millionths + total_bytes % whole * millionths / whole;
}

std::optional<std::array<std::uint8_t, 16>> uuid_bytes(const std::string& uuid) {
  std::array<std::uint8_t, 16> bytes{};
  if (!uuid.starts_with("GPU-")) return std::nullopt;
  std::size_t digits = 0;
  for (const char c : uuid.substr(4)) {
    if (c == '-') continue;
    const char lower = static_cast<char>(c | 0x20);
    const int digit = c >= '0' && c <= '9'           ? c - '0'
                      : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                     : -1;
    if (digit < 0 || digits == 32) return std::nullopt;
    bytes[digits / 2] = static_cast<std::uint8_t>(bytes[digits / 2] << 4 | digit);
    ++digits;
  }
  if (digits != 32) return std::nullopt;
  return bytes;
}

ShareBooks::ShareBooks(RotaRules& rules, RotaCounts& counts, std::vector<GpuShare> shares)
    : rules_(rules),
      counts_(counts),
      shares_(std::move(shares)),
      slots_(rota_region_slot_max),
      over_(shares_.size()) {
  ROTA_ASSERT(shares_.size() <= rota_region_gpu_max);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const auto uuid = uuid_bytes(shares_[i].uuid);
    ROTA_ASSERT(uuid.has_value());
    std::memcpy(rules_.gpus[i].uuid, uuid->data(), uuid->size());
    rules_.gpus[i].limit_bytes = shares_[i].limit_bytes;
    rules_.gpus[i].context_bytes = shares_[i].context_bytes;
    rules_.gpus[i].ceiling_bytes = shares_[i].request_bytes;
  }
  rules_.gpu_count = static_cast<std::uint32_t>(shares_.size());
  rules_.version = rota_region_version;
  store<std::uint32_t>(rules_.magic, rota_region_magic);
}

std::optional<ShareSlot> ShareBooks::join(std::uint32_t pid) {
  // A process that joins again after its connection was closed has called exec: its memory is gone.
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].pid == pid && slots_[i].hung_up) free_slot(i);
  }
  const auto place = std::ranges::find(slots_, 0u, &Slot::pid);
  if (place == slots_.end()) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(place - slots_.begin());
  place->pid = pid;
  place->serial = ++joins_;
  store(rules_.pids[index], pid);
  if (index >= rules_.slot_high) store(rules_.slot_high, index + 1);
  return ShareSlot{index, place->serial};
}

bool ShareBooks::is_owned(ShareSlot slot) const {
  return slot.number < slots_.size() && slots_[slot.number].pid != 0 &&
         slots_[slot.number].serial == slot.serial;
}

void ShareBooks::hung_up(ShareSlot slot) {
  if (is_owned(slot)) slots_[slot.number].hung_up = true;
}

void ShareBooks::died(ShareSlot slot) {
  if (is_owned(slot)) free_slot(slot.number);
}

void ShareBooks::free_slot(std::uint32_t index) {
  for (std::uint32_t gpu = 0; gpu < shares_.size(); ++gpu) {
    store<std::uint64_t>(rules_.excess[gpu][index], 0);
    store<std::uint64_t>(counts_.slots[index].bytes[gpu], 0);
  }
  store<std::uint32_t>(rules_.pids[index], 0);
  slots_[index] = Slot{};
}

std::uint32_t ShareBooks::slots_used() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.pid != 0; }));
}

std::optional<std::uint32_t> ShareBooks::slot_of(std::uint32_t pid) const {
  std::optional<std::uint32_t> newest;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].pid != pid) continue;
    if (!newest || slots_[i].serial > slots_[*newest].serial) newest = i;
  }
  return newest;
}

void ShareBooks::before_sample() {
  for (std::uint32_t i = 0; i < load(rules_.slot_high); ++i) {
    for (std::uint32_t gpu = 0; gpu < shares_.size(); ++gpu) {
      slots_[i].counted[gpu] = load(counts_.slots[i].bytes[gpu]);
    }
  }
}

// A process goes on while the driver is asked, so what it takes or frees meanwhile looks like an
// excess for one sample: the larger count, and the smaller excess of two samples, are believed.
void ShareBooks::set_excess(std::uint32_t gpu, std::uint32_t slot, std::uint64_t held) {
  Slot& owner = slots_[slot];
  const std::uint64_t counted = std::max(owner.counted[gpu], load(counts_.slots[slot].bytes[gpu]));
  const std::uint64_t excess = held > counted ? held - counted : 0;
  store(rules_.excess[gpu][slot], std::min(excess, owner.seen[gpu]));
  owner.seen[gpu] = excess;
}

void ShareBooks::set_ceiling(const GpuCeiling& ceiling) {
  for (std::size_t i = 0; i < shares_.size(); ++i)
    if (shares_[i].uuid == ceiling.uuid) store(rules_.gpus[i].ceiling_bytes, ceiling.bytes);
}

std::uint64_t ShareBooks::tolerated(std::uint64_t limit_bytes) {
  constexpr std::uint64_t least = 256ull << 20;
  if (limit_bytes == rota_region_no_limit) return rota_region_no_limit;
  return limit_bytes + std::max(least, limit_bytes / 50);
}

std::optional<ShareBreach> ShareBooks::sample(const std::vector<std::vector<GpuProcess>>& held,
                                              const std::function<bool(std::uint32_t)>& is_ours) {
  ROTA_ASSERT(held.size() == shares_.size());
  std::optional<ShareBreach> breach;
  std::vector<bool> holds(slots_.size());
  for (std::uint32_t gpu = 0; gpu < shares_.size(); ++gpu) {
    std::vector<std::uint64_t> by_slot(slots_.size());
    std::uint64_t stray = 0, total = 0;
    for (const GpuProcess& process : held[gpu]) {
      const auto slot = slot_of(process.pid);
      if (!slot && !is_ours(process.pid)) continue;
      total += process.memory_bytes;
      if (slot) {
        by_slot[*slot] = process.memory_bytes;
        holds[*slot] = true;
      } else {
        stray += process.memory_bytes;
      }
    }
    for (std::uint32_t i = 0; i < rules_.slot_high; ++i) {
      if (slots_[i].pid != 0) set_excess(gpu, i, by_slot[i]);
    }
    store(rules_.gpus[gpu].stray_bytes, stray);
    over_[gpu] = total > tolerated(shares_[gpu].limit_bytes) ? over_[gpu] + 1 : 0;
    if (over_[gpu] >= breach_samples && !breach) {
      breach = ShareBreach{shares_[gpu].uuid, total, shares_[gpu].limit_bytes};
    }
  }
  for (std::uint32_t i = 0; i < rules_.slot_high; ++i) {
    if (slots_[i].pid != 0 && slots_[i].hung_up && !holds[i]) free_slot(i);
  }
  return breach;
}

}  // namespace rota::gpud
