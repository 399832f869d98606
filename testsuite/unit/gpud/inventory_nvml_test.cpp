// testsuite/unit/gpud/inventory_nvml_test.cpp - GPUs as Rota sees them through the fake NVML.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>

#include "gpud/inventory/nvml.h"
#include "gpud/inventory/nvml_abi.h"
#include "inventory_fake_node.h"

namespace rota::gpud {
namespace {

constexpr std::uint64_t mib = 1 << 20;

std::vector<Gpu> gpus_of(Nvml& nvml) {
  auto gpus = nvml.gpus();
  EXPECT_TRUE(gpus) << gpus.error().message();
  return gpus ? *gpus : std::vector<Gpu>{};
}

std::unique_ptr<Nvml> opened(const std::string& sysfs = "/nonexistent") {
  auto nvml = Nvml::open(fake_library, sysfs);
  EXPECT_TRUE(nvml) << nvml.error().message();
  return nvml ? *std::move(nvml) : nullptr;
}

std::string numa_text(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) text += std::to_string(gpu.numa_node) + " ";
  return text;
}

// A V100 has six links: one or two to its neighbours in the quad, the rest to its twin in the other
// quad; GPUs across the sockets without a link are 50 apart.
TEST(InventoryNvml, Dgx1IsACubeMesh) {
  const FakeNode node("dgx1-v100-32gb");
  const auto nvml = opened();
  EXPECT_EQ(links_text(gpus_of(*nvml)),
            "0 1 1 2 2 -50 -50 -50\n"
            "1 0 2 1 -50 2 -50 -50\n"
            "1 2 0 2 -50 -50 1 -50\n"
            "2 1 2 0 -50 -50 -50 1\n"
            "2 -50 -50 -50 0 1 1 2\n"
            "-50 2 -50 -50 1 0 2 1\n"
            "-50 -50 1 -50 1 2 0 2\n"
            "-50 -50 -50 1 2 1 2 0\n");
}

TEST(InventoryNvml, Dgx1IsDescribedCompletely) {
  const FakeNode node("dgx1-v100-32gb");
  const auto nvml = opened();
  EXPECT_EQ(nvml->driver_version(), "535.183.01");
  const auto gpus = gpus_of(*nvml);
  ASSERT_EQ(gpus.size(), 8u);
  std::string seen;
  for (const Gpu& gpu : gpus) {
    seen += std::to_string(gpu.index) + " " + std::to_string(gpu.minor) + " " + gpu.pci_bus_id +
            " " + std::to_string(gpu.numa_node) + " " + gpu.model + "\n";
    EXPECT_EQ(gpu.memory_bytes, 32510 * mib);
    EXPECT_EQ(gpu.memory_bytes / 2, 16255 * mib);
    EXPECT_EQ(gpu.uuid.size(), std::strlen("GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"));
    EXPECT_TRUE(gpu.uuid.starts_with("GPU-"));
  }
  EXPECT_EQ(seen,
            "0 0 00000000:06:00.0 0 Tesla V100-SXM2-32GB\n"
            "1 1 00000000:07:00.0 0 Tesla V100-SXM2-32GB\n"
            "2 2 00000000:0A:00.0 0 Tesla V100-SXM2-32GB\n"
            "3 3 00000000:0B:00.0 0 Tesla V100-SXM2-32GB\n"
            "4 4 00000000:85:00.0 1 Tesla V100-SXM2-32GB\n"
            "5 5 00000000:86:00.0 1 Tesla V100-SXM2-32GB\n"
            "6 6 00000000:89:00.0 1 Tesla V100-SXM2-32GB\n"
            "7 7 00000000:8A:00.0 1 Tesla V100-SXM2-32GB\n");
}

TEST(InventoryNvml, SwitchesJoinAllGpusWithAllLinks) {
  {
    const FakeNode node("dgx-a100-40gb");
    const auto nvml = opened();
    const auto gpus = gpus_of(*nvml);
    EXPECT_EQ(links_text(gpus),
              "0 12 12 12 12 12 12 12\n"
              "12 0 12 12 12 12 12 12\n"
              "12 12 0 12 12 12 12 12\n"
              "12 12 12 0 12 12 12 12\n"
              "12 12 12 12 0 12 12 12\n"
              "12 12 12 12 12 0 12 12\n"
              "12 12 12 12 12 12 0 12\n"
              "12 12 12 12 12 12 12 0\n");
    EXPECT_EQ(numa_text(gpus), "3 3 1 1 7 7 5 5 ");
    EXPECT_EQ(gpus[0].memory_bytes, 40960 * mib);
  }
  const FakeNode node("hgx-h100-80gb");
  const auto nvml = opened();
  const auto gpus = gpus_of(*nvml);
  EXPECT_EQ(links_text({gpus[7]}), "18 18 18 18 18 18 18 0\n");
  EXPECT_EQ(gpus[7].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpus[7].memory_bytes, 81559 * mib);
}

// The fabric manager is down: links are up, but nothing goes over them.
TEST(InventoryNvml, SwitchesWithoutAFabricJoinNobody) {
  const FakeNode node("dgx-a100-40gb");
  setenv("ROTA_FAKEGPU_COUNT", "3", 1);
  const auto nvml = opened();
  EXPECT_EQ(links_text(gpus_of(*nvml)), "0 12 12\n12 0 12\n12 12 0\n");
  node.tool("set all fabric=down");
  EXPECT_EQ(links_text(gpus_of(*nvml)), "0 -20 -50\n-20 0 -50\n-50 -50 0\n");
}

TEST(InventoryNvml, WithoutTopologyCallsTheNumaNodeDecides) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "5", 1);
  node.tool("fail nvmlDeviceGetNvLinkState 3");
  node.tool("fail nvmlDeviceGetTopologyCommonAncestor 13");
  const auto nvml = opened();
  EXPECT_EQ(links_text(gpus_of(*nvml)),
            "0 -40 -40 -40 -50\n"
            "-40 0 -40 -40 -50\n"
            "-40 -40 0 -40 -50\n"
            "-40 -40 -40 0 -50\n"
            "-50 -50 -50 -50 0\n");
}

