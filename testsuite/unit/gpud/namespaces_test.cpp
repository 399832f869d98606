// testsuite/unit/gpud/namespaces_test.cpp - a process put beside one that lives in namespaces of
// its own, as in a container.
#include "gpud/launch/namespaces.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>

#include "common/sanitized.h"
#include "gpud/launch/exec.h"
#include "gpud/launch/packet.h"
#include "proto/codec.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

/// A small container: a shell with another host name, network, mounts and process numbers.
class Boxed : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(ROTA_THREAD_SANITIZER)
    GTEST_SKIP() << "the sanitizer's own thread keeps a process out of other mount namespaces";
#endif
    if (!is_root()) GTEST_SKIP() << "needs root";
    outer_ = ::fork();
    if (outer_ == 0) {
      ::execlp(
          "unshare", "unshare", "-mpnui", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
          "hostname boxed && mount -t tmpfs none /mnt && echo in >/mnt/file && exec sleep 1000",
          nullptr);
      ::_exit(127);
    }
    const std::string children =
        "/proc/" + std::to_string(outer_) + "/task/" + std::to_string(outer_) + "/children";
    const bool is_up = eventually([&] {
      const std::string text = file_read(children);
      inner_ = 0;
      std::from_chars(text.data(), text.data() + text.size(), inner_);
      const std::string words = file_read("/proc/" + std::to_string(inner_) + "/cmdline");
      return inner_ > 0 && words.starts_with("sleep");
    });
    if (!is_up) GTEST_SKIP() << "no namespaces here";
  }
  void TearDown() override {
    if (outer_ <= 0) return;
    ::kill(outer_, SIGKILL);
    ::waitpid(outer_, nullptr, 0);
  }

  /// Starts it as rstepd does; its output can be read from out_.
  pid_t start(std::vector<std::string> words) {
    order_.launch.owner = {::geteuid(), ::getegid(), "someone"};
    order_.launch.payload.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    order_.launch.payload.working_directory = "/mnt";
    ExecOrder exec;
    exec.words = std::move(words);
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0)
      become_exec({order_, TaskOrder{}, RunCgroups(CgroupPlan{}), false, inner_}, exec, ends[1],
                  -1);
    ::close(ends[1]);
    const Fd socket(ends[0]);
    char packet[exec_news_bytes_max];
    std::vector<Fd> files;
    const ssize_t size = packet_receive(socket.get(), packet, sizeof packet, files);
    EXPECT_GT(size, 0);
    const auto news = proto::decode<ExecNews>({packet, static_cast<std::size_t>(size)});
    EXPECT_TRUE(news && news->kind == ExecNews::Kind::opened) << (news ? news->text : "");
    if (files.size() == 2) out_ = std::move(files[0]);
    return pid;
  }
  std::string output() const {
    std::string text;
    char block[4096];
    for (ssize_t size; (size = ::read(out_.get(), block, sizeof block)) > 0;)
      text.append(block, static_cast<std::size_t>(size));
    return text;
  }
  static int status_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
  }

  StepOrder order_;
  pid_t outer_ = 0;
  pid_t inner_ = 0;
  Fd out_;
};

TEST_F(Boxed, AProcessIsInAllOfThem) {
  const pid_t pid = start(
      {"sh", "-c", "hostname; pwd; cat file; ps -o comm= -p 1; grep -c : /proc/net/dev; exit 5"});
  EXPECT_EQ(output(), "boxed\n/mnt\nin\nsleep\n1\n");
  const int status = status_of(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
}

TEST_F(Boxed, SignalsGoInAndItsEndComesOut) {
  const pid_t pid = start({"sh", "-c", "echo up; exec sleep 1000"});
  char up[3];
  ASSERT_EQ(::read(out_.get(), up, sizeof up), 3);
  ASSERT_EQ(::kill(-pid, SIGTERM), 0);
  const int status = status_of(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST_F(Boxed, AKilledRelayTakesItAlong) {
  const pid_t pid = start({"sh", "-c", "echo up; exec sleep 1000"});
  char up[3];
  ASSERT_EQ(::read(out_.get(), up, sizeof up), 3);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(output(), "");  // nobody holds the pipe any more
  status_of(pid);
}

}  // namespace
}  // namespace rota::gpud
