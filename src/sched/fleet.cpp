// sched/fleet.cpp - counters that follow from who is on a node, and which GPUs a fraction gets.
#include "sched/fleet.h"

#include <algorithm>
#include <utility>

#include "common/assert.h"

namespace rota::sched {
namespace {

bool is_absent(const FleetNode& node, const SharedGpu& gpu) {
  return gpu.gpu && gpu.members > gpu.members_promised && node.is_absent(*gpu.gpu);
}

/// Room on a shared GPU once everybody who leaves has left, less what is promised.
std::int64_t room_soon(const FleetNode& node, const SharedGpu& gpu) {
  return node.gpu_memory_mib - gpu.held_mib + gpu.leaving_mib;
}

std::int64_t room_now(const FleetNode& node, const SharedGpu& gpu) {
  return node.gpu_memory_mib - gpu.held_mib;
}

/// A GPU all of whose users leave is not shared with anybody: it counts as one that comes free.
bool takes(const FleetNode& node, const SharedGpu& gpu, std::int64_t mib) {
  return gpu.used_mib > 0 && !gpu.is_cut && !gpu.all_leaving() && room_soon(node, gpu) >= mib &&
         !is_absent(node, gpu);
}

std::int64_t shared_that_take(const FleetNode& node, std::int64_t mib) {
  return std::count_if(node.shared.begin(), node.shared.end(),
                       [&](const SharedGpu& gpu) { return takes(node, gpu, mib); });
}

std::int64_t shared_that_take_now(const FleetNode& node, std::int64_t mib) {
  return std::count_if(node.shared.begin(), node.shared.end(), [&](const SharedGpu& gpu) {
    return takes(node, gpu, mib) && room_now(node, gpu) >= mib;
  });
}

bool mig_rules(const FleetNode& node, const Demand& demand) {
  switch (node.mig_mode) {
    case FleetNode::Mig::none:
      return demand.mig.empty() || !node.mig.empty();
    case FleetNode::Mig::mixed:
      return demand.gpu == Demand::Gpu::none;
    case FleetNode::Mig::single:
      return demand.mig.empty() && !demand.is_shared();
  }
  return false;
}

std::int64_t mig_room(const FleetNode& node, const std::string& profile, bool now) {
  const auto at = node.mig.find(profile);
  if (at == node.mig.end()) return 0;
  return at->second.idle + (now ? 0 : at->second.leaving);
}

bool fits(const FleetNode& node, const Demand& demand, bool now) {
  if (!node.usable || !mig_rules(node, demand)) return false;
  // Everybody has a CPU at least, so all of them are free where nobody else is.
  if (cpu_on(node, demand) > node.cpu_idle + (now ? 0 : node.cpu_leaving)) return false;
  if (demand.memory_bytes > node.memory_idle + (now ? 0 : node.memory_leaving)) return false;
  if (node.tasks_idle + (now ? 0 : node.tasks_leaving) < 1) return false;
  for (const MigAsk& ask : demand.mig)
    if (mig_room(node, ask.profile, now) < ask.count) return false;
  const std::int64_t fresh = node.gpus_idle + (now ? 0 : node.gpus_leaving);
  switch (demand.gpu) {
    case Demand::Gpu::none:
      return true;
    case Demand::Gpu::whole:
      return fresh >= demand.devices;
    case Demand::Gpu::memory:
      if (!node.gpu_memory_known) return false;
      [[fallthrough]];
    case Demand::Gpu::portion: {
      const std::int64_t mib = demand.share_mib(node.gpu_memory_mib);
      if (mib > node.gpu_memory_mib) return false;
      const std::int64_t beside =
          now ? shared_that_take_now(node, mib) : shared_that_take(node, mib);
      return beside + std::max<std::int64_t>(0, fresh) >= demand.devices;
    }
    case Demand::Gpu::cut: {
      const auto* profile = cut_on(node, demand);
      return profile != nullptr && cut_room(node, *profile, now) >= demand.devices;
    }
  }
  return false;
}

std::int64_t free_amount(const FleetNode& node) {
  std::int64_t amount = std::max<std::int64_t>(0, node.gpus_free()) * one_gpu;
  for (const SharedGpu& gpu : node.shared) {
    if (gpu.is_cut)
      amount += free_of_cut(node, gpu);
    else if (gpu.members > 0 && !gpu.all_leaving() && node.gpu_memory_mib > 0 &&
             !is_absent(node, gpu))
      amount += room_soon(node, gpu) * one_gpu / node.gpu_memory_mib;
  }
  for (const auto& [profile, supply] : node.mig)
    amount += (supply.idle + supply.leaving) * mig_slices(profile) * one_gpu;
  return amount;
}

}  // namespace

std::int64_t whole_gpus_of(const FleetNode& node) {
  const auto fixed = std::count_if(
      node.shared.begin(), node.shared.end(),
      [&node](const SharedGpu& gpu) { return gpu.is_fixed && !node.is_absent(*gpu.gpu); });
  return std::int64_t{node.gpus_present} - fixed;
}

std::int64_t whole_gpus_on(const FleetNode& node, const Demand& demand) {
  return demand.whole_node ? whole_gpus_of(node) : demand.whole_gpus();
}

const SharedGpu* FleetNode::find_shared(std::uint32_t id) const {
  const auto at =
      std::find_if(shared.begin(), shared.end(), [id](const SharedGpu& g) { return g.id == id; });
  return at == shared.end() ? nullptr : &*at;
}

const SharedGpu* FleetNode::shared_at(std::uint32_t gpu) const {
  const auto at = std::find_if(shared.begin(), shared.end(), [gpu](const SharedGpu& g) {
    return g.gpu == gpu && (g.members > 0 || g.is_fixed);
  });
  return at == shared.end() ? nullptr : &*at;
}

NodeIndex Fleet::add(FleetNode node) {
  node.gpu_taken.assign(node.gpu_count, false);
  nodes_.push_back(std::move(node));
  const auto index = static_cast<NodeIndex>(nodes_.size() - 1);
  count_memory(nodes_.back(), true);
  has_mig_ = has_mig_ || !nodes_.back().mig.empty();
  count(index);
  this->index(index);
  note_change(index);
  ++freed_count_;
  ++generation_;
  return index;
}

void Fleet::resize(NodeIndex index, std::int64_t cpu_milli, std::int64_t memory_bytes,
                   std::int64_t gpu_memory_mib, std::vector<bool> gpu_absent) {
  FleetNode& node = nodes_[index];
  unindex(index);
  count_memory(node, false);
  std::int64_t cpu_held = 0, memory_held = 0;
  for (const FleetNode::Resident& resident : node.residents) {
    if (resident.stay == Stay::promised) continue;
    cpu_held += resident.demand->cpu_milli;
    memory_held += resident.demand->memory_bytes;
  }
  node.cpu_milli = std::max(cpu_milli, cpu_held);
  node.memory_bytes = std::max(memory_bytes, memory_held);
  node.gpu_memory_mib = gpu_memory_mib;
  ROTA_ASSERT(gpu_absent.size() >= node.gpu_count);
  node.gpu_count = static_cast<std::uint32_t>(gpu_absent.size());
  node.gpu_absent = std::move(gpu_absent);
  node.gpu_taken.resize(node.gpu_count);
  count_memory(node, true);
  count(index);
  this->index(index);
  note_change(index);
  ++freed_count_;
  ++generation_;
}

void Fleet::set_usable(NodeIndex index, bool usable) {
  unindex(index);
  nodes_[index].usable = usable;
  this->index(index);
  note_change(index);
  ++freed_count_;
  ++generation_;
}

void Fleet::set_mesh(NodeIndex index, std::shared_ptr<const GpuMesh> mesh) {
  nodes_[index].gpu_mesh = std::move(mesh);
}

void Fleet::index(NodeIndex index) {
  const FleetNode& node = nodes_[index];
  if (!node.usable) return;
  total_ += size_of(node);
  gpu_free_total_ += node.gpu_free_amount;
  by_free_gpus_.insert({node.gpus_free(), index});
  if (node.gpus_idle > 0) with_idle_gpus_.insert({node.gpus_free(), index});
  if (!node.shared.empty()) with_shared_.insert(index);
}

void Fleet::unindex(NodeIndex index) {
  const FleetNode& node = nodes_[index];
  if (by_free_gpus_.erase({node.gpus_free(), index}) == 0) return;
  with_shared_.erase(index);
  with_idle_gpus_.erase({node.gpus_free(), index});
  total_ -= size_of(node);
  gpu_free_total_ -= node.gpu_free_amount;
}

/// In most changes of a node some of this stays as it was.
void Fleet::recount(NodeIndex index) {
  FleetNode& node = nodes_[index];
  const std::pair before{node.gpus_free(), index};
  const bool had_idle = node.gpus_idle > 0;
  const std::int64_t amount_before = node.gpu_free_amount;
  count(index);
  note_change(index);
  if (!node.usable) return;
  gpu_free_total_ += node.gpu_free_amount - amount_before;
  if (!node.shared.empty()) with_shared_.insert(index);
  const std::pair after{node.gpus_free(), index};
  const bool has_idle = node.gpus_idle > 0;
  if (after != before) {
    auto entry = by_free_gpus_.extract(before);
    entry.value() = after;
    by_free_gpus_.insert(std::move(entry));
  }
  if (after == before && has_idle == had_idle) return;
  if (had_idle) with_idle_gpus_.erase(before);
  if (has_idle) with_idle_gpus_.insert(after);
}

Spot Fleet::put(TaskRef task, Stay stay, bool evictable, const Demand& demand, Spot spot) {
  FleetNode& node = nodes_[spot.node];
  if (node.cuts != nullptr && !demand.is_cut()) {
    // Whoever has a GPU otherwise shows that it is not always cut.
    for (const std::uint32_t gpu : spot.gpus)
      if (std::erase_if(node.shared, [gpu](const SharedGpu& each) {
            return each.gpu == gpu && each.is_fixed && each.members == 0;
          }) > 0)
        recount(spot.node);
  }
  if (demand.is_shared()) {
    std::map<std::uint32_t, std::uint32_t> ids;  // of those that it opens
    for (const std::uint32_t gpu : spot.gpus) {
      const SharedGpu* there = node.shared_at(gpu);
      std::uint32_t& id = ids[gpu];
      if (there != nullptr) id = there->id;
      if (id == 0) {
        id = ++node.shared_id_last;
        node.shared.push_back({.id = id, .gpu = gpu});
      }
      spot.shared.push_back(id);
    }
    spot.gpus.clear();
  }
  for (std::uint32_t& id : spot.shared) {
    if (id == 0) id = ++node.shared_id_last;
    if (node.find_shared(id) == nullptr) node.shared.push_back({.id = id});
    node.shared_id_last = std::max(node.shared_id_last, id);
  }
  ROTA_ASSERT(!demand.is_cut() || spot.cuts.size() == spot.shared.size());
  const NodeIndex index = spot.node;
  for (const std::uint32_t gpu : spot.gpus)
    ROTA_ASSERT(gpu < node.gpu_count && (!node.gpu_taken[gpu] || node.is_absent(gpu)));
  node.residents.push_back({task, stay, evictable, &demand, spot});
  recount(index);
  if (stay == Stay::leaving) ++freed_count_;
  return spot;
}

void Fleet::remove(TaskRef task, Stay stay, NodeIndex index) {
  FleetNode& node = nodes_[index];
  // Order does not matter: what follows from it is sums.
  FleetNode::Resident& gone = resident(node, task, stay);
  if (&gone != &node.residents.back()) gone = std::move(node.residents.back());
  node.residents.pop_back();
  recount(index);
  ++freed_count_;
}

void Fleet::change_stay(TaskRef task, Stay from, Stay to, NodeIndex index) {
  FleetNode& node = nodes_[index];
  FleetNode::Resident& changed = resident(node, task, from);
  ROTA_ASSERT(changed.spot.shared.empty());
  changed.stay = to;
  std::swap(changed, node.residents.back());
  recount(index);
  ++freed_count_;
}

FleetNode::Resident& Fleet::resident(FleetNode& node, TaskRef task, Stay stay) {
  const auto at =
      std::find_if(node.residents.begin(), node.residents.end(),
                   [&](const FleetNode::Resident& r) { return r.task == task && r.stay == stay; });
  ROTA_ASSERT(at != node.residents.end());
  return *at;
}

void Fleet::drop_unused_shared() {
  for (const NodeIndex index : with_unused_shared_) {
    FleetNode& node = nodes_[index];
    std::erase_if(node.shared,
                  [](const SharedGpu& gpu) { return gpu.members == 0 && !gpu.is_fixed; });
    if (node.shared.empty()) with_shared_.erase(index);
  }
  with_unused_shared_.clear();
}

void Fleet::count(NodeIndex index) {
  FleetNode& node = nodes_[index];
  node.gpus_evictable = 0;
  std::fill(node.gpu_taken.begin(), node.gpu_taken.end(), false);
  node.gpus_present = node.gpu_count;
  for (std::uint32_t i = 0; i < node.gpu_absent.size(); ++i) {
    if (!node.gpu_absent[i]) continue;
    node.gpu_taken[i] = true;
    --node.gpus_present;
  }
  node.gpus_idle = node.gpus_present;
  node.cpu_idle = node.cpu_milli;
  node.memory_idle = node.memory_bytes;
  node.tasks_idle = node.task_count_max;
  node.gpus_leaving = node.cpu_leaving = node.memory_leaving = node.tasks_leaving = 0;
  for (auto& [profile, supply] : node.mig) {
    supply.idle = supply.total;
    supply.leaving = 0;
  }
  for (SharedGpu& gpu : node.shared) {
    gpu = {.id = gpu.id, .gpu = gpu.gpu, .is_cut = gpu.is_fixed, .is_fixed = gpu.is_fixed};
    if (!gpu.is_fixed) continue;
    if (!node.is_absent(*gpu.gpu)) --node.gpus_idle;
    node.gpu_taken[*gpu.gpu] = true;
  }

  for (const FleetNode::Resident& resident : node.residents) {
    const Demand& demand = *resident.demand;
    const std::int64_t taken = resident.stay == Stay::promised ? 0 : 1;
    const std::int64_t leaving = resident.stay == Stay::leaving    ? 1
                                 : resident.stay == Stay::promised ? -1
                                                                   : 0;
    const std::int64_t cpu = cpu_on(node, demand);
    // Of a whole node that has lost or got some since, it has those that it was given.
    const std::int64_t gpus = demand.whole_node && resident.stay != Stay::promised
                                  ? std::ssize(resident.spot.gpus)
                                  : whole_gpus_on(node, demand);
    node.cpu_idle -= taken * cpu;
    node.cpu_leaving += leaving * cpu;
    node.memory_idle -= taken * demand.memory_bytes;
    node.memory_leaving += leaving * demand.memory_bytes;
    node.tasks_idle -= taken;
    node.tasks_leaving += leaving;
    for (const MigAsk& ask : demand.mig) {
      MigSupply& supply = node.mig[ask.profile];
      supply.idle -= taken * ask.count;
      supply.leaving += leaving * ask.count;
    }
    node.gpus_idle -= taken * gpus;
    node.gpus_leaving += leaving * gpus;
    if (resident.evictable && (resident.stay == Stay::held || resident.stay == Stay::promised))
      node.gpus_evictable += std::max<std::int64_t>(
          {gpus, std::int64_t{demand.devices}, std::int64_t{!demand.mig.empty()}});
    for (const std::uint32_t gpu : resident.spot.gpus) {
      node.gpu_taken[gpu] = true;
      if (!node.is_absent(gpu)) continue;
      node.gpus_idle += taken;  // it was not among those that could be taken
      node.gpus_leaving -= leaving;
    }
    if (resident.spot.shared.empty()) continue;
    const std::int64_t mib = demand.share_mib(node.gpu_memory_mib);
    for (std::size_t i = 0; i < resident.spot.shared.size(); ++i) {
      const std::uint32_t id = resident.spot.shared[i];
      SharedGpu& gpu = *std::find_if(node.shared.begin(), node.shared.end(),
                                     [id](const SharedGpu& g) { return g.id == id; });
      gpu.used_mib += mib;
      gpu.held_mib += taken * mib;
      gpu.leaving_mib += leaving * mib;
      ++gpu.members;
      gpu.members_leaving += resident.stay == Stay::leaving;
      gpu.members_promised += resident.stay == Stay::promised;
      if (!demand.is_cut()) continue;
      gpu.is_cut = true;
      const SliceMask mask = resident.spot.cuts[i].mask();
      (resident.stay == Stay::promised ? gpu.cut_promised : gpu.cut_held) |= mask;
      if (resident.stay == Stay::leaving) gpu.cut_leaving |= mask;
    }
  }

  // One that nobody is on any more is kept: an undo may bring its users back to the same GPU.
  bool has_unused = false;
  for (SharedGpu& gpu : node.shared) {
    if (gpu.is_fixed) continue;
    if (gpu.members == 0) {
      has_unused = true;
      continue;
    }
    if (gpu.members_promised == gpu.members) {
      // Nobody has it yet: it will be one of those that come free. It keeps its number all the
      // same: one who has it may only be changing how it stays.
      --node.gpus_leaving;
      continue;
    }
    if (!is_absent(node, gpu)) {
      --node.gpus_idle;
      if (gpu.all_leaving()) ++node.gpus_leaving;
      if (gpu.gpu && node.gpu_taken[*gpu.gpu]) gpu.gpu.reset();  // it has become another's
    }
    if (gpu.gpu) node.gpu_taken[*gpu.gpu] = true;
  }
  if (has_unused) with_unused_shared_.push_back(index);
  // A shared GPU that somebody has needs a number of its own.
  for (SharedGpu& gpu : node.shared) {
    if (gpu.gpu || gpu.members_promised == gpu.members) continue;  // also when nobody is on it
    const auto free = gpu.is_cut ? choose_to_cut(node) : choose_whole(node, 1);
    if (free.empty()) continue;
    gpu.gpu = free.front();
    node.gpu_taken[*gpu.gpu] = true;
  }
  node.gpu_free_amount = free_amount(node);
}

void Fleet::note_change(NodeIndex index) {
  if (!is_followed_) return;
  if (is_changed_.size() < nodes_.size()) is_changed_.resize(nodes_.size());
  if (is_changed_[index]) return;
  is_changed_[index] = true;
  changed_.push_back(index);
}

std::vector<NodeIndex> Fleet::take_changed() {
  if (!is_followed_) {
    is_followed_ = true;
    for (NodeIndex index = 0; index < nodes_.size(); ++index) note_change(index);
  }
  for (const NodeIndex index : changed_) is_changed_[index] = false;
  return std::exchange(changed_, {});
}

void Fleet::count_memory(const FleetNode& node, bool comes) {
  if (node.gpu_count == 0 || !node.gpu_memory_known) return;
  if (comes)
    ++memories_[node.gpu_memory_mib];
  else if (--memories_[node.gpu_memory_mib] == 0)
    memories_.erase(node.gpu_memory_mib);
}

Amount Fleet::size_of(const FleetNode& node) {
  Amount size;
  size[Resource::gpu] = node.gpus_present * one_gpu;
  for (const auto& [profile, supply] : node.mig)
    size[Resource::gpu] += supply.total * mig_slices(profile) * one_gpu;
  size[Resource::cpu] = node.cpu_milli;
  size[Resource::memory] = node.memory_bytes;
  return size;
}

bool fits_now(const FleetNode& node, const Demand& demand) { return fits(node, demand, true); }
bool fits_soon(const FleetNode& node, const Demand& demand) { return fits(node, demand, false); }

bool fits_beside_others(const FleetNode& node, const Demand& demand) {
  if (demand.is_cut()) return fits_beside_cuts(node, demand);
  return demand.is_shared() && shared_that_take(node, demand.share_mib(node.gpu_memory_mib)) > 0;
}

SharedChoice choose_shared(const FleetNode& node, NodeIndex index, const Demand& demand,
                           bool pack) {
  if (demand.is_cut()) return choose_cuts(node, index, demand);
  const std::int64_t mib = demand.share_mib(node.gpu_memory_mib);
  std::vector<const SharedGpu*> beside;
  for (const SharedGpu& gpu : node.shared)
    if (takes(node, gpu, mib)) beside.push_back(&gpu);
  std::stable_sort(beside.begin(), beside.end(), [pack](const SharedGpu* a, const SharedGpu* b) {
    return pack ? a->used_mib > b->used_mib : a->used_mib < b->used_mib;
  });
  SharedChoice choice;
  choice.spot.node = index;
  std::int64_t idle = std::max<std::int64_t>(0, node.gpus_idle);
  std::int64_t fresh = std::max<std::int64_t>(0, node.gpus_free());
  const auto take_fresh = [&] {
    while (fresh > 0 && choice.spot.shared.size() < demand.devices) {
      choice.spot.shared.push_back(0);
      choice.now = choice.now && idle > 0;
      --fresh;
      --idle;
    }
  };
  if (!pack) take_fresh();
  for (const SharedGpu* gpu : beside) {
    if (choice.spot.shared.size() == demand.devices) break;
    choice.spot.shared.push_back(gpu->id);
    choice.now = choice.now && room_now(node, *gpu) >= mib && gpu->members_promised < gpu->members;
  }
  if (pack) take_fresh();
  return choice;
}

std::int32_t free_part(const FleetNode& node, const SharedGpu& gpu) {
  if (node.gpu_memory_mib <= 0 || gpu.is_cut) return 0;
  const std::int64_t room = std::clamp<std::int64_t>(room_now(node, gpu), 0, node.gpu_memory_mib);
  return static_cast<std::int32_t>(room * one_gpu / node.gpu_memory_mib);
}

std::optional<Spot> choose_shared_at(const FleetNode& node, NodeIndex index, const Demand& demand,
                                     std::int32_t level) {
  Spot spot{.node = index};
  if (level == one_gpu) {
    if (node.gpus_idle < 1 || node.gpus_free() < 1) return std::nullopt;
    spot.shared.push_back(0);
    return spot;
  }
  const std::int64_t mib = demand.share_mib(node.gpu_memory_mib);
  const SharedGpu* first = nullptr;
  for (const SharedGpu& gpu : node.shared)
    if (gpu.gpu && takes(node, gpu, mib) && free_part(node, gpu) == level &&
        gpu.members_promised < gpu.members && (first == nullptr || *gpu.gpu < *first->gpu))
      first = &gpu;
  if (first == nullptr) return std::nullopt;
  spot.shared.push_back(first->id);
  return spot;
}

std::vector<std::uint32_t> choose_whole(const FleetNode& node, std::uint32_t count) {
  std::vector<std::uint32_t> idle;
  for (std::uint32_t i = 0; i < node.gpu_count; ++i)
    if (!node.gpu_taken[i]) idle.push_back(i);
  // Those whose mode need not be changed, as long as there are enough.
  if (node.cuts != nullptr) {
    const auto cut = std::stable_partition(idle.begin(), idle.end(), [&node](std::uint32_t gpu) {
      return gpu >= node.was_cut.size() || !node.was_cut[gpu];
    });
    if (cut - idle.begin() >= static_cast<std::ptrdiff_t>(count)) idle.erase(cut, idle.end());
    std::sort(idle.begin(), idle.end());
  }
  if (node.gpu_mesh != nullptr && idle.size() > count) return node.gpu_mesh->choose(idle, count);
  if (idle.size() > count) idle.resize(count);
  return idle;
}

std::vector<std::uint32_t> choose_whole_for(const FleetNode& node, const Demand& demand) {
  const std::int64_t count = demand.is_shared() ? 0 : whole_gpus_on(node, demand);
  return count == 0 ? std::vector<std::uint32_t>{}
                    : choose_whole(node, static_cast<std::uint32_t>(count));
}

}  // namespace rota::sched
