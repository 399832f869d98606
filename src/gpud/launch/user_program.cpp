// gpud/launch/user_program.cpp - fork, exec, wait. Linked into rstepd, so without libfmt.
#include "gpud/launch/user_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "common/clock.h"
#include "gpud/launch/file.h"
#include "gpud/launch/identity.h"
#include "gpud/launch/task.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

struct Pipe {
  Fd out;
  Fd in;
};

bool open_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.out.reset(ends[0]);
  pipe.in.reset(ends[1]);
  return true;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The child's part. What goes wrong is said as the program itself would say it.
[[noreturn]] void become_program(UserOrder order, const Pipe& input, const Pipe& output) {
  ::setsid();
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(input.out.get(), 0);
  ::dup2(output.in.get(), 1);
  ::dup2(output.in.get(), 2);
  reset_oom_score();
  std::string trouble;
  if (const int error = become(order.owner.uid, order.owner.gid, order.groups)) {
    trouble =
        "cannot become uid " + std::to_string(order.owner.uid) + ": " + strerrordesc_np(error);
  } else {
    const auto words = pointers_to(order.words);
    const auto environment = pointers_to(order.environment);
    environ = const_cast<char**>(environment.data());  // execvpe looks for PATH there
    ::execvpe(words.front(), words.data(), environment.data());
    // A directory of the PATH that the user may not enter hides what was the matter with the
    // others.
    const bool is_hidden = order.words.front().find('/') == std::string::npos && errno == EACCES;
    trouble = "cannot be run: " + std::string(strerrordesc_np(is_hidden ? ENOENT : errno));
  }
  static_cast<void>(!::write(2, trouble.data(), trouble.size()));
  ::_exit(127);
}

/// What is there to be read now; of one that never stops, a part.
void drain(int from, std::string& text) {
  char part[1024];
  for (int i = 0; i < 64; ++i) {
    const ssize_t size = ::read(from, part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.append(part, static_cast<std::size_t>(size));
    if (text.size() > user_bytes_max) text.erase(0, text.size() - user_bytes_max);
  }
}

/// Until it has ended, its time is over or rgpud has gone; "" or why it was not waited for. Its
/// output may be held open by a daemon that it has started, so that its end is not the end.
std::string wait_for(int process, int output, int socket, MonoTime give_up, std::string& text) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - mono_now()).count();
    if (left <= 0) return "it did not end in time";
    pollfd waits[3] = {{.fd = process, .events = POLLIN, .revents = 0},
                       {.fd = socket, .events = POLLIN, .revents = 0},
                       {.fd = output, .events = POLLIN, .revents = 0}};
    if (::poll(waits, 3, static_cast<int>(left)) < 0 && errno != EINTR)
      return std::string("cannot wait for it: ") + strerrordesc_np(errno);
    if ((waits[2].revents & POLLIN) != 0) drain(output, text);
    if (waits[0].revents != 0) return {};
    if (waits[1].revents != 0) return "nobody waits for it any more";
    if ((waits[2].revents & POLLIN) == 0 && waits[2].revents != 0) output = -1;  // its end
  }
}

UserEnd run(const UserOrder& order, int socket) {
  UserEnd end;
  Pipe input, output;
  if (order.words.empty() || order.input.size() > user_bytes_max) {
    end.trouble = "there is nothing to run, or its input is too long";
    return end;
  }
  if (!open_pipe(input) || !open_pipe(output)) {
    end.trouble = std::string("cannot make a pipe: ") + strerrordesc_np(errno);
    return end;
  }
  static_assert(user_bytes_max <= 4096);  // a pipe takes that much at once
  static_cast<void>(!::write(input.in.get(), order.input.data(), order.input.size()));
  input.in.reset();
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t pid = ::_Fork();
  if (pid == 0) become_program(order, input, output);
  if (pid < 0) {
    end.trouble = std::string("cannot start a process: ") + strerrordesc_np(errno);
    return end;
  }
  output.in.reset();
  ::fcntl(output.out.get(), F_SETFL, O_NONBLOCK);
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const MonoTime give_up = mono_now() + std::chrono::milliseconds(order.limit_ms);
  end.trouble = wait_for(process.get(), output.out.get(), socket, give_up, end.output);
  if (!end.trouble.empty()) ::kill(order.with_children ? -pid : pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  drain(output.out.get(), end.output);
  if (!end.trouble.empty()) return end;
  if (WIFEXITED(status))
    end.code = WEXITSTATUS(status);
  else
    end.trouble = "it was ended by signal " + std::to_string(WTERMSIG(status));
  return end;
}

}  // namespace

void run_user_program(const UserOrder& order, int socket) {
  const std::string bytes = proto::encode(run(order, socket));
  static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

}  // namespace rota::gpud
