// testsuite/unit/commands/org_view_test.cpp - projects and shares as tables and as JSON.
#include "commands/org_view.h"

#include <gtest/gtest.h>

#include "commands/share_view.h"
#include "model/org_yaml.h"

namespace rota::commands {
namespace {

ShareView share(ShareKind kind, std::string name, std::string parent, std::int64_t quota,
                std::int64_t in, std::int64_t over, std::int64_t waiting) {
  ShareView view;
  view.kind = kind;
  view.name = std::move(name);
  view.parent = std::move(parent);
  view.quota = view.weight = quota * gpu_unit;
  if (kind == ShareKind::user) view.weight = gpu_unit;
  view.held_in_quota = in * gpu_unit;
  view.held_over_quota = over * gpu_unit / 2;
  view.waiting = waiting * gpu_unit;
  view.jobs_running = in > 0 ? 1 : 0;
  view.jobs_waiting = waiting > 0 ? 1 : 0;
  return view;
}

OrgAnswer sample() {
  OrgAnswer answer;
  answer.revision = 7;
  answer.org = *org_parse(R"(
departments: {research: {quota: 8, limit: 10.5}}
projects:
  team-a: {department: research, quota: 4, users: [ada], groups: [vision], weight: 0.5}
queues: {short: {time_limit_max: 2h, priority: 80, projects: [team-a]}}
users: {ada: {default_project: team-a}}
)",
                          "p");
  answer.shares = {share(ShareKind::department, "research", "", 8, 4, 1, 2),
                   share(ShareKind::project, "team-a", "research", 4, 4, 1, 2),
                   share(ShareKind::user, "ada", "team-a", 0, 4, 1, 2),
                   share(ShareKind::project, "default", "", 0, 0, 2, 0)};
  return answer;
}

TEST(ShareTable, IsATreeThatAddsUp) {
  EXPECT_EQ("\n" + share_table(sample().shares, false).render({}), R"(
NAME     KIND       QUOTA FAIR_SHARE IN_QUOTA OVER_QUOTA WAITING WEIGHT USAGE JOBS
research department     8          -        4        0.5       2      8     -  1/1
  team-a project        4          -        4        0.5       2      4     -  1/1
    ada  user           -          -        4        0.5       2      1     -  1/1
default  project        0          -        0          1       0      0     -  0/0
TOTAL                   8          -        4        1.5       2      -     -  1/1
)");
  auto shares = sample().shares;
  shares[0].fair_share = 6 * gpu_unit;
  shares[0].usage = 250'000;
  TableStyle flat;
  flat.separator = '|';
  flat.header = false;
  EXPECT_EQ("\n" + share_table(shares, true).render(flat), R"(
research|department|8|6|4|0.5|2|8|0.25|1/1
team-a|project|4|-|4|0.5|2|4|-|1/1
ada|user|-|-|4|0.5|2|1|-|1/1
default|project|0|-|0|1|0|0|-|0/0
TOTAL||8|6|4|1.5|2|-|0.25|1/1
)");
}

TEST(ShareJson, HasItsNumbers) {
  std::string out;
  JsonWriter json(out);
  write_share(json, sample().shares[2]);
  EXPECT_EQ(out, R"({"kind":"user","name":"ada","parent":"team-a","quota_gpus":null,)"
                 R"("fair_share_gpus":null,"held_in_quota_gpus":4,"held_over_quota_gpus":0.5,)"
                 R"("waiting_gpus":2,"weight":1,"usage":null,"jobs_running":1,"jobs_waiting":1})");
}

TEST(OrgTables, ShowWhatIsAskedMost) {
  const OrgAnswer answer = sample();
  EXPECT_EQ("\n" + project_table(answer).render({}), R"(
PROJECT DEPARTMENT QUOTA LIMIT WEIGHT RANK OVER HELD WAITING JOBS MEMBERS
default -              0     -      0  100 on      1       0    0 everybody
team-a  research       4     -    0.5  100 on    4.5       2    2 ada,@vision
)");
  EXPECT_EQ("\n" + department_table(answer.org).render({}), R"(
DEPARTMENT PARENT QUOTA LIMIT WEIGHT RANK OVER
research   -          8  10.5      8  100 on
)");
  EXPECT_EQ("\n" + queue_table(answer.org).render({}), R"(
QUEUE NODE_GROUP TIME_DEFAULT TIME_MAX PRIORITY PLACEMENT PROJECTS
short -                     -       2h       80 pack      team-a
)");
  EXPECT_EQ(user_table(answer.org).render({}),
            "USER ROLE       DEFAULT_PROJECT\nada  researcher team-a\n");
}

TEST(ProjectText, HasEveryKey) {
  const OrgAnswer answer = sample();
  const std::string text =
      project_text(*find_project(answer.org, "team-a"), ProjectShares(answer.shares).of("team-a"));
  EXPECT_TRUE(text.starts_with("project: team-a\ndepartment: research\nquota: 4\n")) << text;
  EXPECT_NE(text.find("users: ada\ngroups: vision\n"), std::string::npos) << text;
  EXPECT_TRUE(
      text.ends_with("held: 4 in quota, 0.5 over quota\nwaiting: 2\n"
                     "jobs: 1 running, 1 waiting\n"))
      << text;
}

TEST(QueueText, HasEveryKey) {
  const OrgAnswer answer = sample();
  EXPECT_EQ(queue_text(*find_queue(answer.org, "short")),
            "queue: short\nnode_group: none\ntime_limit_default: none\ntime_limit_max: 2h\n"
            "projects: team-a\npriority: 80\nplacement: pack\ncontainer_runtime: auto\n");
}

}  // namespace
}  // namespace rota::commands
