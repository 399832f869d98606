// testsuite/unit/sched/images_test.cpp - nodes that have a job's image come first among equals, and
// only there.
#include <gtest/gtest.h>

#include <map>

#include "common/format.h"
#include "sched/image_book.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

std::string text_of(const NodeList* nodes) {
  return nodes == nullptr ? "nobody" : format("{}", fmt::join(*nodes, " "));
}

TEST(ImageBook, KnowsWhoHasWhat) {
  ImageBook book;
  EXPECT_EQ(book.join(""), 0u);
  const auto torch = book.join("torch");
  EXPECT_EQ(text_of(book.nodes_with(torch)), "nobody");
  book.set_node(7, {"torch", "jax", "torch"});
  book.set_node(3, {"torch"});
  EXPECT_EQ(text_of(book.nodes_with(torch)), "3 7");
  EXPECT_EQ(text_of(book.nodes_with(book.join("jax"))), "7");
  book.set_node(7, {"jax"});
  EXPECT_EQ(text_of(book.nodes_with(torch)), "3");
  EXPECT_EQ(text_of(book.nodes_with(0)), "nobody");
}

TEST(ImageBook, ForgetsWhatNobodyNamesOrHas) {
  ImageBook book;
  const auto torch = book.join("torch");
  EXPECT_EQ(book.join("torch"), torch);
  book.set_node(1, {"torch", "jax"});
  book.leave(torch);
  book.leave(torch);
  EXPECT_EQ(book.size(), 2u) << "the node has them";
  book.set_node(1, {});
  EXPECT_EQ(book.size(), 0u);
  const auto again = book.join("tf");
  EXPECT_EQ(text_of(book.nodes_with(again)), "nobody") << "a number that is used again";
  book.leave(0);
}

/// Nodes n0, n1 ... of four GPUs each.
class Cluster {
 public:
  explicit Cluster(std::uint32_t nodes, const Policy& policy = live_policy()) : scheduler(policy) {
    Org org;
    Queue& wide = org.queues.emplace_back();
    wide.name = "wide";
    wide.placement = QueuePlacement::spread;
    normalize(org);
    scheduler.set_org(org);
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      NodeInventory inventory;
      inventory.cpu_count = 64;
      inventory.memory_bytes = 1000;
      inventory.gpus.resize(4);
      for (Gpu& gpu : inventory.gpus) gpu.memory_bytes = std::uint64_t{32} << 30;
      scheduler.put_node(NodeId{id}, format("n{}", id - 1), inventory, std::vector<bool>(4), true);
    }
  }
  void has(std::uint32_t node, const std::vector<std::string>& images) {
    scheduler.set_images(NodeId{node + 1}, images);
  }
  Job& submit(const std::string& image, std::uint32_t gpus, std::uint32_t nodes = 0,
              std::int64_t limit = 0, std::uint32_t tasks = 1) {
    Job& job = jobs[JobId{jobs.size() + 1}];
    job.id = JobId{jobs.size()};
    job.spec.task.gpu_count = gpus;
    job.spec.task_count = nodes == 0 ? tasks : nodes;
    job.spec.node_count = nodes;
    job.spec.time_limit_seconds = limit;
    job.spec.image = image;
    job.spec.queue = queue;
    scheduler.add_waiting(job, now);
    return job;
  }
  /// "1 on n0 n1; 2 on n3".
  std::string plan() {
    last = scheduler.plan(now);
    std::string text;
    for (const Start& start : last.starts) {
      jobs.at(start.job).last.edit().placement = start.placement;
      text += format("{}{} on", text.empty() ? "" : "; ", start.job.value);
      for (const NodePart& part : start.placement) text += format(" n{}", part.node.value - 1);
    }
    return text;
  }
  /// "2 at n0 n1": where jobs with images that wait are to run.
  std::string expected() const {
    std::string text;
    for (const Expected& each : last.expected) {
      text += format("{}{} at", text.empty() ? "" : "; ", each.job.value);
      for (const NodeId node : each.nodes) text += format(" n{}", node.value - 1);
    }
    return text;
  }
  void end(std::uint64_t id) {
    for (const NodePart& part : jobs.at(JobId{id}).last->placement)
      scheduler.release(JobId{id}, part.node);
    scheduler.remove(JobId{id});
  }

  Scheduler scheduler;
  std::map<JobId, Job> jobs;
  Plan last;
  std::int64_t now = 0;
  std::string queue;
};

TEST(ImagePreference, AmongEqualNodesTheOneThatHasIt) {
  Cluster c(4);
  c.has(2, {"torch"});
  c.submit("", 4);
  c.submit("torch", 4);
  c.submit("jax", 4);
  EXPECT_EQ(c.plan(), "1 on n0; 2 on n2; 3 on n1");
}

