// testsuite/unit/gpud/health_test.cpp - from what was seen of a GPU to what is done about it.
#include "gpud/health/health.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/format.h"

namespace rota::gpud {
namespace {

using namespace std::chrono_literals;
using Source = XidSeen::Source;

/// A node with two GPUs, g0 and g1, and what its health asks for, as text.
struct Ward {
  explicit Ward(HealthRecord record = {}, const std::string& boot = "b1", std::size_t count = 2,
                const std::string& policy = "")
      : health(policy_of(policy), gpus(count), std::move(record), boot, at) {}

  static HealthPolicy policy_of(const std::string& text) {
    HealthPolicy policy;
    EXPECT_TRUE(policy.change(text));
    return policy;
  }
  static std::vector<Gpu> gpus(std::size_t count) {
    std::vector<Gpu> all(count);
    for (std::size_t i = 0; i < count; ++i) {
      all[i].uuid = format("g{}", i);
      all[i].index = static_cast<std::uint32_t>(i);
    }
    return all;
  }
  /// "g0: 1 2; g1: 3"
  Ward& tenants(std::initializer_list<std::pair<std::string, std::vector<std::uint64_t>>> lists) {
    std::map<std::string, std::vector<GpuTenant>> all;
    for (const auto& [uuid, jobs] : lists)
      for (const std::uint64_t job : jobs) all[uuid].push_back({.run = {JobId{job}, 0}});
    health.set_tenants(std::move(all), at);
    return *this;
  }
  std::string xid(const std::string& uuid, std::uint32_t number, Source source = Source::driver,
                  std::optional<std::uint64_t> job = std::nullopt) {
    XidSeen seen{.uuid = uuid, .xid = number, .source = source};
    if (job) seen.run = RunId{JobId{*job}, 0};
    health.seen(seen, at);
    return effects();
  }
  std::string poll(const std::string& uuid, const GpuVitals& vitals) {
    health.polled(uuid, vitals, at);
    return effects();
  }
  std::string reset(const std::string& uuid, bool good = true) {
    health.reset_done(uuid, good ? Result<void>() : Error{Errc::busy, "in use"}, at);
    return effects();
  }
  std::string test(const std::string& uuid, const GpuVitals& vitals = {}) {
    health.test_done(uuid, vitals, at);
    return effects();
  }
  std::string effects() {
    std::string text;
    for (const HealthEffect& effect : health.take_effects()) {
      text += text.empty() ? "" : "; ";
      if (const auto* end = std::get_if<EndTenant>(&effect))
        text += format("end {} {}: {}", end->run.job.value,
                       end->cause == EndCause::gpu_error ? "as its own fault" : "without fault",
                       end->detail);
      else if (const auto* one = std::get_if<ResetGpu>(&effect))
        text += "reset " + one->uuid;
      else if (const auto* two = std::get_if<TestGpu>(&effect))
        text += "test " + two->uuid;
      else
        text += "poll " + std::get<PollGpu>(effect).uuid;
    }
    return text;
  }
  /// "draining: Xid 48"
  std::string of(const std::string& uuid) const {
    for (const GpuHealth& gpu : health.conditions())
      if (gpu.uuid == uuid)
        return gpu.reason.empty() ? std::string(name_of(gpu.condition))
                                  : format("{}: {}", name_of(gpu.condition), gpu.reason);
    return "none";
  }
  void pass(Duration time) {
    at.mono = at.mono + time;
    at.wall.microseconds += time.count() / 1000;
  }

