// common/notify.cpp - one datagram to systemd, one line to --ready-fd.
#include "common/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/escape.h"
#include "common/format.h"

namespace rota {
namespace {

Result<sockaddr_un> notify_address(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || (path.front() != '/' && path.front() != '@') ||
      path.size() >= sizeof address.sun_path)
    return Error{
        Errc::invalid_argument,
        format("NOTIFY_SOCKET is {}; it must be an absolute path or @name of at most {} bytes",
               quoted(path), sizeof address.sun_path - 1)};
  path.copy(address.sun_path, path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // Linux's abstract namespace
  return address;
}

}  // namespace

Result<void> notify_systemd(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return {};
  ROTA_TRY(const sockaddr_un address, notify_address(path));
  const auto failed = [path](const char* what) {
    return Error{Errc::io_failed,
                 format("{} for NOTIFY_SOCKET {}: {}", what, quoted(path), std::strerror(errno))};
  };
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("no socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  const ssize_t sent = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), size);
  Result<void> result;
  if (sent < 0) result = failed("cannot send");
  close(fd);
  return result;
}

Result<void> notify_ready_fd(int fd, std::string_view address) {
  const std::string line = format("{}\n", address);
  std::string_view rest = line;
  Result<void> result;
  while (!rest.empty()) {
    const ssize_t count = write(fd, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      result = Error{Errc::io_failed,
                     format("cannot write to --ready-fd {}: {}", fd, std::strerror(errno))};
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  close(fd);
  return result;
}

}  // namespace rota
