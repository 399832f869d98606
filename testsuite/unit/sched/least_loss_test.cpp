// testsuite/unit/sched/least_loss_test.cpp - the scheduler goes where packing says.
#include "sched/least_loss.h"

#include <gtest/gtest.h>

#include <random>

#include "common/format.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

constexpr std::uint32_t node_count = 12;
constexpr std::int64_t cpus_per_node = 48;

NodeInventory inventory_of_node() {
  NodeInventory inventory;
  inventory.cpu_count = cpus_per_node;
  inventory.memory_bytes = std::uint64_t{64} << 30;
  inventory.gpus.resize(8);
  // So that a millionth of it is a whole number of MiB.
  for (Gpu& gpu : inventory.gpus) gpu.memory_bytes = std::uint64_t{1'000'000} << 20;
  return inventory;
}

/// A scheduler with this policy, and packing that is told the same by hand.
class Pair {
 public:
  Pair() : scheduler_(policy()) {
    Org org;
    normalize(org);  // makes the default project
    scheduler_.set_org(org);
    for (std::uint32_t i = 0; i < node_count; ++i) {
      scheduler_.put_node(NodeId{i + 1}, format("n{}", i), inventory_of_node(),
                          std::vector<bool>(8), true);
      packing_.add({.cpu_milli = cpus_per_node * 1000,
                    .memory_bytes = std::int64_t{64} << 30,
                    .gpu_count = 8});
    }
  }

  /// Both place it alike, or both do not.
  void arrive(const PackRequest& request) {
    packing_.observe(request);
    const auto choice = packing_.choose(request);
    if (choice) packing_.take(request, choice->spot);
    Job job;
    job.id = JobId{++jobs_};
    job.spec.task.cpu_count = static_cast<std::uint32_t>(request.cpu_milli / 1000);
    job.spec.task.memory_bytes = static_cast<std::uint64_t>(request.memory_bytes);
    job.spec.task.gpu_count = static_cast<std::uint32_t>(request.gpu_count);
    if (request.is_share()) job.spec.task.gpu_share = static_cast<std::uint32_t>(request.gpu_share);
    scheduler_.add_waiting(job, now_);
    const Plan plan = scheduler_.plan(++now_);
    ASSERT_EQ(plan.starts.size(), choice ? 1u : 0u) << "task " << jobs_;
    if (!choice) return scheduler_.remove(job.id);
    const NodePart& part = plan.starts.front().placement.front();
    std::uint32_t gpus = 0;
    for (const std::uint16_t gpu : part.gpus) gpus |= 1u << gpu;
    EXPECT_EQ(part.node.value - 1, choice->spot.node) << "task " << jobs_;
    EXPECT_EQ(gpus, choice->spot.gpus) << "task " << jobs_;
    placed_.push_back({job.id, part.node, request, choice->spot});
  }

  void leave(std::size_t index) {
    const Place place = placed_[index];
    // Two changes of a node between two choices are one to the scheduler, which then learns later.
    if (place.node == placed_.back().node) return;
    placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(index));
    packing_.release(place.request, place.spot);
    scheduler_.release(place.job, place.node);
    scheduler_.remove(place.job);
  }

  std::size_t placed_count() const { return placed_.size(); }

 private:
  static Policy policy() {
    Policy policy = live_policy();
    policy.least_loss = true;
    policy.reservations_max = 0;  // packing keeps no places in time
    policy.consolidate_jobs_max = 0;
    return policy;
  }

  struct Place {
    JobId job;
    NodeId node;
    PackRequest request;
    PackSpot spot;
  };
  Scheduler scheduler_;
  Packing packing_;
  std::vector<Place> placed_;
  std::uint64_t jobs_ = 0;
  std::int64_t now_ = 1000;
};

TEST(LeastLoss, TheSchedulerGoesWherePackingSays) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    Pair pair;
    for (int i = 0; i < 150; ++i) {
      PackRequest request{.cpu_milli = draw(1, 10) * 1000};
      request.memory_bytes = std::int64_t{draw(0, 8)} << 30;
      const int kind = draw(0, 9);
      if (kind < 6) {
        request.gpu_count = 1;
        request.gpu_share = draw(1, 10) * 100'000;
      } else if (kind < 9) {
        request.gpu_count = 1 << draw(1, 3);
        request.gpu_share = whole_gpu;
      }
      pair.arrive(request);
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
      if (pair.placed_count() > 20 && draw(0, 3) == 0)
        pair.leave(static_cast<std::size_t>(draw(0, static_cast<int>(pair.placed_count()) - 1)));
    }
  }
}

}  // namespace
}  // namespace rota::sched
