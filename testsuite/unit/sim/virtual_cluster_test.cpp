// testsuite/unit/sim/virtual_cluster_test.cpp - virtual time: what ends, what starts, what is lost.
#include "sim/virtual_cluster.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "model/org_yaml.h"

namespace rota::sim {
namespace {

/// A cluster whose jobs have the names of one letter, told in seconds.
class Told {
 public:
  explicit Told(std::string_view nodes, std::string_view projects = "projects: {a: {quota: 4}}",
                const VirtualCluster::Options& options = {})
      : cluster_(cluster_of(nodes), *org_parse(projects, "p.yaml"), options) {}

  VirtualCluster& operator*() { return cluster_; }

  JobNumber submit(std::string name, std::uint32_t gpus, std::int64_t seconds,
                   std::string project = "a", std::string user = "") {
    JobSpec spec;
    spec.name = std::move(name);
    spec.project = std::move(project);
    spec.task.gpu_count = gpus;
    spec.time_limit_seconds = seconds;
    return cluster_.submit(std::move(spec), seconds * 1'000, std::move(user));
  }

  /// "0 a+ 0 a> 10 a.": submitted, started, ended; a<N: displaced, with N seconds lost; a!:
  /// cancelled.
  std::string told() const {
    static constexpr std::string_view marks = "+><.!";
    std::string all;
    for (const Happening& each : cluster_.happenings())
      all +=
          format("{}{:g} {}{}{}", all.empty() ? "" : " ", static_cast<double>(each.at) / 1000,
                 cluster_.jobs()[each.job].spec.name, marks[static_cast<std::size_t>(each.what)],
                 each.what == Happening::What::displaced ? std::to_string(each.lost / 1000) : "");
    return all;
  }

 private:
  static ClusterDescription cluster_of(std::string_view nodes) {
    const auto root = yaml_parse(format("nodes: [{}]", nodes), "c.yaml", {});
    return *cluster_read(**root, "c.yaml");
  }

  VirtualCluster cluster_;
};

// u has used the cluster for 20 s when x and y come; v nothing, so y starts before the older x.
TEST(VirtualCluster, UsersOfAProjectTakeTurns) {
  const auto told = [](const std::string& x_of, std::string_view projects) {
    Told cluster("{names: n1, gpus: 4}", projects);
    cluster.submit("w", 4, 20, "a", "u");
    (*cluster).run_until(5'000);
    cluster.submit("x", 4, 10, "a", x_of);
    cluster.submit("y", 4, 10, "a", "v");
    (*cluster).run_out();
    return cluster.told();
  };
  const std::string y_first = "0 w+ 0 w> 5 x+ 5 y+ 20 w. 20 y> 30 y. 30 x> 40 x.";
  const std::string x_first = "0 w+ 0 w> 5 x+ 5 y+ 20 w. 20 x> 30 x. 30 y> 40 y.";
  EXPECT_EQ(told("u", "projects: {a: {quota: 4}}"), y_first);
  EXPECT_EQ(told("t", "projects: {a: {quota: 4}}"), x_first) << "who has used nothing: by age";
  EXPECT_EQ(told("", "projects: {a: {quota: 4}}"), x_first) << "nobody in particular";
}

// What u used is forgotten by half every second, what v used is not yet: u is first again.
TEST(VirtualCluster, WhatUsersUsedIsForgotten) {
  const auto told = [](std::string_view half_life) {
    Told cluster("{names: n1, gpus: 4}",
                 format("projects: {{a: {{quota: 4, half_life: {}}}}}", half_life));
    cluster.submit("w", 4, 100, "a", "u");
    cluster.submit("x", 4, 10, "a", "v");
    (*cluster).run_until(101'000);
    cluster.submit("y", 4, 10, "a", "v");
    cluster.submit("z", 4, 10, "a", "u");
    (*cluster).run_out();
    return cluster.told();
  };
  EXPECT_EQ(told("0s"),
            "0 w+ 0 x+ 0 w> 100 w. 100 x> 101 y+ 101 z+ 110 x. 110 y> 120 y. 120 z> 130 z.");
  EXPECT_EQ(told("1s"),
            "0 w+ 0 x+ 0 w> 100 w. 100 x> 101 y+ 101 z+ 110 x. 110 z> 120 z. 120 y> 130 y.");
}

TEST(VirtualCluster, RunsOneAfterTheOther) {
  Told cluster("{names: n1, gpus: 4}");
  cluster.submit("a", 4, 10);
  cluster.submit("b", 4, 5);
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+ 0 b+ 0 a> 10 a. 10 b> 15 b.");
  EXPECT_EQ((*cluster).now(), 15'000);
}

// The job that comes as another ends gets its place: both are known before the pass.
TEST(VirtualCluster, AllOfOneMomentIsOnePass) {
  Told cluster("{names: n1, gpus: 4}", "projects: {a: {quota: 0}, b: {quota: 4}}");
  cluster.submit("a", 4, 10);
  (*cluster).run_until(5'000);
  cluster.submit("c", 4, 1);
  (*cluster).run_until(10'000);
  EXPECT_EQ(cluster.told(), "0 a+ 0 a> 5 c+ 10 a.") << "ended, and nothing decided yet";
  cluster.submit("b", 4, 1, "b");
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+ 0 a> 5 c+ 10 a. 10 b+ 10 b> 11 b. 11 c> 12 c.");
}

// b has a right to the GPUs; a starts over when b has ended.
TEST(VirtualCluster, ADisplacedJobStartsOver) {
  Told cluster("{names: n1, gpus: 4}", "projects: {a: {quota: 0}, b: {quota: 4}}");
  cluster.submit("a", 4, 100);
  (*cluster).run_until(70'000);
  cluster.submit("b", 4, 10, "b");
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+ 0 a> 70 b+ 70 a<70 70 b> 80 b. 80 a> 180 a.");
}

TEST(VirtualCluster, ACheckpointKeepsWork) {
  Told cluster("{names: n1, gpus: 4}", "projects: {a: {quota: 0}, b: {quota: 4}}",
               {.checkpoint = 30'000});
  cluster.submit("a", 4, 100);
  (*cluster).run_until(70'000);
  cluster.submit("b", 4, 10, "b");
  (*cluster).run_until(100'000);  // a has run for 20 s more: 80 of its 100
  cluster.submit("c", 4, 10, "b");
  (*cluster).run_out();
  EXPECT_EQ(
      cluster.told(),
      "0 a+ 0 a> 70 b+ 70 a<10 70 b> 80 b. 80 a> 100 c+ 100 a<20 100 c> 110 c. 110 a> 150 a.");
}

TEST(VirtualCluster, CancelsWhatWaitsAndWhatRuns) {
  Told cluster("{names: n1, gpus: 4}");
  const JobNumber a = cluster.submit("a", 4, 100);
  const JobNumber b = cluster.submit("b", 4, 100);
  cluster.submit("c", 4, 5);
  (*cluster).run_until(10'000);
  EXPECT_TRUE((*cluster).cancel(b));
  EXPECT_TRUE((*cluster).cancel(a));
  EXPECT_FALSE((*cluster).cancel(a)) << "it has ended";
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+ 0 b+ 0 c+ 0 a> 10 b! 10 a! 10 c> 15 c.");
}

TEST(VirtualCluster, WhatCannotStartWaitsForEver) {
  Told cluster("{names: n1, gpus: 4}", "projects: {a: {quota: 0, over_quota: off}}");
  const JobNumber a = cluster.submit("a", 1, 1);
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+");
  EXPECT_NE((*cluster).wait_text(a).find("its limit is 0 GPUs"), std::string::npos)
      << (*cluster).wait_text(a);
}

// Time alone lets b take what it has a right to.
TEST(VirtualCluster, LooksAgainWhenADelayIsOver) {
  Told cluster("{names: n1, gpus: 4}",
               "projects: {a: {quota: 0}, b: {quota: 4, preemption_delay: 30s}}");
  cluster.submit("a", 4, 100);
  (*cluster).run_until(10'000);
  cluster.submit("b", 4, 1, "b");
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+ 0 a> 10 b+ 40 a<40 40 b> 41 b. 41 a> 141 a.");
}

TEST(VirtualCluster, AJobOfNoTimeEndsAtOnce) {
  Told cluster("{names: n1, gpus: 4}");
  cluster.submit("a", 4, 0);
  cluster.submit("b", 4, 0);
  (*cluster).run_out();
  EXPECT_EQ(cluster.told(), "0 a+ 0 b+ 0 a> 0 a. 0 b> 0 b.");
}

}  // namespace
}  // namespace rota::sim
