// testsuite/unit/gpud/health_watch_test.cpp - the health of simulated GPUs, through real NVML
// calls.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "common/format.h"
#include "gpud/health/watch.h"
#include "inventory_fake_node.h"

namespace rota::gpud {
namespace {

using namespace std::chrono_literals;

/// The GPUs of a fake node, and one watch over them.
struct Eyes {
  explicit Eyes(const FakeNode& fake_node) : node(fake_node) {
    auto nvml = *Nvml::open(fake_library);
    for (const Gpu& gpu : *nvml->gpus()) uuids.push_back(gpu.uuid);
    HealthWatch::Events events;
    events.answered = [this](const std::string& uuid, Result<GpuVitals> result, bool) {
      answered = uuid;
      vitals = std::move(result);
      io.stop();
    };
    events.told = [this](const GpuEvent& event) {
      told += format("{} ", event.xid);
      io.stop();
    };
    events.alarmed = [this] { ++alarms; };
    watch.emplace(io.get_executor(), fake_library, uuids, std::move(events));
  }
  /// Runs until something comes, or for so long.
  void wait(Duration limit = 20s) {
    io.restart();
    io.run_for(limit);
  }
  GpuVitals of(std::size_t gpu, bool after_reset = false) {
    watch->ask(uuids[gpu], after_reset);
    answered.clear();
    for (int i = 0; i < 20 && answered != uuids[gpu]; ++i) wait(1s);
    EXPECT_EQ(answered, uuids[gpu]);
    EXPECT_TRUE(vitals) << vitals.error().message();
    return vitals ? *vitals : GpuVitals{};
  }

  const FakeNode& node;
  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  std::vector<std::string> uuids;
  std::string answered, told;
  int alarms = 0;
  Result<GpuVitals> vitals = GpuVitals{};
  std::optional<HealthWatch> watch;
};

TEST(HealthWatch, ReadsTheVitals) {
  const FakeNode node("hgx-h100-80gb", "driver_version: 550.90.07", "driver_version: 570.90.07");
  Eyes eyes(node);
  GpuVitals well = eyes.of(3);
  EXPECT_FALSE(well.lost || well.remap_pending || well.remap_failed || well.sram_exceeded);
  EXPECT_EQ(std::popcount(well.links_up), 18);
  EXPECT_GT(well.temperature_slowdown, well.temperature);
  node.tool("ecc 3 uncorrected 2");
  node.tool("remap 3 pending");
  node.tool("link 3 4 down");
  node.tool("set 3 clock-reasons=64 recovery-action=4 sram=exceeded temperature=95");
  const GpuVitals ill = eyes.of(3);
  EXPECT_EQ(ill.ecc_uncorrected, 2u);
  EXPECT_TRUE(ill.remap_pending && ill.sram_exceeded && is_throttled(ill));
  EXPECT_EQ(ill.recovery_action, 4u);
  EXPECT_EQ(ill.links_up, well.links_up & ~(1ull << 4));
  EXPECT_GE(ill.temperature, ill.temperature_slowdown);
  EXPECT_EQ(eyes.of(2).ecc_uncorrected, 0u);
  node.tool("reset 3");
  EXPECT_EQ(eyes.of(3, true).ecc_uncorrected, 0u);
  node.tool("lose 3");
  EXPECT_TRUE(eyes.of(3).lost);
}

TEST(HealthWatch, OlderGpusAndDriversTellLess) {
  const FakeNode node("dgx1-v100-32gb");
  Eyes eyes(node);
  node.tool("remap 0 pending");
  node.tool("set 0 recovery-action=4");
  const GpuVitals vitals = eyes.of(0);
  EXPECT_TRUE(vitals.retire_pending);
  EXPECT_FALSE(vitals.remap_pending);
  EXPECT_EQ(vitals.recovery_action, 0u);
  EXPECT_EQ(std::popcount(vitals.links_up), 6);
}

TEST(HealthWatch, HearsXidsAlsoAfterAReset) {
  const FakeNode node("dgx1-v100-32gb");
  Eyes eyes(node);
  eyes.of(0);  // it is open; registered is it a moment later
  while (eyes.told.empty()) {
    node.tool("xid 5 48");
    eyes.wait(100ms);
  }
  EXPECT_EQ(eyes.told.substr(0, 3), "48 ");
  eyes.told.clear();
  eyes.of(5, true);
  while (eyes.told.find("95") == std::string::npos) {
    node.tool("xid 5 95");
    eyes.wait(100ms);
  }
}

TEST(HealthWatch, AGpuThatHangsHoldsUpNobodyElse) {
  const FakeNode node("dgx1-v100-32gb");
  Eyes eyes(node);
  eyes.of(1);
  node.tool("hang nvmlDeviceGetTemperature 1");
  eyes.watch->ask(eyes.uuids[1]);
  const MonoTime since = *eyes.watch->asked_at(eyes.uuids[1]);
  for (const std::size_t gpu : {0, 2, 7}) eyes.of(gpu);
  eyes.watch->ask(eyes.uuids[1]);
  EXPECT_EQ(eyes.watch->asked_at(eyes.uuids[1]), since);
  node.tool("clear");
  while (eyes.watch->asked_at(eyes.uuids[1])) eyes.wait(100ms);
  EXPECT_FALSE(eyes.of(1).lost);
}

TEST(HealthWatch, EndsUnderACallThatHangs) {
  const FakeNode node("dgx1-v100-32gb");
  {
    Eyes eyes(node);
    eyes.of(1);
    node.tool("hang nvmlDeviceGetTemperature 1");
    eyes.watch->ask(eyes.uuids[1]);
    eyes.of(0);
  }
  node.tool("clear");
}

}  // namespace
}  // namespace rota::gpud
