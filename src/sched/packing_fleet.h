// sched/packing_fleet.h - what packing sees of the nodes: the room on each, alike ones together.
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "sched/amount.h"
#include "sched/fleet.h"

namespace rota::sched {

inline constexpr std::int32_t pack_gpus_max = 32;    // of one node
inline constexpr std::int32_t pack_models_max = 32;  // of GPUs, in one fleet
/// CPUs in thousandths, memory in MiB: what nodes have and tasks ask for stays below.
inline constexpr std::int64_t pack_amount_max = (std::int64_t{1} << 31) - 1;
inline constexpr std::int32_t whole_gpu = one_gpu;  // a share is a part of this

/// What one task asks of one node: nothing of the GPUs, a share of one of them, or whole ones.
struct PackRequest {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t gpu_count = 0;
  std::int32_t gpu_share = 0;  // of each, out of whole_gpu; 0 with no GPU, less only with one
  std::uint32_t models = ~0u;  // bit m: GPU model m will do

  bool is_share() const { return gpu_count == 1 && gpu_share < whole_gpu; }
  bool is_valid() const;
  friend auto operator<=>(const PackRequest&, const PackRequest&) = default;
};

/// What a node is.
struct PackNode {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t gpu_count = 0;
  std::int32_t model = 0;

  bool is_valid() const;
};

/// What is free on a node. The freest GPU comes first, so that nodes with equal rooms are
/// interchangeable, whichever of their GPUs are taken.
struct PackRoom {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t model = 0;
  std::int32_t gpu_count = 0;
  std::array<std::int32_t, pack_gpus_max> gpu_free{};

  std::int32_t whole_gpus() const;
  bool fits(const PackRequest& request) const;
  /// What is left once the request has been served, a share from a GPU with exactly `level` free.
  /// Pre: it fits, at that level.
  PackRoom after(const PackRequest& request, std::int32_t level) const;
  friend bool operator==(const PackRoom&, const PackRoom&) = default;
};

struct PackRoomHash {
  std::size_t operator()(const PackRoom& room) const;
};

/// Where a task is: the node, and its GPUs as bits by their number there.
struct PackSpot {
  NodeIndex node = no_node;
  std::uint32_t gpus = 0;

  friend bool operator==(const PackSpot&, const PackSpot&) = default;
};

/// What a node is and has free, as somebody else keeps it.
struct PackState {
  PackNode total;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::array<std::int32_t, pack_gpus_max> gpu_free{};  // by number
  bool usable = false;
  std::int64_t task_count = 0;  // that are there
};

/// The nodes, and what is free on each. Usable nodes with equal rooms stand on one shelf: what was
/// worked out for a shelf holds for all of them. Taking what is not free, or giving back what was
/// not taken, is a bug (asserted).
class PackFleet {
 public:
  struct Shelf {
    PackRoom room;
    std::set<NodeIndex> nodes;  // none: the shelf is empty, and its place will be used again
  };
  using ShelfIndex = std::uint32_t;
  static constexpr ShelfIndex no_shelf = ~ShelfIndex{0};

  NodeIndex add(const PackNode& node);
  /// It is so from now on, whatever it was; nodes up to it are added, and not usable yet.
  void set(NodeIndex node, const PackState& state);
  /// One that is not usable keeps what is on it, and is on no shelf.
  void set_usable(NodeIndex node, bool usable);
  void take(const PackRequest& request, const PackSpot& spot);
  void give(const PackRequest& request, const PackSpot& spot);

  std::size_t size() const { return nodes_.size(); }
  PackRoom room_of(NodeIndex node) const;
  std::int32_t gpu_free(NodeIndex node, std::int32_t gpu) const {
    return nodes_[node].gpu_free[static_cast<std::size_t>(gpu)];
  }
  /// The GPUs of the node with the smallest numbers that serve the request; for a share, one that
  /// has exactly `level` free.
  PackSpot spot_on(NodeIndex node, const PackRequest& request, std::int32_t level) const;

  const Shelf& shelf(ShelfIndex index) const { return shelves_[index]; }
  ShelfIndex shelf_of(NodeIndex node) const { return nodes_[node].shelf; }
  std::size_t shelf_count() const { return shelves_.size(); }
  /// By shelf; 0 while it is empty. A stamp says which room the shelf is for: it changes with it,
  /// and never comes back.
  const std::vector<std::uint64_t>& stamps() const { return stamps_; }
  /// New stamps for all: what was worked out from them is out of date.
  void restamp();

 private:
  struct Node {
    PackNode total;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::array<std::int32_t, pack_gpus_max> gpu_free{};  // by number
    ShelfIndex shelf = no_shelf;
    bool usable = true;
  };
  void change(const PackRequest& request, const PackSpot& spot, int sign);
  void enter_shelf(NodeIndex index);
  void leave_shelf(NodeIndex index);

  std::vector<Node> nodes_;
  std::vector<Shelf> shelves_;
  std::vector<std::uint64_t> stamps_;
  std::vector<ShelfIndex> shelves_empty_;
  std::unordered_map<PackRoom, ShelfIndex, PackRoomHash> shelf_by_room_;
  std::uint64_t stamp_last_ = 0;
};

}  // namespace rota::sched
