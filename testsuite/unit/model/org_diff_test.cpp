// testsuite/unit/model/org_diff_test.cpp - the lines that radmin apply shows.
#include "model/org_diff.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "model/org_yaml.h"

namespace rota {
namespace {

std::string lines(std::string_view before, std::string_view after) {
  const auto a = org_parse(before, "before"), b = org_parse(after, "after");
  if (!a || !b) return a ? b.error().detail : a.error().detail;
  return format("{}", fmt::join(difference(*a, *b), "\n"));
}

TEST(OrgDifference, IsNothingBetweenEquals) {
  EXPECT_EQ(lines("", ""), "");
  EXPECT_EQ(lines("projects: {a: {quota: 4}}", "projects: {a: {quota: 4.0}, default: {}}"), "");
}

TEST(OrgDifference, ComesInLines) {
  EXPECT_EQ(lines(R"(
departments: {research: {quota: 8}}
projects:
  team-a: {quota: 4, users: [ada]}
  team-b: {quota: 2}
queues: {old: {}}
users: {ada: {default_project: team-b}}
)",
                  R"(
departments: {research: {quota: 10, limit: 12.5}}
projects:
  team-a: {quota: 8, users: [ada, bob]}
  team-b: {quota: 2}
  team-e: {quota: 2, department: research, grace: 30s}
users: {ada: {default_project: team-a}, bob: {default_project: team-e}}
)"),
            "department research: quota 8 -> 10\n"
            "department research: limit none -> 12.5\n"
            "project team-a: quota 4 -> 8\n"
            "project team-a: users [ada] -> [ada, bob]\n"
            "+ project team-e quota 2 in department research, grace 30s\n"
            "- queue old\n"
            "user ada: default_project team-b -> team-a\n"
            "+ user bob default_project team-e");
}

TEST(OrgDifference, SerialNumbersDoNotCount) {
  Org a = *org_parse("projects: {a: {quota: 1}}", "a");
  Org b = a;
  b.projects[0].serial = 7;
  EXPECT_TRUE(difference(a, b).empty());
  EXPECT_TRUE(steps_between(a.projects, b.projects).empty());
  b.projects[0].quota.gpu_quota = 5;
  EXPECT_EQ(difference(a, b)[0], "project a: quota 1 -> 0.000005");
}

}  // namespace
}  // namespace rota
