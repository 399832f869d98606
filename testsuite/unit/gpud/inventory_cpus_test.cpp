// testsuite/unit/gpud/inventory_cpus_test.cpp - CPUs through hwloc, of described machines and this
// one.
#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <map>

#include "common/idset.h"
#include "gpud/inventory/cpus.h"
#include "gpud/inventory/inventory.h"
#include "inventory_fake_node.h"

namespace rota::gpud {
namespace {

constexpr std::uint64_t gib = 1 << 30;

/// Sets one variable for the length of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

std::string cpus_text(const std::vector<Cpu>& cpus) {
  std::map<std::int32_t, std::vector<std::uint32_t>> by_node;
  for (const Cpu& cpu : cpus) by_node[cpu.numa_node].push_back(cpu.index);
  std::string text;
  for (const auto& [node, indexes] : by_node) {
    text += "node " + std::to_string(node) + ": " + idset_format(indexes) + "\n";
  }
  return text;
}

std::string hwloc_of_model(const std::string& model) {
  std::ifstream file(fake_models + "/" + model + ".yaml");
  const std::string key = "hwloc: \"";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(key.size(), line.size() - key.size() - 1);
  }
  return "";
}

TEST(InventoryCpus, SyntheticMachine) {
  const Environment synthetic("HWLOC_SYNTHETIC", "numa:2(memory=137438953472) core:20 pu:2");
  const Environment other("HWLOC_THISSYSTEM", "0");
  const auto inventory = read_cpus();
  ASSERT_TRUE(inventory) << inventory.error().message();
  EXPECT_EQ(cpus_text(inventory->cpus), "node 0: 0-39\nnode 1: 40-79\n");
  EXPECT_EQ(inventory->memory_bytes, 256 * gib);
  EXPECT_FALSE(inventory->this_system);
}

// The models carry the machine around their GPUs, numbered as the GPUs' CPU affinity has it.
TEST(InventoryCpus, MachinesOfTheModels) {
  {
    const Environment synthetic("HWLOC_SYNTHETIC", hwloc_of_model("dgx1-v100-32gb"));
    const auto dgx1 = read_cpus();
    ASSERT_TRUE(dgx1) << dgx1.error().message();
    EXPECT_EQ(cpus_text(dgx1->cpus), "node 0: 0-19,40-59\nnode 1: 20-39,60-79\n");
    EXPECT_EQ(dgx1->memory_bytes, 512 * gib);
  }
  {
    const Environment synthetic("HWLOC_SYNTHETIC", hwloc_of_model("dgx-a100-40gb"));
    const auto a100 = read_cpus();
    ASSERT_TRUE(a100) << a100.error().message();
    EXPECT_EQ(cpus_text(a100->cpus),
              "node 0: 0-15,128-143\nnode 1: 16-31,144-159\nnode 2: 32-47,160-175\n"
              "node 3: 48-63,176-191\nnode 4: 64-79,192-207\nnode 5: 80-95,208-223\n"
              "node 6: 96-111,224-239\nnode 7: 112-127,240-255\n");
    EXPECT_EQ(a100->memory_bytes, 1024 * gib);
  }
  const Environment synthetic("HWLOC_SYNTHETIC", hwloc_of_model("hgx-h100-80gb"));
  const auto h100 = read_cpus();
  ASSERT_TRUE(h100) << h100.error().message();
  EXPECT_EQ(cpus_text(h100->cpus), "node 0: 0-55,112-167\nnode 1: 56-111,168-223\n");
  EXPECT_EQ(h100->memory_bytes, 2048 * gib);
}

TEST(InventoryCpus, ThisSystemShowsOnlyWhatWeMayUse) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const auto all = read_cpus();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_TRUE(all->this_system);
  EXPECT_EQ(all->cpus.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  EXPECT_GT(all->memory_bytes, 0u);

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(all->cpus.back().index, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto bound = read_cpus();
  sched_setaffinity(0, sizeof before, &before);
  ASSERT_TRUE(bound) << bound.error().message();
  ASSERT_EQ(bound->cpus.size(), 1u);
  EXPECT_EQ(bound->cpus[0].index, all->cpus.back().index);
}

TEST(InventoryCpus, DescriptionThatIsNoneIsAnError) {
  const TestFolder folder;
  const Environment xml("HWLOC_XMLFILE", folder.write("topology.xml", "<topology>"));
  const Environment quiet("HWLOC_HIDE_ERRORS", "2");
  const auto inventory = read_cpus();
  ASSERT_FALSE(inventory);
  EXPECT_NE(inventory.error().detail.find("HWLOC_XMLFILE"), std::string::npos);
}

TEST(InventoryNode, HasCpusMemoryAndGpus) {
  const FakeNode node("dgx1-v100-32gb");
  const Environment synthetic("HWLOC_SYNTHETIC", hwloc_of_model("dgx1-v100-32gb"));
  NvmlWorker worker(fake_library);
  const auto inventory = read_inventory(worker);
  ASSERT_TRUE(inventory) << inventory.error().message();
  EXPECT_EQ(inventory->node.cpu_count, 80u);
  EXPECT_EQ(inventory->cpus.size(), 80u);
  EXPECT_EQ(inventory->node.memory_bytes, 512 * gib);
  EXPECT_EQ(inventory->node.gpus.size(), 8u);
  EXPECT_FALSE(inventory->this_system);
  EXPECT_EQ(inventory->gpu_trouble, "");
}

TEST(InventoryNode, DriverInTroubleLeavesTheCpus) {
  const FakeNode node("dgx1-v100-32gb");
  node.tool("fail nvmlInit_v2 999");
  NvmlWorker worker(fake_library);
  const auto inventory = read_inventory(worker);
  ASSERT_TRUE(inventory) << inventory.error().message();
  EXPECT_GT(inventory->node.cpu_count, 0u);
  EXPECT_TRUE(inventory->node.gpus.empty());
  EXPECT_NE(inventory->gpu_trouble.find("NVML 999"), std::string::npos) << inventory->gpu_trouble;
}

TEST(InventoryNode, NoLibraryIsNoTrouble) {
  NvmlWorker worker("librota-no-such-library.so.1");
  const auto inventory = read_inventory(worker);
  ASSERT_TRUE(inventory);
  EXPECT_TRUE(inventory->node.gpus.empty());
  EXPECT_EQ(inventory->gpu_trouble, "");
}

}  // namespace
}  // namespace rota::gpud
