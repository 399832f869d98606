// testsuite/unit/gpud/inventory_worker_test.cpp - NVML may hang; whoever asks the worker does not.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "common/clock.h"
#include "common/log.h"
#include "gpud/inventory/nvml_abi.h"
#include "gpud/inventory/nvml_worker.h"
#include "inventory_fake_node.h"

namespace rota::gpud {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration patience = seconds(20);

std::vector<Gpu> gpus_of(NvmlWorker& worker) {
  auto gpus = worker.gpus(patience);
  EXPECT_TRUE(gpus) << gpus.error().message();
  return gpus ? *gpus : std::vector<Gpu>{};
}

/// A sample that is finished: a list that is asked for later is answered later.
std::string sampled(NvmlWorker& worker) {
  worker.sample();
  const auto gpus = gpus_of(worker);
  return usage_text(gpus, worker.last_usage());
}

/// True when no Nvml is open any more, not even in a thread that was left behind.
bool all_closed() {
  void* library = dlopen(fake_library.c_str(), RTLD_NOW);
  using Count = int (*)(unsigned int*);
  const auto count = reinterpret_cast<Count>(dlsym(library, "nvmlDeviceGetCount_v2"));
  const MonoTime deadline = mono_now() + patience;
  unsigned int ignored = 0;
  while (count(&ignored) != nvml_uninitialized) {
    if (mono_now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(InventoryWorker, SamplesWhatTheGpusDo) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "2", 1);
  NvmlWorker worker(fake_library);
  EXPECT_TRUE(worker.last_usage().empty());
  worker.sample();  // before the GPUs are known: nothing to look at
  EXPECT_EQ(gpus_of(worker).size(), 2u);
  EXPECT_TRUE(worker.last_usage().empty());
  EXPECT_EQ(sampled(worker), "0: 0% 0 MiB 0\n1: 0% 0 MiB 0\n");
  node.tool("set 1 utilization=50 memory-used=1GiB");
  EXPECT_EQ(sampled(worker), "0: 0% 0 MiB 0\n1: 50% 1024 MiB 0\n");
}

TEST(InventoryWorker, SamplesWhoHoldsMemory) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "2", 1);
  NvmlWorker worker(fake_library);
  const auto gpus = gpus_of(worker);
  EXPECT_TRUE(worker.last_holders().empty());
  node.tool("add-process 1 4711 1GiB");
  sampled(worker);
  const std::vector<GpuHolders> holders = worker.last_holders();
  ASSERT_EQ(holders.size(), 2u);
  for (const GpuHolders& gpu : holders) {
    const std::vector<GpuProcess> wanted = {{4711, 1 << 30}};
    EXPECT_EQ(gpu.processes, gpu.uuid == gpus[1].uuid ? wanted : std::vector<GpuProcess>{});
  }
}

// GPU 1 does not answer. The others go on, it is left out, and it is back when its call is.
TEST(InventoryWorker, HangingGpuCostsOnlyItself) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "3", 1);
  {
    NvmlWorker worker(fake_library, milliseconds(50));
    gpus_of(worker);
    EXPECT_EQ(sampled(worker), "0: 0% 0 MiB 0\n1: 0% 0 MiB 0\n2: 0% 0 MiB 0\n");
    node.tool("hang nvmlDeviceGetUtilizationRates 1");
    node.tool("set all utilization=10");
    EXPECT_EQ(sampled(worker), "0: 10% 0 MiB 0\n2: 10% 0 MiB 0\n");
    node.tool("set all utilization=20");
    EXPECT_EQ(sampled(worker), "0: 20% 0 MiB 0\n2: 20% 0 MiB 0\n");
    node.tool("clear");
    const MonoTime deadline = mono_now() + patience;
    std::string last;
    while (mono_now() < deadline && last != "0: 20% 0 MiB 0\n1: 20% 0 MiB 0\n2: 20% 0 MiB 0\n") {
      last = sampled(worker);
    }
    EXPECT_EQ(last, "0: 20% 0 MiB 0\n1: 20% 0 MiB 0\n2: 20% 0 MiB 0\n");
  }
  EXPECT_TRUE(all_closed());
}

