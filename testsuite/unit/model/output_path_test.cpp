// testsuite/unit/model/output_path_test.cpp - where a task's output goes.
#include "model/output_path.h"

#include <gtest/gtest.h>

namespace rota {
namespace {

/// Job 42 "train/a", restart 1, of anna, task 7 on node03, submitted in /home/anna.
std::string path(std::string_view pattern, std::string_view directory = "/home/anna") {
  OutputContext context;
  context.job = JobId{42};
  context.restart = 1;
  context.name = "train/a";
  context.user = "anna";
  context.node = "node03";
  context.task = 7;
  const auto result = output_path(pattern, context, directory);
  if (!result) {
    EXPECT_EQ(result.error().code, Errc::job_invalid);
    return result.error().detail;
  }
  return *result;
}

TEST(OutputPath, LettersStandForTheJob) {
  EXPECT_EQ(path("/log/%j"), "/log/42");
  EXPECT_EQ(path("/log/%u/%N.%t.%r"), "/log/anna/node03.7.1");
  EXPECT_EQ(path("/log/100%%"), "/log/100%");
  EXPECT_EQ(path("/dev/null"), "/dev/null");
}

TEST(OutputPath, ANumberPadsWithZeros) {
  EXPECT_EQ(path("/log/%5j-%3t-%02r"), "/log/00042-007-01");
  EXPECT_EQ(path("/log/%1j"), "/log/42");
  EXPECT_EQ(path("/log/%10j"), "/log/0000000042");
  EXPECT_EQ(path("/log/%11j"), "padding in '/log/%11j' at column 6 is over 10");
  EXPECT_EQ(path("%99999999999999999999j"),
            "padding in '%99999999999999999999j' at column 1 is over 10");
}

// A name with a slash would otherwise be a directory that nobody made, or a way out of this one.
TEST(OutputPath, ASlashInANameIsNoDirectory) { EXPECT_EQ(path("/log/%x.out"), "/log/train_a.out"); }

TEST(OutputPath, RelativePathsStartAtTheWorkingDirectory) {
  EXPECT_EQ(path("rota-%j.out"), "/home/anna/rota-42.out");
  EXPECT_EQ(path("logs/%j"), "/home/anna/logs/42");
  EXPECT_EQ(path("x", "/"), "/x");
  EXPECT_EQ(path("", "/home"), "/home/");
}

TEST(OutputPath, AnUnknownLetterIsNamed) {
  const std::string known =
      "; known are %j (job), %x (name), %u (user), %N (node), %t (task), %r (restart), %A (array), "
      "%a (task of the array), %%";
  EXPECT_EQ(path("/log/%q"), "unknown pattern in '/log/%q' at column 6" + known);
  EXPECT_EQ(path("/log/%"), "unknown pattern in '/log/%' at column 6" + known);
  EXPECT_EQ(path("/log/%5"), "unknown pattern in '/log/%5' at column 6" + known);
  EXPECT_EQ(path(std::string_view("/a\0b", 4)), "the path has a NUL byte");
}

TEST(OutputPath, DefaultsAreFilledIn) {
  JobPayload payload;
  EXPECT_EQ(stdout_pattern(payload), "rota-%j.out");
  EXPECT_EQ(stderr_pattern(payload), "rota-%j.out");
  payload.stdout_pattern = "o";
  EXPECT_EQ(stdout_pattern(payload), "o");
  EXPECT_EQ(stderr_pattern(payload), "o");
  payload.stderr_pattern = "e";
  EXPECT_EQ(stdout_pattern(payload), "o");
  EXPECT_EQ(stderr_pattern(payload), "e");
}

}  // namespace
}  // namespace rota
