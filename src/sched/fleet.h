// sched/fleet.h - the supply: nodes, their GPUs, and who holds, leaves or is promised what.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sched/demand.h"
#include "sched/gpu_mesh.h"
#include "sched/mig_axis.h"

namespace rota::sched {

using NodeIndex = std::uint32_t;  // ties between nodes fall to the smaller one
inline constexpr NodeIndex no_node = ~NodeIndex{0};

/// A task of a job, by number.
struct TaskRef {
  std::uint32_t job = 0;
  std::uint32_t task = 0;

  friend auto operator<=>(const TaskRef&, const TaskRef&) = default;
};

/// How a task is on a node.
enum class Stay : std::uint8_t {
  held,      // it has its resources
  leaving,   // it still has them, and is about to give them back
  stuck,     // leaving for too long: nobody counts on what it has
  promised,  // it gets what others are leaving
};

/// Where a task is: whole GPUs by their number in the node, or the shared GPUs it has a part of.
struct Spot {
  NodeIndex node = no_node;
  std::vector<std::uint32_t> gpus;    // of a task that holds them whole; empty while promised
  std::vector<std::uint32_t> shared;  // ids of SharedGpu on that node
  std::vector<Cut> cuts;              // of a task with instances: where on each of those

  friend bool operator==(const Spot&, const Spot&) = default;
};

/// A GPU that several tasks may have a part of.
struct SharedGpu {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> gpu;  // its number in the node; none: one that is being given back
  std::int64_t used_mib = 0;         // by everybody on it
  std::int64_t held_mib = 0;         // without promises
  std::int64_t leaving_mib = 0;      // less what is promised of it
  std::uint32_t members = 0;
  std::uint32_t members_leaving = 0;
  std::uint32_t members_promised = 0;

  bool is_cut = false;    // into MIG instances; nobody has a part of its memory otherwise
  bool is_fixed = false;  // always cut: never to be had as a whole
  SliceMask cut_held = 0, cut_leaving = 0, cut_promised = 0;

  bool all_leaving() const { return members_leaving > 0 && members_leaving == members; }
};

struct MigSupply {
  std::int64_t total = 0, idle = 0, leaving = 0;
};

/// What a node is to a decision. Counters are true after every change.
struct FleetNode {
  // What it is.
  std::string name;
  std::uint32_t gpu_count = 0;
  std::int64_t gpu_memory_mib = 0;
  bool gpu_memory_known = true;
  enum class Mig : std::uint8_t { none, single, mixed } mig_mode = Mig::none;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::uint32_t task_count_max = 0;
  std::map<std::string, std::string> labels;
  bool usable = true;
  std::vector<bool> gpu_absent;  // by number: known, but not there now; empty: all are there
  std::shared_ptr<const GpuMesh> gpu_mesh;  // null: any set of its GPUs is as good as another
  std::shared_ptr<const NodeCuts> cuts;     // null: its GPUs cannot be cut
  std::vector<bool> was_cut;                // by number: it was cut when it was used last

  // What of it is free now (idle), and what is on its way (leaving; below 0: promised of idle).
  std::int64_t gpus_idle = 0, gpus_leaving = 0;
  std::int64_t cpu_idle = 0, cpu_leaving = 0;
  std::int64_t memory_idle = 0, memory_leaving = 0;
  std::int64_t tasks_idle = 0, tasks_leaving = 0;
  std::map<std::string, MigSupply> mig;
  std::vector<SharedGpu> shared;
  std::vector<bool> gpu_taken;  // by number: held whole or shared
  std::int64_t gpus_evictable =
      0;  // by tasks that may be evicted, held or promised; at most so many

  std::uint32_t gpus_present = 0;
  std::int64_t gpu_free_amount = 0;  // of one_gpu: idle, leaving and the rest of shared GPUs

  bool is_absent(std::uint32_t gpu) const { return gpu < gpu_absent.size() && gpu_absent[gpu]; }
  /// Whole ones or slices of them.
  bool has_gpus() const {
    return gpu_count > 0 || std::any_of(mig.begin(), mig.end(),
                                        [](const auto& each) { return each.second.total > 0; });
  }
  std::int64_t gpus_free() const { return gpus_idle + gpus_leaving; }
  std::int64_t cpu_free() const { return cpu_idle + cpu_leaving; }
  std::int64_t memory_free() const { return memory_idle + memory_leaving; }
  const SharedGpu* find_shared(std::uint32_t id) const;
  /// The one that somebody has under this number.
  const SharedGpu* shared_at(std::uint32_t gpu) const;

