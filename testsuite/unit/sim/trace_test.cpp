// testsuite/unit/sim/trace_test.cpp - traces: fields by name, unknown ones, and what is wrong.
#include "sim/trace.h"

#include <gtest/gtest.h>

#include "common/units.h"
#include "sample_file.h"

namespace rota::sim {
namespace {

/// "submitted+duration gpus/cpus/memory project; ...", or the error.
std::string jobs(std::string_view text, const TraceOptions& options = {}) {
  const SampleFile file(text);
  const auto trace = trace_load(file.path(), options);
  if (!trace) return file.without_path(trace.error().detail);
  std::string all;
  for (const TraceJob& job : trace->jobs)
    all += format("{}+{} {}/{}/{} {};", job.submitted, job.duration,
                  decimal_format(job.gpu_amount(), 6), job.cpu_count, job.memory_bytes,
                  trace->projects[job.project]);
  return all;
}

TEST(Trace, FindsFieldsByName) {
  EXPECT_EQ(jobs("job_id,submit_s,duration_s,gpus,gpu_fraction,cpus,mem_mib,user,project\n"
                 "7,1.5,2,8,1,4,1,ada,x\n"),
            "1500+2000 8/4/1048576 x;");
  EXPECT_EQ(jobs("gpus,colour,duration_s,submit_s\n2,red,10,5\n"), "5000+10000 2/0/0 default;")
      << "in any order, others are passed over, what may be unknown may be missing";
}

TEST(Trace, UsersAreKnownByName) {
  const SampleFile file("submit_s,duration_s,gpus,user\n0,1,1,ada\n0,1,1,bob\n0,1,1,\n0,1,1,ada\n");
  const auto trace = trace_load(file.path(), {});
  ASSERT_TRUE(trace);
  std::string users;
  for (const TraceJob& job : trace->jobs) users += trace->users[job.user] + ";";
  EXPECT_EQ(users, "ada;bob;;ada;");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus,user\n0,1,1," + std::string(257, 'x') + "\n"),
            "2:7: user: longer than 256 bytes");
}

TEST(Trace, EmptyIsUnknown) {
  EXPECT_EQ(jobs("submit_s,duration_s,gpus,cpus,mem_mib,project,gpu_fraction\n1,2,3,,,,\n"),
            "1000+2000 3/0/0 default;");
}

TEST(Trace, IsInTheOrderOfSubmission) {
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n9,1,1\n3,1,2\n9,1,3\n"),
            "3000+1000 2/0/0 default;9000+1000 1/0/0 default;9000+1000 3/0/0 default;");
}

TEST(Trace, TimesAreRoundedUpToMilliseconds) {
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n0.0001,926132.733,1\n"), "1+926132733 1/0/0 default;");
}

TEST(Trace, KnowsTheProjects) {
  Org org;
  org.projects.emplace_back();
  org.projects.back().name = "team-a";
  normalize(org);
  const std::string text = "submit_s,duration_s,gpus,project\n0,1,1,team-a\n0,1,1,team-b\n";
  EXPECT_EQ(jobs(text, {.org = &org}),
            "3:7: project: there is no project 'team-b'; did you mean 'team-a'?");
  EXPECT_EQ(jobs(text, {.org = &org, .one_project = true}),
            "0+1000 1/0/0 default;0+1000 1/0/0 default;");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus,project\n0,1,1,-x\n"),
            "2:7: project: '-x' is no good name: a '-' at the front makes it an option");
}

TEST(Trace, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(jobs(""), "1:1: empty; expected a line with the columns");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n"), " no jobs");
  EXPECT_EQ(jobs("submit_s,duration,gpus\n"), "1:1: no column 'duration_s'; there is 'duration'");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n0,1\n"), "2:3: 2 fields; expected 3, as in the header");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n-1,1,1\n"),
            "2:1: submit_s: '-1' is not a decimal number from 0 to 4000000000");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n0,,1\n"),
            "2:3: duration_s: '' is not a decimal number from 0 to 315360000");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus\n0,1,1.5\n"),
            "2:5: gpus: '1.5' is not a number from 0 to 1000000");
  EXPECT_EQ(jobs("submit_s,duration_s,gpus,gpu_fraction\n0,1,1,0.5\n"), "0+1000 0.5/0/0 default;")
      << "a part of a GPU";
  EXPECT_EQ(jobs("submit_s,duration_s,gpus,gpu_fraction\n0,1,1,0.001\n"),
            "2:7: gpu_fraction: '0.001' is not a part of a GPU from 0.01 to 1");
}

}  // namespace
}  // namespace rota::sim
