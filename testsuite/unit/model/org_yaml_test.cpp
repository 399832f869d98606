// testsuite/unit/model/org_yaml_test.cpp - projects.yaml: what is taken, what each error says, and
// back.
#include "model/org_yaml.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "common/units.h"

namespace rota {
namespace {

Org read(std::string_view text) {
  auto org = org_parse(text, "p.yaml");
  EXPECT_TRUE(org) << org.error().detail;
  return org ? *org : Org{};
}

std::string refused(std::string_view text) {
  const auto org = org_parse(text, "p.yaml");
  if (org) return "taken";
  EXPECT_EQ(org.error().code, Errc::config_invalid);
  return org.error().detail;
}

constexpr std::string_view full = R"(
departments:
  all: {quota: 100}
  research:
    parent: all
    quota: 24.5
    limit: 32
    min_runtime_reclaim: 10m
projects:
  team-a:
    department: research
    quota: 2.300001
    cpu_quota: 64.5
    memory_quota: 1.5TiB
    limit: 16
    cpu_limit: 128
    memory_limit: 4TiB
    weight: 0.5
    rank: 7
    over_quota: off
    train_node_types: [v100, a100]
    train_node_groups: [main]
    inference_node_groups: [front]
    default_queue: batch
    interactive_time_limit: 8h
    time_limit_max: 7d
    users: [bob, ada, bob]
    groups: [vision]
    user_weights: {bob: 2, ada: 0.5}
    half_life: 0
    grace: 30s
    min_runtime_preempt: 0
    preemption_delay: 1m30s
queues:
  batch:
    node_group: main
    time_limit_default: 1h
    time_limit_max: 7d
    projects: [team-a, default]
    priority: 60
    placement: spread
users:
  ada: {default_project: team-a}
  bob: {role: editor}
)";

TEST(OrgYaml, EveryKeyIsTaken) {
  const Org org = read(full);
  ASSERT_EQ(org.projects.size(), 2u);
  EXPECT_EQ(org.projects[0].name, "default");
  const Project& p = *find_project(org, "team-a");
  EXPECT_EQ(p.department, "research");
  EXPECT_EQ(p.quota.gpu_quota, 2'300'001);
  EXPECT_EQ(p.quota.cpu_quota, 64'500);
  EXPECT_EQ(p.quota.memory_quota, std::int64_t{3} << 39);
  EXPECT_EQ(p.quota.gpu_limit, 16'000'000);
  EXPECT_EQ(p.quota.cpu_limit, 128'000);
  EXPECT_EQ(p.quota.memory_limit, std::int64_t{4} << 40);
  EXPECT_EQ(p.quota.weight, 500'000);
  EXPECT_EQ(p.quota.rank, 7);
  EXPECT_FALSE(p.quota.over_quota);
  const std::vector<KindPolicy> kinds{{JobKind::train, {"a100", "v100"}, {"main"}},
                                      {JobKind::inference, {}, {"front"}}};
  EXPECT_EQ(p.kinds, kinds);
  EXPECT_EQ(p.default_queue, "batch");
  EXPECT_EQ(p.interactive_time_limit_seconds, 8 * 3600);
  EXPECT_EQ(p.time_limit_max_seconds, 7 * 86400);
  EXPECT_EQ(p.users, (std::vector<std::string>{"ada", "bob"}));
  EXPECT_EQ(p.groups, (std::vector<std::string>{"vision"}));
  const std::vector<UserWeight> weights{{"ada", 500'000}, {"bob", 2'000'000}};
  EXPECT_EQ(p.user_weights, weights);
  EXPECT_EQ(p.half_life_seconds, 0);
  EXPECT_EQ(p.preemption.grace_seconds, 30);
  EXPECT_EQ(p.preemption.min_runtime_reclaim_seconds, std::nullopt);
  EXPECT_EQ(p.preemption.min_runtime_preempt_seconds, 0);
  EXPECT_EQ(p.preemption.delay_seconds, 90);
  const Department& d = *find_department(org, "research");
  EXPECT_EQ(d.parent, "all");
  EXPECT_EQ(d.quota.gpu_quota, 24'500'000);
  EXPECT_EQ(d.preemption.min_runtime_reclaim_seconds, 600);
  const Queue& q = *find_queue(org, "batch");
  EXPECT_EQ(q.node_group, "main");
  EXPECT_EQ(q.time_limit_default_seconds, 3600);
  EXPECT_EQ(q.time_limit_max_seconds, 7 * 86400);
  EXPECT_EQ(q.priority, 60);
  EXPECT_EQ(q.placement, QueuePlacement::spread);
  EXPECT_EQ(find_user(org, "ada")->project, "team-a");
  EXPECT_EQ(find_user(org, "ada")->role, UserRole::researcher);
  EXPECT_EQ(find_user(org, "bob")->project, "");
  EXPECT_EQ(find_user(org, "bob")->role, UserRole::editor);
}

// The default project is there whatever the file says: no quota, and it may borrow.
TEST(OrgYaml, AnEmptyFileHasTheDefaultProject) {
  for (const char* text : {"", "projects:\n", "projects: {}\n", "projects:\n  default:\n"}) {
    const Org org = read(text);
    ASSERT_EQ(org.projects.size(), 1u) << text;
    EXPECT_EQ(org.projects[0].name, "default");
    EXPECT_EQ(org.projects[0].quota, QuotaPolicy{});
    EXPECT_EQ(org.projects[0].quota.weight_or_quota(), 0);
    EXPECT_TRUE(org.projects[0].quota.over_quota);
  }
}

TEST(OrgYaml, WhatIsWrittenIsReadBack) {
  const Org org = read(full);
  EXPECT_EQ(read(org_yaml(org)), org) << org_yaml(org);
  EXPECT_EQ(org_yaml(read("projects:\n  \"it's\": {quota: 1, users: ['a b']}\n")),
            "projects:\n  default:\n  'it''s':\n    quota: 1\n    users: ['a b']\n");
  const Org none = read("");
  EXPECT_EQ(read(org_yaml(none)), none);
}

TEST(OrgYaml, AbsentWordsTakeAValueBack) {
  const Org org = read(
      "projects:\n  a: {department: none, limit: none, weight: quota, cpu_quota: none, grace: "
      "inherit, users: none, user_weights: none, default_queue: none, time_limit_max: none}\n");
  Project plain;
  plain.name = "a";
  EXPECT_EQ(org.projects[0], plain);
}

TEST(OrgYamlErrors, NameThePlaceAndTheNearest) {
  EXPECT_EQ(refused("projects:\n  a:\n    qouta: 1\n"),
            "p.yaml:3:5: unknown key 'qouta'; did you mean 'quota'?");
  EXPECT_EQ(refused("project:\n  a: {}\n"),
            "p.yaml:1:1: unknown section 'project'; did you mean 'projects'?");
  EXPECT_EQ(refused("nodes: {}\n"),
            "p.yaml:1:1: unknown section 'nodes'; known are departments, projects, queues, users");
  EXPECT_EQ(refused("users:\n  ada: {shell: x}\n"),
            "p.yaml:2:9: unknown key 'shell'; a user has default_project, role");
  EXPECT_EQ(refused("users:\n  ada: {role: boss}\n"),
            "p.yaml:2:15: role: must be viewer, researcher, editor or admin, not 'boss'");
  EXPECT_EQ(refused("departments:\n  research: {}\nprojects:\n  a:\n    department: reserch\n"),
            "p.yaml:5:17: department 'reserch' does not exist; did you mean 'research'?");
  EXPECT_EQ(refused("users:\n  ada: {default_project: defualt}\n"),
            "p.yaml:2:26: project 'defualt' does not exist; did you mean 'default'?");
  EXPECT_EQ(refused("projects:\n  a: {quota: 1}\n  a: {}\n"),
            "p.yaml:3:3: 'a' stands here a second time; first in line 2");
  EXPECT_EQ(refused("projects:\n  a:\n    quota: 1\n    quota: 2\n"),
            "p.yaml:4:5: 'quota' stands here a second time; first in line 3");
}

TEST(OrgYamlErrors, SayWhatWouldBeRight) {
  const auto value = [](std::string_view text) {
    return refused(format("projects:\n  a: {{{}}}\n", text));
  };
  EXPECT_EQ(value("quota: -1"),
            "p.yaml:2:14: quota: '-1' is no number; write digits, such as 4 or 1.5");
  EXPECT_EQ(value("quota: 1.1234567"),
            "p.yaml:2:14: quota: '1.1234567' has more than 6 digits behind the point");
  EXPECT_EQ(value("quota: 10000001"),
            "p.yaml:2:14: quota: '10000001' is too large; at most 10000000 is allowed");
  EXPECT_EQ(value("quota: 1e3"),
            "p.yaml:2:14: quota: '1e3' is no number; write digits, such as 4 or 1.5");
  EXPECT_EQ(value("quota: ~"), "p.yaml:2:14: quota has no value; its default is 0");
  EXPECT_EQ(value("quota: [1]"), "p.yaml:2:14: quota takes a decimal, not a list");
  EXPECT_EQ(value("users: ada"), "p.yaml:2:14: users takes a list; write [ada]");
  EXPECT_EQ(value("users: [[x]]"), "p.yaml:2:15: a plain value is needed here");
  EXPECT_EQ(value("user_weights: [ada]"), "p.yaml:2:21: user_weights takes a mapping, not a list");
  EXPECT_EQ(value("user_weights: {ada: x}"),
            "p.yaml:2:21: user_weights: 'x' is no number; write digits, such as 4 or 1.5");
  EXPECT_EQ(value("over_quota: maybe"), "p.yaml:2:19: over_quota: must be on or off, not 'maybe'");
  EXPECT_EQ(
      value("grace: 30"),
      "p.yaml:2:14: grace: '30' has no unit; write 30s, 30m, 30h or 30d (also ms) (or inherit)");
  EXPECT_EQ(value("quota: 4, limit: 2"), "p.yaml:2:14: quota 4 is over its limit 2");
  EXPECT_EQ(value("memory_quota: 3X").substr(0, 31), "p.yaml:2:21: memory_quota: '3X'");
  EXPECT_EQ(refused("projects: [a]\n"),
            "p.yaml:1:11: names are needed below 'projects:', each on a line of its own and "
            "indented, and each project's keys below its name");
  EXPECT_EQ(refused("projects:\n  a: 4\n"),
            "p.yaml:2:6: keys are needed below 'a:', such as 'department: none'");
  EXPECT_EQ(refused("projects:\n  'a,b': {}\n"),
            "p.yaml:2:3: 'a,b' is no good name: a comma separates names in lists");
}

TEST(OrgYaml, TenThousandProjectsComeBack) {
  std::string text = "projects:\n";
  for (int i = 0; i < 10'000; ++i) text += format("  p{}: {{quota: {}, users: [u{}]}}\n", i, i, i);
  const Org org = read(text);
  EXPECT_EQ(org.projects.size(), 10'001u);
  EXPECT_EQ(read(org_yaml(org)), org);
}

}  // namespace
}  // namespace rota