TEST(InventoryNvml, UuidsAreStableAndDifferBetweenNodes) {
  std::set<std::string> all;
  std::vector<Gpu> first, again;
  for (const char* name : {"n1", "n2", "n1"}) {
    const FakeNode node("dgx1-v100-32gb", name);
    const auto nvml = opened();
    first = again;
    again = gpus_of(*nvml);
    for (const Gpu& gpu : again) all.insert(gpu.uuid);
  }
  EXPECT_EQ(all.size(), 16u);
  EXPECT_NE(first[0].uuid, again[0].uuid);
}

TEST(InventoryNvml, CountIsOverridden) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "0", 1);
  EXPECT_EQ(gpus_of(*opened()).size(), 0u);
  setenv("ROTA_FAKEGPU_COUNT", "10", 1);
  const auto gpus = gpus_of(*opened());
  ASSERT_EQ(gpus.size(), 10u);
  EXPECT_EQ(gpus[9].pci_bus_id, "00000001:07:00.0");
  EXPECT_EQ(links_text({gpus[9]}), "-50 -50 -50 -50 -50 -50 -50 -50 1 0\n");
  setenv("ROTA_FAKEGPU_COUNT", "65", 1);
  EXPECT_EQ(Nvml::open(fake_library).error().code, Errc::io_failed);
}

// The minor number, not the index, names /dev/nvidiaN.
TEST(InventoryNvml, MinorIsNotIndex) {
  const FakeNode node("dgx1-v100-32gb", R"({pci: "0000:07:00.0",)",
                      R"({pci: "0000:07:00.0", minor: 5,)");
  const auto nvml = opened();
  const auto gpus = gpus_of(*nvml);
  EXPECT_EQ(gpus[1].index, 1u);
  EXPECT_EQ(gpus[1].minor, 5u);
}

TEST(InventoryNvml, UsageIsWhatTheStateSays) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "4", 1);
  const auto nvml = opened();
  const auto gpus = gpus_of(*nvml);
  node.tool("set 1 utilization=73 memory-used=1GiB");
  node.tool("add-process 1 4711 3GiB");
  node.tool("add-process 1 4712 512MiB graphics");
  node.tool("add-process 2 4711 100GiB");
  const auto usage = nvml->usage();
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage_text(gpus, *usage),
            "0: 0% 0 MiB 0\n"
            "1: 73% 4608 MiB 2\n"
            "2: 0% 32510 MiB 1\n"
            "3: 0% 0 MiB 0\n");
  EXPECT_EQ(nvml->usage("GPU-none").error().code, Errc::not_found);
}

// Memory that the driver keeps for itself is not memory that somebody uses.
TEST(InventoryNvml, ReservedMemoryIsNotUsed) {
  const FakeNode node("dgx-a100-40gb");
  setenv("ROTA_FAKEGPU_COUNT", "1", 1);
  const auto nvml = opened();
  const auto gpus = gpus_of(*nvml);
  EXPECT_EQ(usage_text(gpus, *nvml->usage()), "0: 0% 0 MiB 0\n");
}

