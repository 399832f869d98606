// testsuite/unit/gpud/mig_door_test.cpp - MIG through the door to NVML, over every model.
#include <gtest/gtest.h>

#include "common/format.h"
#include "gpud/inventory/nvml.h"
#include "gpud/inventory/nvml_mig.h"
#include "gpud/mig/work.h"
#include "inventory_fake_node.h"

namespace rota::gpud {
namespace {

struct Opened {
  std::unique_ptr<Nvml> nvml;
  std::vector<Gpu> gpus;
  explicit Opened(const std::string& library = fake_library) {
    auto opened = Nvml::open(library, "/nonexistent");
    EXPECT_TRUE(opened) << opened.error().message();
    nvml = *std::move(opened);
    auto listed = nvml->gpus();
    EXPECT_TRUE(listed) << listed.error().message();
    gpus = *std::move(listed);
  }
  const std::string& uuid() const { return gpus.front().uuid; }
};

/// "off switches 8: 1g.5gb=19/1@0,1,2x7 ...": profiles with id, size, starts and how many.
std::string text_of(const MigGeometry& mig) {
  std::string text = format("{}{} {}:", mig.is_on ? "on" : "off", mig.switches ? " switches" : "",
                            mig.slice_count());
  for (const MigProfile& profile : mig.profiles)
    text += format(" {}={}/{}@{}x{}", profile.name, profile.id, profile.size,
                   fmt::join(profile.starts, ","), profile.count_max);
  return text;
}

std::string geometry(const std::string& model, const std::string& library = fake_library) {
  const FakeNode node(model);
  node.tool("set 0 mig=on");
  return text_of(Opened(library).gpus.front().mig);
}

TEST(MigDoor, GeometryIsTheDriversWord) {
  EXPECT_EQ(geometry("dgx-a100-40gb"),
            "on 8: 1g.5gb=19/1@0,1,2,3,4,5,6x7 1g.5gb+me=20/1@0,1,2,3,4,5,6x1 "
            "1g.10gb=15/2@0,2,4,6x4 2g.10gb=14/2@0,2,4x3 3g.20gb=9/4@0,4x2 4g.20gb=5/4@0x1 "
            "7g.40gb=0/8@0x1");
  EXPECT_EQ(geometry("hgx-h200").substr(0, 20), "on switches 8: 1g.18");
  EXPECT_EQ(geometry("rtx-pro-6000"),
            "on switches 12: 1g.24gb=14/3@0,3,6,9x4 1g.24gb+gfx=47/3@0,3,6,9x4 "
            "1g.24gb+me=21/3@0,3,6,9x1 2g.48gb=5/6@0,6x2 2g.48gb+gfx=35/6@0,6x2 4g.96gb=0/12@0x1 "
            "4g.96gb+gfx=32/12@0x1");
  EXPECT_EQ(geometry("dgx1-v100-32gb"), "off 0:");
}

// An old driver has no names: they are made of numbers, and come out as NVIDIA's.
TEST(MigDoor, OldDriversProfilesAreNamed) {
  EXPECT_EQ(geometry("a30", std::string(TEST_FAKEGPU_DIR) + "/r470/libnvidia-ml.so.1"),
            "on 4: 1g.6gb=14/1@0,1,2,3x4 1g.6gb+me=21/1@0,1,2,3x1 2g.12gb=5/2@0,2x2 "
            "4g.24gb=0/4@0x1");
  const std::uint64_t gib = 1 << 30;
  EXPECT_EQ(mig_profile_name(3, 71168, 143771ull << 20, 2), "3g.71gb");
  EXPECT_EQ(mig_profile_name(1, 4864, 40 * gib, 7), "1g.5gb+me");
  EXPECT_EQ(mig_profile_name(7, 81152, 81559ull << 20, 4), "7g.80gb");
}

// Before r550 nothing is told while the mode is off; then the GPU is one like any other.
TEST(MigDoor, TheModeDecidesWhatOlderDriversTell) {
  const FakeNode a100("dgx-a100-40gb");
  EXPECT_EQ(text_of(Opened().gpus.front().mig), "off 0:");
  const FakeNode h100("hgx-h100-80gb");
  const Opened opened;
  EXPECT_EQ(text_of(opened.gpus.front().mig).substr(0, 27), "off switches 8: 1g.10gb=19/");
  EXPECT_TRUE(opened.gpus.front().mig.can_be_cut());
}

std::string text_of(const Result<MigSeen>& seen) {
  if (!seen) return seen.error().message();
  std::string text = seen->is_on ? "on" : "off";
  for (const MigInstance& instance : seen->instances) {
    text += format(" {}={}@{}:{}", instance.id, instance.profile_id, instance.start, instance.size);
    for (const MigCompute& compute : instance.computes)
      text += format("+{}{}", compute.id, compute.uuid.starts_with("MIG-") ? "" : "?");
  }
  return text;
}

TEST(MigDoor, AnInstanceComesAndGoes) {
  const FakeNode node("hgx-h200");
  const Opened opened;
  const Nvml& nvml = *opened.nvml;
  const std::string& uuid = opened.uuid();
  EXPECT_EQ(text_of(nvml.mig(uuid)), "off");
  EXPECT_TRUE(*nvml.mig_switch(uuid, true));
  const auto made = nvml.mig_create(uuid, 9, 4, 4);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(*made, 1u) << "the driver's number, not its place";
  EXPECT_EQ(text_of(nvml.mig(uuid)), "on 1=9@4:4");
  EXPECT_TRUE(nvml.mig_create_compute(uuid, 1));
  EXPECT_EQ(text_of(nvml.mig(uuid)), "on 1=9@4:4+0");
  EXPECT_FALSE(*nvml.mig_destroy(uuid, 1)) << "in use: it has a compute instance";
  EXPECT_FALSE(*nvml.mig_switch(uuid, false));
  EXPECT_TRUE(*nvml.mig_destroy_compute(uuid, 1, 0));
  EXPECT_TRUE(*nvml.mig_destroy_compute(uuid, 1, 0)) << "gone is gone";
  EXPECT_TRUE(*nvml.mig_destroy(uuid, 1));
  EXPECT_TRUE(*nvml.mig_destroy(uuid, 1));
  EXPECT_TRUE(*nvml.mig_switch(uuid, false));
  EXPECT_EQ(text_of(nvml.mig(uuid)), "off");
  EXPECT_EQ(nvml.mig("GPU-other").error().code, Errc::not_found);
}

TEST(MigDoor, AmpereIsNotSwitched) {
  const FakeNode node("dgx-a100-40gb");
  const Opened opened;
  const auto switched = opened.nvml->mig_switch(opened.uuid(), true);
  ASSERT_FALSE(switched);
  EXPECT_NE(switched.error().detail.find("GPU requires reset"), std::string::npos);
}

// A GPU that is cut tells its memory and its processes, and no utilisation: that is no failure.
TEST(MigDoor, UsageOfACutGpu) {
  const FakeNode node("hgx-h100-80gb");
  node.tool("set 0 mig=on utilization=50");
  node.tool("create-instance 0 3g.40gb 4");
  node.tool("add-process 0 77 2GiB 2");
  const Opened opened;
  const auto usage = opened.nvml->usage(opened.uuid());
  ASSERT_TRUE(usage) << usage.error().message();
  EXPECT_EQ(usage->utilization_percent, 0u);
  EXPECT_EQ(usage->memory_used_bytes, 2ull << 30);
  EXPECT_EQ(usage->process_count, 1u);
}

/// The outcome of a wish: "made 2" or "gone", or why not, with "busy" where another try is worth
/// it.
std::string outcome(const Opened& opened, const MigWish& wish) {
  const auto done = carry_out_mig(*opened.nvml, opened.uuid(), wish);
  if (!done) return done.error().message();
  std::string text = done->is_on ? "on" : "off";
  for (std::size_t i = 0; i < wish.entries.size(); ++i) {
    const MigOutcome::Entry& entry = done->entries[i];
    text += entry.is_settled && wish.entries[i].is_leaving ? "; gone"
            : entry.is_settled                             ? format("; made {}", entry.instance)
                               : format("; {}{}", entry.is_busy ? "busy: " : "", entry.trouble);
  }
  return text;
}

TEST(MigWork, CarriesOutAndSaysWhatIsThere) {
  const FakeNode node("hgx-h100-80gb");
  const Opened opened;
  MigWish wish;
  wish.switches = true;
  wish.entries = {{9, 4, 4}, {19, 0, 1}};
  node.tool("add-process 0 77 1GiB");
  EXPECT_EQ(
      outcome(opened, wish),
      "off; busy: the GPU is in use, and has to be idle for MIG; busy: the GPU is in use, and "
      "has to be idle for MIG");
  node.tool("remove-process 0 77");
  EXPECT_EQ(outcome(opened, wish), "on; made 2; made 7");
  EXPECT_EQ(outcome(opened, wish), "on; made 2; made 7") << "again: nothing is to be done";
  node.tool("add-process 0 77 1GiB 2");
  wish.entries = {{9, 4, 4, true, false}, {14, 4, 2}};
  EXPECT_EQ(outcome(opened, wish),
            "on; busy: it is still in use; busy: another instance is still in use");
  node.tool("remove-process 0 77");
  EXPECT_EQ(outcome(opened, wish), "on; gone; made 5");
}

TEST(MigWork, AFailureInTheMiddleIsToldAndUndone) {
  const FakeNode node("hgx-h100-80gb");
  const Opened opened;
  MigWish wish;
  wish.switches = true;
  wish.entries = {{9, 4, 4}};
  node.tool("fail nvmlGpuInstanceCreateComputeInstance 23 0");
  EXPECT_EQ(outcome(opened, wish), "on; input/output error: " + fake_library +
                                       ": nvmlGpuInstanceCreateComputeInstance: Insufficient "
                                       "Resources (NVML 23)");
  node.tool("clear");
  wish.entries[0].is_leaving = true;
  EXPECT_EQ(outcome(opened, wish), "on; gone");
  EXPECT_EQ(text_of(opened.nvml->mig(opened.uuid())), "on");
}

}  // namespace
}  // namespace rota::gpud
