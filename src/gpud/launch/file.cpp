// gpud/launch/file.cpp - open, read or write, close.
#include "gpud/launch/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

int file_replace(const std::string& path, std::string_view bytes, unsigned int mode,
                 bool is_durable) {
  const std::string beside = path + ".new";
  const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!file) return errno;
  int error = 0;
  while (error == 0 && !bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && is_durable && ::fdatasync(file.get()) != 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
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
