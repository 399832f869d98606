// gpud/health/program.cpp - posix_spawn of a shell that waits for the program: rgpud leaves its
// children to the kernel, so that the status has to come by another way.
#include "gpud/health/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "gpud/launch/file.h"

extern char** environ;

namespace rota::gpud {
namespace {

/// Of what it prints the end is kept.
constexpr std::size_t output_bytes_max = 4096;
constexpr std::size_t line_bytes_max = 512;
/// How long after the program's own limit we wait before we end it ourselves.
constexpr auto spare = std::chrono::seconds(10);

/// timeout(1) bounds it also when rgpud is killed. What it leaves running does not hold our pipes:
/// the status is the end.
constexpr char waiter[] =
    "ulimit -c 0; limit=$1; shift; timeout -k 5 \"$limit\" \"$@\" 3>&-; echo $? >&3";

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t start = text.rfind('\n');
  if (start != std::string_view::npos) text.remove_prefix(start + 1);
  return escaped(text.substr(0, line_bytes_max));
}

/// One that is wide enough and changes nothing of what is written to it.
bool open_terminal(int (&ends)[2]) {
  Fd ours(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64] = {};
  if (!ours || ::grantpt(ours.get()) != 0 || ::unlockpt(ours.get()) != 0 ||
      ::ptsname_r(ours.get(), name, sizeof name) != 0)
    return false;
  Fd theirs(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios modes{};
  winsize size{};
  size.ws_row = 50;
  size.ws_col = 160;
  if (!theirs || ::tcgetattr(theirs.get(), &modes) != 0) return false;
  ::cfmakeraw(&modes);
  if (::tcsetattr(theirs.get(), TCSANOW, &modes) != 0 ||
      ::ioctl(theirs.get(), TIOCSWINSZ, &size) != 0)
    return false;
  ends[0] = ours.release();
  ends[1] = theirs.release();
  return true;
}

class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(boost::asio::any_io_executor executor, ProgramOrder order,
        std::function<void(Result<void>)> done)
      : order_(std::move(order)),
        done_(std::move(done)),
        output_(executor),
        status_(executor),
        timer_(executor) {}

  void start() {
    if (const int code = spawn(); code != 0) {
      boost::asio::post(timer_.get_executor(), [self = shared_from_this(), code] {
        self->finish(
            Error{Errc::io_failed, format("cannot be started: {}", strerrordesc_np(code))});
      });
      return;
    }
    read(output_, output_text_, output_bytes_max);
    read(status_, status_text_, 16);
    timer_.expires_after(order_.limit + spare);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->ended();
    });
  }

  void forget() {
    done_ = nullptr;
    stop();
  }

 private:
  int spawn() {
    int output[2] = {-1, -1}, status[2] = {-1, -1};
    if (!(order_.on_terminal && open_terminal(output)) && ::pipe2(output, O_CLOEXEC) != 0)
      return errno;
    Fd output_read(output[0]), output_write(output[1]);
    if (::pipe2(status, O_CLOEXEC) != 0) return errno;
    Fd status_read(status[0]), status_write(status[1]);

    const std::string limit = format(
        "{}",
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(order_.limit).count()));
    std::vector<const char*> words{"sh", "-c", waiter, "sh", limit.c_str()};
    for (const std::string& word : order_.words) words.push_back(word.c_str());
    words.push_back(nullptr);
    std::vector<const char*> environment;
    // Who looks a variable up takes the first of its name.
    for (const std::string& each : order_.environment) environment.push_back(each.c_str());
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    environment.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output_write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output_write.get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, status_write.get(), 3);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);  // SIGCHLD above all: the shell has to wait
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int code = ::posix_spawn(&group_, "/bin/sh", &actions, &attributes,
                                   const_cast<char* const*>(words.data()),
                                   const_cast<char* const*>(environment.data()));
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) return code;
    output_.assign(output_read.release());
    status_.assign(status_read.release());
    output_.non_blocking(true);
    status_.non_blocking(true);
    return 0;
  }

  void read(boost::asio::posix::stream_descriptor& from, std::string& text, std::size_t bytes_max) {
    from.async_wait(
        boost::asio::posix::descriptor_base::wait_read,
        [self = shared_from_this(), &from, &text, bytes_max](boost::system::error_code error) {
          if (error) return;
          if (self->take(from, text, bytes_max)) return self->read(from, text, bytes_max);
          if (&from == &self->status_) self->ended();
        });
  }

  /// False at the end.
  bool take(boost::asio::posix::stream_descriptor& from, std::string& text, std::size_t bytes_max) {
    char part[4096];
    for (;;) {
      const ssize_t count = ::read(from.native_handle(), part, sizeof part);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return true;
      if (count <= 0) return false;
      text.append(part, static_cast<std::size_t>(count));
      if (&from == &output_ && order_.heard && done_)
        order_.heard({part, static_cast<std::size_t>(count)});
      if (text.size() > bytes_max) text.erase(0, text.size() - bytes_max);
    }
  }

  void ended() {
    if (output_.is_open()) take(output_, output_text_, output_bytes_max);
    finish(verdict());
  }

  Result<void> verdict() const {
    const std::string& program = order_.words.front();
    const std::string said = last_line(output_text_);
    const auto code = number_parse(last_line(status_text_), 255);
    if (code && *code == 0) return {};
    std::string how;
    if (!code || *code == 124 || *code == 137)
      how = format("did not end within {}", duration_format(order_.limit));
    else
      how = format("ended with {}", *code);
    return Error{Errc::io_failed, said.empty() ? format("{} {}", program, how)
                                               : format("{} {}: {}", program, how, said)};
  }

  void finish(Result<void> result) {
    stop();
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(result));
  }

  void stop() {
    timer_.cancel();
    boost::system::error_code ignored;
    output_.close(ignored);
    status_.close(ignored);
    // The shell, which is alive while it has not told the end; timeout(1) is a group of its own.
    if (group_ > 0 && status_text_.empty()) ::kill(-group_, SIGKILL);
    group_ = 0;
  }

  ProgramOrder order_;
  std::function<void(Result<void>)> done_;
  boost::asio::posix::stream_descriptor output_;
  boost::asio::posix::stream_descriptor status_;
  boost::asio::steady_timer timer_;
  std::string output_text_;
  std::string status_text_;
  pid_t group_ = 0;
};

/// The child lives on in its handlers until they have seen that nobody wants it.
class Handle : public RunningProgram {
 public:
  explicit Handle(std::shared_ptr<Child> child) : child_(std::move(child)) {}
  ~Handle() override { child_->forget(); }

 private:
  std::shared_ptr<Child> child_;
};

}  // namespace

std::unique_ptr<RunningProgram> run_program(boost::asio::any_io_executor executor,
                                            ProgramOrder order,
                                            std::function<void(Result<void>)> done) {
  auto child = std::make_shared<Child>(executor, std::move(order), std::move(done));
  child->start();
  return std::make_unique<Handle>(std::move(child));
}

}  // namespace rota::gpud