TEST(ImagePreference, NeverBeforeATighterFit) {
  Cluster c(4);
  c.has(2, {"torch"});
  c.submit("", 2);
  EXPECT_EQ(c.plan(), "1 on n0");
  c.submit("torch", 2);
  EXPECT_EQ(c.plan(), "2 on n0") << "n0 is half full: whole nodes stay whole";
  c.submit("torch", 2);
  EXPECT_EQ(c.plan(), "3 on n2");
}

TEST(ImagePreference, WhatIsGoneIsNotPreferred) {
  Cluster c(3);
  c.has(2, {"torch"});
  c.has(2, {});
  c.submit("torch", 4);
  EXPECT_EQ(c.plan(), "1 on n0");
}

TEST(ImagePreference, OfEveryTaskOfAGang) {
  Cluster c(5);
  c.has(1, {"torch"});
  c.has(4, {"torch"});
  c.submit("torch", 4, 3);
  EXPECT_EQ(c.plan(), "1 on n1 n4 n0");
}

TEST(ImagePreference, OfTasksOnFewNodes) {
  Cluster c(4);
  c.has(2, {"torch"});
  c.submit("torch", 1, 0, 0, 4);
  EXPECT_EQ(c.plan(), "1 on n2");
}

TEST(ImagePreference, WhereJobsAreSpread) {
  Cluster c(4);
  c.queue = "wide";
  c.has(3, {"torch"});
  c.submit("torch", 1);
  EXPECT_EQ(c.plan(), "1 on n3");
  c.submit("torch", 1);
  EXPECT_EQ(c.plan(), "2 on n0") << "n3 is not as empty any more";
}

TEST(ImagePreference, OfPartsOfGpusAndOfNone) {
  Cluster c(4);
  c.has(2, {"torch"});
  Job& part = c.submit("torch", 1);
  c.scheduler.remove(part.id);
  part.spec.task.gpu_share = 500'000;
  c.scheduler.add_waiting(part, 0);
  EXPECT_EQ(c.plan(), "1 on n2");
  c.has(3, {"jax"});
  c.submit("jax", 0);
  EXPECT_EQ(c.plan(), "2 on n2") << "jobs without GPUs spare free ones";
}

TEST(ImagePreference, WhereTheLeastIsLost) {
  Policy policy = live_policy();
  policy.least_loss = true;
  Cluster c(4, policy);
  c.has(2, {"torch"});
  c.submit("torch", 2);
  EXPECT_EQ(c.plan(), "1 on n2");
  c.has(3, {"jax"});
  c.submit("jax", 2);
  EXPECT_EQ(c.plan(), "2 on n3") << "it would have been n0, which is like n3";
  c.has(0, {"tf"});
  c.submit("tf", 4);
  EXPECT_EQ(c.plan(), "3 on n0");
}

// Only so many nodes with an image are looked at; that must not cost the place itself.
TEST(ImagePreference, ManyFullNodesThatHaveIt) {
  Cluster c(400);
  c.submit("", 4, 300);
  c.plan();
  for (std::uint32_t node = 0; node < 300; ++node) c.has(node, {"torch"});
  c.has(350, {"torch"});
  c.submit("torch", 4);
  EXPECT_EQ(c.plan(), "2 on n350") << "those before the first free one are not looked at";
}

TEST(ImageExpected, WhereAPlaceIsKeptInTime) {
  Cluster c(2);
  c.submit("torch", 4, 2, 600);
  EXPECT_EQ(c.plan(), "1 on n0 n1");
  EXPECT_EQ(c.expected(), "");
  c.submit("jax", 4, 2, 600);
  c.submit("", 4, 1, 600);
  EXPECT_EQ(c.plan(), "");
  EXPECT_EQ(c.expected(), "2 at n0 n1") << "a job without an image has nothing to fetch";
  c.end(1);
  EXPECT_EQ(c.plan(), "2 on n0 n1");
  EXPECT_EQ(c.expected(), "");
}

TEST(ImageExpected, WhereOthersAreLeaving) {
  Policy policy = live_policy();
  policy.reservations_max = 0;
  Cluster c(2, policy);
  c.submit("", 4, 2, 600);
  EXPECT_EQ(c.plan(), "1 on n0 n1");
  c.scheduler.set_ending(JobId{1});
  c.submit("torch", 4);
  EXPECT_EQ(c.plan(), "");
  EXPECT_EQ(c.expected(), "2 at n0");
}

TEST(ImageExpected, APlaceIsKeptWhereTheImageIs) {
  Cluster c(3);
  c.submit("", 4, 3, 600);
  EXPECT_EQ(c.plan(), "1 on n0 n1 n2");
  c.has(1, {"torch"});
  c.submit("torch", 4, 1, 600);
  c.plan();
  EXPECT_EQ(c.expected(), "2 at n1");
}

}  // namespace
}  // namespace rota::sched