  Now at{{1'000'000'000'000}, {1'000'000'000'000}};
  Health health;
};

TEST(Health, AGpuThatFailsLosesItsJobsIsResetTestedAndReturned) {
  Ward ward;
  ward.tenants({{"g0", {7}}, {"g1", {8}}});
  EXPECT_EQ(ward.xid("g0", 48), "end 7 without fault: GPU 0 failed: Xid 48: double bit ECC error");
  EXPECT_EQ(ward.of("g0"), "draining: Xid 48: double bit ECC error");
  EXPECT_EQ(ward.of("g1"), "ok");
  ward.tenants({{"g1", {8}}});
  EXPECT_EQ(ward.effects(), "reset g0");
  EXPECT_EQ(ward.of("g0"), "resetting: Xid 48: double bit ECC error");
  EXPECT_EQ(ward.reset("g0"), "test g0");
  EXPECT_EQ(ward.of("g0"), "testing: Xid 48: double bit ECC error");
  EXPECT_EQ(ward.test("g0"), "");
  EXPECT_EQ(ward.of("g0"), "ok");
  EXPECT_EQ(ward.health.node_reason(), "");
  std::string told;
  for (const HealthEvent& event : ward.health.report().events)
    told += format("{}>{} {} {}\n", name_of(event.before), name_of(event.after), event.xid,
                   event.jobs.size());
  EXPECT_EQ(told,
            "ok>draining 48 1\ndraining>resetting 0 0\nresetting>testing 0 0\n"
            "testing>ok 0 0\n");
}

TEST(Health, ASharedGpuEndsAllWhoShareItAndSaysSo) {
  Ward ward;
  ward.tenants({{"g0", {7, 9}}});
  EXPECT_EQ(ward.xid("g0", 95),
            "end 7 without fault: GPU 0 failed: Xid 95: uncontained ECC error; it ended all 2 jobs "
            "that share it; end 9 without fault: GPU 0 failed: Xid 95: uncontained ECC error; it "
            "ended all 2 jobs that share it");
}

TEST(Health, AFaultOfOneInstanceEndsThatOneOnly) {
  Ward ward;
  std::map<std::string, std::vector<GpuTenant>> tenants;
  tenants["g0"] = {{{JobId{7}, 0}, 3}, {{JobId{9}, 0}, 5}};
  ward.health.set_tenants(tenants, ward.at);
  ward.health.seen({.uuid = "g0", .xid = 95, .instance = 5}, ward.at);
  EXPECT_EQ(ward.effects(), "end 9 without fault: GPU 0 failed: Xid 95: uncontained ECC error");
  EXPECT_EQ(ward.of("g0"), "draining: Xid 95: uncontained ECC error");
}

TEST(Health, AnErrorOfOneInstanceIsThatJobsAlone) {
  Ward ward;
  std::map<std::string, std::vector<GpuTenant>> tenants;
  tenants["g0"] = {{{JobId{7}, 0}, 3}, {{JobId{7}, 0}, 4}, {{JobId{9}, 0}, 5}};
  ward.health.set_tenants(tenants, ward.at);
  ward.health.seen({.uuid = "g0", .xid = 13, .instance = 4}, ward.at);
  EXPECT_EQ(ward.effects(), "end 7 as its own fault: Xid 13: graphics engine exception on GPU 0");
  ward.health.seen({.uuid = "g0", .xid = 31, .instance = 6}, ward.at);  // somebody else's
  EXPECT_EQ(ward.effects(), "");
  ward.health.seen({.uuid = "g0", .xid = 95}, ward.at);
  EXPECT_EQ(ward.effects(),
            "end 7 without fault: GPU 0 failed: Xid 95: uncontained ECC error; it ended all 2 jobs "
            "that share it; end 9 without fault: GPU 0 failed: Xid 95: uncontained ECC error; it "
            "ended all 2 jobs that share it");
}

TEST(Health, AJobsOwnErrorEndsTheJobAndLeavesTheGpu) {
  Ward ward;
  ward.tenants({{"g0", {7}}});
  EXPECT_EQ(ward.xid("g0", 13),
            "end 7 as its own fault: Xid 13: graphics engine exception on GPU 0");
  EXPECT_EQ(ward.of("g0"), "ok");
  // The kernel's log tells the same a moment later.
  EXPECT_EQ(ward.xid("g0", 13, Source::log, 7), "");
}

TEST(Health, OfSeveralJobsOnlyTheLogKnowsTheCulprit) {
  Ward ward;
  ward.tenants({{"g0", {7, 9}}});
  EXPECT_EQ(ward.xid("g0", 31), "");
  EXPECT_EQ(ward.xid("g0", 31, Source::log, 9),
            "end 9 as its own fault: Xid 31: GPU memory page fault on GPU 0");
  EXPECT_EQ(ward.xid("g0", 31, Source::log), "");  // a process that has gone
  XidSeen foreign{.uuid = "g1", .xid = 31, .source = Source::log};
  foreign.is_foreign = true;
  ward.tenants({{"g1", {4}}});
  ward.health.seen(foreign, ward.at);
  EXPECT_EQ(ward.effects(), "");
}

TEST(Health, ErrorsOfThreeDifferentJobsWithinADayAreTheGpus) {
  Ward ward;
  for (const std::uint64_t job : {1, 1, 2}) {
    ward.tenants({{"g0", {job}}});
    EXPECT_NE(ward.xid("g0", 13), "");
    ward.pass(1h);
  }
  EXPECT_EQ(ward.of("g0"), "ok");
  ward.pass(22h);  // the first is forgotten
  ward.tenants({{"g0", {3}}});
  ward.xid("g0", 13);
  EXPECT_EQ(ward.of("g0"), "ok");
  ward.tenants({{"g0", {4}}});
  ward.xid("g0", 13);
  EXPECT_EQ(ward.of("g0"),
            "draining: errors of 3 jobs within a day, the last Xid 13: graphics engine exception");
  ward.tenants({});
  EXPECT_EQ(ward.effects(), "reset g0");
}

TEST(Health, WhatBothSourcesTellCountsOnceButALaterOneAgain) {
  Ward ward;
  ward.xid("g0", 92);
  ward.xid("g0", 92, Source::log);
  EXPECT_EQ(ward.health.report().events.size(), 1u);
  ward.pass(2min);
  ward.xid("g0", 92, Source::log);
  EXPECT_EQ(ward.health.report().events.size(), 2u);
  for (int i = 0; i < 100; ++i) ward.xid("g0", 92, Source::log);
  EXPECT_EQ(ward.health.report().events.size(), 2u) << "repeats are counted, not told";
}

TEST(Health, AnUnknownXidDrainsWhenIdle) {
  Ward ward;
  ward.tenants({{"g0", {7}}});
  EXPECT_EQ(ward.xid("g0", 999), "");
  EXPECT_EQ(ward.of("g0"), "draining: Xid 999, which is not known here");
  ward.tenants({});
  EXPECT_EQ(ward.effects(), "reset g0");
}

TEST(Health, TheSecondTimeWithinAWeekIsTheNodes) {
  Ward ward;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ward.health.node_reason(), "");
    EXPECT_EQ(ward.xid("g0", 119), "reset g0");
    ward.xid("g0", 120);  // of the same incident
    ward.reset("g0");
    ward.test("g0");
    EXPECT_EQ(ward.of("g0"), "ok");
    ward.pass(48h);
  }
  EXPECT_EQ(ward.health.node_reason(), "GPU 0 failed 2 times within 7 days");
  ward.health.retry("", ward.at);
  EXPECT_EQ(ward.health.node_reason(), "");
}

