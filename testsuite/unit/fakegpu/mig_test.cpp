// testsuite/unit/fakegpu/mig_test.cpp - the fake NVML's MIG against what is known of the real one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "../gpud/inventory_fake_node.h"
#include "gpud/inventory/nvml_mig_abi.h"

namespace rota::gpud {
namespace {

/// The library by its own names, started for the node of the environment.
struct Driver {
#define MEMBER(name, arguments) int(*name) arguments = nullptr;
  ROTA_NVML_FUNCTIONS(MEMBER)
  ROTA_NVML_MIG_FUNCTIONS(MEMBER)
#undef MEMBER
  explicit Driver(const std::string& library = fake_library)
      : library_(dlopen(library.c_str(), RTLD_NOW)) {
#define LOOK_UP(name, arguments) name = reinterpret_cast<int(*) arguments>(dlsym(library_, #name));
    ROTA_NVML_FUNCTIONS(LOOK_UP)
    ROTA_NVML_MIG_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    EXPECT_EQ(nvmlInit_v2(), nvml_success);
  }
  ~Driver() {
    nvmlShutdown();
    dlclose(library_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  NvmlHandle gpu(unsigned int index = 0) const {
    NvmlHandle handle = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &handle), nvml_success);
    return handle;
  }

 private:
  void* library_;
};

struct Place {
  unsigned int id;  // of the profile
  unsigned int start;
  unsigned int size;
  unsigned int instances_max;
};

std::vector<NvmlGpuInstanceProfile> profiles_of(const Driver& driver) {
  std::vector<NvmlGpuInstanceProfile> profiles;
  for (unsigned int index = 0;; ++index) {
    NvmlGpuInstanceProfile info{};
    const int code = driver.nvmlDeviceGetGpuInstanceProfileInfo(driver.gpu(), index, &info);
    if (code == nvml_invalid_argument) return profiles;
    if (code == nvml_success) profiles.push_back(info);
  }
}

/// Every place that instances of these profiles can have; all but those left out.
std::vector<Place> places_of(const Driver& driver, const std::set<unsigned int>& without) {
  std::vector<Place> places;
  for (const NvmlGpuInstanceProfile& profile : profiles_of(driver)) {
    if (without.contains(profile.id)) continue;
    std::array<NvmlPlacement, 64> found{};
    unsigned int count = found.size();
    EXPECT_EQ(driver.nvmlDeviceGetGpuInstancePossiblePlacements_v2(driver.gpu(), profile.id,
                                                                   found.data(), &count),
              nvml_success);
    for (unsigned int i = 0; i < count; ++i)
      places.push_back({profile.id, found[i].start, found[i].size, profile.instance_count});
  }
  return places;
}

/// Walks over every set of instances that the driver lets exist, each once.
struct Layouts {
  const Driver& driver;
  std::vector<Place> places;
  int all = 0;
  int maximal = 0;

