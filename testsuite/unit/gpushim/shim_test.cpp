// testsuite/unit/gpushim/shim_test.cpp - jobs with a part of a GPU: what they see, and what they
// get.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "shim_node.h"

namespace rota::gpud {
namespace {

// All sizes in MiB. A context of the fake driver takes 305.

TEST(Shim, HalfOfAV100IsAGpuOf16255MiB) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "total 0", "retain 0"}), "0 0 17044602880 0");
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
  EXPECT_EQ(user.ask("nvml 0"), "15950 of 16255, 15950 of 16255");
  EXPECT_EQ(user.ask("alloc 15951"), "2");
  EXPECT_EQ(user.ask("alloc 15950"), "0");
  EXPECT_EQ(user.ask("memory"), "0 of 16255");
  EXPECT_EQ(user.ask("nvml 0"), "0 of 16255, 0 of 16255");
  EXPECT_EQ(user.ask_all({"alloc 1", "free 0", "alloc 15950"}), "2 0 0");
  EXPECT_EQ(node.held_mib(), 16255);
}

TEST(Shim, ThreeTenthsOfAnA10Are6908MiB) {
  ShareNode node("a10");
  ShareJob job({node.share(300'000)});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "retain 0"}), "0 0");
  EXPECT_EQ(user.ask("memory"), "6603 of 6908");
  EXPECT_EQ(user.ask("nvml 0"), "6603 of 6908, 6603 of 6908");
}

TEST(Shim, AWholeGpuIsLeftAlone) {
  ShareNode node;
  GpuShare whole = node.share(0);
  whole.limit_bytes = rota_region_no_limit;
  ShareJob job({whole});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "retain 0"}), "0 0");
  EXPECT_EQ(user.ask("memory"), "32205 of 32510");
  EXPECT_EQ(user.ask("alloc 32205"), "0");
}

TEST(Shim, AGpuOfOthersIsNoDevice) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "retain 1", "context 1", "retain 0"}), "0 101 101 0");
}

struct Way {
  const char* take;
  const char* give;
};

class ShimWays : public testing::TestWithParam<Way> {};

// However memory is taken, it counts, and counts no longer when it is given back.
TEST_P(ShimWays, TakesAndGivesBack) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  for (const char* prelude : {"memory", "lookup"}) {
    ShareUser user(job, {&job});
    user.ask(prelude);
    const std::string take = std::string(GetParam().take) + " 8000";
    EXPECT_EQ(user.ask_all({"init", "retain 0"}), "0 0");
    EXPECT_EQ(user.ask(take), "0");
    EXPECT_EQ(user.ask("memory"), "7950 of 16255");
    EXPECT_EQ(user.ask(take), "2");
    EXPECT_EQ(user.ask(std::string(GetParam().give)), "0");
    EXPECT_EQ(user.ask("memory"), "15950 of 16255");
    EXPECT_EQ(user.ask(take), "0");
    EXPECT_EQ(node.held_mib(), 8305);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShimWays,
                         testing::Values(Way{"alloc", "free 0"}, Way{"managed", "free 0"},
                                         Way{"async", "free-async 0"}, Way{"async", "free 0"},
                                         Way{"pool", "free-async 0"}, Way{"map", "unmap 0 8000"},
                                         Way{"array", "free-array 0"}, Way{"pitch", "free 0"}));

TEST(Shim, WhatAGraphCapturesIsNotTakenYet) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "retain 0", "capture", "async 8000"}), "0 0 0 0");
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
}

TEST(Shim, AContextTakesItsMemoryAlong) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "context 0", "alloc 8000", "destroy"}), "0 0 0 0");
  EXPECT_EQ(user.ask_all({"retain 0", "retain 0"}), "0 0");
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
  EXPECT_EQ(user.ask_all({"alloc 8000", "release 0", "alloc 7000"}), "0 0 0");
  EXPECT_EQ(user.ask("memory"), "950 of 16255");
  EXPECT_EQ(user.ask_all({"release 0", "retain 0"}), "0 0");
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
}

