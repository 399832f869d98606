// testsuite/unit/commands/payload_test.cpp - scripts that are none, names, paths and surroundings.
#include "commands/payload.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace rota::commands {
namespace {

std::string check(std::string_view script) {
  const auto checked = check_script(script, "job.sh");
  return checked ? "fine" : checked.error().detail;
}

TEST(Script, MustNameItsInterpreter) {
  EXPECT_EQ(check("#!/bin/sh\necho\n"), "fine");
  EXPECT_EQ(check("#! /usr/bin/env python3"), "fine");
  EXPECT_EQ(check(""), "job.sh: the script is empty");
  EXPECT_EQ(
      check("echo\n"),
      "job.sh: this does not look like a batch script: the first line must be #! and the path of "
      "an interpreter, such as #!/bin/sh");
  EXPECT_EQ(check("#!  \necho\n"), "job.sh: the first line names no interpreter after #!");
}

TEST(Script, MustBeTextWithUnixLineEnds) {
  EXPECT_EQ(check(std::string_view("#!/bin/sh\n\0", 11)),
            "job.sh: this is not text: it has NUL bytes; to run a program use: rsubmit -- PROGRAM");
  EXPECT_EQ(check("#!/bin/sh\r\necho\r\n"),
            "job.sh: the script has DOS line ends (\\r\\n); convert it, for example with dos2unix");
}

TEST(Script, FilesThatCannotBeRead) {
  EXPECT_EQ(read_script("/does/not/exist").error().detail,
            "cannot open script '/does/not/exist': No such file or directory");
  EXPECT_EQ(read_script("/").error().detail, "'/' is a directory, not a script");
  EXPECT_EQ(read_script("/dev/zero").error().detail,
            "/dev/zero is too large for a script; at most 4194304 bytes are allowed");
  EXPECT_EQ(read_script("/dev/null").value(), "");
}

TEST(Paths, BaseNames) {
  EXPECT_EQ(base_name("/home/ada/train.sh"), "train.sh");
  EXPECT_EQ(base_name("train.sh"), "train.sh");
  EXPECT_EQ(base_name("dir/"), "dir");
  EXPECT_EQ(base_name("/"), "/");
}

TEST(Paths, SeenFromADirectory) {
  EXPECT_EQ(absolute_path("/x", "/home"), "/x");
  EXPECT_EQ(absolute_path("x/y", "/home"), "/home/x/y");
  EXPECT_EQ(absolute_path("x", "/"), "/x");
}

TEST(Surroundings, AreThoseOfTheProcess) {
  ASSERT_EQ(setenv("ROTA_PAYLOAD_TEST", "a=b c", 1), 0);
  const mode_t before = umask(027);
  JobPayload payload;
  const auto taken = take_surroundings("", payload);
  EXPECT_EQ(umask(before), 027u) << "asking for it does not change it";
  ASSERT_TRUE(taken);
  EXPECT_EQ(payload.umask, 027u);
  EXPECT_NE(
      std::find(payload.environment.begin(), payload.environment.end(), "ROTA_PAYLOAD_TEST=a=b c"),
      payload.environment.end());
  char here[4096];
  EXPECT_EQ(payload.working_directory, getcwd(here, sizeof here));
  EXPECT_FALSE(payload.submit_host.empty());
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  ASSERT_EQ(payload.limits.size(), 8u);
  EXPECT_EQ(payload.limits[0], (ResourceLimit{RLIMIT_NOFILE, files.rlim_cur, files.rlim_max}));
  EXPECT_TRUE(take_surroundings("sub", payload));
  EXPECT_EQ(payload.working_directory, std::string(here) + "/sub");
  EXPECT_TRUE(take_surroundings("/elsewhere", payload));
  EXPECT_EQ(payload.working_directory, "/elsewhere");
}

TEST(Surroundings, WhatIsNoVariableIsLeftOut) {
  const std::vector<const char*> environment{"A=1", "B", "=C", "D="};
  EXPECT_EQ(environment_of(environment), (std::vector<std::string>{"A=1", "D="}));
}

TEST(RequestIds, AreDifferentEachTime) {
  const auto one = make_request_id(), two = make_request_id();
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(*one && *two);
  EXPECT_NE(*one, *two);
}

}  // namespace
}  // namespace rota::commands
