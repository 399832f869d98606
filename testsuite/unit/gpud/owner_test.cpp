// testsuite/unit/gpud/owner_test.cpp - whose a process is, by what it cannot change itself.
#include "gpud/launch/owner.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gpud/launch/file.h"
#include "gpud/launch/process_tree.h"

namespace rota::gpud {
namespace {

TEST(ProcessOwner, IsInItsCgroup) {
  const std::string text =
      "12:memory:/rota/n1.3fa9/17.2\n3:devices:/rota/n1.3fa9/17.2/inner\n0::/user.slice\n";
  EXPECT_EQ(run_in_cgroup(text, "n1.3fa9"), (RunId{JobId{17}, 2}));
  EXPECT_EQ(run_in_cgroup("0::/rota/n1.3fa9/12.0.3/docker/4\n", "n1.3fa9"),
            (RunId{JobId{12}, 0, 3}));
  EXPECT_EQ(run_in_cgroup(text, "n2.3fa9"), std::nullopt);
  EXPECT_EQ(run_in_cgroup("0::/rota/n11.3fa9/12.0\n", "n1.3fa9"), std::nullopt);
  EXPECT_EQ(run_in_cgroup("0::/rota/n1.3fa9/other\n", "n1.3fa9"), std::nullopt);
  EXPECT_EQ(run_in_cgroup("", ""), std::nullopt);
}

TEST(ProcessOwner, MayBeNobodyOrGone) {
  const auto self = owner_of_process(static_cast<std::uint32_t>(getpid()), "n1.3fa9", "/none");
  EXPECT_TRUE(self.is_alive);
  EXPECT_FALSE(self.run);
  EXPECT_FALSE(owner_of_process(4'194'305, "n1.3fa9", "/none").is_alive);
}

// Its first thread has ended and another has not, as when that one hangs in the kernel.
TEST(ProcessName, AProcessLivesAsLongAsOneOfItsThreads) {
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(hold[1]);
    std::thread([end = hold[0]] {
      char byte;
      if (read(end, &byte, 1) == 0) _exit(0);
    }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  }
  close(hold[0]);
  const auto is_zombie = [pid] {
    const std::string text = file_read("/proc/" + std::to_string(pid) + "/stat");
    return text.find(") Z ") != std::string::npos;
  };
  while (!is_zombie()) std::this_thread::yield();
  const auto name = process_name(pid);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->pid, static_cast<std::uint32_t>(pid));
  EXPECT_GT(name->start_ticks, 0u);
  close(hold[1]);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_name(pid));  // a zombie, and nothing else
  waitpid(pid, nullptr, 0);
}

// Where there are no cgroups: a shell stands for the rstepd that has the run's name as an argument.
TEST(ProcessOwner, DescendsFromItsRstepd) {
  int in[2], out[2];
  ASSERT_EQ(pipe(in), 0);
  ASSERT_EQ(pipe(out), 0);
  const pid_t shell = fork();
  if (shell == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (const int end : {in[1], out[0]}) close(end);
    setenv("ROTA_RUN", "n1.3fa9/99.0", 1);  // what a job says of itself does not count
    // What a shell puts in the background reads /dev/null, unless it is told otherwise.
    execl("/bin/sh", "sh", "-c", "exec 3<&0; cat <&3 >/dev/null & echo $!; wait", "12.3", nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  char line[32] = {};
  ASSERT_GT(read(out[0], line, sizeof line - 1), 0);
  const auto child = static_cast<std::uint32_t>(std::stoul(line));
  EXPECT_EQ(owner_of_process(child, "", "/bin/sh").run, (RunId{JobId{12}, 3}));
  EXPECT_EQ(owner_of_process(child, "", "/bin/ls").run, std::nullopt);
  close(in[1]);
  close(out[0]);
  kill(static_cast<pid_t>(child), SIGKILL);
  waitpid(shell, nullptr, 0);
}

}  // namespace
}  // namespace rota::gpud
