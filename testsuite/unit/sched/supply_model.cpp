// testsuite/unit/sched/supply_model.cpp - sums over residents, and how many more would fit.
#include "unit/sched/supply_model.h"

#include <algorithm>
#include <limits>

#include "common/format.h"

namespace rota::sched::drawn {
namespace {

/// GPUs that nobody has or will have: whole ones, and shared ones that everybody leaves.
std::int64_t gpus_free(const Node& node, const NodeSums& sums) {
  std::int64_t free = node.gpus - sums.gpus_held - sums.gpus_promised;
  for (const auto& [id, gpu] : sums.shared) free -= gpu.held > 0 || gpu.promised > 0;
  return free;
}

/// GPUs that nobody has now.
std::int64_t gpus_idle(const Node& node, const NodeSums& sums) {
  std::int64_t idle = node.gpus - sums.gpus_held - sums.gpus_leaving;
  for (const auto& [id, gpu] : sums.shared) idle -= gpu.held > 0 || gpu.leaving > 0;
  return idle;
}

std::int64_t times(std::int64_t free, std::int64_t each) {
  if (each == 0) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(0, free) / each;
}

class NodeFaults {
 public:
  NodeFaults(const Node& node, const NodeSums& sums, const NodeSays& says, std::size_t index)
      : node_(node), sums_(sums), says_(says), index_(index) {}

  std::string run() {
    if (sums_.cpu_held + sums_.cpu_leaving > node_.cpu_milli) fault("more CPU is held than it has");
    if (sums_.cpu_held + sums_.cpu_promised > node_.cpu_milli) fault("too much CPU is promised");
    if (sums_.memory_held + sums_.memory_leaving > node_.memory_bytes)
      fault("more memory is held than it has");
    if (sums_.memory_held + sums_.memory_promised > node_.memory_bytes)
      fault("too much memory is promised");
    if (gpus_idle(node_, sums_) < 0) fault("more GPUs are held than it has");
    if (gpus_free(node_, sums_) < 0) fault("too many GPUs are promised");
    numbers();
    counters();
    return std::move(faults_);
  }

 private:
  void fault(const std::string& what) { faults_ += format("supply: n{}: {}\n", index_, what); }

  /// Every GPU is held by one task, or shared as one.
  void numbers() {
    std::map<std::uint32_t, int> holders = sums_.numbers;
    for (const auto& [id, gpu] : sums_.shared) {
      if (gpu.held + gpu.leaving > gpu_whole) fault(format("shared GPU {} is overcommitted", id));
      if (gpu.held + gpu.promised > gpu_whole) fault(format("shared GPU {} is overpromised", id));
      if (gpu.held + gpu.leaving == 0) continue;  // not a certain GPU yet
      const auto at = says_.shared.find(id);
      if (at == says_.shared.end() || !at->second)
        fault(format("shared GPU {} is no GPU of it", id));
      else
        ++holders[*at->second];
    }
    for (const auto& [number, count] : holders) {
      if (number >= node_.gpus) fault(format("there is no GPU {}", number));
      if (count > 1) fault(format("GPU {} is held {} times", number, count));
    }
  }

  void counters() {
    compare("gpus_idle", says_.gpus_idle, gpus_idle(node_, sums_));
    compare("gpus_leaving", says_.gpus_idle + says_.gpus_leaving, gpus_free(node_, sums_));
    compare("cpu_idle", says_.cpu_idle, node_.cpu_milli - sums_.cpu_held - sums_.cpu_leaving);
    compare("cpu_leaving", says_.cpu_leaving, sums_.cpu_leaving - sums_.cpu_promised);
    compare("memory_idle", says_.memory_idle,
            node_.memory_bytes - sums_.memory_held - sums_.memory_leaving);
    compare("memory_leaving", says_.memory_leaving, sums_.memory_leaving - sums_.memory_promised);
    compare("residents", static_cast<std::int64_t>(says_.residents),
            static_cast<std::int64_t>(sums_.residents));
  }

  void compare(const char* what, std::int64_t says, std::int64_t is) {
    if (says != is) fault(format("{} is {}, the sums say {}", what, says, is));
  }

  const Node& node_;
  const NodeSums& sums_;
  const NodeSays& says_;
  std::size_t index_;
  std::string faults_;
};

}  // namespace

Supply::Supply(const World& world, const Stands& stands)
    : world_(world), sums_(world.nodes.size()) {
  for (std::size_t j = 0; j < stands.size(); ++j)
    for (const Stand& stand : stands[j]) {
      if (stand.at) add(world.jobs[j], stand.be, *stand.at);
      if (stand.from) add(world.jobs[j], Be::leaving, *stand.from);
    }
}

void Supply::add(const Job& job, Be be, const Spot& spot) {
  NodeSums& sums = sums_[spot.node];
  ++sums.residents;
  const bool leaves = be == Be::leaving, is_promise = be == Be::promised;
  (leaves ? sums.gpus_leaving : is_promise ? sums.gpus_promised : sums.gpus_held) += job.gpus;
  (leaves ? sums.cpu_leaving : is_promise ? sums.cpu_promised : sums.cpu_held) += job.cpu_milli;
  (leaves       ? sums.memory_leaving
   : is_promise ? sums.memory_promised
                : sums.memory_held) += job.memory_bytes;
  for (const auto id : spot.shared) {
    NodeSums::Shared& gpu = sums.shared[id];
    (leaves ? gpu.leaving : is_promise ? gpu.promised : gpu.held) += job.portion;
  }
  if (!is_promise)
    for (const auto number : spot.gpus) ++sums.numbers[number];
}

std::int64_t Supply::room_for(const Job& job, std::size_t index) const {
  const Node& node = world_.nodes[index];
  const NodeSums& sums = sums_[index];
  std::int64_t room = times(node.cpu_milli - sums.cpu_held - sums.cpu_promised, job.cpu_milli);
  room = std::min(
      room, times(node.memory_bytes - sums.memory_held - sums.memory_promised, job.memory_bytes));
  const std::int64_t fresh = std::max<std::int64_t>(0, gpus_free(node, sums));
  if (job.portion == 0) return std::min(room, times(fresh, job.gpus));
  std::int64_t parts = fresh * (gpu_whole / job.portion);
  for (const auto& [id, gpu] : sums.shared)
    if (gpu.held > 0 || gpu.promised > 0)
      parts += times(gpu_whole - gpu.held - gpu.promised, job.portion);
  return std::min(room, parts);
}

std::int64_t Supply::room_for(const Job& job) const {
  std::int64_t room = 0;
  for (std::size_t i = 0; i < world_.nodes.size(); ++i)
    room += std::min<std::int64_t>(job.tasks, room_for(job, i));
  return room;
}

std::string Supply::faults(const std::vector<NodeSays>& says) const {
  std::string faults;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    faults += NodeFaults(world_.nodes[i], sums_[i], says[i], i).run();
  return faults;
}

}  // namespace rota::sched::drawn
