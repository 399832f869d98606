// testsuite/unit/gpud/caller_test.cpp - who is taken for a container's first process.
#include "gpud/container/caller.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rota::gpud {
namespace {

std::string innermost(const std::string& numbers) {
  const auto pid = innermost_pid("Name:\tx\nNSpid:" + numbers + "\nNSpgid:\t1\t1\n");
  return pid ? std::to_string(*pid) : "none";
}

TEST(Caller, TheInnermostNumberCounts) {
  EXPECT_EQ(innermost("\t4711\t1"), "1");
  EXPECT_EQ(innermost("\t4711\t20\t1"), "1");
  EXPECT_EQ(innermost("\t4711\t2"), "2");
  EXPECT_EQ(innermost("\t1"), "none") << "our own namespace";
  EXPECT_EQ(innermost("\t4711"), "none");
  EXPECT_EQ(innermost(""), "none");
  EXPECT_EQ(innermost("\t4711\tx"), "none");
  EXPECT_FALSE(innermost_pid(""));
}

TEST(Caller, DockerdTellsTheProcess) {
  EXPECT_EQ(docker_pid(R"({"Id":"x","State":{"Dead":false,"Pid":311,"ExitCode":0}})"), 311);
  EXPECT_FALSE(docker_pid(R"({"State":{"Pid":0}})")) << "it has not started";
  EXPECT_FALSE(docker_pid(R"({"State":{"Pid":-1}})"));
  EXPECT_FALSE(docker_pid(R"({"State":{"Pid":99999999999}})"));
  EXPECT_FALSE(docker_pid("{}"));
}

TEST(Caller, NeitherAProcessOfOurNamespaceNorOneThatHasEnded) {
  const Caller self(::getpid());
  EXPECT_TRUE(self.is_alive());
  EXPECT_FALSE(self.is_first()) << "it is in our own process namespace, or not the first of its";
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Caller process(child);
  EXPECT_TRUE(process.is_alive());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process.is_alive());
  EXPECT_FALSE(process.is_first());
  EXPECT_FALSE(Caller(child).is_alive());
}

}  // namespace
}  // namespace rota::gpud
