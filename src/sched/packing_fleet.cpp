// sched/packing_fleet.cpp - rooms as tasks come and go, and which shelf a node stands on.
#include "sched/packing_fleet.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/assert.h"

namespace rota::sched {
namespace {

bool is_amount(std::int64_t cpu_milli, std::int64_t memory_bytes) {
  return cpu_milli >= 0 && cpu_milli <= pack_amount_max && memory_bytes >= 0 &&
         memory_bytes >> 20 <= pack_amount_max;
}

}  // namespace

bool PackRequest::is_valid() const {
  if (!is_amount(cpu_milli, memory_bytes) || gpu_count < 0) return false;
  if (gpu_count == 0) return gpu_share == 0;
  return gpu_share > 0 && gpu_share <= whole_gpu && (gpu_count == 1 || gpu_share == whole_gpu);
}

bool PackNode::is_valid() const {
  return is_amount(cpu_milli, memory_bytes) && gpu_count >= 0 && gpu_count <= pack_gpus_max &&
         model >= 0 && model < pack_models_max;
}

std::int32_t PackRoom::whole_gpus() const {
  std::int32_t count = 0;
  while (count < gpu_count && gpu_free[static_cast<std::size_t>(count)] == whole_gpu) ++count;
  return count;
}

bool PackRoom::fits(const PackRequest& request) const {
  if (cpu_milli < request.cpu_milli || memory_bytes < request.memory_bytes) return false;
  if (request.gpu_count == 0) return true;
  if ((request.models >> model & 1u) == 0 || request.gpu_count > gpu_count) return false;
  return gpu_free[static_cast<std::size_t>(request.gpu_count - 1)] >= request.gpu_share;
}

PackRoom PackRoom::after(const PackRequest& request, std::int32_t level) const {
  PackRoom left = *this;
  left.cpu_milli -= request.cpu_milli;
  left.memory_bytes -= request.memory_bytes;
  const auto begin = left.gpu_free.begin(), end = begin + gpu_count;
  if (!request.is_share()) {  // whole GPUs stand in front; what is used up goes to the end
    std::shift_left(begin, end, request.gpu_count);
    std::fill(end - request.gpu_count, end, 0);
    return left;
  }
  auto gpu = std::find(begin, end, level);
  ROTA_ASSERT(gpu != end);
  *gpu -= request.gpu_share;
  for (; gpu + 1 != end && *gpu < *(gpu + 1); ++gpu) std::iter_swap(gpu, gpu + 1);
  return left;
}

std::size_t PackRoomHash::operator()(const PackRoom& room) const {
  std::uint64_t hash = 1469598103934665603u;
  const auto add = [&hash](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  add(room.cpu_milli);
  add(room.memory_bytes);
  add(std::int64_t{room.model} * pack_gpus_max + room.gpu_count);
  for (std::int32_t g = 0; g < room.gpu_count; ++g) add(room.gpu_free[static_cast<std::size_t>(g)]);
  return hash;
}

NodeIndex PackFleet::add(const PackNode& node) {
  ROTA_ASSERT(node.is_valid());
  Node& added = nodes_.emplace_back();
  added.total = node;
  added.cpu_milli = node.cpu_milli;
  added.memory_bytes = node.memory_bytes;
  std::fill_n(added.gpu_free.begin(), node.gpu_count, whole_gpu);
  const auto index = static_cast<NodeIndex>(nodes_.size() - 1);
  enter_shelf(index);
  return index;
}

void PackFleet::set(NodeIndex index, const PackState& state) {
  ROTA_ASSERT(state.total.is_valid());
  while (nodes_.size() <= index) nodes_.emplace_back().usable = false;
  leave_shelf(index);
  Node& node = nodes_[index];
  node.total = state.total;
  node.cpu_milli = state.cpu_milli;
  node.memory_bytes = state.memory_bytes;
  node.gpu_free = state.gpu_free;
  node.usable = state.usable;
  enter_shelf(index);
}

void PackFleet::set_usable(NodeIndex node, bool usable) {
  leave_shelf(node);
  nodes_[node].usable = usable;
  enter_shelf(node);
}

PackRoom PackFleet::room_of(NodeIndex index) const {
  const Node& node = nodes_[index];
  if (node.shelf != no_shelf) return shelves_[node.shelf].room;
  PackRoom room{.cpu_milli = node.cpu_milli,
                .memory_bytes = node.memory_bytes,
                .model = node.total.model,
                .gpu_count = node.total.gpu_count,
                .gpu_free = node.gpu_free};
  std::sort(room.gpu_free.begin(), room.gpu_free.begin() + room.gpu_count, std::greater<>());
  return room;
}

void PackFleet::enter_shelf(NodeIndex index) {
  if (!nodes_[index].usable) return;
  const PackRoom room = room_of(index);
  const auto [at, is_new] = shelf_by_room_.try_emplace(room, no_shelf);
  if (is_new) {
    if (shelves_empty_.empty()) {
      shelves_empty_.push_back(static_cast<ShelfIndex>(shelves_.size()));
      shelves_.emplace_back();
      stamps_.push_back(0);
    }
    at->second = shelves_empty_.back();
    shelves_empty_.pop_back();
    shelves_[at->second].room = room;
    stamps_[at->second] = ++stamp_last_;
  }
  nodes_[index].shelf = at->second;
  shelves_[at->second].nodes.insert(index);
}

void PackFleet::leave_shelf(NodeIndex index) {
  const ShelfIndex from = std::exchange(nodes_[index].shelf, no_shelf);
  if (from == no_shelf) return;
  Shelf& shelf = shelves_[from];
  shelf.nodes.erase(index);
  if (!shelf.nodes.empty()) return;
  shelf_by_room_.erase(shelf.room);
  stamps_[from] = 0;
  shelves_empty_.push_back(from);
}

PackSpot PackFleet::spot_on(NodeIndex index, const PackRequest& request, std::int32_t level) const {
  const Node& node = nodes_[index];
  PackSpot spot{.node = index};
  const std::int32_t wanted = request.is_share() ? level : whole_gpu;
  std::int32_t missing = request.gpu_count;
  for (std::size_t g = 0; missing > 0 && g < static_cast<std::size_t>(node.total.gpu_count); ++g) {
    if (node.gpu_free[g] != wanted) continue;
    spot.gpus |= 1u << g;
    --missing;
  }
  ROTA_ASSERT(missing == 0);
  return spot;
}

void PackFleet::change(const PackRequest& request, const PackSpot& spot, int sign) {
  leave_shelf(spot.node);
  Node& node = nodes_[spot.node];
  node.cpu_milli += sign * request.cpu_milli;
  node.memory_bytes += sign * request.memory_bytes;
  ROTA_ASSERT(node.cpu_milli >= 0 && node.cpu_milli <= node.total.cpu_milli);
  ROTA_ASSERT(node.memory_bytes >= 0 && node.memory_bytes <= node.total.memory_bytes);
  for (std::size_t g = 0; g < static_cast<std::size_t>(node.total.gpu_count); ++g) {
    if ((spot.gpus >> g & 1u) == 0) continue;
    node.gpu_free[g] += sign * request.gpu_share;
    ROTA_ASSERT(node.gpu_free[g] >= 0 && node.gpu_free[g] <= whole_gpu);
  }
  enter_shelf(spot.node);
}

void PackFleet::take(const PackRequest& request, const PackSpot& spot) {
  change(request, spot, -1);
}

void PackFleet::give(const PackRequest& request, const PackSpot& spot) {
  change(request, spot, +1);
}

void PackFleet::restamp() {
  for (std::uint64_t& stamp : stamps_)
    if (stamp != 0) stamp = ++stamp_last_;
}

}  // namespace rota::sched