  struct Resident {
    TaskRef task;
    Stay stay = Stay::held;
    bool evictable = false;
    const Demand* demand = nullptr;
    Spot spot;
  };
  std::vector<Resident> residents;
  std::uint32_t shared_id_last = 0;
};

/// Which nodes a search may look at.
using NodeList = std::vector<NodeIndex>;

class Fleet {
 public:
  NodeIndex add(FleetNode node);
  const FleetNode& at(NodeIndex index) const { return nodes_[index]; }
  std::size_t size() const { return nodes_.size(); }
  const std::vector<FleetNode>& nodes() const { return nodes_; }

  /// Puts a task where `spot` says; the caller has seen that it fits. A shared GPU that is not
  /// there yet is made (id 0 in `spot.shared` asks for a new one; a fraction may also name its GPUs
  /// by number in `spot.gpus`). Returns the spot as it is.
  Spot put(TaskRef task, Stay stay, bool evictable, const Demand& demand, Spot spot);
  void remove(TaskRef task, Stay stay, NodeIndex node);
  /// The same as taking it away and putting it back with another stay, for one that has no part of
  /// a shared GPU.
  void change_stay(TaskRef task, Stay from, Stay to, NodeIndex node);
  /// Nothing will be undone any more: shared GPUs that nobody is on are forgotten.
  void drop_unused_shared();

  void set_usable(NodeIndex node, bool usable);
  /// It came back with other hardware. What tasks hold there stays held: a node that is smaller
  /// than that keeps the size of it until they have left.
  void resize(NodeIndex node, std::int64_t cpu_milli, std::int64_t memory_bytes,
              std::int64_t gpu_memory_mib, std::vector<bool> gpu_absent);
  void set_mesh(NodeIndex node, std::shared_ptr<const GpuMesh> mesh);
  /// How its GPUs may be cut. One that a task has all the same is not changed under it.
  void set_cuts(NodeIndex node, std::shared_ptr<const NodeCuts> cuts);
  /// A GPU that was cut is rather cut again, and one that was whole rather had as a whole: a change
  /// of its mode takes time.
  void note_use(NodeIndex node, std::uint32_t gpu, bool is_cut);
  /// What an instance of this kind counts for, at most; none: no node has one.
  std::optional<std::int64_t> cut_amount(const std::string& profile) const;
  /// Ways of cutting GPUs that there were.
  std::size_t axis_count() const { return axes_.size(); }
  /// Changes whenever a node appears, changes size, or becomes usable or not: answers about an
  /// empty cluster hold as long as it stays the same.
  std::uint64_t generation() const { return generation_; }

  /// Usable nodes by free GPUs (idle and leaving), then number: the tightest fit comes first.
  using FreeIndex = std::set<std::pair<std::int64_t, NodeIndex>>;
  const FreeIndex& by_free_gpus() const { return by_free_gpus_; }
  /// Those of them that have idle ones, in the same order.
  const FreeIndex& with_idle_gpus() const { return with_idle_gpus_; }
  /// Of those, the ones with a GPU that is shared.
  const std::set<NodeIndex>& with_shared() const { return with_shared_; }
  /// Grows whenever anything may have come free: what found no room before may find some now.
  std::uint64_t freed_count() const { return freed_count_; }
  /// What has come free since was only put back: an attempt that was undone.
  void forget_freed(std::uint64_t count) { freed_count_ = count; }

  /// Nodes that have changed since the last call, each once; at first, all.
  std::vector<NodeIndex> take_changed();

  /// Of GPUs whose memory is known; 0: there are none.
  std::int64_t gpu_memory_least() const { return memories_.empty() ? 0 : memories_.begin()->first; }
  std::int64_t gpu_memory_most() const { return memories_.empty() ? 0 : memories_.rbegin()->first; }
  bool has_mig() const { return has_mig_; }
  /// What usable nodes have in all, and what of their GPUs is free or comes free, parts of shared
  /// ones included.
  const Amount& total() const { return total_; }
  std::int64_t gpu_free_total() const { return gpu_free_total_; }

 private:
  static Amount size_of(const FleetNode& node);
  static bool is_held_whole(const FleetNode& node, std::uint32_t gpu);
  FleetNode::Resident& resident(FleetNode& node, TaskRef task, Stay stay);
  void count(NodeIndex index);
  void recount(NodeIndex index);
  void count_memory(const FleetNode& node, bool comes);
  void index(NodeIndex index);
  void unindex(NodeIndex index);
  void note_change(NodeIndex index);