TEST(Health, AGpuOffTheBusClosesTheNodeUntilAReboot) {
  Ward ward;
  ward.tenants({{"g0", {7}}, {"g1", {8}}});
  EXPECT_EQ(ward.xid("g0", 79),
            "end 7 without fault: GPU 0 failed: Xid 79: GPU has fallen off the bus");
  EXPECT_EQ(ward.health.node_reason(), "GPU 0: Xid 79: GPU has fallen off the bus");
  ward.tenants({{"g1", {8}}});
  EXPECT_EQ(ward.effects(), "") << "no reset helps";
  EXPECT_EQ(ward.of("g0"),
            "failed: Xid 79: GPU has fallen off the bus; the node has to be rebooted");
  // rgpud starts again in the same boot, then after a reboot.
  Ward again(ward.health.record(), "b1");
  again.tenants({});
  EXPECT_EQ(again.effects(), "");
  EXPECT_EQ(again.health.node_reason(), "GPU 0: Xid 79: GPU has fallen off the bus");
  Ward after(ward.health.record(), "b2");
  after.tenants({});
  EXPECT_EQ(after.effects(), "test g0");
  EXPECT_EQ(after.health.node_reason(), "");
  after.test("g0");
  EXPECT_EQ(after.of("g0"), "ok");
}

