// testsuite/unit/sched/node_rules_test.cpp - rules about nodes become sets, and sets follow.
#include "sched/node_rules.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "common/hostlist.h"

namespace rota::sched {
namespace {

std::vector<std::string> names(const char* hosts) { return *hostlist_expand(hosts); }

/// Five nodes: two of each GPU type, one without GPUs; three groups, one of them for later.
struct Fixture {
  Fixture() {
    put(0, "n0", "v100-sxm2-32gb");
    put(1, "n1", "v100-sxm2-32gb");
    put(2, "n2", "a100-sxm4-40gb");
    put(3, "n3", "a100-sxm4-80gb");
    put(4, "n4", "cpu");
  }
  void put(NodeIndex index, const std::string& name, const std::string& type) {
    rules.put_node(index, name, type);
  }
  void project(const std::string& name, std::vector<std::string> types,
               std::vector<std::string> groups = {}, JobKind kind = JobKind::train) {
    Project made;
    made.name = name;
    made.kinds.push_back({kind, std::move(types), std::move(groups)});
    org.projects.push_back(made);
    rules.set_org(org);
  }
  void queue(const std::string& name, const std::string& group) {
    Queue made;
    made.name = name;
    made.node_group = group;
    org.queues.push_back(made);
    rules.set_org(org);
  }
  static JobSpec job(const std::string& project, NodeWish wish = {}, const std::string& queue = "",
                     JobKind kind = JobKind::train) {
    JobSpec spec;
    spec.project = project;
    spec.queue = queue;
    spec.kind = kind;
    if (!wish.empty()) spec.nodes.edit() = wish;
    return spec;
  }
  /// "0,1", "none" or "all".
  std::string set(const JobSpec& spec) {
    const NodeSet set = rules.set_of(spec);
    if (set.nodes == nullptr) return "all";
    return set.nodes->empty() ? "none" : format("{}", fmt::join(*set.nodes, ","));
  }
  std::string wish(const NodeWish& wish) { return set(job("default", wish)); }
  std::string refused(const NodeWish& wish) {
    const auto good = rules.check(wish);
    return good ? "taken" : good.error().detail;
  }