TEST(InventoryWorker, HangingListTimesOutAndIsTriedAgain) {
  const FakeNode node("dgx1-v100-32gb");
  node.tool("hang nvmlDeviceGetHandleByIndex_v2 5");
  {
    NvmlWorker worker(fake_library, milliseconds(50));
    const auto gpus = worker.gpus(milliseconds(50));
    ASSERT_FALSE(gpus);
    EXPECT_EQ(gpus.error().code, Errc::timed_out);
    EXPECT_EQ(worker.gpus(milliseconds(50)).error().code, Errc::timed_out);
    node.tool("clear");
    EXPECT_EQ(gpus_of(worker).size(), 8u);
  }
  EXPECT_TRUE(all_closed());
}

// Everything hangs, from nvmlInit on: each try costs a thread, and their number is bounded.
TEST(InventoryWorker, EndlessTriesEnd) {
  const FakeNode node("dgx1-v100-32gb");
  node.tool("hang '*'");
  {
    NvmlWorker worker(fake_library, milliseconds(1));
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(worker.gpus(milliseconds(2)).error().code, Errc::timed_out);
    }
    std::size_t threads = 0;
    for ([[maybe_unused]] const auto& task :
         std::filesystem::directory_iterator("/proc/self/task")) {
      ++threads;
    }
    EXPECT_LE(threads, 20u);
    node.tool("clear");
    EXPECT_EQ(gpus_of(worker).size(), 8u);
  }
  EXPECT_TRUE(all_closed());
}

// The daemon ends although a call does not.
TEST(InventoryWorker, EndsWithACallThatHangs) {
  const FakeNode node("dgx1-v100-32gb");
  const MonoTime begin = mono_now();
  {
    NvmlWorker worker(fake_library, seconds(100));
    gpus_of(worker);
    node.tool("hang nvmlDeviceGetUtilizationRates 0");
    worker.sample();
    EXPECT_EQ(worker.gpus(milliseconds(20)).error().code, Errc::timed_out);  // it hangs indeed
  }
  EXPECT_LT(mono_now() - begin, seconds(15));
  node.tool("clear");
  EXPECT_TRUE(all_closed());
}

TEST(InventoryWorker, FailingGpuIsLeftOutUntilItAnswers) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "2", 1);
  NvmlWorker worker(fake_library);
  const auto gpus = gpus_of(worker);
  node.tool("fail nvmlDeviceGetUtilizationRates 999 0");
  EXPECT_EQ(sampled(worker), "1: 0% 0 MiB 0\n");
  node.tool("clear");
  EXPECT_EQ(sampled(worker), "0: 0% 0 MiB 0\n1: 0% 0 MiB 0\n");
}

std::string lines_with(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string line, found;
  while (std::getline(file, line)) {
    if (line.find(word) != std::string::npos) found += line + "\n";
  }
  return found;
}

TEST(InventoryWorker, MissingLibraryIsANodeWithoutGpusAndSaysSoOnce) {
  const TestFolder folder;
  ASSERT_TRUE(log::open("test", folder.path("log"), log::Level::info));
  NvmlWorker worker("librota-no-such-library.so.1");
  EXPECT_TRUE(gpus_of(worker).empty());
  EXPECT_TRUE(gpus_of(worker).empty());
  worker.sample();
  EXPECT_TRUE(gpus_of(worker).empty());
  EXPECT_TRUE(worker.last_usage().empty());
  ASSERT_TRUE(log::open("test", "", log::Level::info));
  const std::string said = lines_with(folder.path("log"), "no GPUs here");
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_NE(said.find("librota-no-such-library.so.1"), std::string::npos) << said;
}

TEST(InventoryWorker, GarbageLibraryIsAnError) {
  const TestFolder folder;
  NvmlWorker worker(folder.write("garbage.so", "not a library\n"));
  const auto gpus = worker.gpus(patience);
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, Errc::io_failed);
  EXPECT_NE(gpus.error().detail.find("garbage.so"), std::string::npos);
}

// Several threads of a daemon may ask at once.
TEST(InventoryWorker, ManyMayAsk) {
  const FakeNode node("dgx1-v100-32gb");
  NvmlWorker worker(fake_library);
  gpus_of(worker);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&worker] {
      for (int round = 0; round < 50; ++round) {
        worker.sample();
        EXPECT_LE(worker.last_usage().size(), 8u);
      }
      EXPECT_EQ(gpus_of(worker).size(), 8u);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worker.last_usage().size(), 8u);
}

}  // namespace
}  // namespace rota::gpud
