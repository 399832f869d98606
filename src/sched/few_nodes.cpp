// sched/few_nodes.cpp - counts the room on every node, then takes the largest rooms.
#include "sched/few_nodes.h"

#include <algorithm>

#include "sched/image_book.h"

namespace rota::sched {
namespace {

struct Room {
  std::uint32_t tasks = 0;
  std::int64_t gpus = 0, cpu = 0;  // free: the tighter of two rooms of one size comes first
  bool lacks_image = false;
  NodeIndex node = no_node;
};

/// Which of two rooms is taken first.
struct Better {
  bool spread = false;

  bool operator()(const Room& a, const Room& b) const {
    if (a.gpus != b.gpus) return (a.gpus < b.gpus) != spread;
    if (a.cpu != b.cpu) return (a.cpu < b.cpu) != spread;
    if (a.lacks_image != b.lacks_image) return b.lacks_image;
    return a.node < b.node;
  }
};

std::int64_t times(std::int64_t free, std::int64_t each, std::int64_t most) {
  if (each == 0) return most;
  return std::clamp<std::int64_t>(free / each, 0, most);
}

std::uint32_t least_of(const Demand& demand, std::int64_t gpus, std::int64_t cpu,
                       std::int64_t memory, std::int64_t most) {
  most = times(gpus, demand.whole_gpus(), most);
  most = times(cpu, demand.cpu_milli, most);
  return static_cast<std::uint32_t>(times(memory, demand.memory_bytes, most));
}

std::vector<NodeIndex> choose(const Fleet& fleet, const NodeList& nodes, const Demand& demand,
                              std::uint32_t count, Better is_better, bool now,
                              const NodeList* with_image) {
  std::vector<Room> rooms;
  std::uint64_t sum = 0;
  for (const NodeIndex index : nodes) {
    const FleetNode& node = fleet.at(index);
    const std::uint32_t tasks = room_for(node, demand, count, now);
    if (tasks == 0) continue;
    sum += tasks;
    const bool lacks_image = with_image != nullptr && !is_listed(with_image, index);
    rooms.push_back({tasks, node.gpus_free(), node.cpu_free(), lacks_image, index});
  }
  if (sum < count) return {};
  std::sort(rooms.begin(), rooms.end(), [is_better](const Room& a, const Room& b) {
    return a.tasks != b.tasks ? a.tasks > b.tasks : is_better(a, b);
  });
  std::vector<NodeIndex> chosen;
  for (auto room = rooms.begin(); chosen.size() < count; ++room) {
    const auto left = static_cast<std::uint32_t>(count - chosen.size());
    if (room->tasks < left) {
      chosen.insert(chosen.end(), room->tasks, room->node);
      continue;
    }
    const auto enough =
        std::find_if(room, rooms.end(), [left](const Room& each) { return each.tasks < left; });
    const auto best = std::min_element(room, enough, is_better);
    chosen.insert(chosen.end(), left, best->node);
  }
  return chosen;
}

}  // namespace

std::uint32_t room_for(const FleetNode& node, const Demand& demand, std::uint32_t most, bool now) {
  if (!(now ? fits_now(node, demand) : fits_soon(node, demand))) return 0;
  const std::int64_t tasks = now ? node.tasks_idle : node.tasks_idle + node.tasks_leaving;
  return least_of(demand, now ? node.gpus_idle : node.gpus_free(),
                  now ? node.cpu_idle : node.cpu_free(),
                  now ? node.memory_idle : node.memory_free(), std::min<std::int64_t>(most, tasks));
}

std::uint32_t room_when_empty(const FleetNode& node, const Demand& demand, std::uint32_t most) {
  if (demand.is_cut()) {
    const auto* profile = cut_on(node, demand);
    if (profile == nullptr) return 0;
    most = static_cast<std::uint32_t>(
        times(cut_room_when_empty(node, *profile), demand.devices, most));
  } else if (demand.is_shared()) {
    // Tasks of one job on a node have parts of different GPUs.
    if (demand.share_mib(node.gpu_memory_mib) > node.gpu_memory_mib) return 0;
    most = static_cast<std::uint32_t>(times(node.gpus_present, demand.devices, most));
  }
  return least_of(demand, node.gpus_present, node.cpu_milli, node.memory_bytes, most);
}

std::vector<NodeIndex> choose_few_nodes(const Fleet& fleet, const NodeList& nodes,
                                        const Demand& demand, std::uint32_t count, bool spread,
                                        const NodeList* with_image) {
  auto chosen = choose(fleet, nodes, demand, count, {spread}, true, with_image);
  if (!chosen.empty()) return chosen;
  return choose(fleet, nodes, demand, count, {spread}, false, with_image);
}

}  // namespace rota::sched
