// sched/packing_worth.cpp - counting copies and weighing kinds, in whole numbers.
#include "sched/packing_worth.h"

#include <algorithm>

namespace rota::sched {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr int weight_bits = 35;
constexpr std::int64_t weight_max = std::int64_t{1} << 39;
constexpr int root_bits = 8;
constexpr int use_bits = 2 * root_bits;

/// Rounded down.
constexpr std::uint64_t square_root(std::uint64_t value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1)
    if ((root + bit) * (root + bit) <= value) root += bit;
  return root;
}

/// The root of each number of copies, in 1/256, rounded to the nearest.
constexpr auto roots = [] {
  std::array<std::int64_t, 256> table{};
  for (std::uint64_t i = 0; i < table.size(); ++i) {
    const std::uint64_t square = i << use_bits, root = square_root(square);
    table[i] = static_cast<std::int64_t>(root + (square - root * root > root));
  }
  return table;
}();

/// A division by d as a multiplication: exact for all n and d below 2^31, because the factor is too
/// large by less than 2^-62 of n * d.
constexpr int per_bits = 62;
constexpr std::uint64_t per(std::int64_t d) {
  return (std::uint64_t{1} << per_bits) / static_cast<std::uint64_t>(std::max<std::int64_t>(d, 1)) +
         1;
}
constexpr std::uint64_t divided(std::int64_t n, std::uint64_t per_d) {
  return static_cast<std::uint64_t>(Wide{static_cast<std::uint64_t>(n)} * per_d >> per_bits);
}
static_assert(divided(pack_amount_max, per(pack_amount_max)) == 1);
static_assert(divided(pack_amount_max - 1, per(pack_amount_max)) == 0);
static_assert(divided(pack_amount_max, per(1)) == pack_amount_max);

std::int64_t mib_rounded_up(std::int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

/// size(m) as over / under.
struct Size {
  std::uint64_t over = 0, under = 1;
};
Size size_of(const PackRequest& request) {
  if (request.is_share())
    return {static_cast<std::uint64_t>(request.gpu_share), static_cast<std::uint64_t>(whole_gpu)};
  const auto count = static_cast<std::uint64_t>(request.gpu_count);
  return {square_root(square_root(count << 32) << 16), 1 << 16};
}

/// p / (size * supply), rounded to the nearest. Counts and supplies are below 2^31 and 2^50: what
/// is multiplied here stays below 2^127.
std::int64_t weight_of(const PackRequest& request, std::int64_t count, std::int64_t total,
                       std::int64_t supply) {
  const Size size = size_of(request);
  const Wide over =
      (Wide{static_cast<std::uint64_t>(count)} << (weight_bits + use_bits)) * size.under;
  const Wide under =
      Wide{static_cast<std::uint64_t>(total)} * static_cast<std::uint64_t>(supply) * size.over;
  return static_cast<std::int64_t>(
      std::min<Wide>((over + under / 2) / under, static_cast<std::uint64_t>(weight_max)));
}

}  // namespace

PackWorth::KindKey PackWorth::key_of(const PackRequest& request) {
  return {request.gpu_count, request.gpu_share, request.cpu_milli, request.memory_bytes};
}

std::int32_t PackWorth::copies_on_gpus(const Group& group, const PackRoom& room,
                                       std::int32_t whole) {
  if (group.gpu_share == whole_gpu) return whole / group.gpu_count;
  std::uint64_t count = static_cast<std::uint64_t>(whole) * divided(whole_gpu, group.per_share);
  for (std::int32_t g = whole; g < room.gpu_count; ++g) {
    const std::int32_t free = room.gpu_free[static_cast<std::size_t>(g)];
    if (free < group.gpu_share) break;
    count += divided(free, group.per_share);
  }
  return static_cast<std::int32_t>(std::min<std::uint64_t>(count, copies_max));
}

/// Calls visit(kind, root of c, root of u) for every kind that fits once or more.
template <class Visit>
void PackWorth::for_each_use(const PackRoom& room, Visit visit) const {
  const std::int32_t whole = room.whole_gpus();
  const std::int64_t mib = room.memory_bytes >> 20;
  for (const Group& group : groups_) {
    const std::int32_t on_gpus = copies_on_gpus(group, room, whole);
    if (on_gpus == 0) continue;
    for (std::uint32_t k = group.begin; k < group.end; ++k) {
      const Kind& kind = kinds_[k];
      if (kind.cpu_milli > room.cpu_milli) break;
      const auto copies =
          std::min({divided(room.cpu_milli, kind.per_cpu), divided(mib, kind.per_mib),
                    static_cast<std::uint64_t>(on_gpus)});
      visit(k, roots[copies], roots[static_cast<std::size_t>(on_gpus)]);
    }
  }
}

