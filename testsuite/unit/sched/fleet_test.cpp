// testsuite/unit/sched/fleet_test.cpp - which GPU is whose, whatever comes and goes beside it.
#include "sched/fleet.h"

#include <gtest/gtest.h>

namespace rota::sched {
namespace {

struct OneNode {
  OneNode() {
    FleetNode node;
    node.gpu_count = 2;
    node.gpu_memory_mib = 1000;
    node.task_count_max = 100;
    fleet.add(std::move(node));
    whole.gpu = Demand::Gpu::whole;
    whole.devices = 1;
    half.gpu = Demand::Gpu::portion;
    half.devices = 1;
    half.portion = one_gpu / 2;
  }
  std::optional<std::uint32_t> gpu_of(const Spot& spot) const {
    return fleet.at(0).find_shared(spot.shared.front())->gpu;
  }

  Fleet fleet;
  Demand whole, half;
};

// The second half of the GPU is promised while the task that has the first changes how it stays: it
// is taken away and put back. Its GPU must not become another one on the way.
TEST(Fleet, ASharedGpuKeepsItsNumberWhileSomebodyHasIt) {
  OneNode node;
  const TaskRef first{1, 0}, holder{2, 0}, promised{3, 0};
  node.fleet.put(first, Stay::held, true, node.whole, {.node = 0, .gpus = {0}});
  const Spot spot = node.fleet.put(holder, Stay::held, true, node.half, {.node = 0, .shared = {0}});
  ASSERT_EQ(node.gpu_of(spot), 1u);
  node.fleet.remove(first, Stay::held, 0);
  node.fleet.put(promised, Stay::promised, true, node.half, spot);
  node.fleet.remove(holder, Stay::held, 0);
  node.fleet.put(holder, Stay::leaving, true, node.half, spot);
  EXPECT_EQ(node.gpu_of(spot), 1u);
}

// What was only promised gets another GPU when its number went to somebody else.
TEST(Fleet, ANumberThatHasBecomeAnothersIsGivenUp) {
  OneNode node;
  const TaskRef holder{1, 0}, promised{2, 0}, other{3, 0};
  const Spot spot = node.fleet.put(holder, Stay::held, true, node.half, {.node = 0, .shared = {0}});
  ASSERT_EQ(node.gpu_of(spot), 0u);
  node.fleet.put(promised, Stay::promised, true, node.half, spot);
  node.fleet.remove(holder, Stay::held, 0);
  node.fleet.put(other, Stay::held, true, node.whole, {.node = 0, .gpus = {0}});
  node.fleet.remove(promised, Stay::promised, 0);
  node.fleet.put(promised, Stay::held, true, node.half, spot);
  EXPECT_EQ(node.gpu_of(spot), 1u);
}

}  // namespace
}  // namespace rota::sched