class ProcessList : public testing::TestWithParam<int> {};

// 16, 24 and 32 bytes per entry, few processes and more than fit the first try.
TEST_P(ProcessList, IsReadWhateverItsStride) {
  const std::string stride = "process_stride: " + std::to_string(GetParam());
  const FakeNode node("dgx1-v100-32gb", "cuda_version: 12020", "cuda_version: 12020\n" + stride);
  setenv("ROTA_FAKEGPU_COUNT", "1", 1);
  const auto nvml = opened();
  const auto gpus = gpus_of(*nvml);
  std::vector<GpuProcess> expected;
  for (std::uint32_t i = 1; i <= 40; ++i) {
    node.tool("add-process 0 " + std::to_string(1000 + i) + " " + std::to_string(i) + "MiB");
    expected.push_back({1000 + i, i * mib});
    if (i > 4 && i < 38) continue;
    const auto processes = nvml->processes(gpus[0].uuid);
    ASSERT_TRUE(processes) << processes.error().message();
    EXPECT_EQ(*processes, expected) << "with " << i << " processes";
  }
  EXPECT_EQ(usage_text(gpus, *nvml->usage()), "0: 0% 820 MiB 40\n");
}
INSTANTIATE_TEST_SUITE_P(Strides, ProcessList, testing::Values(16, 24, 32));

std::size_t stride_of(std::size_t stride, std::size_t count, std::size_t room) {
  std::vector<std::uint8_t> buffer(room * 64, process_sentinel);
  for (std::size_t i = 0; i < stride * count; ++i) buffer[i] = 0;
  return process_stride(buffer, count);
}

TEST(InventoryNvml, StrideIsFoundByTheLastByteWritten) {
  for (const std::size_t stride : {16u, 24u, 32u}) {
    for (const std::size_t count : {1u, 2u, 3u, 4u, 16u, 31u}) {
      EXPECT_EQ(stride_of(stride, count, 32), stride) << count << " entries";
    }
  }
  EXPECT_EQ(stride_of(40, 1, 32), 0u);  // longer than any we know
  EXPECT_EQ(stride_of(64, 32, 32), 0u);
  EXPECT_EQ(stride_of(24, 0, 32), 0u);
}

// A driver of 2021 has neither the second memory call nor the third process lists.
TEST(InventoryNvml, OldDriverIsAskedTheOldWay) {
  const FakeNode node("dgx1-v100-32gb", "driver_version: 535.183.01", "driver_version: 470.256.02");
  setenv("ROTA_FAKEGPU_COUNT", "2", 1);
  node.tool("add-process 1 4711 3GiB");
  const auto nvml = opened();
  const auto gpus = gpus_of(*nvml);
  EXPECT_EQ(gpus[0].memory_bytes, 32510 * mib);
  EXPECT_EQ(usage_text(gpus, *nvml->usage()), "0: 0% 0 MiB 0\n1: 0% 3072 MiB 1\n");
}

TEST(InventoryNvml, ClientsOfMpsAreProcessesToo) {
  for (const char* driver : {"535.183.01", "470.256.02"}) {
    const FakeNode node("dgx1-v100-32gb", "driver_version: 535.183.01",
                        std::string("driver_version: ") + driver);
    setenv("ROTA_FAKEGPU_COUNT", "1", 1);
    node.tool("add-process 0 4711 3GiB mps");
    node.tool("add-process 0 4712 1GiB");
    node.tool("add-process 0 4711 1GiB graphics");
    const auto nvml = opened();
    const auto gpus = gpus_of(*nvml);
    const auto processes = nvml->processes(gpus[0].uuid);
    ASSERT_TRUE(processes) << processes.error().message();
    EXPECT_EQ(*processes, (std::vector<GpuProcess>{{4711, 3 * 1024 * mib}, {4712, 1024 * mib}}))
        << "each once, by the most that any list says";
    // A driver that does not tell has none.
    for (const char* form : {"", "_v2", "_v3"})
      node.tool(std::string("fail nvmlDeviceGetMPSComputeRunningProcesses") + form + " 3");
    EXPECT_EQ(nvml->processes(gpus[0].uuid)->size(), 2u);
    EXPECT_EQ(nvml->processes(gpus[0].uuid)->front(), (GpuProcess{4711, 1024 * mib}));
  }
}

