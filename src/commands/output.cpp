// commands/output.cpp - writes to standard output.
#include "commands/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/format.h"

namespace rota::commands {

Result<void> print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return Error{Errc::io_failed, std::string(broken_pipe)};
    } else if (errno != EINTR) {
      return Error{Errc::io_failed, format("cannot write to standard output: {}",
                                           errno == EBADF ? "it is closed" : std::strerror(errno))};
    }
  }
  return {};
}

Error output_lost(int error) {
  if (error == EPIPE) return {Errc::io_failed, std::string(broken_pipe)};
  return {Errc::io_failed, format("cannot write the output: {}", std::strerror(error))};
}

void prepare_standard_files() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened the wrong way round on purpose: using it gives EBADF, as on a closed one. The lowest
    // free number is `fd`, since those below are open by now.
    const int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened < 0) _exit(1);
  }
}

}  // namespace rota::commands
