// sim/pack_run.cpp - one order of arrival against one policy.
#include "sim/pack_run.h"

#include <ctime>
#include <vector>

#include "sched/packing.h"

namespace rota::sim {
namespace {

using sched::NodeIndex;
using sched::PackFleet;
using sched::Packing;
using sched::PackNode;
using sched::PackRequest;
using sched::PackSpot;

/// Ties fall to the smaller number, so nodes are numbered by their ranks.
std::vector<PackNode> by_rank(const PackTrace& trace, const Arrivals& arrivals) {
  std::vector<PackNode> nodes(trace.nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[arrivals.ranks[i]] = trace.nodes[i];
  return nodes;
}

class LeastLoss {
 public:
  explicit LeastLoss(const std::vector<PackNode>& nodes) {
    for (const PackNode& node : nodes) packing_.add(node);
  }
  bool place(const PackRequest& task) {
    packing_.observe(task);
    const auto choice = packing_.choose(task);
    if (choice) packing_.take(task, choice->spot);
    return choice.has_value();
  }

 private:
  Packing packing_;
};

class FirstFit {
 public:
  explicit FirstFit(const std::vector<PackNode>& nodes) {
    for (const PackNode& node : nodes) fleet_.add(node);
  }
  bool place(const PackRequest& task) {
    for (NodeIndex node = 0; node < fleet_.size(); ++node) {
      const sched::PackRoom& room = fleet_.shelf(fleet_.shelf_of(node)).room;
      if (!room.fits(task)) continue;
      fleet_.take(task, fleet_.spot_on(node, task, first_level(node, room, task)));
      return true;
    }
    return false;
  }

 private:
  /// What is free on the first GPU that holds the share.
  std::int32_t first_level(NodeIndex node, const sched::PackRoom& room,
                           const PackRequest& task) const {
    for (std::int32_t gpu = 0; gpu < room.gpu_count; ++gpu)
      if (fleet_.gpu_free(node, gpu) >= task.gpu_share) return fleet_.gpu_free(node, gpu);
    return 0;
  }

  PackFleet fleet_;
};

/// All in millionths of a GPU, so that nothing is rounded before the end.
class MeanAt {
 public:
  MeanAt(std::int64_t percent, std::int64_t all) : percent_(percent), all_(all) {}
  void add(std::int64_t asked, std::int64_t in_use) {
    if ((200 * asked + all_) / (2 * all_) != percent_) return;
    // A sum of a million arrivals on a million GPUs needs more than 63 bits.
    sum_ += static_cast<double>(in_use);
    ++count_;
  }
  std::optional<double> mean() const {
    if (count_ == 0) return std::nullopt;
    return 100 * sum_ / (static_cast<double>(count_) * static_cast<double>(all_));
  }

 private:
  std::int64_t percent_, all_;
  std::int64_t count_ = 0;
  double sum_ = 0;
};

template <class Policy>
PackOutcome run(const PackTrace& trace, const Arrivals& arrivals) {
  const std::int64_t all = trace.gpu_count() * sched::whole_gpu;
  MeanAt at100(100, all), at130(130, all);
  Policy policy(by_rank(trace, arrivals));
  std::int64_t asked = 0, in_use = 0;
  const std::clock_t start = std::clock();
  for (const std::uint32_t row : arrivals.tasks) {
    const PackRequest& task = trace.tasks[row];
    const std::int64_t size = std::int64_t{task.gpu_count} * task.gpu_share;
    asked += size;
    if (policy.place(task)) in_use += size;
    at100.add(asked, in_use);
    at130.add(asked, in_use);
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return {.alloc100 = at100.mean(),
          .alloc130 = at130.mean(),
          .decisions = static_cast<std::int64_t>(arrivals.tasks.size()),
          .cpu_microseconds = seconds * 1e6};
}

}  // namespace

PackOutcome run_pack(const PackTrace& trace, const Arrivals& arrivals, PackPolicy policy) {
  return policy == PackPolicy::first_fit ? run<FirstFit>(trace, arrivals)
                                         : run<LeastLoss>(trace, arrivals);
}

}  // namespace rota::sim
