// testsuite/unit/ctld/shares_test.cpp - who holds what: every line is the sum of those below it.
#include "ctld/shares.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "common/units.h"
#include "model/org_yaml.h"

namespace rota::ctld {
namespace {

Job running(std::uint64_t id, std::string project, std::string user, int gpus,
            JobKind kind = JobKind::train) {
  Job job;
  job.id = JobId{id};
  job.state = JobState::running;
  job.spec.project = std::move(project);
  job.spec.kind = kind;
  job.owner.user = std::move(user);
  NodePart part;
  for (int i = 0; i < gpus; ++i) part.gpus.push_back(static_cast<std::uint16_t>(i));
  job.last.edit().placement = {part};
  return job;
}

Job waiting(std::uint64_t id, std::string project, std::string user) {
  Job job = running(id, std::move(project), std::move(user), 0);
  job.state = JobState::pending;
  job.last.edit().placement.clear();
  return job;
}

/// "name quota in+over waiting running/waiting", a line each.
std::string lines(const std::vector<ShareView>& views) {
  std::string text;
  for (const ShareView& v : views)
    text += format("{} {} {}+{} {} {}/{}\n", v.name, decimal_format(v.quota, 6),
                   decimal_format(v.held_in_quota, 6), decimal_format(v.held_over_quota, 6),
                   decimal_format(v.waiting, 6), v.jobs_running, v.jobs_waiting);
  return text;
}

TEST(Shares, AddUpLineByLine) {
  const auto org = org_parse(R"(
departments:
  all: {quota: 16}
  research: {parent: all, quota: 8}
projects:
  team-a: {department: research, quota: 2.5}
  team-b: {department: research, quota: 4}
  team-d: {department: all, quota: 8}
)",
                             "p");
  ASSERT_TRUE(org) << org.error().detail;
  ShareTally tally;
  tally.add(running(1, "team-a", "ada", 2), 0);
  tally.add(running(2, "team-a", "bob", 2), 0);
  tally.add(waiting(3, "team-a", "bob"), 3 * gpu_unit);
  tally.add(running(4, "team-d", "eve", 4), 0);
  tally.add(waiting(5, "default", "eve"), 1 * gpu_unit);
  Job over = running(6, "team-d", "eve", 4);
  over.state = JobState::completed;
  tally.add(over, 0);
  EXPECT_EQ(lines(tally.views(*org)),
            "all 16 6.5+1.5 3 3/1\n"
            "research 8 2.5+1.5 3 2/1\n"
            "team-a 2.5 2.5+1.5 3 2/1\n"
            "ada 0 2+0 0 1/0\n"
            "bob 0 0.5+1.5 3 1/1\n"
            "team-b 4 0+0 0 0/0\n"
            "team-d 8 4+0 0 1/0\n"
            "eve 0 4+0 0 1/0\n"
            "default 0 0+0 1 0/1\n"
            "eve 0 0+0 1 0/1\n");
}

TEST(Shares, PartsOfGpusCountAsParts) {
  const auto org = org_parse("projects: {p: {quota: 1}}", "p");
  Job part = running(1, "p", "ada", 2);
  part.last.edit().placement[0].gpu_share = 600'000;
  ShareTally tally;
  tally.add(part, 0);
  tally.add(waiting(2, "p", "ada"), 400'000);
  EXPECT_EQ(lines(tally.views(*org)),
            "default 0 0+0 0 0/0\n"
            "p 1 1+0.2 0.4 1/1\n"
            "ada 0 1+0.2 0.4 1/1\n");
}

// Who has nothing any more but has used something has a line, or the lines would not add up.
TEST(Shares, UsageAddsUpInHundredthsOfAnHour) {
  const auto org =
      org_parse("{departments: {d: {}}, projects: {p: {department: d, quota: 1}}}", "p");
  ShareTally tally;
  tally.add(waiting(1, "p", "ada"), 0);
  tally.add_usage("p", "ada", 3600 + 19);
  tally.add_usage("p", "bob", 1800);
  tally.add_usage("p", "eve", 17);  // less than half of a hundredth
  std::string text;
  for (const ShareView& v : tally.views(*org))
    text += format("{} {}\n", v.name, decimal_format(v.usage.value(), 6));
  EXPECT_EQ(text, "d 1.51\np 1.51\nada 1.01\nbob 0.5\ndefault 0\n");
}

// What nobody may take back lies within the quota, whenever it came.
TEST(Shares, WhatCannotBePreemptedComesFirst) {
  const auto org = org_parse("projects: {p: {quota: 2, user_weights: {ada: 3}}}", "p");
  ShareTally tally;
  tally.add(running(1, "p", "ada", 2), 0);
  tally.add(running(2, "p", "bob", 2, JobKind::interactive), 0);
  const auto views = tally.views(*org);
  EXPECT_EQ(lines(views),
            "default 0 0+0 0 0/0\n"
            "p 2 2+2 0 2/0\n"
            "ada 0 0+2 0 1/0\n"
            "bob 0 2+0 0 1/0\n");
  EXPECT_EQ(views[2].weight, 3 * gpu_unit);
  EXPECT_EQ(views[3].weight, gpu_unit);
  EXPECT_EQ(views[1].fair_share, std::nullopt);
}

}  // namespace
}  // namespace rota::ctld