  Org org;
  NodeRules rules{{{"Lab", names("n[0-2]")}, {"dgx", names("n[2-3]")}, {"later", names("n9")}}};
};

TEST(NodeRules, NothingSaidMeansAllNodes) {
  Fixture f;
  EXPECT_EQ(f.set(f.job("default")), "all");
  EXPECT_EQ(f.rules.set_of(f.job("default")).id, 0u);
}

TEST(NodeRules, TypesAndGroupsOfAProjectCountByKind) {
  Fixture f;
  f.project("typed", {"Tesla V100-SXM2-32GB"});
  f.project("short", {"A100"});
  f.project("grouped", {}, {"LAB", "dgx"});
  f.project("both", {"a100", "v100"}, {"dgx"});
  f.project("talkers", {"cpu"}, {}, JobKind::interactive);
  f.project("typo", {"v10"}, {"lab"});
  EXPECT_EQ(f.set(f.job("typed")), "0,1");
  EXPECT_EQ(f.set(f.job("short")), "2,3");
  EXPECT_EQ(f.set(f.job("grouped")), "0,1,2,3");
  EXPECT_EQ(f.set(f.job("both")), "2,3");
  EXPECT_EQ(f.set(f.job("talkers")), "all");
  EXPECT_EQ(f.set(f.job("talkers", {}, "", JobKind::interactive)), "4");
  EXPECT_EQ(f.set(f.job("typo")), "none");
}

TEST(NodeRules, AQueuesGroupComesOnTop) {
  Fixture f;
  f.project("grouped", {}, {"lab"});
  f.queue("big", "dgx");
  f.queue("nowhere", "gone");
  EXPECT_EQ(f.set(f.job("default", {}, "big")), "2,3");
  EXPECT_EQ(f.set(f.job("grouped", {}, "big")), "2");
  EXPECT_EQ(f.set(f.job("grouped", {}, "nowhere")), "none");
  EXPECT_EQ(f.rules.rule_of(f.job("grouped", {"n1", "", ""}, "big")).text(),
            "in group lab in its queue's group dgx of n1");
}

TEST(NodeRules, WhatAJobAsksItself) {
  Fixture f;
  EXPECT_EQ(f.wish({"n[1-2],n9", "", ""}), "1,2");
  EXPECT_EQ(f.wish({"", "n[1-2]", ""}), "0,3,4");
  EXPECT_EQ(f.wish({"n[0-3]", "n1", "v100"}), "0");
  EXPECT_EQ(f.wish({"", "", "a100|cpu"}), "2,3,4");
  EXPECT_EQ(f.wish({"", "", "lab&a100"}), "2");
  EXPECT_EQ(f.wish({"", "", "cpu|v100,Lab"}), "0,1");
  EXPECT_EQ(f.wish({"", "", "a100-sxm4-80gb&v100"}), "none");
}

TEST(NodeRules, JobsWithOneRuleShareOneSet) {
  Fixture f;
  f.project("a", {"v100"});
  f.project("b", {"v100"});
  const NodeSet first = f.rules.set_of(f.job("a"));
  EXPECT_EQ(first.nodes, f.rules.set_of(f.job("b")).nodes);
  EXPECT_EQ(first.id, f.rules.set_of(f.job("b")).id);
}

// Sets are changed where they are: a job that waits need not be told.
TEST(NodeRules, SetsFollowTheNodes) {
  Fixture f;
  f.project("a", {"v100"});
  const auto typed = f.rules.set_of(f.job("a")).nodes;
  const auto later = f.rules.set_of(f.job("default", {"", "", "later"})).nodes;
  f.put(5, "n9", "v100-pcie-16gb");
  EXPECT_EQ(*typed, (NodeList{0, 1, 5}));
  EXPECT_EQ(*later, NodeList{5});
  f.put(0, "n0", "l4");  // it came back with other GPUs
  EXPECT_EQ(*typed, (NodeList{1, 5}));
  f.put(0, "n0", "v100-sxm2-32gb");
  EXPECT_EQ(*typed, (NodeList{0, 1, 5}));
}

TEST(NodeRules, SaysWhenTheOrganisationsRulesChange) {
  Fixture f;
  f.project("a", {"v100"});
  EXPECT_FALSE(f.rules.set_org(f.org));
  f.org.projects.emplace_back().name = "free";
  EXPECT_FALSE(f.rules.set_org(f.org));
  f.org.projects[0].kinds[0].node_types = {"a100"};
  EXPECT_TRUE(f.rules.set_org(f.org));
  EXPECT_EQ(f.set(f.job("a")), "2,3");
  f.org.projects.clear();
  EXPECT_TRUE(f.rules.set_org(f.org));
}

TEST(NodeRules, UnknownNamesAreRefusedWithTheNearest) {
  Fixture f;
  EXPECT_EQ(f.refused({"n[0-4],n9", "n9", "lab|later&A100"}), "taken");
  EXPECT_EQ(f.refused({"n0,n44", "", ""}), "'n44' in the list of nodes; did you mean 'n4'?");
  EXPECT_EQ(f.refused({"", "quark", ""}),
            "'quark' in the list of nodes to leave out; known are n0, n1, n2, n3, n4");
  EXPECT_EQ(f.refused({"", "", "a100|labb"}),
            "'labb' is no type and no group of nodes; did you mean 'Lab'?");
  EXPECT_EQ(f.refused({"", "", "quark"}),
            "'quark' is no type and no group of nodes; known are dgx, Lab, later, "
            "a100-sxm4-40gb, a100-sxm4-80gb, cpu, v100-sxm2-32gb");
  const NodeRules empty({});
  EXPECT_TRUE(empty.check({"n1", "", "x"}));  // nobody knows anything yet
}

// Each list may be as long as the cluster: whoever asks for another one every time is stopped.
TEST(NodeRules, TooManyDifferentWishesAreRefused) {
  Fixture f;
  for (NodeIndex i = 5; i < 5000; ++i) f.put(i, format("n{}", i), "cpu");
  std::vector<NodeSet> used;
  for (int i = 0; i < 4096; ++i) {
    ASSERT_EQ(f.refused({.only = format("n{}", i)}), "taken");
    used.push_back(f.rules.set_of(Fixture::job("default", {.only = format("n{}", i)})));
  }
  EXPECT_EQ(f.refused({.only = "n4999"}),
            "jobs with 4096 different wishes for nodes have not ended; ask for a type or group of "
            "nodes, or for what others ask for");
  EXPECT_EQ(f.refused({.only = "n7"}), "taken");
  EXPECT_EQ(f.refused({}), "taken");
  used.pop_back();
  EXPECT_EQ(f.refused({.only = "n4999"}), "taken");
}

TEST(NodeRules, WarnsOfGroupsThatAreNotThere) {
  Fixture f;
  f.project("a", {}, {"lab", "dgxx"}, JobKind::inference);
  f.queue("q", "quark");
  EXPECT_EQ(fmt::format("{}", fmt::join(f.rules.warnings_of(f.org), "\n")),
            "project 'a', inference_node_groups: rota.yaml has no node group 'dgxx', so its jobs "
            "wait; did you mean 'dgx'?\n"
            "queue 'q', node_group: rota.yaml has no node group 'quark', so its jobs wait; known "
            "are dgx, Lab, later");
}

TEST(NodeRules, UnusedSetsAreForgotten) {
  Fixture f;
  const NodeSet kept = f.rules.set_of(f.job("default", {"n1", "", ""}));
  for (int i = 0; i < 1000; ++i) f.wish({"n1", format("x{}", i), ""});
  EXPECT_EQ(f.rules.set_of(f.job("default", {"n1", "", ""})).id, kept.id);
  EXPECT_GT(f.rules.set_of(f.job("default", {"n1", "x0", ""})).id, 1000u);
}

}  // namespace
}  // namespace rota::sched