// However often the node is booted, it is one trouble.
TEST(Health, ReasonsDoNotGrow) {
  Ward first;
  first.xid("g0", 48);
  first.reset("g0");
  first.health.test_done("g0", Error{Errc::io_failed, "bad"}, first.at);
  HealthRecord record = first.health.record();
  for (const std::string boot : {"b2", "b3", "b4"}) {
    Ward ward(record, boot);
    ward.tenants({});
    EXPECT_EQ(ward.effects(), "test g0");
    EXPECT_EQ(ward.of("g0"),
              "testing: tested after a reboot; before: Xid 48: double bit ECC error");
    ward.health.test_done("g0", Error{Errc::io_failed, "bad"}, ward.at);
    EXPECT_EQ(ward.of("g0"), "failed: Xid 48: double bit ECC error; test failed: bad");
    ward.health.retry("g0", ward.at);
    EXPECT_EQ(ward.of("g0"),
              "testing: tried again by an administrator; before: Xid 48: double bit ECC error");
    ward.health.test_done("g0", Error{Errc::io_failed, "bad"}, ward.at);
    record = ward.health.record();
  }
}

TEST(Health, AProcessThatCannotBeKilledClosesItsGpuUntilItIsGone) {
  Ward ward;
  ward.tenants({{"g0", {7, 9}}, {"g1", {8}}});
  const std::vector<ProcessName> left{{100, 5}, {101, 6}};
  ward.health.left_behind("g0", left, ward.at);
  ward.health.left_behind("g0", left, ward.at);  // told again: nothing new
  const std::string reason = "SIGKILL did not end process 100, 101 of a job on it";
  EXPECT_EQ(ward.effects(), "") << "who shares it goes on";
  EXPECT_EQ(ward.of("g0"), "draining: " + reason);
  EXPECT_EQ(ward.of("g1"), "ok");
  ward.tenants({{"g1", {8}}});
  EXPECT_EQ(ward.effects(), "") << "no reset under it";
  ward.health.gone({{100, 5}, {101, 7}}, ward.at);  // 101 of another time is another process
  EXPECT_EQ(ward.effects(), "");
  // rgpud starts again: it is still waited for.
  Ward again(ward.health.record(), "b1");
  again.tenants({{"g1", {8}}});
  EXPECT_EQ(again.effects(), "");
  EXPECT_EQ(again.health.left(), (std::vector<ProcessName>{{101, 6}}));
  again.health.gone({{101, 6}}, again.at);
  EXPECT_EQ(again.effects(), "reset g0");
  again.reset("g0");
  again.test("g0");
  EXPECT_EQ(again.of("g0"), "ok");
  // After a reboot there is nothing to wait for.
  Ward after(ward.health.record(), "b2");
  EXPECT_TRUE(after.health.left().empty());
  EXPECT_EQ(after.effects(), "test g0");
}

TEST(Health, APolicyForProcessesThatCannotBeKilled) {
  Ward ward({}, "b1", 2, "unkillable=suspect");
  ward.health.left_behind("g0", {{100, 5}}, ward.at);
  EXPECT_EQ(ward.of("g0"), "suspect: SIGKILL did not end process 100 of a job on it");
  ward.health.gone({{100, 5}}, ward.at);
  EXPECT_EQ(ward.of("g0"), "ok");
}

TEST(Health, AGpuThatTheDriverDoesNotFindClosesTheNode) {
  Ward before;
  Ward ward(before.health.record(), "b2", 1);
  ward.tenants({});
  EXPECT_EQ(ward.of("g1"), "failed: the driver does not find it; the node has to be rebooted");
  EXPECT_EQ(ward.health.node_reason(), "g1: the driver does not find it");
  ward.health.retry("g1", ward.at);  // taken out for good
  EXPECT_EQ(ward.of("g1"), "none");
  EXPECT_EQ(ward.health.node_reason(), "");
}