std::int64_t PackWorth::of(const PackRoom& room) const {
  if (kinds_.empty()) return 0;
  const std::int64_t* weights = weights_[static_cast<std::size_t>(room.model)].data();
  std::int64_t sum = 0;
  // Of 128 weights of 2^39 at most and roots below 2^12 the sum stays below 2^62.
  for_each_use(room, [&](std::uint32_t kind, std::int64_t root_c, std::int64_t root_u) {
    sum += (weights[kind] * root_c >> root_bits) * root_u;
  });
  return sum >> root_bits;
}

void PackWorth::add_kind(const KindKey& key) {
  const auto at = static_cast<std::uint32_t>(kinds_.size());
  if (groups_.empty() || groups_.back().gpu_count != key.gpu_count ||
      groups_.back().gpu_share != key.gpu_share)
    groups_.push_back({.gpu_count = key.gpu_count,
                       .gpu_share = key.gpu_share,
                       .per_share = per(key.gpu_share),
                       .begin = at,
                       .end = at});
  kinds_.push_back({.cpu_milli = key.cpu_milli,
                    .per_cpu = per(key.cpu_milli),
                    .per_mib = per(mib_rounded_up(key.memory_bytes))});
  groups_.back().end = at + 1;
}

/// The most frequent requests for GPUs; those that differ only in the models are one kind.
PackWorth::KindIndex PackWorth::choose_kinds(const PackMix& mix) {
  std::map<KindKey, std::int64_t> seen;
  for (const auto& [request, count] : mix.counts())
    if (request.gpu_count > 0) seen[key_of(request)] += count;
  std::vector<std::pair<std::int64_t, KindKey>> order;
  for (const auto& [key, count] : seen) order.emplace_back(-count, key);
  std::sort(order.begin(), order.end());
  if (order.size() > kinds_max) order.resize(kinds_max);

  groups_.clear();
  kinds_.clear();
  KindIndex index;
  for (const auto& [count, key] : order) index.emplace(key, 0);
  for (auto& [key, kind] : index) {
    kind = static_cast<std::uint32_t>(kinds_.size());
    add_kind(key);
  }
  return index;
}

PackWorth::ByModel PackWorth::supply_of(const PackFleet& fleet) const {
  ByModel supply;
  for (auto& of_model : supply) of_model.assign(kinds_.size(), 0);
  for (PackFleet::ShelfIndex i = 0; i < fleet.shelf_count(); ++i) {
    const auto& [room, nodes] = fleet.shelf(i);
    const auto node_count = static_cast<std::int64_t>(nodes.size());
    if (node_count == 0) continue;
    auto& of_model = supply[static_cast<std::size_t>(room.model)];
    for_each_use(room, [&](std::uint32_t kind, std::int64_t root_c, std::int64_t root_u) {
      of_model[kind] += node_count * root_c * root_u;
    });
  }
  return supply;
}

void PackWorth::learn(const PackMix& mix, const PackFleet& fleet) {
  const KindIndex index = choose_kinds(mix);
  const ByModel supply = supply_of(fleet);
  for (auto& of_model : weights_) of_model.assign(kinds_.size(), 0);
  for (const auto& [request, count] : mix.counts()) {
    const auto at = index.find(key_of(request));
    if (at == index.end()) continue;
    std::int64_t reach = 0;
    for (std::size_t m = 0; m < supply.size(); ++m)
      if ((request.models >> m & 1u) != 0) reach += supply[m][at->second];
    const std::int64_t weight =
        weight_of(request, count, mix.total(), std::max(reach, std::int64_t{1} << use_bits));
    for (std::size_t m = 0; m < weights_.size(); ++m) {
      std::int64_t& sum = weights_[m][at->second];
      if ((request.models >> m & 1u) != 0) sum = std::min(sum + weight, weight_max);
    }
  }
}

}  // namespace rota::sched