  NvmlGpuInstance create(const Place& place) const {
    const NvmlPlacement at{place.start, place.size};
    NvmlGpuInstance made = nullptr;
    const int code =
        driver.nvmlDeviceCreateGpuInstanceWithPlacement(driver.gpu(), place.id, &at, &made);
    EXPECT_TRUE(code == nvml_success || code == nvml_insufficient_resources) << code;
    return made;
  }
  void walk(std::size_t from = 0) {
    ++all;
    bool more = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const NvmlGpuInstance made = create(places[i]);
      if (made == nullptr) continue;
      more = true;
      if (i >= from) walk(i + 1);
      EXPECT_EQ(driver.nvmlGpuInstanceDestroy(made), nvml_success);
    }
    maximal += more ? 0 : 1;
  }
};

std::string layouts(const std::string& model, const std::set<unsigned int>& without) {
  const FakeNode node(model);
  node.tool("set 0 mig=on");
  const Driver driver;
  Layouts layouts{driver, places_of(driver, without)};
  layouts.walk();
  return std::to_string(layouts.all) + " " + std::to_string(layouts.maximal);
}

// NVIDIA's documentation has the 19; the others were counted from the intervals alone.
TEST(FakeMig, AllowsExactlyTheLegalLayouts) {
  const std::set<unsigned int> classic = {15, 20};  // without double memory and media engines
  for (const char* model :
       {"dgx-a100-40gb", "dgx-a100-80gb", "hgx-h100-80gb", "hgx-h200", "hgx-b200"}) {
    SCOPED_TRACE(model);
    EXPECT_EQ(layouts(model, classic), "298 19");
  }
  EXPECT_EQ(layouts("dgx-a100-40gb", {20}), "723 78");
  EXPECT_EQ(layouts("a30", {21, 6}), "26 5");
  EXPECT_EQ(layouts("rtx-pro-6000", {21, 47, 35, 32}), "26 5");  // A30's, each slice three times
}

// Made and ended at random, against nothing but intervals and counts.
TEST(FakeMig, RandomSequencesAgreeWithIntervals) {
  for (const char* model : {"dgx-a100-80gb", "a30", "rtx-pro-6000"}) {
    SCOPED_TRACE(model);
    const FakeNode node(model);
    node.tool("set 0 mig=on");
    const Driver driver;
    const std::vector<Place> places = places_of(driver, {});
    std::mt19937 random(4);
    std::map<NvmlGpuInstance, Place> live;
    std::set<unsigned int> ids;
    for (int step = 0; step < 3000; ++step) {
      if (!live.empty() && random() % 3 == 0) {
        const auto victim = std::next(live.begin(), random() % live.size());
        NvmlGpuInstanceInfo info{};
        ASSERT_EQ(driver.nvmlGpuInstanceGetInfo(victim->first, &info), nvml_success);
        ASSERT_EQ(driver.nvmlGpuInstanceDestroy(victim->first), nvml_success);
        ASSERT_EQ(driver.nvmlGpuInstanceDestroy(victim->first), nvml_not_found);
        ids.erase(info.id);
        live.erase(victim);
        continue;
      }
      const Place& want = places[random() % places.size()];
      const auto overlaps = [&](const auto& each) {
        return each.second.start < want.start + want.size &&
               want.start < each.second.start + each.second.size;
      };
      const auto alike =
          std::ranges::count_if(live, [&](const auto& each) { return each.second.id == want.id; });
      const bool legal = std::ranges::none_of(live, overlaps) &&
                         static_cast<unsigned int>(alike) < want.instances_max;
      const NvmlPlacement at{want.start, want.size};
      NvmlGpuInstance made = nullptr;
      const int code =
          driver.nvmlDeviceCreateGpuInstanceWithPlacement(driver.gpu(), want.id, &at, &made);
      ASSERT_EQ(code, legal ? nvml_success : nvml_insufficient_resources);
      if (!legal) continue;
      NvmlGpuInstanceInfo info{};
      ASSERT_EQ(driver.nvmlGpuInstanceGetInfo(made, &info), nvml_success);
      ASSERT_TRUE(ids.insert(info.id).second) << "two instances of one number";
      live.emplace(made, want);
    }
  }
}

// Left to itself it takes 6, 4, 5, 0, ...; the documented dead end follows.
TEST(FakeMig, TheDriversOwnOrderLeadsToADeadEnd) {
  const FakeNode node("dgx-a100-40gb");
  node.tool("set 0 mig=on");
  const Driver driver;
  std::string seen;
  for (const unsigned int id : {19, 19, 14, 9}) {
    NvmlGpuInstance made = nullptr;
    NvmlGpuInstanceInfo info{};
    const int code = driver.nvmlDeviceCreateGpuInstance(driver.gpu(), id, &made);
    if (made != nullptr) driver.nvmlGpuInstanceGetInfo(made, &info);
    seen += std::to_string(code) + ":" + std::to_string(info.placement.start) + " ";
  }
  EXPECT_EQ(seen, "0:6 0:4 0:0 23:0 ");
  unsigned int room = 99;
  EXPECT_EQ(driver.nvmlDeviceGetGpuInstanceRemainingCapacity(driver.gpu(), 19, &room),
            nvml_success);
  EXPECT_EQ(room, 3u);
}

struct Made {
  NvmlGpuInstance instance = nullptr;
  NvmlComputeInstance compute = nullptr;
  NvmlComputeInstanceInfo info{};
  unsigned int id = 0;
  std::string uuid;
};

Made make(const Driver& driver, unsigned int profile, unsigned int compute_profile,
          NvmlPlacement at) {
  Made made;
  EXPECT_EQ(
      driver.nvmlDeviceCreateGpuInstanceWithPlacement(driver.gpu(), profile, &at, &made.instance),
      nvml_success);
  EXPECT_EQ(
      driver.nvmlGpuInstanceCreateComputeInstance(made.instance, compute_profile, &made.compute),
      nvml_success);
  EXPECT_EQ(driver.nvmlComputeInstanceGetInfo_v2(made.compute, &made.info), nvml_success);
  NvmlGpuInstanceInfo info{};
  EXPECT_EQ(driver.nvmlGpuInstanceGetInfo(made.instance, &info), nvml_success);
  made.id = info.id;
  char uuid[nvml_uuid_size] = "";
  EXPECT_EQ(driver.nvmlDeviceGetUUID(made.info.device, uuid, sizeof uuid), nvml_success);
  made.uuid = uuid;
  return made;
}

TEST(FakeMig, AnInstanceFromItsBirthToItsEnd) {
  const FakeNode node("dgx-a100-40gb");
  node.tool("set 0 mig=on");
  const Driver driver;
  const Made made = make(driver, 9, 2, {4, 4});
  EXPECT_EQ(made.uuid.substr(0, 4), "MIG-");
  EXPECT_EQ(made.id, 2u);
  NvmlHandle found = nullptr;
  EXPECT_EQ(driver.nvmlDeviceGetHandleByUUID(made.uuid.c_str(), &found), nvml_success);
  EXPECT_EQ(found, made.info.device);
  unsigned int number = 0;
  EXPECT_EQ(driver.nvmlDeviceIsMigDeviceHandle(found, &number), nvml_success);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(driver.nvmlDeviceGetGpuInstanceId(found, &number), nvml_success);
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(driver.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(found, &found), nvml_success);
  EXPECT_EQ(found, driver.gpu());
  NvmlMemory memory{};
  EXPECT_EQ(driver.nvmlDeviceGetMemoryInfo(made.info.device, &memory), nvml_success);
  EXPECT_EQ(memory.total, 19968ull << 20);
  NvmlMigAttributes attributes{};
  EXPECT_EQ(driver.nvmlDeviceGetAttributes_v2(made.info.device, &attributes), nvml_success);
  EXPECT_EQ(attributes.multiprocessor_count, 42u);
  EXPECT_EQ(attributes.memory_mib, 19968u);
  NvmlUtilization utilization{};
  EXPECT_EQ(driver.nvmlDeviceGetUtilizationRates(driver.gpu(), &utilization), nvml_not_supported);

  node.tool("add-process 0 4711 1GiB 2");
  NvmlProcessV2 process[4] = {};
  unsigned int count = 4;
  EXPECT_EQ(driver.nvmlDeviceGetComputeRunningProcesses_v3(driver.gpu(), &count, process),
            nvml_success);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(process[0].gpu_instance, 2u);
  EXPECT_EQ(process[0].compute_instance, 0u);
  EXPECT_EQ(driver.nvmlComputeInstanceDestroy(made.compute), nvml_in_use);
  EXPECT_EQ(driver.nvmlGpuInstanceDestroy(made.instance), nvml_in_use);
  node.tool("remove-process 0 4711");
  EXPECT_EQ(driver.nvmlGpuInstanceDestroy(made.instance), nvml_in_use) << "its compute instance";
  EXPECT_EQ(driver.nvmlComputeInstanceDestroy(made.compute), nvml_success);
  EXPECT_EQ(driver.nvmlComputeInstanceDestroy(made.compute), nvml_not_found);
  EXPECT_EQ(driver.nvmlGpuInstanceDestroy(made.instance), nvml_success);

  // The same slot again has the same name; the old handles stay dead.
  const Made again = make(driver, 9, 2, {4, 4});
  EXPECT_EQ(again.uuid, made.uuid);
  NvmlGpuInstanceInfo info{};
  EXPECT_EQ(driver.nvmlGpuInstanceGetInfo(made.instance, &info), nvml_not_found);
}

TEST(FakeMig, NumbersAreNotPlaces) {
  const FakeNode node("dgx-a100-80gb");
  node.tool("set 0 mig=on");
  const Driver driver;
  EXPECT_EQ(make(driver, 19, 0, {0, 1}).id, 11u);
  EXPECT_EQ(make(driver, 9, 2, {4, 4}).id, 1u);
}

std::string switching(const Driver& driver, unsigned int mode) {
  int activation = -1;
  unsigned int current = 9, pending = 9;
  const int code = driver.nvmlDeviceSetMigMode(driver.gpu(), mode, &activation);
  EXPECT_EQ(driver.nvmlDeviceGetMigMode(driver.gpu(), &current, &pending), nvml_success);
  return std::to_string(code) + " " + std::to_string(activation) + " " + std::to_string(current) +
         std::to_string(pending);
}

TEST(FakeMig, AmpereWaitsForAReset) {
  const FakeNode node("dgx-a100-40gb");
  const Driver driver;
  EXPECT_EQ(switching(driver, 1), "0 16 01");
  EXPECT_EQ(node.tool("reset 0"), "");
  EXPECT_EQ(switching(driver, 1), "0 0 11");
  make(driver, 0, 4, {0, 8});
  EXPECT_EQ(switching(driver, 0), "0 19 10");
}

TEST(FakeMig, HopperOnlyHasToBeIdle) {
  const FakeNode node("hgx-h100-80gb");
  const Driver driver;
  node.tool("add-process 0 4711 1GiB");
  EXPECT_EQ(switching(driver, 1), "0 19 01");
  node.tool("remove-process 0 4711");
  EXPECT_EQ(switching(driver, 1), "0 0 11");
  const Made made = make(driver, 19, 0, {0, 1});
  EXPECT_EQ(switching(driver, 0), "0 19 10");
  driver.nvmlComputeInstanceDestroy(made.compute);
  driver.nvmlGpuInstanceDestroy(made.instance);
  EXPECT_EQ(switching(driver, 0), "0 0 00");
}

TEST(FakeMig, WhatCannotBeCutSaysSo) {
  const FakeNode node("dgx1-v100-32gb");
  const Driver driver;
  unsigned int current = 0, pending = 0;
  EXPECT_EQ(driver.nvmlDeviceGetMigMode(driver.gpu(), &current, &pending), nvml_not_supported);
  EXPECT_TRUE(profiles_of(driver).empty());
}

// Before r550 a GPU tells its profiles only in MIG mode; r535 has no third form, r470 no names.
TEST(FakeMig, OlderDriversKnowLess) {
  NvmlGpuInstanceProfileV2 second{};
  NvmlGpuInstanceProfileV3 third{};
  {
    const FakeNode node("dgx-a100-40gb");
    const Driver driver;
    EXPECT_TRUE(profiles_of(driver).empty());
    node.tool("set 0 mig=on");
    EXPECT_EQ(profiles_of(driver).size(), 7u);
    second.version = nvml_profile_v2_version;
    EXPECT_EQ(driver.nvmlDeviceGetGpuInstanceProfileInfoV(driver.gpu(), 9, &second), nvml_success);
    EXPECT_STREQ(second.name, "MIG 1g.10gb");
    EXPECT_EQ(second.id, 15u);
    EXPECT_EQ(second.memory_mib, 9856u);
    third.version = nvml_profile_v3_version;
    EXPECT_EQ(driver.nvmlDeviceGetGpuInstanceProfileInfoV(driver.gpu(), 9, &third),
              nvml_argument_version_mismatch);
  }
  {
    const FakeNode node("hgx-h100-80gb");
    const Driver driver;
    EXPECT_EQ(profiles_of(driver).size(), 7u);
    EXPECT_EQ(driver.nvmlDeviceGetGpuInstanceProfileInfoV(driver.gpu(), 2, &third), nvml_success);
    EXPECT_STREQ(third.name, "MIG 3g.40gb");
    EXPECT_EQ(third.memory_mib, 40448u);
    EXPECT_EQ(third.slice_count, 3u);
  }
  const FakeNode node("a30");
  node.tool("set 0 mig=on");
  const Driver driver(std::string(TEST_FAKEGPU_DIR) + "/r470/libnvidia-ml.so.1");
  EXPECT_EQ(driver.nvmlDeviceGetGpuInstanceProfileInfoV, nullptr);
  EXPECT_EQ(profiles_of(driver).size(), 4u) << "the ninth index is newer than this driver";
}

TEST(FakeMig, OnlyRootChangesAnything) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const FakeNode node("hgx-h100-80gb");
  const Driver driver;
  int activation = 0;
  ASSERT_EQ(seteuid(65534), 0);
  const int code = driver.nvmlDeviceSetMigMode(driver.gpu(), 1, &activation);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(code, nvml_no_permission);
}

TEST(FakeMig, TheToolShowsAndMakesInstances) {
  const FakeNode node("hgx-h200");
  EXPECT_NE(node.tool("create-instance 0 3g.71gb 4"), "");
  node.tool("set 0 mig=on");
  const std::string uuid = node.tool("create-instance 0 3g.71gb 4");
  EXPECT_EQ(uuid.substr(0, 4), "MIG-");
  EXPECT_NE(node.tool("layout").find("0 mig=on\n  1 3g.71gb 4:4 " + uuid), std::string::npos);
  EXPECT_EQ(node.tool("destroy-instance 0 1"), "");
  EXPECT_EQ(node.tool("layout").substr(0, 18), "0 mig=on\n1 mig=off");
}

}  // namespace
}  // namespace rota::gpud
