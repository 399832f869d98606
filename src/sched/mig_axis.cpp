// sched/mig_axis.cpp - intervals on an axis, and what is lost by each.
#include "sched/mig_axis.h"

#include <algorithm>
#include <tuple>

#include "sched/amount.h"

namespace rota::sched {
namespace {

/// The same profiles in the same places, whatever mode the GPU is in.
bool is_cut_alike(const MigGeometry& a, const MigGeometry& b) { return a.profiles == b.profiles; }

NodeCuts::Use use_of(const MigGeometry& mig) {
  if (!mig.can_be_cut()) return NodeCuts::Use::whole;
  const bool is_bound = mig.blocked != 0 || !mig.switches;
  return mig.is_on && is_bound ? NodeCuts::Use::cut : NodeCuts::Use::either;
}

}  // namespace

MigAxis::MigAxis(const MigGeometry& geometry) : slice_count_(geometry.slice_count()) {
  for (const MigProfile& from : geometry.profiles) {
    if (!from.is_possible()) continue;  // a node may say anything
    const std::int64_t amount = std::int64_t{from.size} * one_gpu / slice_count_;
    profiles_.push_back({from.name, from.compute_slices, from.size, from.starts, from.count_max,
                         static_cast<std::int64_t>(from.memory_bytes >> 20), amount});
  }
  std::sort(profiles_.begin(), profiles_.end(), [](const Profile& a, const Profile& b) {
    return std::tuple(b.size, b.compute_slices, a.name) <
           std::tuple(a.size, a.compute_slices, b.name);
  });
}

const MigAxis::Profile* MigAxis::find(const std::string& name) const {
  const auto at = std::find_if(profiles_.begin(), profiles_.end(),
                               [&](const Profile& each) { return each.name == name; });
  if (at != profiles_.end()) return &*at;
  const auto wanted = MigName::parse(name);
  if (!wanted) return nullptr;
  const auto like = std::find_if(profiles_.begin(), profiles_.end(), [&](const Profile& each) {
    const auto other = MigName::parse(each.name);
    return other && other->means(*wanted);
  });
  return like == profiles_.end() ? nullptr : &*like;
}

std::uint32_t MigAxis::room(const Profile& profile, SliceMask taken, std::uint32_t there) const {
  // All are of one length, so the first that fits is as good as any.
  std::uint32_t count = 0;
  for (const std::uint32_t start : profile.starts) {
    const SliceMask mask = Cut{start, profile.size}.mask();
    if ((taken & mask) != 0) continue;
    taken |= mask;
    ++count;
  }
  return std::min(count, profile.count_max > there ? profile.count_max - there : 0);
}

std::vector<std::uint32_t> MigAxis::loss(SliceMask taken, const Cut& cut) const {
  const SliceMask with = taken | cut.mask();
  std::vector<std::uint32_t> lost;
  lost.reserve(profiles_.size());
  for (const Profile& profile : profiles_) {
    std::uint32_t count = 0;
    for (const std::uint32_t start : profile.starts) {
      const SliceMask mask = Cut{start, profile.size}.mask();
      count += (taken & mask) == 0 && (with & mask) != 0;
    }
    lost.push_back(count);
  }
  return lost;
}

std::optional<Cut> MigAxis::choose(const Profile& profile, SliceMask taken) const {
  const std::uint32_t room_before = room(profile, taken, 0);
  std::optional<Cut> best;
  std::vector<std::uint32_t> best_loss;
  for (const std::uint32_t start : profile.starts) {
    const Cut cut{start, profile.size};
    if ((taken & cut.mask()) != 0) continue;
    // Its own kind is not to be blocked where starts overlap.
    if (room(profile, taken | cut.mask(), 0) + 1 < room_before) continue;
    auto lost = loss(taken, cut);
    // Of equal ones the later: the driver leaves the lower half to the largest.
    if (best && best_loss < lost) continue;
    best = cut;
    best_loss = std::move(lost);
  }
  return best;
}

std::shared_ptr<const NodeCuts> NodeCuts::of(const NodeInventory& inventory) {
  const Gpu* first = nullptr;
  auto cuts = std::make_shared<NodeCuts>();
  for (const Gpu& gpu : inventory.gpus) {
    if (first == nullptr && gpu.mig.can_be_cut()) first = &gpu;
    const bool is_alike = first != nullptr && is_cut_alike(gpu.mig, first->mig);
    cuts->use.push_back(is_alike ? sched::use_of(gpu.mig) : Use::whole);
    cuts->blocked.push_back(gpu.mig.blocked);
  }
  if (first == nullptr) return nullptr;
  cuts->axis = std::make_shared<const MigAxis>(first->mig);
  return cuts->axis->profiles().empty() ? nullptr : cuts;
}

}  // namespace rota::sched
