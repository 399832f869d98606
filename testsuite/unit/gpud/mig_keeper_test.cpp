// testsuite/unit/gpud/mig_keeper_test.cpp - instances of runs over the fake driver: made, kept over
// restarts, ended, and what goes wrong with them.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <sstream>

#include "common/clock.h"
#include "common/format.h"
#include "gpud/mig/keeper.h"
#include "gpud/steps.h"
#include "inventory_fake_node.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

using std::chrono::milliseconds;

constexpr RunId run_of(std::uint64_t job) { return {JobId{job}, 0}; }

MigSlot slot(std::uint16_t gpu, const std::string& profile, std::uint32_t start,
             std::uint32_t size) {
  return {gpu, start, size, 0, profile};
}

/// The layout of GPU 0 without UUIDs: "on 2 3g.40gb 4:4".
std::string layout(const FakeNode& node) {
  std::istringstream lines(node.tool("layout"));
  std::string line, text;
  std::getline(lines, line);
  text = line.substr(line.find('=') + 1);
  while (std::getline(lines, line) && line.starts_with("  "))
    text += " " + line.substr(2, line.find(" MIG-") - 2);
  return text;
}

/// One rgpud's worth of keeping.
class Rgpud {
 public:
  explicit Rgpud(const FakeNode& node, MigKeeper::Options options = {},
                 const std::vector<MigKeeper::Living>& living = {})
      : nvml_(fake_library) {
    auto gpus = nvml_.gpus(std::chrono::seconds(10));
    EXPECT_TRUE(gpus) << gpus.error().message();
    options.gpus = *gpus;
    options.ledger_path = node.folder().path("mig");
    uuid = options.gpus.front().uuid;
    keeper.emplace(io.get_executor(), nvml_, options);
    geometry = keeper->settle(living, nvml_.last_instances(), mono_now()).front();
  }
  void prepare(std::uint64_t job, const std::vector<MigSlot>& slots) {
    keeper->prepare(run_of(job), slots, {}, mono_now(), answer_of(job));
  }
  void prepare_whole(std::uint64_t job) {
    keeper->prepare(run_of(job), {}, {uuid}, mono_now(), answer_of(job));
  }
  void release(std::uint64_t job) { keeper->release(run_of(job), mono_now()); }

  bool until(const std::function<bool()>& condition) {
    const MonoTime end = mono_now() + std::chrono::seconds(20);
    while (!condition() && mono_now() < end) {
      io.restart();
      io.run_for(milliseconds(10));
      keeper->tick(mono_now());
    }
    return condition();
  }
  /// What the run was told, once it was.
  std::string answer(std::uint64_t job) {
    until([&] { return answers.contains(job); });
    return answers[job];
  }
  /// The layout, once it is the one that is wanted.
  std::string settled(const FakeNode& node, const std::string& wanted) {
    until([&] { return layout(node) == wanted; });
    return layout(node);
  }

  boost::asio::io_context io;
  std::optional<MigKeeper> keeper;
  MigGeometry geometry;
  std::string uuid;
  std::map<std::uint64_t, std::string> answers;

 private:
  MigKeeper::Ready answer_of(std::uint64_t job) {
    return [this, job](Result<std::vector<MigDevice>> devices) {
      std::string& text = answers[job];
      text = devices ? "ready" : devices.error().detail;
      if (devices)
        for (const MigDevice& device : *devices) {
          EXPECT_TRUE(device.uuid.starts_with("MIG-"));
          text += format(" {}.{}", device.gpu, device.instance);
        }
    };
  }
  NvmlWorker nvml_;
};

class MigKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root changes MIG";
  }
  static MigKeeper::Options with_hold(Duration hold) {
    MigKeeper::Options options;
    options.hold = hold;
    return options;
  }
};