TEST(Health, ARestartGoesOnWhereItWas) {
  Ward ward;
  ward.tenants({{"g0", {7}}});
  ward.xid("g0", 48);
  // Draining, and its job is still there: it is told again.
  Ward draining(ward.health.record());
  draining.tenants({{"g0", {7}}});
  EXPECT_EQ(draining.effects(), "end 7 without fault: GPU 0 failed: Xid 48: double bit ECC error");
  EXPECT_EQ(draining.health.report().events, ward.health.report().events);
  ward.tenants({});
  ward.effects();
  Ward resetting(ward.health.record());
  resetting.tenants({});
  EXPECT_EQ(resetting.effects(), "reset g0");
  ward.reset("g0");
  Ward testing(ward.health.record());
  testing.tenants({});
  EXPECT_EQ(testing.effects(), "test g0");
}

TEST(Health, ALaunchThatMeetsAClosedGpuIsEnded) {
  Ward ward;
  EXPECT_EQ(ward.xid("g0", 48), "reset g0");
  ward.tenants({{"g0", {7}}});
  EXPECT_EQ(ward.effects(), "end 7 without fault: GPU 0 failed: Xid 48: double bit ECC error");
}

TEST(Health, ResetsThatFailAreTriedThreeTimes) {
  Ward ward;
  ward.xid("g0", 48);
  EXPECT_EQ(ward.reset("g0", false), "");
  ward.health.tick(ward.at);
  EXPECT_EQ(ward.effects(), "");
  ward.pass(60s);
  ward.health.tick(ward.at);
  EXPECT_EQ(ward.effects(), "reset g0");
  ward.reset("g0", false);
  ward.pass(120s);
  ward.health.tick(ward.at);
  EXPECT_EQ(ward.effects(), "reset g0");
  EXPECT_EQ(ward.reset("g0", false), "");
  EXPECT_EQ(ward.of("g0"),
            "failed: Xid 48: double bit ECC error; reset failed 3 of 3 times: in use");
  EXPECT_EQ(ward.health.node_reason(), "GPU 0: reset failed 3 of 3 times: in use");
  ward.health.retry("g0", ward.at);
  EXPECT_EQ(ward.effects(), "test g0");
  EXPECT_EQ(ward.health.node_reason(), "");
}

TEST(Health, AFaultDuringTheTestMeansAnotherReset) {
  Ward ward;
  ward.xid("g0", 48);
  ward.reset("g0");
  ward.xid("g0", 95);
  EXPECT_EQ(ward.test("g0"), "reset g0");
  ward.reset("g0");
  ward.test("g0");
  EXPECT_EQ(ward.of("g0"), "ok");
}

TEST(Health, ATestLooksAtTheVitalsToo) {
  Ward ward;
  ward.xid("g0", 48);
  ward.reset("g0");
  GpuVitals vitals;
  vitals.remap_failed = true;
  EXPECT_EQ(ward.test("g0", vitals), "");
  EXPECT_EQ(ward.of("g0"),
            "failed: Xid 48: double bit ECC error; test failed: a row of memory could not be "
            "remapped");
  Ward after(ward.health.record(), "b2");
  after.tenants({});
  EXPECT_EQ(after.effects(), "") << "no reboot brings it back";
}