TEST(Shim, TwoProcessesOfAJobShareItsLimit) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser one(job, {&job}), two(job, {&job});
  EXPECT_EQ(one.ask_all({"init", "retain 0", "alloc 10000"}), "0 0 0");
  EXPECT_EQ(two.ask_all({"init", "retain 0"}), "0 0");
  EXPECT_EQ(two.ask("memory"), "5645 of 16255");
  EXPECT_EQ(two.ask_all({"alloc 6000", "alloc 5000"}), "2 0");
  EXPECT_EQ(two.ask("processes 0"), "0 2");
  // kill -9 gives back what it had, at once.
  one.kill();
  EXPECT_EQ(two.ask("memory"), "10950 of 16255");
  EXPECT_EQ(two.ask("alloc 10950"), "0");
}

TEST(Shim, EightJobsOnAGpuDoNotSeeEachOther) {
  ShareNode node;
  std::vector<std::unique_ptr<ShareJob>> jobs;
  std::vector<ShareJob*> all;
  std::vector<std::unique_ptr<ShareUser>> users;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(std::make_unique<ShareJob>(std::vector{node.share(125'000)}));
    all.push_back(jobs.back().get());
  }
  for (ShareJob* job : all) users.push_back(std::make_unique<ShareUser>(*job, all));
  for (const auto& user : users) {
    EXPECT_EQ(user->ask_all({"init", "retain 0"}), "0 0");
    EXPECT_EQ(user->ask("memory"), "3758 of 4063");
    EXPECT_EQ(user->ask("alloc 3758"), "0");
  }
  for (const auto& user : users) {
    EXPECT_EQ(user->ask("memory"), "0 of 4063");
    EXPECT_EQ(user->ask("nvml 0"), "0 of 4063, 0 of 4063");
    EXPECT_EQ(user->ask("processes 0"), "0 1");
    EXPECT_EQ(user->ask("alloc 1"), "2");
  }
  EXPECT_EQ(node.processes().size(), 8);
  EXPECT_EQ(node.held_mib(), 8 * 4063);
}

TEST(Shim, AForkJoinsAnew) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  // Before the parent has started the driver: both may use it, each for itself.
  EXPECT_EQ(user.ask("nvml 0"), "16255 of 16255, 16255 of 16255");
  EXPECT_EQ(user.ask_all({"fork", "init", "retain 0", "alloc 4000"}), "child 0 0 0");
  EXPECT_EQ(job.door().books().slots_used(), 1);
  EXPECT_EQ(user.ask("memory"), "11950 of 16255");
  EXPECT_EQ(user.ask("exit"), "parent");
  EXPECT_EQ(user.ask_all({"init", "retain 0"}), "0 0");
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
  EXPECT_EQ(user.ask("alloc 4000"), "0");
  // After that, the driver does not serve a child, as ever; and the child frees nothing of ours.
  EXPECT_EQ(user.ask_all({"fork", "init", "free 0", "exit"}), "child 3 3 parent");
  EXPECT_EQ(user.ask("memory"), "11950 of 16255");
  EXPECT_EQ(user.ask_all({"free 0", "alloc 15950"}), "0 0");
}

TEST(Shim, AnExecGivesAllBack) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job}), other(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "retain 0", "alloc 8000"}), "0 0 0");
  EXPECT_EQ(user.ask("exec"), "ready");
  EXPECT_EQ(other.ask_all({"init", "retain 0"}), "0 0");
  // The old image's slot is kept until the driver says that the process holds nothing.
  EXPECT_EQ(other.ask("memory"), "7645 of 16255");
  job.door().books().before_sample();
  job.door().books().sample({node.processes()}, [](std::uint32_t) { return false; });
  EXPECT_EQ(other.ask("memory"), "15950 of 16255");
  // Or until it joins again.
  EXPECT_EQ(user.ask_all({"init", "retain 0", "alloc 8000", "exec"}), "0 0 0 ready");
  EXPECT_EQ(user.ask_all({"init", "retain 0"}), "0 0");
  EXPECT_EQ(other.ask("memory"), "15645 of 16255");
}

// What a pool keeps, nobody has counted; the driver says so, and it is believed the second time.
TEST(Shim, WhatOnlyTheDriverKnowsCountsToo) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  EXPECT_EQ(user.ask_all({"init", "retain 0", "keep", "async 8000", "free-async 0"}), "0 0 0 0 0");
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
  for (const char* memory : {"15950 of 16255", "7950 of 16255"}) {
    job.door().books().before_sample();
    job.door().books().sample({node.processes()}, [](std::uint32_t) { return false; });
    EXPECT_EQ(user.ask("memory"), memory);
  }
  EXPECT_EQ(user.ask_all({"alloc 8000", "alloc 7000"}), "2 0");
}