TEST_F(MigKeeperTest, MakesInstancesInTheOrderOfThePartAndEndsThem) {
  const FakeNode node("hgx-h100-80gb");
  Rgpud rgpud(node, with_hold({}));
  EXPECT_FALSE(rgpud.geometry.is_on);
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4), slot(0, "1g.10gb", 0, 1), slot(1, "7g.80gb", 0, 8)});
  EXPECT_EQ(rgpud.answer(1), "ready 0.2 0.7 1.0");
  EXPECT_EQ(layout(node), "on 2 3g.40gb 4:4 7 1g.10gb 0:1");
  EXPECT_EQ(rgpud.keeper->devices_of(run_of(1)).size(), 3u);
  rgpud.prepare(2, {slot(0, "2g.20gb", 2, 2)});
  EXPECT_EQ(rgpud.answer(2), "ready 0.4");
  rgpud.release(1);
  EXPECT_EQ(rgpud.settled(node, "on 4 2g.20gb 2:2"), "on 4 2g.20gb 2:2");
  rgpud.release(2);
  EXPECT_EQ(rgpud.settled(node, "off"), "off") << "the last one turns off the light";
}

TEST_F(MigKeeperTest, TheModeIsHeldForTheNextAndEndsForAWholeGpu) {
  const FakeNode node("hgx-h100-80gb");
  Rgpud rgpud(node, with_hold(std::chrono::hours(1)));
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
  EXPECT_EQ(rgpud.answer(1), "ready 0.2");
  rgpud.release(1);
  EXPECT_EQ(rgpud.settled(node, "on"), "on");
  rgpud.prepare_whole(2);
  EXPECT_EQ(rgpud.answer(2), "ready");
  EXPECT_EQ(layout(node), "off");
  rgpud.prepare_whole(3);
  EXPECT_EQ(rgpud.answers[3], "ready") << "at once";
}

// Somebody else turned it on, and the scheduler took the GPU's word that it can be turned off.
TEST_F(MigKeeperTest, AWholeGpuIsWholeWhoeverTurnedTheModeOn) {
  const FakeNode node("hgx-h100-80gb");
  node.tool("set 0 mig=on");
  MigKeeper::Options options = with_hold({});
  options.patience = milliseconds(100);
  Rgpud rgpud(node, options);
  EXPECT_TRUE(rgpud.geometry.is_on);
  rgpud.keeper->tick(mono_now());
  EXPECT_EQ(layout(node), "on") << "without a job that wants it otherwise it stays";
  node.tool("create-instance 0 1g.10gb 3");
  rgpud.prepare_whole(1);
  EXPECT_EQ(rgpud.answer(1), rgpud.uuid + " is still in MIG mode");
  node.tool("destroy-instance 0 10");
  rgpud.prepare_whole(2);
  EXPECT_EQ(rgpud.answer(2), "ready");
  EXPECT_EQ(layout(node), "off");
}

// A whole GPU is asked for before the instance on it has gone.
TEST_F(MigKeeperTest, AWholeGpuWaitsForWhatLeaves) {
  const FakeNode node("hgx-h100-80gb");
  Rgpud rgpud(node, with_hold(std::chrono::hours(1)));
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
  EXPECT_EQ(rgpud.answer(1), "ready 0.2");
  node.tool("add-process 0 77 1GiB 2");
  rgpud.release(1);
  rgpud.prepare_whole(2);
  const MonoTime later = mono_now() + milliseconds(300);
  rgpud.until([&] { return mono_now() > later; });
  EXPECT_FALSE(rgpud.answers.contains(2));
  node.tool("remove-process 0 77");
  EXPECT_EQ(rgpud.answer(2), "ready");
  EXPECT_EQ(layout(node), "off");
}

TEST_F(MigKeeperTest, WhatIsInUseIsTriedAgain) {
  const FakeNode node("hgx-h100-80gb");
  Rgpud rgpud(node);
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
  EXPECT_EQ(rgpud.answer(1), "ready 0.2");
  node.tool("add-process 0 77 1GiB 2");
  rgpud.release(1);
  rgpud.prepare(2, {slot(0, "2g.20gb", 4, 2)});
  const MonoTime later = mono_now() + milliseconds(300);
  rgpud.until([&] { return mono_now() > later; });
  EXPECT_EQ(layout(node), "on 2 3g.40gb 4:4");
  EXPECT_FALSE(rgpud.answers.contains(2));
  node.tool("remove-process 0 77");
  EXPECT_EQ(rgpud.answer(2), "ready 0.5");
  EXPECT_EQ(layout(node), "on 5 2g.20gb 4:2");
}