TEST(Health, WhatAPollFinds) {
  struct Case {
    const char* what;
    GpuVitals vitals;
    std::string effects;
    std::string condition;
  };
  GpuVitals lost, remap, failed, retire, sram, ecc, hot, reboot;
  lost.lost = true;
  remap.remap_pending = true;
  failed.remap_failed = true;
  retire.retire_pending = true;
  sram.sram_exceeded = true;
  ecc.ecc_uncorrected = 2;
  hot.temperature = 91;
  hot.temperature_slowdown = 90;
  reboot.recovery_action = 2;
  const std::vector<Case> cases{
      {"lost", lost, "end 7 without fault: GPU 0 failed: it is lost: it does not answer on the bus",
       "draining: it is lost: it does not answer on the bus"},
      {"remap", remap, "", "draining: a row of memory is to be remapped"},
      {"failed", failed, "", "draining: a row of memory could not be remapped"},
      {"retire", retire, "", "draining: a page of memory is to be retired"},
      {"sram", sram, "", "draining: SRAM errors are over the threshold"},
      {"ecc", ecc, "", "draining: 2 uncorrected ECC errors"},
      {"hot", hot, "", "suspect: 91 C, it slows down at 90 C"},
      {"reboot", reboot, "end 7 without fault: GPU 0 failed: the driver asks for a reboot",
       "draining: the driver asks for a reboot"},
      {"well", {}, "", "ok"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    Ward ward;
    ward.tenants({{"g0", {7}}});
    EXPECT_EQ(ward.poll("g0", each.vitals), each.effects);
    EXPECT_EQ(ward.of("g0"), each.condition);
    const std::size_t events = ward.health.report().events.size();
    ward.poll("g0", each.vitals);
    EXPECT_EQ(ward.health.report().events.size(), events) << "the same again is no news";
  }
}

TEST(Health, OneThatHasToBeReplacedDoesNotComeBack) {
  Ward ward;
  GpuVitals vitals;
  vitals.sram_exceeded = true;
  ward.tenants({{"g0", {7}}});
  ward.poll("g0", vitals);
  ward.tenants({});
  EXPECT_EQ(ward.effects(), "");
  EXPECT_EQ(ward.of("g0"), "failed: SRAM errors are over the threshold; it has to be replaced");
}

TEST(Health, LinksAreComparedWithTheBoots) {
  Ward ward;
  GpuVitals vitals;
  vitals.links_up = 0b111111;
  ward.poll("g0", vitals);
  vitals.links_up = 0b111101;
  EXPECT_EQ(ward.poll("g0", vitals), "reset g0");
  EXPECT_EQ(ward.of("g0"), "resetting: 1 of 6 NVLinks are down");
  ward.reset("g0");
  ward.test("g0", vitals);
  EXPECT_EQ(ward.of("g0"), "failed: 1 of 6 NVLinks are down; test failed: 1 of 6 NVLinks are down");
}

TEST(Health, SuspicionsEndWithTheirCause) {
  Ward ward;
  ward.health.missed("g0", ward.at);
  EXPECT_EQ(ward.of("g0"), "ok");
  ward.health.missed("g0", ward.at);
  EXPECT_EQ(ward.of("g0"), "suspect: NVML did not answer 2 times in a row");
  EXPECT_EQ(ward.of("g1"), "ok");
  GpuVitals vitals;
  ward.poll("g0", vitals);
  EXPECT_EQ(ward.of("g0"), "ok");
  vitals.clock_reasons = 0x40;
  for (int i = 0; i < 36; ++i) {
    EXPECT_EQ(ward.of("g0"), "ok") << i;
    ward.poll("g0", vitals);
    ward.pass(10s);
  }
  ward.poll("g0", vitals);
  EXPECT_EQ(ward.of("g0"), "suspect: hardware has slowed it down for most of the last 10 minutes");
  vitals.clock_reasons = 4;  // a power cap that somebody chose
  for (int i = 0; i < 60; ++i) {
    ward.poll("g0", vitals);
    ward.pass(10s);
  }
  EXPECT_EQ(ward.of("g0"), "ok");
}

TEST(Health, TheRecoveryActionIsAskedFor) {
  Ward ward;
  EXPECT_EQ(ward.xid("g0", 154), "poll g0");
  GpuVitals vitals;
  vitals.recovery_action = 4;
  EXPECT_EQ(ward.poll("g0", vitals), "reset g0");
}

TEST(Health, ASitesChecksCloseTheNodeAndOpenIt) {
  Ward ward;
  ward.health.checked("/c", Error{Errc::io_failed, "/c ended with 1: disk is slow"}, ward.at);
  EXPECT_EQ(ward.health.node_reason(), "/c ended with 1: disk is slow");
  ward.health.checked("/d", {}, ward.at);
  EXPECT_EQ(ward.health.node_reason(), "/c ended with 1: disk is slow");
  Ward again(ward.health.record());
  again.health.keep_checks({"/c"}, again.at);
  EXPECT_EQ(again.health.node_reason(), "/c ended with 1: disk is slow");
  again.health.keep_checks({"/d"}, again.at);
  EXPECT_EQ(again.health.node_reason(), "");
  ward.health.checked("/c", {}, ward.at);
  EXPECT_EQ(ward.health.node_reason(), "");
}

TEST(Health, EventsStayUntilTheyAreTaken) {
  Ward ward;
  EXPECT_TRUE(ward.health.take_news());
  EXPECT_FALSE(ward.health.take_news());
  ward.xid("g0", 92);
  EXPECT_TRUE(ward.health.take_news());
  const auto first = ward.health.report().events;
  ASSERT_EQ(first.size(), 1u);
  ward.pass(2min);
  ward.xid("g0", 92);
  ward.health.taken(first[0].sequence);
  ASSERT_EQ(ward.health.report().events.size(), 1u);
  EXPECT_GT(ward.health.report().events[0].sequence, first[0].sequence);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    ward.pass(2min);
    ward.xid("g0", 92);
  }
  EXPECT_EQ(ward.health.report().events.size(), 1000u);
}

