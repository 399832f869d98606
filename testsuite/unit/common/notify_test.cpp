// testsuite/unit/common/notify_test.cpp - readiness, as systemd and --ready-fd hear it.
#include "common/notify.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace rota {
namespace {

/// A datagram socket as systemd binds one, and $NOTIFY_SOCKET that names it.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& name)
      : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0)
        << std::strerror(errno);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    close(fd_);
  }
  std::string received() const {
    char buffer[256];
    const ssize_t count = recv(fd_, buffer, sizeof buffer, 0);
    return count < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(count));
  }

 private:
  int fd_;
};

TEST(Notify, TellsSystemdOverItsSocket) {
  std::string directory = testing::TempDir() + "rota-notify-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  {
    const NotifySocket socket(directory + "/s");
    ASSERT_TRUE(notify_ready());
    EXPECT_EQ(socket.received(), "READY=1");
    ASSERT_TRUE(notify_stopping());
    EXPECT_EQ(socket.received(), "STOPPING=1");
  }
  std::filesystem::remove_all(directory);
}

TEST(Notify, KnowsAbstractSockets) {
  const NotifySocket socket("@rota-notify-test-" + std::to_string(getpid()));
  ASSERT_TRUE(notify_systemd("STATUS=ready"));
  EXPECT_EQ(socket.received(), "STATUS=ready");
}

TEST(Notify, WithoutSystemdNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(notify_ready());
  setenv("NOTIFY_SOCKET", "", 1);
  EXPECT_TRUE(notify_ready());
  unsetenv("NOTIFY_SOCKET");
}

TEST(Notify, SaysWhatIsWrongWithTheSocket) {
  setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_EQ(
      notify_ready().error().detail,
      "NOTIFY_SOCKET is 'relative'; it must be an absolute path or @name of at most 107 bytes");
  setenv("NOTIFY_SOCKET", ("/" + std::string(107, 'x')).c_str(), 1);
  EXPECT_EQ(notify_ready().error().code, Errc::invalid_argument);
  setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  EXPECT_EQ(notify_ready().error().detail,
            "cannot send for NOTIFY_SOCKET '/nonexistent/notify': No such file or directory");
  unsetenv("NOTIFY_SOCKET");
}

TEST(ReadyFd, GetsOneLineAndTheEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(notify_ready_fd(ends[1], "127.0.0.1:7117"));
  char buffer[64];
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(read(ends[0], buffer, sizeof buffer))),
            "127.0.0.1:7117\n");
  EXPECT_EQ(read(ends[0], buffer, sizeof buffer), 0);  // closed behind it
  close(ends[0]);
}

TEST(ReadyFd, SaysWhenItCannotBeWritten) {
  const int fd = open("/dev/null", O_RDONLY);
  EXPECT_EQ(notify_ready_fd(fd, "x:1").error().detail,
            "cannot write to --ready-fd " + std::to_string(fd) + ": Bad file descriptor");
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);  // closed all the same
}

}  // namespace
}  // namespace rota