TEST_F(MigKeeperTest, PatienceEnds) {
  const FakeNode node("hgx-h100-80gb");
  MigKeeper::Options options;
  options.patience = milliseconds(100);
  Rgpud rgpud(node, options);
  node.tool("add-process 0 77 1GiB");
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
  EXPECT_EQ(rgpud.answer(1), "MIG instance 3g.40gb at 4 of " + rgpud.uuid +
                                 " could not be made: the GPU is in use, and has to be idle for "
                                 "MIG");
  node.tool("remove-process 0 77");
  rgpud.prepare(2, {slot(0, "3g.40gb", 0, 4)});
  EXPECT_EQ(rgpud.answer(2), "ready 0.1");
  EXPECT_EQ(layout(node), "on 1 3g.40gb 0:4") << "nobody makes what was given up";
}

TEST_F(MigKeeperTest, AFailureTakesBackWhatWasMade) {
  const FakeNode node("hgx-h100-80gb");
  Rgpud rgpud(node);
  node.tool("fail nvmlGpuInstanceCreateComputeInstance 23 1");
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4), slot(1, "3g.40gb", 4, 4)});
  EXPECT_NE(rgpud.answer(1).find("Insufficient Resources (NVML 23)"), std::string::npos);
  EXPECT_EQ(rgpud.settled(node, "on"), "on");
  EXPECT_TRUE(rgpud.keeper->devices_of(run_of(1)).empty());
  rgpud.until([&] { return node.tool("layout").find("3g") == std::string::npos; });
  EXPECT_EQ(node.tool("layout").find("3g"), std::string::npos) << "of neither GPU";
}

// One GPU's driver does not come back: its job hears of it, others go on, and what the call made
// after all is ended when it does come back.
TEST_F(MigKeeperTest, ACallThatHangs) {
  const FakeNode node("hgx-h100-80gb");
  MigKeeper::Options options;
  options.call_limit = milliseconds(300);
  Rgpud rgpud(node, options);
  node.tool("hang nvmlGpuInstanceCreateComputeInstance 0");
  rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
  EXPECT_NE(rgpud.answer(1).find("nvmlGpuInstanceCreateComputeInstance of GPU-"),
            std::string::npos);
  rgpud.prepare(2, {slot(1, "3g.40gb", 4, 4)});
  EXPECT_EQ(rgpud.answer(2), "ready 1.2");
  node.tool("clear");
  EXPECT_EQ(rgpud.settled(node, "on"), "on");
}

TEST_F(MigKeeperTest, WhatCannotBeIsRefusedAtOnce) {
  const FakeNode node("hgx-h100-80gb");
  Rgpud rgpud(node);
  rgpud.prepare(1, {slot(0, "3g.41gb", 4, 4)});
  rgpud.prepare(2, {slot(0, "3g.40gb", 2, 4)});
  rgpud.prepare(3, {slot(99, "3g.40gb", 4, 4)});
  const std::string of = " of " + rgpud.uuid;
  EXPECT_EQ(rgpud.answers[1], "MIG instance 3g.41gb at 4" + of + ": this GPU has no such profile");
  EXPECT_EQ(rgpud.answers[2], "MIG instance 3g.40gb at 2" + of + ": it cannot lie there");
  EXPECT_EQ(rgpud.answers[3],
            "MIG instance 3g.40gb at 4 of GPU 99: this node has no such GPU that can be cut");
  EXPECT_EQ(layout(node), "off");
}

TEST_F(MigKeeperTest, AmpereIsUsedAsTheAdministratorLeftIt) {
  const FakeNode node("dgx-a100-40gb");
  node.tool("set 0 mig=on");
  Rgpud rgpud(node, with_hold({}));
  EXPECT_TRUE(rgpud.geometry.is_on);
  rgpud.prepare(1, {slot(0, "3g.20gb", 4, 4)});
  EXPECT_EQ(rgpud.answer(1), "ready 0.2");
  rgpud.release(1);
  EXPECT_EQ(rgpud.settled(node, "on"), "on");
  rgpud.prepare(2, {slot(1, "3g.20gb", 4, 4)});
  EXPECT_NE(rgpud.answers[2].find("no such GPU that can be cut"), std::string::npos)
      << "it would need a reset";
}

