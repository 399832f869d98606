// testsuite/unit/sched/background_test.cpp - jobs that only fill gaps.
#include <gtest/gtest.h>

#include "unit/sched/small_world.h"

namespace rota::sched {
namespace {

TEST(Background, FillsWhatNobodyWants) {
  SmallWorld w("n0 gpus=4", "a weight=1 limit=2", "g a gpus=2 background priority=90; j a gpus=2");
  EXPECT_EQ(w.run(), "start g on n0; start j on n0");
  EXPECT_EQ(w.shares(), "a 2 of 2") << "it is charged to nobody, and no limit stops it";
  // Whatever its priority, the others come first.
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4", "g a gpus=4 background priority=90; j a gpus=2"),
            "start j on n0");
}

TEST(Background, GivesWayToEverybody) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4; b quota=0 weight=1",
                   "g a on=n0 gpus=4 background; j b gpus=3"),
            "evict g; promise j on n0");
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2", "g a on=n0 gpus=4 background; j a gpus=2 firm"),
            "evict g; promise j on n0");
  EXPECT_EQ(decide("n0 gpus=4", "a quota=2", "g a on=n0 gpus=4 background; j a share=0.5"),
            "evict g; promise j on n0");
  // A minimum runtime is for those who are planned with.
  EXPECT_EQ(decide("n0 gpus=4", "a quota=4 keep=600; b quota=0 weight=1",
                   "g a on=n0 gpus=4 ran=5 background; j b gpus=3"),
            "evict g; promise j on n0");
}

TEST(Background, IsLeftAloneWhereItIsInNobodysWay) {
  EXPECT_EQ(decide("n0 gpus=4; n1 gpus=4", "a quota=4; b quota=0 weight=1",
                   "g a on=n0 gpus=4 background; j b gpus=4"),
            "start j on n1");
  // The last that came goes, and only as many as needed.
  EXPECT_EQ(decide("n0 gpus=2", "a quota=2", "g a on=n0 background; h a on=n0 background; j a"),
            "evict h; promise j on n0");
  // What stops at a limit takes nobody's place.
  EXPECT_EQ(decide("n0 gpus=4", "a limit=1", "g a on=n0 gpus=4 background; j a gpus=2"), "");
}

TEST(Background, AGangGoesAsAWhole) {
  SmallWorld w("n0 gpus=1; n1 gpus=1", "a quota=2", "g a on=n0,n1 background; j a");
  EXPECT_EQ(w.run(), "evict g; promise j on n0");
  for (const Task& task : w.world().job(0).tasks) EXPECT_EQ(task.state, TaskState::leaving);
}

// Nobody else is evicted for a place that a job in the background has.
TEST(Background, GoesBeforeAnyVictim) {
  EXPECT_EQ(decide("n0 gpus=2; n1 gpus=2", "a quota=2; b quota=0 weight=1",
                   "b1 b on=n0 gpus=2; g b on=n1 gpus=2 background; j a gpus=2"),
            "evict g; promise j on n1");
}

// What is free is promised to a gang that waits for more.
TEST(Background, KeepsOffWhatIsPromised) {
  EXPECT_EQ(decide("n0 gpus=4; n1 gpus=4", "a quota=8; b quota=0 weight=1; c quota=0 weight=1",
                   "b1 b on=n1 gpus=4; gang a tasks=2 gpus=4; g c gpus=4 background"),
            "evict b1; promise gang on n0,n1");
}

TEST(Background, GrowsAsFarAsThereIsRoom) {
  EXPECT_EQ(decide("n0 gpus=4", "a quota=1", "g a tasks=6 min=2 background; j a"),
            "start g on n0,n0,n0; start j on n0");
}

TEST(Background, TakesPartsOfGpusToo) {
  // Beside one that has to be waited for would be no gap: the other GPU is free now.
  EXPECT_EQ(
      decide("n0 gpus=2", "a quota=2",
             "a1 a share=0.5 on=n0; g a share=0.5 on=n0 background; h a share=0.5 background"),
      "start h on n0");
  // Without a fresh one it goes beside others.
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1", "a1 a share=0.5 on=n0; h a share=0.5 background"),
            "start h on n0");
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1",
                   "a1 a share=0.5 on=n0; g a share=0.5 on=n0 background; j a share=0.5"),
            "evict g; promise j on n0");
  // There is room for all three.
  EXPECT_EQ(decide("n0 gpus=1", "a quota=1",
                   "a1 a share=0.5 on=n0; g a share=0.25 on=n0 background; j a share=0.25"),
            "start j on n0");
}

// The part of a GPU is there, beside others; what is missing is a CPU.
TEST(Background, GivesCpusBackToo) {
  EXPECT_EQ(decide("n0 gpus=1 cpus=2", "a quota=1",
                   "a1 a share=0.5 on=n0; g a gpus=0 on=n0 background; j a share=0.25"),
            "evict g; promise j on n0");
}

}  // namespace
}  // namespace rota::sched
