// testsuite/unit/sched/quota_test.cpp - guarantees, lending and taking back, in small worlds.
#include <gtest/gtest.h>

#include "common/format.h"
#include "unit/sched/small_world.h"

namespace rota::sched {
namespace {

// The promise itself: what was lent comes back when its owner asks, and no more than that.
TEST(Quota, LentGpusComeBackWhenTheirOwnerAsks) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2; b quota=2",
                   "b1 b on=n0 age=40; b2 b on=n0 age=30; b3 b on=n0 age=20; b4 b on=n0 age=10;"
                   "a1 a gpus=1"),
            "evict b4; promise a1 on n0");
}

TEST(Quota, IdleGpusAreLentByWeight) {
  SmallWorld w("n0 gpus=8; n1 gpus=8; n2 gpus=4", "a quota=4 weight=3; b quota=4 weight=1",
               "a1 a tasks=20 min=1; b1 b tasks=20 min=1");
  w.run();
  EXPECT_EQ(w.shares(), "a 13 of 13; b 7 of 7");
}

// Run:ai's published example: 36 GPUs, 20 of them unused, weights 2:3:1, quotas 5, 6, 5.
TEST(Quota, ThePublishedExampleOfThreeProjects) {
  SmallWorld w("n0 gpus=36", "p1 quota=5 weight=2; p2 quota=6 weight=3; p3 quota=5 weight=1",
               "j1 p1 tasks=36 min=1; j2 p2 tasks=36 min=1; j3 p3 tasks=36 min=1");
  w.run();
  EXPECT_EQ(w.shares().substr(w.shares().find("p2")), "p2 16 of 16; p3 8 of 8");
}

TEST(Quota, AHigherRankIsServedTheSurplusFirst) {
  SmallWorld w("n0 gpus=8", "a quota=2 weight=1; b quota=2 weight=1 rank=200",
               "a1 a tasks=8 min=1; b1 b tasks=8 min=1");
  w.run();
  EXPECT_EQ(w.shares(), "a 2 of 2; b 6 of 6");
}

// Not even the last unit, when those with a weight want no more.
TEST(Quota, AWeightOfZeroHasNoShareOfTheSurplus) {
  SmallWorld w("n0 gpus=4", "a weight=1; z weight=0", "a1 a gpus=1; z1 z tasks=3 min=1");
  w.run();
  EXPECT_EQ(w.shares(), "a 1 of 1; z 3 of 0");
}

// Two each to a and b in whole units; the fifth is c's, who asks for it whole, before the halves
// are settled. Rank still decides who runs first on what is idle.
TEST(Quota, WhatIsCutOffComesAfterAllRanks) {
  SmallWorld w("n0 gpus=5", "a weight=1 rank=200; b weight=1 rank=200; c weight=1",
               "a1 a tasks=8 min=1; b1 b tasks=8 min=1; c1 c gpus=1");
  w.run();
  EXPECT_EQ(w.shares(), "a 3 of 2; b 2 of 2; c 0 of 1");
}

// a wants just its portion of 5, which leaves nothing for another round: b and c had a half cut off
// each, and b is older.
TEST(Quota, AWishThatIsMetExactlyMakesNoOtherRound) {
  SmallWorld w("n0 gpus=5", "a weight=1; b weight=1.5; c weight=2.5",
               "a1 a gpus=1; b1 b tasks=8 min=1; c1 c tasks=8 min=1");
  w.run();
  EXPECT_EQ(w.shares(), "a 1 of 1; b 2 of 2; c 2 of 2");
}

// A guarantee does not depend on rank.
TEST(Quota, RankDoesNotTouchAGuarantee) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4 rank=1; b quota=0 weight=1 rank=200",
                   "b1 b on=n0; b2 b on=n0; b3 b on=n0; b4 b on=n0; a1 a gpus=4"),
            "evict b1; evict b2; evict b3; evict b4; promise a1 on n0");
}

TEST(Quota, ALimitHoldsEvenWhenGpusAreIdle) {
  EXPECT_EQ(decide("n0 gpus=8", "a quota=2 weight=1 limit=3", "a1 a gpus=3; a2 a gpus=1"),
            "start a1 on n0");
}

TEST(Quota, WhatCannotBePreemptedStaysWithinTheQuota) {
  EXPECT_EQ(
      decide("n0 gpus=8", "a quota=2 weight=1", "a1 a gpus=2 firm; a2 a gpus=1 firm; a3 a gpus=4"),
      "start a1 on n0; start a3 on n0");
}