// ---- from one rgpud to the next ----

TEST_F(MigKeeperTest, ARestartKeepsLivingRunsAndEndsLeftovers) {
  const FakeNode node("hgx-h100-80gb");
  {
    Rgpud rgpud(node);
    rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
    rgpud.prepare(2, {slot(0, "1g.10gb", 0, 1)});
    EXPECT_EQ(rgpud.answer(1), "ready 0.2");
    EXPECT_EQ(rgpud.answer(2), "ready 0.7");
  }
  node.tool("create-instance 0 1g.10gb 3");
  Rgpud rgpud(node, with_hold({}), {{run_of(1), {slot(0, "3g.40gb", 4, 4)}, {}}});
  EXPECT_FALSE(rgpud.geometry.is_on) << "we turned it on, and would turn it off";
  EXPECT_EQ(rgpud.geometry.blocked, 1u << 3);
  ASSERT_EQ(rgpud.keeper->devices_of(run_of(1)).size(), 1u);
  EXPECT_EQ(rgpud.keeper->devices_of(run_of(1)).front().instance, 2u);
  EXPECT_EQ(rgpud.settled(node, "on 2 3g.40gb 4:4 10 1g.10gb 3:1"),
            "on 2 3g.40gb 4:4 10 1g.10gb 3:1");
  rgpud.release(1);
  EXPECT_EQ(rgpud.settled(node, "on 10 1g.10gb 3:1"), "on 10 1g.10gb 3:1")
      << "the stranger stays, and so does the mode";
}

TEST_F(MigKeeperTest, ALostLedgerDoesNotLoseLivingRuns) {
  const FakeNode node("hgx-h100-80gb");
  {
    Rgpud rgpud(node);
    rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
    EXPECT_EQ(rgpud.answer(1), "ready 0.2");
  }
  node.folder().write("mig", "scribble");
  MigKeeper::Options options;
  options.ends_strangers = true;
  Rgpud rgpud(node, options, {{run_of(1), {slot(0, "3g.40gb", 4, 4)}, {}}});
  EXPECT_EQ(rgpud.geometry.blocked, 0u);
  EXPECT_EQ(rgpud.keeper->devices_of(run_of(1)).size(), 1u);
}

TEST_F(MigKeeperTest, StrangersAreEndedWhereTheSiteSaysSo) {
  const FakeNode node("hgx-h100-80gb");
  node.tool("set 0 mig=on");
  node.tool("create-instance 0 1g.10gb 3");
  MigKeeper::Options options;
  options.ends_strangers = true;
  Rgpud rgpud(node, options);
  EXPECT_EQ(rgpud.geometry.blocked, 0u);
  EXPECT_TRUE(rgpud.geometry.is_on) << "not by us";
  EXPECT_EQ(rgpud.settled(node, "on"), "on");
}

// An rgpud that dies between its intention and the driver's answer finds both.
TEST_F(MigKeeperTest, WhatWasBegunIsKnownAfterAKill) {
  const FakeNode node("hgx-h100-80gb");
  {
    Rgpud rgpud(node);
    rgpud.prepare(1, {slot(0, "3g.40gb", 4, 4)});
    rgpud.until([&] { return layout(node) == "on 2 3g.40gb 4:4"; });
  }  // before the answer is heard, or just after: the ledger says the same
  Rgpud rgpud(node, with_hold({}));
  EXPECT_EQ(rgpud.geometry.blocked, 0u);
  EXPECT_EQ(rgpud.settled(node, "off"), "off");
}

// ---- with real steps ----

