// sched/fleet_cuts.cpp - GPUs that are cut into MIG instances: room for more, and where they go.
#include <algorithm>
#include <bit>

#include "common/assert.h"
#include "sched/fleet.h"

namespace rota::sched {
namespace {

SliceMask blocked_on(const FleetNode& node, const SharedGpu& gpu) {
  return gpu.gpu && node.cuts != nullptr ? node.cuts->blocked_on(*gpu.gpu) : 0;
}

/// Slices that nobody else gets, now or once everybody who is leaving has left.
SliceMask taken(const FleetNode& node, const SharedGpu& gpu, bool now) {
  const SliceMask held = now ? gpu.cut_held : gpu.cut_held & ~gpu.cut_leaving;
  return held | gpu.cut_promised | blocked_on(node, gpu);
}

/// Whether instances may be put beside those that are on it. One that all are leaving counts among
/// those that come free, unless it stays cut all the same.
bool takes_more(const FleetNode& node, const SharedGpu& gpu, bool now) {
  if (!gpu.is_cut || (gpu.gpu && node.is_absent(*gpu.gpu))) return false;
  if (gpu.is_fixed) return true;
  if (gpu.members == 0 || gpu.all_leaving()) return false;
  return !now || gpu.members_promised < gpu.members;
}

/// Instances of this kind on a GPU; only asked where a GPU takes fewer than would fit.
std::uint32_t count_on(const FleetNode& node, const SharedGpu& gpu, const MigAxis::Profile& profile,
                       bool now) {
  if (profile.count_max >= profile.starts.size()) return 0;
  std::uint32_t count = 0;
  for (const FleetNode::Resident& resident : node.residents) {
    if (!resident.demand->is_cut() || (!now && resident.stay == Stay::leaving)) continue;
    if (cut_on(node, *resident.demand) != &profile) continue;
    count += static_cast<std::uint32_t>(
        std::count(resident.spot.shared.begin(), resident.spot.shared.end(), gpu.id));
  }
  return count;
}

/// GPUs that are free as a whole and could be cut.
std::int64_t fresh_for_cuts(const FleetNode& node, bool now) {
  std::int64_t idle = 0;
  bool all_alike = true;
  for (std::uint32_t i = 0; i < node.gpu_count; ++i) {
    const NodeCuts::Use use = node.cuts->use_of(i);
    if (use == NodeCuts::Use::either && !node.gpu_taken[i]) ++idle;
    all_alike = all_alike && use != NodeCuts::Use::whole;
  }
  const std::int64_t fresh = std::max<std::int64_t>(0, now ? node.gpus_idle : node.gpus_free());
  // Which of different GPUs come free is not known beforehand.
  return now || !all_alike ? std::min(fresh, idle) : fresh;
}

}  // namespace

const MigAxis::Profile* cut_on(const FleetNode& node, const Demand& demand) {
  if (node.cuts == nullptr) return nullptr;
  if (!demand.profile.empty()) return node.cuts->axis->find(demand.profile);
  // The largest come first.
  const auto& profiles = node.cuts->axis->profiles();
  const auto at = std::find_if(profiles.rbegin(), profiles.rend(), [&](const auto& each) {
    return demand.memory_mib > 0 ? each.memory_mib >= demand.memory_mib
                                 : each.amount >= demand.portion;
  });
  return at == profiles.rend() ? nullptr : &*at;
}

std::int64_t cut_room(const FleetNode& node, const MigAxis::Profile& profile, bool now) {
  const MigAxis& axis = *node.cuts->axis;
  std::int64_t room = fresh_for_cuts(node, now) * axis.room(profile, 0, 0);
  for (const SharedGpu& gpu : node.shared)
    if (takes_more(node, gpu, now))
      room += axis.room(profile, taken(node, gpu, now), count_on(node, gpu, profile, now));
  return room;
}

std::int64_t cut_room_when_empty(const FleetNode& node, const MigAxis::Profile& profile) {
  std::int64_t room = 0;
  for (std::uint32_t i = 0; i < node.gpu_count; ++i)
    if (node.cuts->use_of(i) != NodeCuts::Use::whole && !node.is_absent(i))
      room += node.cuts->axis->room(profile, node.cuts->blocked_on(i), 0);
  return room;
}

bool is_empty_to_cut(const FleetNode& node, const SharedGpu& gpu) {
  return gpu.is_fixed && !node.is_absent(*gpu.gpu) && blocked_on(node, gpu) == 0;
}

std::int64_t empty_to_cut(const FleetNode& node) {
  if (node.cuts == nullptr) return 0;
  return fresh_for_cuts(node, false) +
         std::count_if(node.shared.begin(), node.shared.end(), [&node](const SharedGpu& gpu) {
           return gpu.members == gpu.members_leaving && is_empty_to_cut(node, gpu);
         });
}

bool fits_beside_cuts(const FleetNode& node, const Demand& demand) {
  const MigAxis::Profile* const profile = cut_on(node, demand);
  if (profile == nullptr) return false;
  return std::any_of(node.shared.begin(), node.shared.end(), [&](const SharedGpu& gpu) {
    return takes_more(node, gpu, false) &&
           node.cuts->axis->room(*profile, taken(node, gpu, false),
                                 count_on(node, gpu, *profile, false)) > 0;
  });
}

std::int64_t free_of_cut(const FleetNode& node, const SharedGpu& gpu) {
  if (node.cuts == nullptr || !takes_more(node, gpu, false)) return 0;
  const std::uint32_t slices = node.cuts->axis->slice_count();
  const auto used = static_cast<std::uint32_t>(std::popcount(taken(node, gpu, false)));
  return std::int64_t{slices - std::min(used, slices)} * one_gpu / slices;
}

std::vector<std::uint32_t> choose_to_cut(const FleetNode& node) {
  std::optional<std::uint32_t> first;
  for (std::uint32_t i = 0; node.cuts != nullptr && i < node.gpu_count; ++i) {
    if (node.gpu_taken[i] || node.cuts->use_of(i) != NodeCuts::Use::either) continue;
    if (node.was_cut[i]) return {i};
    if (!first) first = i;
  }
  return first ? std::vector{*first} : std::vector<std::uint32_t>{};
}

Amount charge_on(const FleetNode& node, const Demand& demand) {
  Amount charge = demand.charge(node.gpu_memory_mib);
  if (demand.whole_node) {
    charge[Resource::gpu] = whole_gpus_of(node) * one_gpu;
    charge[Resource::cpu] = cpu_on(node, demand);
  }
  if (!demand.is_cut()) return charge;
  if (const auto* profile = cut_on(node, demand))
    charge[Resource::gpu] = profile->amount * demand.devices;
  return charge;
}

SharedChoice choose_cuts(const FleetNode& node, NodeIndex index, const Demand& demand) {
  struct Option {
    std::uint32_t id = 0;
    SliceMask taken = 0;
    std::uint32_t there = 0;  // instances of this kind
  };
  const MigAxis::Profile* const profile = cut_on(node, demand);
  ROTA_ASSERT(profile != nullptr);
  const MigAxis& axis = *node.cuts->axis;
  SharedChoice choice;
  choice.spot.node = index;
  choice.now = cut_room(node, *profile, true) >= demand.devices;
  std::vector<Option> options;
  for (const SharedGpu& gpu : node.shared)
    if (takes_more(node, gpu, choice.now))
      options.push_back(
          {gpu.id, taken(node, gpu, choice.now), count_on(node, gpu, *profile, choice.now)});
  std::int64_t fresh = fresh_for_cuts(node, choice.now);
  std::uint32_t id_last = node.shared_id_last;
  while (choice.spot.shared.size() < demand.devices) {
    Option* best = nullptr;
    std::optional<Cut> best_cut;
    std::vector<std::uint32_t> best_loss;
    for (Option& option : options) {
      if (option.there >= profile->count_max) continue;
      const auto cut = axis.choose(*profile, option.taken);
      if (!cut) continue;
      auto loss = axis.loss(option.taken, *cut);
      const bool is_better =
          best == nullptr || loss < best_loss ||
          (loss == best_loss && std::popcount(option.taken) > std::popcount(best->taken));
      if (!is_better) continue;
      best = &option;
      best_cut = cut;
      best_loss = std::move(loss);
    }
    if (best == nullptr) {
      if (fresh-- <= 0) break;  // the caller has seen that it fits
      options.push_back({.id = ++id_last});
      continue;
    }
    choice.spot.shared.push_back(best->id);
    choice.spot.cuts.push_back(*best_cut);
    best->taken |= best_cut->mask();
    ++best->there;
  }
  return choice;
}

// ---- what a node can be cut into ----

void Fleet::set_cuts(NodeIndex index, std::shared_ptr<const NodeCuts> cuts) {
  FleetNode& node = nodes_[index];
  if (cuts == nullptr && node.cuts == nullptr) return;
  unindex(index);
  std::erase_if(node.shared, [](const SharedGpu& gpu) { return gpu.is_fixed && gpu.members == 0; });
  for (SharedGpu& gpu : node.shared) gpu.is_fixed = false;
  node.was_cut.resize(node.gpu_count);
  for (std::uint32_t i = 0; cuts != nullptr && i < node.gpu_count; ++i) {
    if (cuts->use_of(i) != NodeCuts::Use::cut) continue;
    const auto there = std::find_if(node.shared.begin(), node.shared.end(),
                                    [i](const SharedGpu& gpu) { return gpu.gpu == i; });
    if (there != node.shared.end()) {
      there->is_fixed = there->is_cut || there->members == 0;
    } else if (!is_held_whole(node, i)) {
      node.shared.push_back(
          {.id = ++node.shared_id_last, .gpu = i, .is_cut = true, .is_fixed = true});
    }
  }
  node.cuts = std::move(cuts);
  if (node.cuts != nullptr && std::none_of(axes_.begin(), axes_.end(), [&node](const auto& axis) {
        return axis->profiles() == node.cuts->axis->profiles();
      }))
    axes_.push_back(node.cuts->axis);
  count(index);
  this->index(index);
  note_change(index);
  ++freed_count_;
  ++generation_;
}

bool Fleet::is_held_whole(const FleetNode& node, std::uint32_t gpu) {
  return std::any_of(node.residents.begin(), node.residents.end(),
                     [gpu](const FleetNode::Resident& resident) {
                       const auto& gpus = resident.spot.gpus;
                       return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
                     });
}

void Fleet::note_use(NodeIndex index, std::uint32_t gpu, bool is_cut) {
  FleetNode& node = nodes_[index];
  if (gpu < node.was_cut.size()) node.was_cut[gpu] = is_cut;
}

std::optional<std::int64_t> Fleet::cut_amount(const std::string& profile) const {
  std::optional<std::int64_t> most;
  for (const auto& axis : axes_)
    if (const MigAxis::Profile* known = axis->find(profile))
      most = std::max(most.value_or(0), known->amount);
  return most;
}

}  // namespace rota::sched
