// testsuite/unit/sched/history_test.cpp - what was held, as a part of what there was.
#include "sched/history.h"

#include <gtest/gtest.h>

namespace rota::sched {
namespace {

constexpr std::int64_t day = 86'400;

/// A department with two projects, and a project beside it.
struct Tree {
  QuotaTree quotas;
  QuotaIndex department = quotas.add("department", quota_root, {});
  QuotaIndex a = quotas.add("a", department, {});
  QuotaIndex b = quotas.add("b", department, {});
  QuotaIndex c = quotas.add("c", quota_root, {});

  double gpus_of(const History& history, QuotaIndex index, std::int64_t now) {
    history.tell(quotas, now);
    return quotas.at(index).usage[0];
  }
};

Amount gpus(std::int64_t count) { return {{count * one_gpu, 0, 0}}; }

TEST(History, IsAPartOfWhatThereWas) {
  Tree tree;
  History history(7 * day, 0);
  history.add_capacity(gpus(8), 0, 1000);
  history.add(tree.quotas, tree.a, gpus(4), 0, 500);
  history.add(tree.quotas, tree.b, gpus(2), 500, 1000);
  EXPECT_NEAR(tree.gpus_of(history, tree.a, 1000), 0.25, 1e-9);
  EXPECT_NEAR(tree.gpus_of(history, tree.b, 1000), 0.125, 1e-9);
  EXPECT_NEAR(tree.gpus_of(history, tree.department, 1000), 0.375, 1e-9);
  EXPECT_EQ(tree.gpus_of(history, tree.c, 1000), 0);
}

TEST(History, TheWindowSlides) {
  Tree tree;
  History history(7 * day, 0);
  history.add_capacity(gpus(8), 0, 20 * day);
  history.add(tree.quotas, tree.c, gpus(8), 6 * day, 7 * day);
  EXPECT_NEAR(tree.gpus_of(history, tree.c, 7 * day), 1.0 / 7, 0.01);
  EXPECT_NEAR(tree.gpus_of(history, tree.c, 13 * day), 1.0 / 7, 0.01);
  EXPECT_NEAR(tree.gpus_of(history, tree.c, 13 * day + day / 2), 0.5 / 7, 0.01);
  EXPECT_EQ(tree.gpus_of(history, tree.c, 15 * day), 0);
}

/// What began before the clock did, as after a reboot of the controller's host.
TEST(History, TakesWhatWasBeforeTheClock) {
  Tree tree;
  History history(7 * day, 0);
  history.add_capacity(gpus(8), -2 * day, 100);
  history.add(tree.quotas, tree.c, gpus(8), -2 * day, -day);
  EXPECT_NEAR(tree.gpus_of(history, tree.c, 100), 0.5, 0.01);
}

TEST(History, WithAHalfLifeTheOldCountsLess) {
  Tree tree;
  History history(14 * day, day);
  history.add_capacity(gpus(1), 0, 2 * day);
  history.add(tree.quotas, tree.a, gpus(1), 0, day);
  history.add(tree.quotas, tree.b, gpus(1), day, 2 * day);
  // Each moment of the first day counts half of the same moment of the second.
  EXPECT_NEAR(tree.gpus_of(history, tree.a, 2 * day), 1.0 / 3, 0.01);
  EXPECT_NEAR(tree.gpus_of(history, tree.b, 2 * day), 2.0 / 3, 0.01);
}

TEST(History, IsNotThatOfWhoHadThePlaceBefore) {
  Tree tree;
  History history(7 * day, 0);
  history.add_capacity(gpus(1), 0, 1000);
  history.add(tree.quotas, tree.c, gpus(1), 0, 1000);
  tree.quotas.remove(tree.c);
  const QuotaIndex other = tree.quotas.add("other", quota_root, {});
  ASSERT_EQ(other, tree.c);
  EXPECT_EQ(tree.gpus_of(history, other, 1000), 0);
  history.add(tree.quotas, other, gpus(1), 500, 1000);
  EXPECT_NEAR(tree.gpus_of(history, other, 1000), 0.5, 1e-9);
}

}  // namespace
}  // namespace rota::sched