  std::vector<FleetNode> nodes_;
  FreeIndex by_free_gpus_, with_idle_gpus_;
  std::set<NodeIndex> with_shared_;
  std::vector<NodeIndex> with_unused_shared_;
  Amount total_;
  std::int64_t gpu_free_total_ = 0;
  std::map<std::int64_t, std::uint32_t> memories_;  // of nodes' GPUs, and on how many nodes
  bool has_mig_ = false;
  std::vector<std::shared_ptr<const MigAxis>> axes_;  // all that there were, each once
  std::uint64_t freed_count_ = 1;
  std::uint64_t generation_ = 1;
  bool is_followed_ = false;  // somebody asks for what has changed
  std::vector<NodeIndex> changed_;
  std::vector<bool> is_changed_;  // by node: it is in that list
};

/// Calls `visit` with each of these nodes; none: with all.
template <class Visit>
void for_nodes(const Fleet& fleet, const NodeList* nodes, Visit visit) {
  if (nodes == nullptr)
    for (const FleetNode& node : fleet.nodes()) visit(node);
  else
    for (const NodeIndex index : *nodes) visit(fleet.at(index));
}

/// What the task has there of the node: of a whole one, all that there is.
inline std::int64_t cpu_on(const FleetNode& node, const Demand& demand) {
  return demand.whole_node ? std::max(node.cpu_milli, demand.cpu_milli) : demand.cpu_milli;
}
std::int64_t whole_gpus_on(const FleetNode& node, const Demand& demand);
/// GPUs of the node that can be had whole, when it is empty.
std::int64_t whole_gpus_of(const FleetNode& node);

/// Whether the task would fit the node: now, or once everybody who is leaving has left.
bool fits_now(const FleetNode& node, const Demand& demand);
bool fits_soon(const FleetNode& node, const Demand& demand);
/// Whether one of the node's shared GPUs has room beside its users.
bool fits_beside_others(const FleetNode& node, const Demand& demand);

/// The kind of instance that the task would get on this node; null: there is none.
const MigAxis::Profile* cut_on(const FleetNode& node, const Demand& demand);
/// How many such instances the node would take, now or once everybody who is leaving has left; and
/// when it is empty.
std::int64_t cut_room(const FleetNode& node, const MigAxis::Profile& profile, bool now);
std::int64_t cut_room_when_empty(const FleetNode& node, const MigAxis::Profile& profile);
/// GPUs that could be cut and that nobody has anything of, once everybody who is leaving has left.
std::int64_t empty_to_cut(const FleetNode& node);
/// Of one that is always cut: it would be so without its users.
bool is_empty_to_cut(const FleetNode& node, const SharedGpu& gpu);
/// Whether some would go on a GPU that is cut already, and what is free of such a one.
bool fits_beside_cuts(const FleetNode& node, const Demand& demand);
std::int64_t free_of_cut(const FleetNode& node, const SharedGpu& gpu);
/// A GPU that is idle and may be cut; none: there is no such.
std::vector<std::uint32_t> choose_to_cut(const FleetNode& node);
/// What the task is charged there.
Amount charge_on(const FleetNode& node, const Demand& demand);

/// The shared GPUs for a fraction on this node: the fullest first and fresh ones last (`pack`), or
/// the other way round. `now` is false if any of them has to be waited for.
struct SharedChoice {
  Spot spot;
  bool now = true;
};
SharedChoice choose_shared(const FleetNode& node, NodeIndex index, const Demand& demand, bool pack);
/// The same for instances: where they leave the most for others.
SharedChoice choose_cuts(const FleetNode& node, NodeIndex index, const Demand& demand);
/// What is free now of a shared GPU, of one_gpu.
std::int32_t free_part(const FleetNode& node, const SharedGpu& gpu);
/// The first GPU of which exactly `level` is free now, for a part of one; all of a GPU: a fresh
/// one. None: there is no such.
std::optional<Spot> choose_shared_at(const FleetNode& node, NodeIndex index, const Demand& demand,
                                     std::int32_t level);
/// Whole GPUs that are idle: those closest to each other, then the lowest numbers.
std::vector<std::uint32_t> choose_whole(const FleetNode& node, std::uint32_t count);
/// Those that the task would have there; none: it has no whole ones.
std::vector<std::uint32_t> choose_whole_for(const FleetNode& node, const Demand& demand);

}  // namespace rota::sched
