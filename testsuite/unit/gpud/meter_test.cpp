// testsuite/unit/gpud/meter_test.cpp - what runs did with their GPUs, from samples.
#include "gpud/meter/meter.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/format.h"
#include "gpud/meter/keeper.h"

namespace rota::gpud {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t gib = 1ull << 30;
const RunId one{JobId{1}, 0, 0};
const RunId two{JobId{2}, 0, 0};

/// GPUs A and B; processes 10 to 19 are run 1's, 20 to 29 run 2's.
struct Bench {
  UsageMeter meter;
  MonoTime now{seconds(100).count() * 1};
  std::vector<GpuSample> samples;

  GpuSample& gpu(const std::string& uuid, std::uint32_t percent, std::uint64_t energy_j) {
    GpuSample& sample = samples.emplace_back();
    sample.uuid = uuid;
    sample.at = now;
    sample.utilization_percent = percent;
    sample.energy_mj = energy_j * 1000;
    sample.power_mw = 100'000;
    sample.processes_known = true;
    return sample;
  }
  void take() {
    meter.take(samples, [](std::uint32_t pid) -> std::optional<RunId> {
      if (pid < 10 || pid > 29) return std::nullopt;
      return pid < 20 ? one : two;
    });
    samples.clear();
  }
  /// "busy/sampled s, J, %, GiB now/max, W, idle s".
  std::string text(RunId run) const {
    for (const SavedUsage& saved : meter.all()) {
      if (saved.run != run) continue;
      const RunUsage& u = saved.usage;
      return format("{}/{} s, {} J, {}%, {}/{} GiB, {} W, idle {} s", u.busy_ms / 1000,
                    u.sampled_ms / 1000, u.energy_mj / 1000, u.utilization_percent,
                    u.memory_bytes / gib, u.memory_max_bytes / gib, u.power_mw / 1000,
                    u.idle_ms / 1000);
    }
    return "none";
  }
};

TEST(UsageMeter, AddsUpTheGpusOfARun) {
  Bench b;
  b.meter.begin({one, {{"A"}, {"B"}}}, b.now);
  for (int second = 0; second <= 10; ++second, b.now = b.now + seconds(1)) {
    b.gpu("A", 100, 1000 + 300ull * static_cast<unsigned>(second)).memory_used_bytes =
        second == 5 ? 9 * gib : 2 * gib;
    b.gpu("B", 50, 5000 + 100ull * static_cast<unsigned>(second)).memory_used_bytes = 1 * gib;
    b.take();
  }
  // Ten intervals of two GPUs; the counters of energy rose by 3000 and 1000 J.
  EXPECT_EQ(b.text(one), "15/20 s, 4000 J, 75%, 3/10 GiB, 200 W, idle 0 s");
}

TEST(UsageMeter, ASampleCountsOnce) {
  Bench b;
  b.meter.begin({one, {{"A"}}}, b.now);
  b.gpu("A", 100, 0);
  b.take();
  b.now = b.now + seconds(1);
  for (int i = 0; i < 3; ++i) {
    b.gpu("A", 100, 50);
    b.take();
  }
  EXPECT_EQ(b.text(one), "1/1 s, 50 J, 100%, 0/0 GiB, 100 W, idle 0 s");
}

TEST(UsageMeter, WithoutACounterEnergyIsPowerOverTime) {
  Bench b;
  b.meter.begin({one, {{"A"}}}, b.now);
  for (int second = 0; second <= 4; ++second, b.now = b.now + seconds(1)) {
    b.gpu("A", 10, 0).energy_mj.reset();
    b.take();
  }
  EXPECT_EQ(b.text(one), "0/4 s, 400 J, 10%, 0/0 GiB, 100 W, idle 0 s");
}

// Two instances on one GPU and one on another, next to an instance of another run. In MIG mode the
// driver tells processes and energy, and not what they do: that is not idleness.
TEST(UsageMeter, InstancesHaveMemoryAndEnergyBySlices) {
  Bench b;
  NodePart part;
  part.mig = {{.gpu = 0, .start = 0, .size = 1, .amount = 125'000, .profile = "1g.10gb"},
              {.gpu = 0, .start = 4, .size = 4, .amount = 500'000, .profile = "3g.40gb"},
              {.gpu = 3, .start = 0, .size = 1, .amount = 125'000, .profile = "1g.10gb"}};
  const auto gpus = metered_gpus(part, {"A", "A", "B"});
  ASSERT_EQ(gpus.size(), 2u);
  b.meter.begin({one, gpus}, b.now);
  b.meter.begin({two, {{"A", 250'000}}}, b.now);
  for (std::uint64_t second = 0; second <= 100; ++second, b.now = b.now + seconds(1)) {
    GpuSample& a = b.gpu("A", 0, 80 * second);
    a.processes = {{11, 2 * gib}, {12, gib}, {21, 7 * gib}, {99, gib}};
    b.gpu("B", 0, 8 * second).processes = {{13, gib}};
    for (GpuSample& sample : b.samples) {
      sample.utilization_percent.reset();
      sample.loads.emplace();  // nothing, as some drivers say
    }
    b.take();
  }
  EXPECT_EQ(b.text(one), "0/0 s, 5100 J, 0%, 4/4 GiB, 75 W, idle 0 s");
  EXPECT_EQ(b.text(two), "0/0 s, 2000 J, 0%, 7/7 GiB, 25 W, idle 0 s");
}

// The GPU did not answer for a minute: who knows what it did. Its counter knows the energy.
TEST(UsageMeter, SilenceIsNotTime) {
  Bench b;
  b.meter.begin({one, {{"A"}}}, b.now);
  b.gpu("A", 100, 0);
  b.take();
  b.now = b.now + seconds(60);
  b.gpu("A", 100, 6000);
  b.take();
  EXPECT_EQ(b.text(one), "5/5 s, 6000 J, 100%, 0/0 GiB, 100 W, idle 0 s");
}

// The driver was loaded anew under it: its counter begins again.
TEST(UsageMeter, ACounterThatFallsCountsNothing) {
  Bench b;
  b.meter.begin({one, {{"A"}}}, b.now);
  for (const std::uint64_t joules : {9000ull, 9100ull, 5ull, 55ull}) {
    b.gpu("A", 0, joules);
    b.take();
    b.now = b.now + seconds(1);
  }
  EXPECT_EQ(b.text(one), "0/3 s, 150 J, 0%, 0/0 GiB, 100 W, idle 0 s");
}

TEST(UsageMeter, ASharedGpuIsSplitByWhoDoesWhat) {
  Bench b;
  b.meter.begin({one, {{"A", 500'000}}}, b.now);
  b.meter.begin({two, {{"A", 250'000}}}, b.now);
  EXPECT_EQ(b.meter.shared(), (std::set<std::string>{"A"}));
  for (int second = 0; second <= 4; ++second, b.now = b.now + seconds(1)) {
    GpuSample& sample = b.gpu("A", 80, 100ull * static_cast<unsigned>(second));
    sample.memory_used_bytes = 30 * gib;
    sample.processes = {{10, 3 * gib}, {11, 1 * gib}, {20, 2 * gib}, {99, 20 * gib}};
    sample.loads = {{10, 40}, {11, 20}, {20, 20}, {99, 7}};
    b.take();
  }
  EXPECT_EQ(b.text(one), "2/4 s, 300 J, 60%, 4/4 GiB, 75 W, idle 0 s");
  EXPECT_EQ(b.text(two), "0/4 s, 100 J, 20%, 2/2 GiB, 25 W, idle 0 s");
}

// Nobody does anything: each pays for its share of the idle GPU, and the last quarter is nobody's.
TEST(UsageMeter, IdleEnergyIsSplitByShare) {
  Bench b;
  b.meter.begin({one, {{"A", 500'000}}}, b.now);
  b.meter.begin({two, {{"A", 250'000}}}, b.now);
  for (int second = 0; second <= 4; ++second, b.now = b.now + seconds(1)) {
    b.gpu("A", 0, 100ull * static_cast<unsigned>(second)).loads.emplace();
    b.take();
  }
  EXPECT_EQ(b.text(one), "0/4 s, 200 J, 0%, 0/0 GiB, 50 W, idle 0 s");
  EXPECT_EQ(b.text(two), "0/4 s, 100 J, 0%, 0/0 GiB, 25 W, idle 0 s");
}

// A driver that does not tell processes' loads: those who are there did it, by share.
TEST(UsageMeter, WithoutLoadsByShareOfThosePresent) {
  Bench b;
  b.meter.begin({one, {{"A", 500'000}}}, b.now);
  b.meter.begin({two, {{"A", 250'000}}}, b.now);
  for (int second = 0; second <= 1; ++second, b.now = b.now + seconds(1)) {
    b.gpu("A", 90, 90ull * static_cast<unsigned>(second)).processes = {{10, gib}, {20, gib}};
    b.take();
  }
  EXPECT_EQ(b.text(one), "0/1 s, 60 J, 60%, 1/1 GiB, 66 W, idle 0 s");
  EXPECT_EQ(b.text(two), "0/1 s, 30 J, 30%, 1/1 GiB, 33 W, idle 0 s");
}

/// Runs for so many seconds, each GPU busy in the seconds that are named.
std::string idle_after(int length, std::vector<int> busy_a, std::vector<int> busy_b,
                       bool b_answers = true) {
  Bench b;
  b.meter.begin({one, {{"A"}, {"B"}}}, b.now);
  const auto at = [](const std::vector<int>& list, int second) {
    return std::find(list.begin(), list.end(), second) != list.end() ? 1u : 0u;
  };
  for (int second = 0; second <= length; ++second, b.now = b.now + seconds(1)) {
    b.gpu("A", at(busy_a, second), 0);
    if (b_answers) b.gpu("B", at(busy_b, second), 0);
    b.take();
  }
  const std::string text = b.text(one);
  return text.substr(text.find("idle"));
}

TEST(UsageMeter, IsIdleInWholeWindows) {
  EXPECT_EQ(idle_after(29, {}, {}), "idle 0 s");
  EXPECT_EQ(idle_after(30, {}, {}), "idle 30 s");
  EXPECT_EQ(idle_after(89, {}, {}), "idle 60 s");
  // One percent of one GPU in one second is use, and the window that it lies in does not count.
  EXPECT_EQ(idle_after(89, {}, {61}), "idle 0 s");
  EXPECT_EQ(idle_after(90, {31}, {}), "idle 30 s");
  EXPECT_EQ(idle_after(95, {}, {92}), "idle 0 s");
  // What is not known is not idle.
  EXPECT_EQ(idle_after(90, {}, {}, false), "idle 0 s");
}

TEST(UsageMeter, InMigModeNothingIsIdle) {
  Bench b;
  b.meter.begin({one, {{"A"}}}, b.now);
  for (int second = 0; second <= 60; ++second, b.now = b.now + seconds(1)) {
    b.gpu("A", 0, 0).utilization_percent.reset();
    b.take();
  }
  EXPECT_EQ(b.text(one), "0/0 s, 0 J, 0%, 0/0 GiB, 100 W, idle 0 s");
}

// What a run of another rgpud had counted goes on; the energy of the time between, too.
TEST(UsageMeter, GoesOnAfterARestart) {
  Bench before;
  before.meter.begin({one, {{"A"}}}, before.now);
  for (const std::uint64_t joules : {100ull, 200ull}) {
    before.gpu("A", 100, joules);
    before.take();
    before.now = before.now + seconds(1);
  }
  const SavedUsage saved = before.meter.all().front();
  Bench after;
  after.now = MonoTime{seconds(1000).count()};
  after.meter.begin({one, {{"A"}}}, after.now, &saved);
  for (const std::uint64_t joules : {900ull, 1000ull}) {
    after.gpu("A", 100, joules);
    after.take();
    after.now = after.now + seconds(1);
  }
  EXPECT_EQ(after.text(one), "2/2 s, 900 J, 100%, 0/0 GiB, 100 W, idle 0 s");
}

TEST(UsageKeeper, RemembersWhatItCounted) {
  char directory[] = "/tmp/rota-usage.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  MonoTime now{seconds(100).count()};
  Bench b;
  const auto sample = [&](UsageKeeper& keeper, std::uint64_t joules) {
    b.now = now;
    b.gpu("A", 100, joules);
    b.gpu("B", 100, joules);
    keeper.take(std::exchange(b.samples, {}), now);
    now = now + seconds(1);
  };
  {
    UsageKeeper keeper(directory, "n1.3fa9", "/none");
    EXPECT_FALSE(keeper.is_needed());
    keeper.begin({one, {{"A"}}}, now);
    keeper.begin({two, {{"B"}}}, now);
    for (std::uint64_t i = 0; i < 40; ++i) sample(keeper, i * 100);
    EXPECT_EQ(keeper.end(two).energy_mj, 3'900'000u);
    sample(keeper, 4000);  // after an end it is written at once
  }
  {
    UsageKeeper keeper(directory, "n1.3fa9", "/none");
    keeper.begin({one, {{"A"}}}, now);
    EXPECT_EQ(keeper.end(two).energy_mj, 3'900'000u);  // the controller has not heard of it yet
    sample(keeper, 4100);
    sample(keeper, 4200);
    const auto reports = keeper.reports(10);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].usage.energy_mj, 4'200'000u);
    EXPECT_EQ(reports[0].usage.sampled_ms, 41'000);
    keeper.drop(two);
    sample(keeper, 4300);
  }
  {
    UsageKeeper keeper(directory, "n1.3fa9", "/none");
    EXPECT_TRUE(keeper.end(two).empty());
    keeper.forget_others({});
    keeper.begin({one, {{"A"}}}, now);
    sample(keeper, 5000);
    EXPECT_TRUE(keeper.reports(10).empty());  // it was forgotten: nothing is counted yet
  }
  std::ofstream(std::string(directory) + "/usage") << "no such thing";
  UsageKeeper keeper(directory, "n1.3fa9", "/none");
  EXPECT_TRUE(keeper.end(one).empty());
  std::filesystem::remove_all(directory);
}

// More runs than a message holds: all have their turn.
TEST(UsageKeeper, ReportsInTurns) {
  char directory[] = "/tmp/rota-usage.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  UsageKeeper keeper(directory, "n1.3fa9", "/none");
  MonoTime now{seconds(100).count()};
  Bench b;
  for (std::uint64_t job = 1; job <= 5; ++job)
    keeper.begin({RunId{JobId{job}, 0, 0}, {{format("G{}", job)}}}, now);
  for (int i = 0; i < 2; ++i, now = now + seconds(1)) {
    b.now = now;
    for (int job = 1; job <= 5; ++job) b.gpu(format("G{}", job), 1, 0);
    keeper.take(std::exchange(b.samples, {}), now);
  }
  std::string turns;
  for (int beat = 0; beat < 3; ++beat) {
    for (const auto& report : keeper.reports(2)) turns += format("{} ", report.run.job.value);
    turns += "| ";
  }
  EXPECT_EQ(turns, "1 2 | 3 4 | 5 1 | ");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace rota::gpud
