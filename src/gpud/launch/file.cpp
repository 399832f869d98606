// gpud/launch/file.cpp - open, read or write, close.
#include "gpud/launch/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace rota::gpud {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

int file_write(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  return ::write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

std::string file_read(const std::string& path, std::size_t size_max) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  while (file && text.size() < size_max) {
    char block[4096];
    const ssize_t got = ::read(file.get(), block, std::min(sizeof block, size_max - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace rota::gpud