// The department's quota rules over the project's.
TEST(Quota, TheDepartmentsQuotaRulesToo) {
  EXPECT_EQ(
      decide("n0 gpus=8", "d quota=2 weight=1; a quota=4 weight=1 in=d; b quota=4 weight=1 in=d",
             "a1 a gpus=2 firm; b1 b gpus=1 firm; b2 b gpus=1"),
      "start b1 on n0; start b2 on n0");
}

// Nobody takes from a project that holds no more than its guarantee, however much they wait.
TEST(Quota, AGuaranteeIsNotTakenForSomebodysSurplus) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2 weight=1; b quota=2 weight=1",
                   "a1 a on=n0; a2 a on=n0; b1 b on=n0; b2 b on=n0; b3 b gpus=1"),
            "");
}

// The last GPU of the surplus is the older project's: a holds 2 of 2, c 3 of 3.
TEST(Quota, NobodyReclaimsBeyondTheirOwnFairShare) {
  EXPECT_EQ(decide("n0 gpus=5", "c quota=1 weight=1; a quota=1 weight=1",
                   "a1 a on=n0; a2 a on=n0; c1 c on=n0; c2 c on=n0; c3 c on=n0; a3 a gpus=1"),
            "");
}

// The two that are over give in turn: the most over-served first, never the same one twice.
TEST(Quota, TheMostOverServedGivesFirst) {
  EXPECT_EQ(decide("n0 gpus=8", "b quota=2; c quota=2; d quota=4",
                   "b1 b on=n0 gpus=2 age=90; b2 b on=n0 gpus=2 age=80; c1 c on=n0 gpus=2 age=70;"
                   "c2 c on=n0 gpus=2 age=60; d1 d gpus=2; d2 d gpus=2"),
            "evict b2; evict c2; promise d1 on n0; promise d2 on n0");
}

TEST(Preempt, AHigherPriorityOfTheSameProjectTakesTheYoungestOfTheLowest) {
  EXPECT_EQ(decide("n0 gpus=2", "a quota=2",
                   "low a on=n0 priority=40 age=9; mid a on=n0 priority=60; high a priority=80"),
            "evict low; promise high on n0");
}

TEST(Preempt, EqualPriorityTakesNothing) {
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1", "one a on=n0; two a"), "");
}

// Priority is a project's own matter.
TEST(Preempt, PriorityDoesNotCrossProjects) {
  EXPECT_EQ(decide("n0 gpus=2", "a quota=1; b quota=1",
                   "low a on=n0 priority=25; b1 b on=n0 priority=25; high b priority=150"),
            "evict b1; promise high on n0");
}

TEST(Preempt, WhatIsFirmIsNeverTaken) {
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1", "one a on=n0 firm priority=25; two a priority=150"),
            "");
}

// Young jobs are safe until they have run for the time their project keeps them.
TEST(MinimumRuntime, ProtectsFromReclaimAndFromPreemption) {
  const char* jobs = "b1 b on=n0 ran=50; b2 b on=n0 ran=50; a1 a";
  EXPECT_EQ(decide("n0 gpus=2", "a quota=1; b quota=1 keep=60", jobs), "");
  EXPECT_EQ(decide("n0 gpus=2", "a quota=1; b quota=1 keep=40", jobs),
            "evict b2; promise a1 on n0");
  const char* own = "one a on=n0 ran=50; two a priority=90";
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1 keep=60", own), "");
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1 keep=40", own), "evict one; promise two on n0");
}

// A protected elastic job may lose what it has above its minimum, not the minimum itself.
TEST(MinimumRuntime, AnElasticJobKeepsItsMinimum) {
  EXPECT_EQ(decide("n0 gpus=3", "a quota=2; b quota=1 keep=600",
                   "b1 b on=n0,n0,n0 min=2 ran=50; a1 a age=2; a2 a age=1"),
            "evict b1; promise a1 on n0");
}

TEST(Delay, AYoungJobCausesNoEvictionsYet) {
  EXPECT_EQ(
      decide("n0 gpus=1", "a quota=1; b quota=0 weight=1", "b1 b on=n0; a1 a age=10 delay=20"), "");
  EXPECT_EQ(
      decide("n0 gpus=1", "a quota=1; b quota=0 weight=1", "b1 b on=n0; a1 a age=30 delay=20"),
      "evict b1; promise a1 on n0");
}

