// testsuite/unit/gpud/mig_plan_test.cpp - from what is on a GPU to what should be, as text.
#include <gtest/gtest.h>

#include <sstream>

#include "gpud/mig/minors.h"
#include "gpud/mig/plan.h"

namespace rota::gpud {
namespace {

/// "on 2=9@4:4+0 11=19@0:1": the mode, then instances: number = profile @ place + compute ones.
MigSeen seen_of(const std::string& text) {
  MigSeen seen;
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    if (word == "on") seen.is_on = true;
    MigInstance instance;
    unsigned int compute = 0;
    const int count = std::sscanf(word.c_str(), "%u=%u@%u:%u+%u", &instance.id,
                                  &instance.profile_id, &instance.start, &instance.size, &compute);
    if (count == 5) instance.computes.push_back({compute, "MIG-x"});
    if (count >= 4) seen.instances.push_back(instance);
  }
  return seen;
}

/// "9@4:4 19@0:1 made 5@0:4 leaving"
MigWish wish_of(const std::string& text) {
  MigWish wish;
  wish.switches = true;
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    MigEntry entry;
    if (word == "made") wish.entries.back().is_made = true;
    if (word == "leaving") wish.entries.back().is_leaving = true;
    if (word == "reset") wish.switches = false;
    if (word == "off") wish.off_wanted = true;
    if (std::sscanf(word.c_str(), "%u@%u:%u", &entry.profile_id, &entry.start, &entry.size) == 3)
      wish.entries.push_back(entry);
  }
  return wish;
}

std::string plan(const std::string& seen, const std::string& wished) {
  const MigWish wish = wish_of(wished);
  return mig_steps_text(plan_mig(seen_of(seen), wish), wish);
}

TEST(MigPlan, MakesWhatIsMissing) {
  EXPECT_EQ(plan("on", "9@4:4"), "make 9@4, compute");
  EXPECT_EQ(plan("on 2=9@4:4+0", "9@4:4 made 19@0:1"), "make 19@0, compute");
  EXPECT_EQ(plan("on 2=9@4:4+0", "9@4:4 made"), "");
}

TEST(MigPlan, TurnsTheModeOnOnce) {
  EXPECT_EQ(plan("", "9@4:4 19@0:1"), "on, make 9@4, compute, make 19@0, compute");
  EXPECT_EQ(plan("", "reset 9@4:4"),
            "no: it is not in MIG mode, and only a reset by the administrator changes that");
}

// What goes goes first: it may lie where the new one comes.
TEST(MigPlan, EndsBeforeItMakes) {
  EXPECT_EQ(plan("on 2=9@4:4+0", "9@4:4 leaving 14@4:2"), "end 2.0, end 2, make 14@4, compute");
  EXPECT_EQ(plan("on 2=9@4:4+0", "9@4:4 leaving 9@4:4"), "end 2.0, end 2, make 9@4, compute");
}

TEST(MigPlan, GoesOnWhereItWasCutShort) {
  EXPECT_EQ(plan("on 2=9@4:4", "9@4:4"), "compute") << "made, but nothing in it yet";
  EXPECT_EQ(plan("on 2=9@4:4", "9@4:4 leaving"), "end 2") << "its compute instance has gone";
  EXPECT_EQ(plan("on", "9@4:4 leaving"), "") << "it has gone";
}

TEST(MigPlan, LeavesWhatARunHas) {
  EXPECT_EQ(plan("on 2=9@4:4+0", "9@4:4 leaving 9@4:4 made"), "")
      << "the one that leaves has gone before";
}

TEST(MigPlan, NeverTouchesStrangers) {
  EXPECT_EQ(plan("on 2=9@4:4+0", "14@4:2"), "no: instance 2 lies at 4:4, and is not ours");
  EXPECT_EQ(plan("on 2=9@4:4+0", "14@4:2 9@4:4 made"),
            "no: instance 2 lies at 4:4, and another job has it");
  EXPECT_EQ(plan("on 2=9@4:4+0", "19@0:1 leaving off"), "");
}

TEST(MigPlan, TurnsTheModeOffWhenNothingIsLeft) {
  EXPECT_EQ(plan("on", "off"), "off");
  EXPECT_EQ(plan("on 2=9@4:4+0", "9@4:4 leaving off"), "end 2.0, end 2, off");
  EXPECT_EQ(plan("on", "reset off"), "");
  EXPECT_EQ(plan("", "off"), "");
  EXPECT_EQ(plan("on 1=9@0:4+0", "off"), "") << "a stranger's";
}

TEST(MigMinors, AreTheDrivers) {
  const MigMinors minors(
      "config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\n"
      "gpu1/gi11/access 237\ngpu1/gi11/ci0/access 238\nnonsense\n",
      "Character devices:\n195 nvidia\n 99 other\n236 nvidia-caps\n");
  EXPECT_EQ(minors.major(), 236u);
  EXPECT_EQ(minors.of_instance(0, 0), 3u);
  EXPECT_EQ(minors.of_compute(1, 11, 0), 238u);
  EXPECT_EQ(minors.of_instance(1, 0), std::nullopt);
  EXPECT_EQ(minors.of_compute(1, 11, 1), std::nullopt);
  EXPECT_EQ(minors.all({1}), (std::vector<std::uint32_t>{1, 2, 237, 238}));
  EXPECT_EQ(MigMinors("gpu0/gi0/access 3\n", "195 nvidia\n").major(), 0u);
}

}  // namespace
}  // namespace rota::gpud
