// testsuite/unit/model/job_rules_test.cpp - what --dependency, --array, --mail-type and --label
// say.
#include "model/job_rules.h"

#include <gtest/gtest.h>

namespace rota {
namespace {

std::string dependency(std::string_view text) {
  const auto parsed = dependencies_parse(text);
  return parsed ? text_of(*parsed) : parsed.error().detail;
}

TEST(JobRules, DependenciesInSlurmsForm) {
  EXPECT_EQ(dependency("afterok:12"), "afterok:12");
  EXPECT_EQ(dependency("afterok:12:13,afterany:7"), "afterok:12,afterok:13,afterany:7");
  EXPECT_EQ(dependency("afterok:12?afternotok:13"), "afterok:12?afternotok:13");
  EXPECT_EQ(dependency("after:12+5"), "after:12+5");
  EXPECT_EQ(dependency("singleton"), "singleton");
  EXPECT_EQ(dependency("afterok:12_3,singleton"), "afterok:12_3,singleton");
  EXPECT_EQ(dependency("aftercorr:9"), "aftercorr:9");
  EXPECT_EQ(dependencies_parse("after:12+5")->all.front().delay_seconds, 300);
}

TEST(JobRules, WhatIsWrongWithADependencyIsSaid) {
  const std::string form =
      "; write afterok:12, afterany:12:13, afternotok:12, after:12+5, aftercorr:12 or singleton, "
      "with ',' between for all of them or '?' for any of them";
  EXPECT_EQ(dependency("before:12"), "'before' is no kind of dependency" + form);
  EXPECT_EQ(dependency("afterok"), "'afterok' names no job" + form);
  EXPECT_EQ(dependency("afterok:"), "'' is no job number" + form);
  EXPECT_EQ(dependency("afterok:0"), "'0' is no job number" + form);
  EXPECT_EQ(dependency("singleton:3"), "'singleton:3' names jobs, and needs none" + form);
  EXPECT_EQ(dependency("afterok:3+5"), "'3+5': only 'after' takes a delay in minutes" + form);
  EXPECT_EQ(dependency("aftercorr:3_1"), "'3_1' is no task of an array" + form);
  EXPECT_EQ(dependency("afterok:3,afterok:4?afterok:5"),
            "'afterok:3,afterok:4?afterok:5' has both ',' (all) and '?' (any); use one of them");
}

std::string array(std::string_view text) {
  const auto parsed = array_parse(text);
  return parsed ? text_of(*parsed) : parsed.error().detail;
}

TEST(JobRules, Arrays) {
  EXPECT_EQ(array("0-99%8"), "0-99%8");
  EXPECT_EQ(array("1,3,5"), "1,3,5");
  EXPECT_EQ(array_parse("0-15:4")->step, 4u);
  EXPECT_EQ(array_parse("0-15")->step, 1u);
  EXPECT_EQ(array("0-9%0"), "'0-9%0': behind % stands how many tasks may run at a time, 1 or more");
}

TEST(JobRules, MailEvents) {
  EXPECT_EQ(mail_events_text(*mail_events_parse("end,FAIL")), "END,FAIL");
  EXPECT_EQ(mail_events_text(*mail_events_parse("ALL")), "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND");
  EXPECT_EQ(*mail_events_parse("NONE"), 0u);
  EXPECT_FALSE(mail_events_parse("END,SOMETIMES"));
}

std::string checked(const JobRules& rules) {
  const auto valid = validate(rules);
  return valid ? "" : valid.error().detail;
}

TEST(JobRules, BoundsAreNamed) {
  EXPECT_EQ(checked({}), "");
  EXPECT_EQ(checked({.retries = 1001}), "1001 retries, at most 1000 are allowed");
  EXPECT_EQ(checked({.comment = "a\nb"}), "the comment has a control character");
  EXPECT_EQ(checked({.mail_user = "-oQ/tmp"}),
            "'-oQ/tmp' is no mail address; write name or name@host");
  EXPECT_EQ(checked({.mail_user = "a@b\nBcc: c"}), "the mail address has a control character");
  EXPECT_EQ(checked({.mail_user = "a b"}), "'a b' is no mail address; write name or name@host");
  EXPECT_EQ(checked({.webhook = "file:///etc/shadow"}),
            "the webhook 'file:///etc/shadow' is no http:// or https:// address");
  JobRules rules;
  rules.array.tasks = IndexSet::of(0, 1'000'000);
  EXPECT_EQ(checked(rules), "an array of 1000001 tasks, at most 1000000 are allowed");
  rules = {};
  rules.array.parallel_max = 3;
  EXPECT_EQ(checked(rules), "only an array has bounds on its tasks: give --array");
  rules = {};
  rules.dependencies.all.push_back({.kind = DependencyKind::after_corr, .job = JobId{3}});
  EXPECT_EQ(checked(rules),
            "aftercorr is between the tasks of two arrays: give --array, and no '?' beside it");
}

}  // namespace
}  // namespace rota
