// testsuite/unit/model/org_check_test.cpp - what an organisation may hold, who is in it, who is a
// member.
#include <gtest/gtest.h>

#include <functional>

#include "common/format.h"
#include "model/org_keys.h"
#include "model/project.h"

namespace rota {
namespace {

/// Two departments, a project in the lower one, a queue and a user; each in order.
Org good() {
  Org org;
  org.departments = {{.name = "all"}, {.name = "research", .parent = "all"}};
  org.projects.push_back({.name = "team-a", .department = "research"});
  org.queues.push_back({.name = "batch"});
  org.users = {{"ada", "team-a"}};
  normalize(org);
  return org;
}

std::string after(const std::function<void(Org&)>& change) {
  Org org = good();
  change(org);
  normalize(org);
  const auto valid = validate(org);
  return valid ? "good" : valid.error().message();
}
Project& team(Org& org) { return org.projects.back(); }

TEST(ValidateOrg, TakesAGoodOne) {
  EXPECT_EQ(after([](Org&) {}), "good");
  EXPECT_EQ(after([](Org& o) { team(o).quota.gpu_quota = OrgBounds::gpus_max; }), "good");
  EXPECT_EQ(after([](Org& o) {
              team(o).name = "Ämter & Co";
              o.users.clear();
            }),
            "good");
}

TEST(ValidateOrg, NamesWhatIsWrong) {
  const auto project = [](const std::function<void(Project&)>& change) {
    return after([&](Org& o) { change(team(o)); });
  };
  EXPECT_EQ(project([](Project& p) { p.department = "reserch"; }),
            "invalid projects: project 'team-a': department 'reserch' does not exist; did you mean "
            "'research'?");
  EXPECT_EQ(project([](Project& p) { p.quota.gpu_quota = -1; }),
            "invalid projects: project 'team-a': quota must not be negative");
  EXPECT_EQ(project([](Project& p) { p.quota.gpu_quota = OrgBounds::gpus_max + 1; }),
            "invalid projects: project 'team-a': quota is over 10000000");
  EXPECT_EQ(project([](Project& p) {
              p.quota.gpu_quota = 2'500'000;
              p.quota.gpu_limit = 2'000'000;
            }),
            "invalid projects: project 'team-a': quota 2.5 is over its limit 2");
  EXPECT_EQ(project([](Project& p) {
              p.quota.memory_quota = 2 << 20;
              p.quota.memory_limit = 1 << 20;
            }),
            "invalid projects: project 'team-a': memory_quota 2MiB is over its memory_limit 1MiB");
  EXPECT_EQ(project([](Project& p) { p.quota.rank = -1; }),
            "invalid projects: project 'team-a': rank is -1, it must be 0 to 1000000");
  EXPECT_EQ(
      project([](Project& p) { p.default_queue = "btach"; }),
      "invalid projects: project 'team-a': queue 'btach' does not exist; did you mean 'batch'?");
  EXPECT_EQ(project([](Project& p) { p.time_limit_max_seconds = 0; }),
            "invalid projects: project 'team-a': time_limit_max must be 1s to 3650d");
  EXPECT_EQ(project([](Project& p) { p.users = {"a\n"}; }),
            "invalid projects: project 'team-a': users: 'a\\n' is no good name: it holds control "
            "characters");
  EXPECT_EQ(project([](Project& p) {
              p.user_weights = {{"a", 1}, {"a", 2}};
            }),
            "invalid projects: project 'team-a': user 'a' is there twice");
  EXPECT_EQ(project([](Project& p) {
              p.kinds = {{static_cast<JobKind>(9), {"x"}, {}}};
            }),
            "invalid projects: project 'team-a': a kind is none of train, interactive, inference");
}

TEST(ValidateOrg, NamesFollowTheirRules) {
  const auto name = [](std::string text) {
    return after([&](Org& o) {
      team(o).name = text;
      o.users.clear();
    });
  };
  EXPECT_NE(name("").find("it is empty"), std::string::npos);
  EXPECT_NE(name(std::string(257, 'x')).find("it has 257 bytes, at most 256"), std::string::npos);
  EXPECT_NE(name("a\x1b").find("control characters"), std::string::npos);
  EXPECT_NE(name("a\xff").find("it is not UTF-8"), std::string::npos);
  EXPECT_NE(name("-a").find("a '-' at the front"), std::string::npos);
  EXPECT_NE(name("none").find("'none' means"), std::string::npos);
  EXPECT_NE(name("a ").find("a blank"), std::string::npos);
  EXPECT_EQ(after([](Org& o) { o.projects.push_back(team(o)); }),
            "invalid projects: project 'team-a': it is there twice");
}

TEST(ValidateOrg, DepartmentsStandAboveOthersOnly) {
  EXPECT_EQ(after([](Org& o) { o.departments[0].parent = "research"; }),
            "invalid projects: department 'all': it stands above itself: all > research > all");
  EXPECT_EQ(after([](Org& o) { o.departments[0].parent = "all"; }),
            "invalid projects: department 'all': it stands above itself: all > all");
  const auto chain = [](int levels) {
    return after([levels](Org& o) {
      for (int i = 0; i < levels; ++i)
        o.departments.push_back(
            {.name = format("d{:03}", i), .parent = i == 0 ? "" : format("d{:03}", i - 1)});
    });
  };
  EXPECT_EQ(chain(63), "good");
  EXPECT_EQ(chain(64), "invalid projects: department 'd063': it is over 63 levels deep");
}

TEST(ValidateOrg, QueuesAndUsersPointAtProjects) {
  EXPECT_EQ(
      after([](Org& o) { o.queues[0].projects = {"tema-a"}; }),
      "invalid projects: queue 'batch': project 'tema-a' does not exist; did you mean 'team-a'?");
  EXPECT_EQ(after([](Org& o) { o.users[0].project = "x"; }),
            "invalid projects: user 'ada': project 'x' does not exist; known are default, team-a");
  EXPECT_EQ(after([](Org& o) { o.users[0].project = ""; }),
            "invalid projects: user 'ada': default_project is missing; name the user's project, "
            "or a role");
  EXPECT_EQ(after([](Org& o) {
              o.queues[0].projects = {"default"};
              team(o).default_queue = "batch";
            }),
            "invalid projects: project 'team-a': queue 'batch' takes only the projects default");
  EXPECT_EQ(after([](Org& o) {
              o.queues[0].time_limit_default_seconds = 10;
              o.queues[0].time_limit_max_seconds = 5;
            }),
            "invalid projects: queue 'batch': time_limit_default is over time_limit_max");
  EXPECT_EQ(after([](Org& o) { o.queues[0].placement = static_cast<QueuePlacement>(0); }),
            "invalid projects: queue 'batch': placement must be pack or spread");
}

TEST(ValidateOrg, CountsAreBounded) {
  EXPECT_EQ(after([](Org& o) { o.queues.resize(1001); }),
            "invalid projects: 1001 queues are too many; at most 1000 are allowed");
  EXPECT_EQ(after([](Org& o) { o.projects.resize(100'001); }),
            "invalid projects: 100001 projects are too many; at most 100000 are allowed");
}

TEST(WarnOrg, WhenADepartmentPromisesMoreThanItHas) {
  Org org = good();
  EXPECT_TRUE(warnings_of(org).empty());
  team(org).quota.gpu_quota = 2'500'000;
  ASSERT_EQ(warnings_of(org).size(), 1u);
  EXPECT_EQ(warnings_of(org)[0],
            "department 'research': quotas below it add up to 2.5, its own is 0: not all of them "
            "can be kept at once");
}

TEST(Members, AreUsersAndGroups) {
  Project project;
  EXPECT_TRUE(is_member(project, "eve", {}));
  EXPECT_EQ(members_text(project), "everybody");
  project.users = {"ada", "bob"};
  EXPECT_TRUE(is_member(project, "ada", {}));
  EXPECT_FALSE(is_member(project, "eve", {"vision"}));
  EXPECT_EQ(members_text(project), "ada, bob");
  project.groups = {"vision"};
  EXPECT_TRUE(is_member(project, "eve", {"staff", "vision"}));
  EXPECT_EQ(members_text(project), "ada, bob and the group vision");
  project.users = {};
  EXPECT_FALSE(is_member(project, "eve", {"staff"}));
  EXPECT_EQ(members_text(project), "the group vision");
}

TEST(Settings, AreTheKeysOfTheFile) {
  Project project;
  EXPECT_TRUE(apply_settings(project, {{"quota", {"1.5"}}, {"users", {"b", "a"}}}));
  EXPECT_EQ(project.quota.gpu_quota, 1'500'000);
  EXPECT_EQ(project.users, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(apply_settings(project, {{"users", {"none"}}, {"train_node_types", {"x"}}}));
  EXPECT_TRUE(project.users.empty());
  EXPECT_EQ(project.kinds.size(), 1u);
  EXPECT_TRUE(apply_settings(project, {{"train_node_types", {"none"}}}));
  EXPECT_TRUE(project.kinds.empty());
  EXPECT_EQ(apply_settings(project, {{"qouta", {"1"}}}).error().detail,
            "unknown key 'qouta'; did you mean 'quota'?");
  EXPECT_EQ(apply_settings(project, {{"quota", {"1", "2"}}}).error().detail,
            "quota: takes one value, not 2");
}

}  // namespace
}  // namespace rota
