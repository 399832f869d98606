// ctld/url_key.cpp - read, or made once and kept.
#include "ctld/url_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/format.h"
#include "net/seal.h"

namespace rota::ctld {
namespace {

constexpr std::size_t key_bytes = 32;

struct CloseFile {
  int fd;
  ~CloseFile() {
    if (fd >= 0) ::close(fd);
  }
};

Error failed(std::string_view what, const std::string& path) {
  return {Errc::io_failed, format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

Result<std::string> read_key(int fd, const std::string& path) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return failed("look at", path);
  if ((about.st_mode & 077) != 0)
    return Error{Errc::io_failed, format("{} is open to others: chmod 600, or remove it for a new "
                                         "key",
                                         path)};
  std::string key(key_bytes + 1, '\0');
  const ssize_t size = ::read(fd, key.data(), key.size());
  if (size != static_cast<ssize_t>(key_bytes))
    return Error{Errc::io_failed,
                 format("{} is no key of {} bytes: remove it for a new one", path, key_bytes)};
  key.resize(key_bytes);
  return key;
}

}  // namespace

Result<std::string> load_url_key(const std::string& path) {
  const CloseFile there{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (there.fd >= 0) return read_key(there.fd, path);
  if (errno != ENOENT) return failed("open", path);
  // Whole and on the disk before it has its name: a token must not outlive the key it came from.
  const std::string draft = path + ".new";
  const CloseFile made{
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (made.fd < 0) return failed("make", draft);
  const std::string key = net::random_bytes(key_bytes);
  if (::write(made.fd, key.data(), key.size()) != static_cast<ssize_t>(key.size()) ||
      ::fsync(made.fd) != 0)
    return failed("write", draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return failed("name", path);
  return key;
}

}  // namespace rota::ctld