TEST(InventoryNvml, ANodeMayHaveTwoModels) {
  const FakeNode node("mixed-v100-a10");
  const auto nvml = opened();
  std::string text;
  for (const Gpu& gpu : gpus_of(*nvml))
    text += gpu.model + " " + std::to_string(gpu.memory_bytes / mib) + "\n";
  EXPECT_EQ(text,
            "Tesla V100-PCIE-32GB 32768\nTesla V100-PCIE-32GB 32768\nNVIDIA A10 23028\n"
            "NVIDIA A10 23028\nTesla V100-PCIE-32GB 32768\nTesla V100-PCIE-32GB 32768\n");
}

// The names themselves are missing, as in the library of driver 470.
TEST(InventoryNvml, OldDriverLacksNewNames) {
  const FakeNode node("a30");
  const auto nvml = Nvml::open(TEST_FAKEGPU_DIR "/r470/libnvidia-ml.so.1");
  ASSERT_TRUE(nvml) << nvml.error().message();
  EXPECT_EQ((*nvml)->driver_version(), "470.256.02");
  const auto gpus = (*nvml)->gpus();
  ASSERT_TRUE(gpus && gpus->size() == 4);
  EXPECT_EQ(gpus->front().model, "NVIDIA A30");
  node.tool("add-process 1 4711 1GiB");
  const auto processes = (*nvml)->processes((*gpus)[1].uuid);
  ASSERT_TRUE(processes);
  EXPECT_EQ(*processes, (std::vector<GpuProcess>{{4711, 1 << 30}}));
}

TEST(InventoryNvml, NumaNodeComesFromSysfsWhenTheDriverIsSilent) {
  const FakeNode node("dgx1-v100-32gb");
  setenv("ROTA_FAKEGPU_COUNT", "5", 1);
  node.tool("fail nvmlDeviceGetMemoryAffinity 3");
  const TestFolder& folder = node.folder();
  folder.write("sys/bus/pci/devices/0000:06:00.0/numa_node", "2\n");
  folder.write("sys/bus/pci/devices/0000:07:00.0/numa_node", "-1\n");  // the kernel's "not known"
  folder.write("sys/devices/system/cpu/cpu0/node4/cpulist", "");
  const auto nvml = opened(folder.path("sys"));
  EXPECT_EQ(numa_text(gpus_of(*nvml)), "2 4 4 4 -1 ");
}

TEST(InventoryNvml, LostGpuIsLeftOut) {
  const FakeNode node("dgx1-v100-32gb");
  const auto nvml = opened();
  const auto before = gpus_of(*nvml);
  node.tool("lose 2");
  EXPECT_EQ(nvml->usage()->size(), 7u);
  EXPECT_EQ(nvml->usage(before[2].uuid).error().code, Errc::io_failed);
  const auto gpus = gpus_of(*nvml);
  ASSERT_EQ(gpus.size(), 7u);
  EXPECT_EQ(gpus[2].index, 3u);
  EXPECT_EQ(links_text({gpus[2]}), "2 1 0 -50 -50 -50 1\n");
  node.tool("lose all");
  EXPECT_EQ(nvml->usage().error().code, Errc::io_failed);
  node.tool("restore all");
  EXPECT_EQ(gpus_of(*nvml).size(), 8u);
}

TEST(InventoryNvml, WhatIsNotNvmlIsRefused) {
  const TestFolder folder;
  const auto code_of = [](const std::string& library) { return Nvml::open(library).error().code; };
  EXPECT_EQ(code_of("librota-no-such-library.so.1"), Errc::not_found);
  EXPECT_EQ(code_of(folder.path("absent.so")), Errc::not_found);
  EXPECT_EQ(code_of(folder.write("garbage.so", "not a library\n")), Errc::io_failed);
  EXPECT_EQ(code_of(std::filesystem::temp_directory_path()), Errc::io_failed);
  EXPECT_EQ(code_of(""), Errc::invalid_argument);
  const auto other = Nvml::open("libm.so.6");
  EXPECT_EQ(other.error().detail, "libm.so.6 is not NVML: it has no nvmlInit");
}

TEST(InventoryNvml, DriverThatIsNotLoadedMeansNoGpus) {
  unsetenv("ROTA_FAKEGPU");
  EXPECT_EQ(Nvml::open(fake_library).error().code, Errc::not_found);
}

TEST(InventoryNvml, DriverInTroubleIsAnError) {
  const FakeNode node("dgx1-v100-32gb");
  node.tool("fail nvmlInit_v2 18");
  const auto nvml = Nvml::open(fake_library);
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, Errc::io_failed);
  EXPECT_EQ(nvml.error().detail,
            fake_library + ": nvmlInit: Driver/library version mismatch (NVML 18)");
}

}  // namespace
}  // namespace rota::gpud