TEST(Shim, WithoutADaemonThereIsNoGpu) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser early(job, {&job});
  EXPECT_EQ(early.ask_all({"init", "retain 0"}), "0 0");
  job.close_door();
  ShareUser late(job, {&job});
  EXPECT_EQ(late.ask("init"), "802");
  EXPECT_EQ(late.ask("retain 0"), "802");
  EXPECT_EQ(late.ask("alloc 1"), "802");
  EXPECT_EQ(late.ask("nvml 0"), "nvmlInit 27 27 27");
  // Who has joined goes on, within the limit.
  EXPECT_EQ(early.ask_all({"alloc 8000", "alloc 8000"}), "0 2");
}

TEST(Shim, AnOlderDriverHasNoNewerNames) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  job.link(rota_share_real_cuda, TEST_FAKEGPU_DIR "/r470/libcuda.so.1");
  ShareUser user(job, {&job});
  // It lacks cuGetProcAddress_v2, which we have: then it is the first form, hooks and all.
  EXPECT_EQ(user.ask_all({"lookup", "init", "retain 0", "alloc 8000", "alloc 8000"}), "ok 0 0 0 2");
}

// It gives out pointers that it does not export: then the name tells which function it is.
TEST(Shim, ADriverWithOtherPointersIsHookedByName) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  setenv("ROTA_FAKEGPU_OTHER_POINTERS", "1", 1);
  ShareUser user(job, {&job});
  unsetenv("ROTA_FAKEGPU_OTHER_POINTERS");
  EXPECT_EQ(user.ask_all({"lookup", "init", "retain 0", "alloc 8000", "alloc 8000"}), "ok 0 0 0 2");
}

// Eight processes take and free as fast as they can. The driver, which writes down the most that
// was ever in use, has never seen more than the limit; and all of it can be used.
TEST(Shim, EightAtOnceNeverPassTheLimit) {
  constexpr std::uint64_t contexts = 8 * 305, limit = 16255;
  ShareNode node;
  ShareJob job({node.share(500'000)});
  std::vector<std::unique_ptr<ShareUser>> users;
  for (int i = 0; i < 8; ++i) users.push_back(std::make_unique<ShareUser>(job, std::vector{&job}));
  for (const auto& user : users) ASSERT_EQ(user->ask_all({"init", "retain 0"}), "0 0");
  for (const auto& user : users) user->tell("struggle 20000 1000");
  for (const auto& user : users) {
    const std::string answer = user->answer();
    unsigned int taken = 0, refused = 0, odd = 0;
    ASSERT_EQ(sscanf(answer.c_str(), "%u %u %u", &taken, &refused, &odd), 3) << answer;
    EXPECT_GT(taken, 0) << answer;
    EXPECT_GT(refused, 0) << answer;
    EXPECT_EQ(odd, 0) << answer;
  }
  EXPECT_LE(node.high_mib(), limit);
  EXPECT_GT(node.high_mib(), limit - 100);
  EXPECT_EQ(node.held_mib(), contexts);
  EXPECT_EQ(users[0]->ask("memory"), "13815 of 16255");
  EXPECT_EQ(users[0]->ask("alloc 13815"), "0");
}

// Threads share a slot and a ledger; when all is freed, all is free to the byte.
TEST(Shim, EightThreadsKeepTheirBooks) {
  ShareNode node;
  ShareJob job({node.share(500'000)});
  ShareUser user(job, {&job});
  ASSERT_EQ(user.ask_all({"init", "retain 0"}), "0 0");
  const std::string answer = user.ask("crowd 20000 1000");
  unsigned int taken = 0, refused = 0, odd = 0;
  ASSERT_EQ(sscanf(answer.c_str(), "%u %u %u", &taken, &refused, &odd), 3) << answer;
  EXPECT_GT(taken, 0) << answer;
  EXPECT_GT(refused, 0) << answer;
  EXPECT_EQ(odd, 0) << answer;
  EXPECT_LE(node.high_mib(), 16255);
  EXPECT_EQ(user.ask("memory"), "15950 of 16255");
}

}  // namespace
}  // namespace rota::gpud