class MigSteps : public MigKeeperTest {
 protected:
  void start(proto::LaunchRun launch) {
    auto spool = Spool::open(place.path("node"));
    ASSERT_TRUE(spool) << spool.error().message();
    NodeFacts facts = place.facts();
    facts.spool_dir = spool->directory();
    facts.scripts_dir = spool->scripts_directory();
    Gpu& gpu = facts.gpus.emplace_back();
    gpu.uuid = rgpud.uuid;
    Steps::Events events;
    events.started = [this](RunId, WallTime, const std::string&) { told += "started; "; };
    events.ended = [this](RunId, const RunEnd& end) { told += describe(end); };
    events.prepare = [this](const proto::LaunchRun& run, const Steps::Events::Groups&,
                            Steps::Events::Prepared prepared) {
      rgpud.keeper->prepare(run.run, run.part.mig, run.gpu_uuids, mono_now(),
                            [prepared](Result<std::vector<MigDevice>> instances) {
                              if (!instances) return prepared(std::move(instances).error());
                              Provision provision;
                              provision.instances = *std::move(instances);
                              prepared(std::move(provision));
                            });
    };
    events.release = [this](RunId run) { rgpud.keeper->release(run, mono_now()); };
    steps.emplace(rgpud.io.get_executor(), *std::move(spool), facts, StepHarness::program(),
                  std::move(events));
    const auto opened = steps->open();
    ASSERT_TRUE(opened) << opened.error().message();
    NodeSettings settings;
    settings.kill_wait_ms = 500;
    steps->start({std::move(launch), {}}, settings);
  }
  bool until_told(const std::string& text) {
    return rgpud.until([&] { return told.find(text) != std::string::npos; });
  }

  FakeNode node{"hgx-h100-80gb"};
  StepHarness place;
  Rgpud rgpud{node, with_hold({})};
  std::optional<Steps> steps;
  std::string told;
};

// Two tasks with two instances each, and no task sees another's.
TEST_F(MigSteps, TasksSeeTheirInstances) {
  auto launch = place.tasks(2, {"/bin/sh", "-c",
                                "echo $CUDA_VISIBLE_DEVICES > seen.$ROTA_PROCID; "
                                "echo $ROTA_GPUS $ROTA_GPUS_PER_TASK $ROTA_JOB_GPUS "
                                "$ROTA_JOB_MIG > job"});
  launch.part.mig = {slot(0, "1g.10gb", 0, 1), slot(0, "1g.10gb", 1, 1), slot(0, "1g.10gb", 2, 1),
                     slot(0, "3g.40gb", 4, 4)};
  launch.gpu_uuids = std::vector<std::string>(4, rgpud.uuid);
  start(launch);
  ASSERT_TRUE(until_told("exited"));
  EXPECT_EQ(told, "started; exited 0");
  const std::string first = place.read("seen.0"), second = place.read("seen.1");
  EXPECT_EQ(first.substr(0, 4), "MIG-");
  EXPECT_EQ(first.size(), 2 * 40 + 2u);
  EXPECT_EQ(second.size(), 2 * 40 + 2u);
  EXPECT_NE(first.substr(0, 40), second.substr(0, 40));
  EXPECT_EQ(place.read("job"), "4 2 0 1g.10gb,1g.10gb,1g.10gb,3g.40gb\n");
  EXPECT_EQ(rgpud.settled(node, "off"), "off");
}

TEST_F(MigSteps, AFailureIsTheNodes) {
  auto launch = place.batch("#!/bin/sh\ntouch ran\n");
  launch.part.mig = {slot(0, "3g.40gb", 4, 4)};
  node.tool("fail nvmlDeviceCreateGpuInstanceWithPlacement 23 0");
  start(launch);
  ASSERT_TRUE(until_told("launch_failed"));
  EXPECT_EQ(told.substr(0, 34), "launch_failed by node: MIG instanc");
  EXPECT_EQ(place.read("ran"), "");
}

TEST_F(MigSteps, OneThatIsCancelledWhileItIsMadeLeavesNothing) {
  node.tool("set 0 mig-latency=200");
  auto launch = place.batch("#!/bin/sh\ntouch ran\n");
  launch.part.mig = {slot(0, "3g.40gb", 4, 4)};
  const RunId run = launch.run;
  start(launch);
  // One of its two halves is there.
  ASSERT_TRUE(rgpud.until([&] { return layout(node) == "on 2 3g.40gb 4:4"; }));
  EXPECT_EQ(told, "");
  steps->end({.order = {run, 0, 0}});
  ASSERT_TRUE(until_told("cancelled"));
  EXPECT_EQ(rgpud.settled(node, "off"), "off");
  EXPECT_EQ(rgpud.keeper->devices_of(run).size(), 0u);
}

}  // namespace
}  // namespace rota::gpud