TEST(Gang, StartsWholeOrNotAtAll) {
  EXPECT_EQ(
      decide("n0 gpus=4; n1 gpus=4", "a quota=8", "blocker a gpus=1 on=n0; gang a gpus=4 tasks=2"),
      "");
  EXPECT_EQ(decide("n0 gpus=4; n1 gpus=4", "a quota=8", "gang a gpus=4 tasks=2"),
            "start gang on n0,n1");
}

// A gang that has to wait for one of its places waits for all of them.
TEST(Gang, NoPartOfItStartsEarly) {
  EXPECT_EQ(decide("n0 gpus=2; n1 gpus=2", "a quota=4; b quota=0 weight=1",
                   "b1 b gpus=2 on=n1; gang a gpus=2 tasks=2"),
            "evict b1; promise gang on n0,n1");
}

TEST(Elastic, GrowsIntoWhatIsIdleAfterOthersHaveStarted) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4", "grows a tasks=4 min=1 age=9; other a gpus=1"),
            "start grows on n0,n0,n0; start other on n0");
}

TEST(Elastic, ShrinksBeforeAnythingIsStopped) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2; b quota=2", "b1 b on=n0,n0,n0,n0 min=1; a1 a gpus=2"),
            "evict b1; promise a1 on n0");
  SmallWorld w("n0 gpus=4", "a quota=2; b quota=2", "b1 b on=n0,n0,n0,n0 min=1; a1 a gpus=2");
  w.run();
  EXPECT_EQ(w.shares(), "a 2 of 2; b 2 of 2");
}

TEST(Consolidate, MovesASmallJobToMakeRoomForALargeOne) {
  EXPECT_EQ(decide("n0 gpus=4; n1 gpus=4", "a quota=8",
                   "s1 a gpus=1 on=n0; s2 a gpus=1 on=n1; large a gpus=4"),
            "move s2 to n0; promise large on n1");
}

TEST(SharedGpu, FractionsFillAGpuBeforeTheyOpenAnother) {
  EXPECT_EQ(decide("n0 gpus=1; n1 gpus=1", "a quota=2",
                   "f1 a share=0.5 on=n1; f2 a share=0.3; f3 a share=0.2; f4 a share=0.1"),
            "start f2 on n1; start f3 on n1; start f4 on n0");
}

TEST(SharedGpu, TakesBackOnlyTheFractionThatIsNeeded) {
  EXPECT_EQ(decide("n0 gpus=1", "a quota=0.5; b quota=0.5",
                   "b1 b share=0.5 on=n0 age=9; b2 b share=0.5 on=n0; a1 a share=0.5"),
            "evict b2; promise a1 on n0");
}

// The minimum lies within the quota, what is above it need not.
TEST(SemiPreemptible, BorrowsOnlyAboveItsMinimum) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2", "s a tasks=4 min=2 semi"), "start s on n0,n0,n0,n0");
  EXPECT_EQ(decide("n0 gpus=4", "a quota=1", "s a tasks=4 min=2 semi"), "");
  EXPECT_EQ(decide("n0 gpus=4", "a quota=1", "s a tasks=4 min=2"), "start s on n0,n0,n0,n0");
  // Of a quota of three it has two; one is left for what cannot be preempted.
  EXPECT_EQ(decide("n0 gpus=8", "a quota=3",
                   "s a on=n0,n0,n0,n0 min=2 semi; f a firm age=2; g a firm age=1"),
            "start f on n0");
}

TEST(SemiPreemptible, LosesWhatIsAboveItsMinimumAndNoMore) {
  SmallWorld w("n0 gpus=4", "a quota=2; b quota=2", "s a on=n0,n0,n0,n0 min=2 semi; b1 b gpus=2");
  EXPECT_EQ(w.run(), "evict s; promise b1 on n0");
  EXPECT_EQ(w.shares(), "a 2 of 2; b 2 of 2");
  const auto loses = [](const char* how) {
    return format("s a on=n0,n0,n0,n0 min=2 {}; high a gpus=3 priority=90", how);
  };
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4", loses("")), "evict s; promise high on n0");
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4", loses("semi")), "");
}

TEST(SemiPreemptible, TakesBackItsQuotaForItsMinimum) {
  const std::string lent =
      "b1 b on=n0 ran=40; b2 b on=n0 ran=30; b3 b on=n0 ran=20; b4 b on=n0 "
      "ran=10; ";
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2; b quota=0 weight=1", lent + "s a tasks=4 min=2 semi"),
            "evict b3; evict b4; promise s on n0,n0");
  EXPECT_EQ(decide("n0 gpus=4", "a quota=1; b quota=0 weight=1", lent + "s a tasks=4 min=2 semi"),
            "");
}

}  // namespace
}  // namespace rota::sched