TEST(Health, ASiteHasTheLastWord) {
  Ward ward({}, "b1", 2, "48=log, 13=gpu lost=suspect,unknown=log");
  ward.tenants({{"g0", {7}}});
  EXPECT_EQ(ward.xid("g0", 48), "");
  EXPECT_EQ(ward.of("g0"), "ok");
  EXPECT_EQ(ward.xid("g0", 999), "");
  EXPECT_EQ(ward.of("g0"), "ok");
  EXPECT_EQ(ward.xid("g0", 13),
            "end 7 without fault: GPU 0 failed: Xid 13: graphics engine exception");
}

TEST(HealthPolicy, WordsThatMakeNoSenseAreNamed) {
  const auto error = [](std::string_view text) {
    HealthPolicy policy;
    const auto changed = policy.change(text);
    return changed ? std::string() : changed.error().detail;
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("48=log , 13=job"), "");
  EXPECT_EQ(error("48=kill"),
            "node.health_policy: no action of log, job, suspect, idle, replace, gpu, node, "
            "recovery in '48=kill'");
  EXPECT_EQ(error("48"),
            "node.health_policy: no action of log, job, suspect, idle, replace, gpu, node, "
            "recovery in '48'");
  EXPECT_EQ(error("lost=job"), "node.health_policy: no job can be blamed for that in 'lost=job'");
  EXPECT_EQ(error("13=recovery"),
            "node.health_policy: only Xid 154 names a recovery action in '13=recovery'");
  EXPECT_NE(error("99999=log"), "");
  EXPECT_NE(error("=log"), "");
}

TEST(HealthPolicy, TheDefaultsFollowTheCatalogue) {
  const HealthPolicy policy;
  const auto of = [&policy](std::uint32_t xid) { return std::string(name_of(policy.of_xid(xid))); };
  EXPECT_EQ(of(13) + of(31) + of(94), "jobjobjob");
  EXPECT_EQ(of(43) + of(45) + of(92), "logloglog");
  EXPECT_EQ(of(48) + of(74) + of(95) + of(119), "gpugpugpugpu");
  EXPECT_EQ(of(54) + of(79) + of(151), "nodenodenode");
  EXPECT_EQ(of(63) + of(154) + of(1234), "idlerecoveryidle");
}

TEST(HealthRecord, IsReadBackOrRefused) {
  std::string folder = std::filesystem::temp_directory_path() / "rota-health-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/health";
  EXPECT_EQ(health_record_read(path).error().code, Errc::not_found);
  Ward ward;
  ward.tenants({{"g0", {7}}});
  ward.xid("g0", 48);
  const HealthRecord record = ward.health.record();
  ASSERT_TRUE(health_record_write(path, record));
  EXPECT_EQ(*health_record_read(path), record);
  // A byte that fell over, and a file that was cut.
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.put('\x7f');
  }
  EXPECT_EQ(health_record_read(path).error().code, Errc::malformed);
  std::filesystem::resize_file(path, 20);
  EXPECT_EQ(health_record_read(path).error().code, Errc::malformed);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rota::gpud
