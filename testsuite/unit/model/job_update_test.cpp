// testsuite/unit/model/job_update_test.cpp - keys of `rota update job`.
#include "model/job_update.h"

#include <gtest/gtest.h>

namespace rota {
namespace {

std::string refusal(std::vector<OrgSetting> settings, bool is_waiting = true) {
  const auto updated = job_updated({}, settings, is_waiting);
  return updated ? "" : updated.error().detail;
}

TEST(JobUpdate, ChangesWhatIsNamedAndNothingElse) {
  JobSpec spec;
  spec.name = "before";
  const auto updated = job_updated(
      spec, {{"time", {"2h"}}, {"nice", {"-5"}}, {"label", {"team=vision"}}, {"begin", {"1000"}}},
      true);
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->name, "before");
  EXPECT_EQ(updated->time_limit_seconds, 7200);
  EXPECT_EQ(updated->rules->nice, -5);
  EXPECT_EQ(updated->rules->labels.front().value, "vision");
  EXPECT_EQ(updated->rules->begin, WallTime{1'000'000'000});
  const auto again = job_updated(*updated, {{"label", {"team=text"}}, {"begin", {"none"}}}, true);
  ASSERT_EQ(again->rules->labels.size(), 1u);
  EXPECT_EQ(again->rules->labels.front().value, "text");
  EXPECT_FALSE(again->rules->begin);
}

TEST(JobUpdate, WhatIsWrongIsSaid) {
  EXPECT_EQ(refusal({}), "nothing to change: give KEY=VALUE");
  EXPECT_EQ(refusal({{"tmie", {"2h"}}}),
            "a job has no 'tmie' that could be changed; did you mean time?");
  EXPECT_EQ(refusal({{"retries", {"many"}}}), "retries: 'many' is no number from 0 to 1000");
  EXPECT_EQ(refusal({{"priority", {"5"}}}, false),
            "priority can be changed only while the job waits");
  EXPECT_EQ(refusal({{"comment", {"x"}}}, false), "");
  EXPECT_EQ(refusal({{"requeue", {"maybe"}}}), "requeue: 'maybe' is neither yes nor no");
}

}  // namespace
}  // namespace rota
