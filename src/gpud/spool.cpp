// gpud/spool.cpp - files and locks; what they mean is decided in steps.cpp.
#include "gpud/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/step_link.h"

namespace rota::gpud {
namespace {

constexpr int step_backlog = 4096;

Error failed(std::string_view what, const std::string& path) {
  return {Errc::io_failed, format("cannot {} {}: {}", what, path, strerrordesc_np(errno))};
}

/// `mode` is set on what we make; what is there is left as the administrator wants it.
Result<void> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    if (::chmod(path.c_str(), mode) != 0) return failed("set the mode of", path);
    return {};
  }
  if (errno == ENOENT) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos && slash > 0) {
      ROTA_CHECK(make_directory(path.substr(0, slash), 0755));
      return make_directory(path, mode);
    }
  }
  struct stat status {};
  if (errno == EEXIST && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  return failed("make the directory", path);
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* item = ::readdir(directory))
    if (item->d_name[0] != '.') names.emplace_back(item->d_name);
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

/// A job's owner must be able to walk to the scripts: the directories above may forbid it.
void warn_if_closed(const std::string& directory) {
  if (::geteuid() != 0) return;
  for (std::string path = directory; !path.empty(); path.resize(path.rfind('/'))) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) != 0) continue;
    log::warning(
        "node.spool_dir {}: only root can enter {}, so the batch scripts of other users "
        "cannot run; it needs mode 0711",
        directory, path);
    return;
  }
}

bool is_locked(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(fd, LOCK_UN);
  return false;
}

}  // namespace

Result<Spool> Spool::open(const std::string& directory) {
  Spool spool;
  spool.directory_ = directory;
  if (directory.empty() || directory.front() != '/')
    return Error{Errc::config_invalid,
                 format("node.spool_dir '{}' is not an absolute path", directory)};
  ROTA_CHECK(make_directory(directory, 0711));
  ROTA_CHECK(make_directory(directory + "/runs", 0700));
  ROTA_CHECK(make_directory(spool.scripts_directory(), 0711));
  const std::string lock = directory + "/lock";
  spool.lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!spool.lock_) return failed("open", lock);
  if (::flock(spool.lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Errc::io_failed, format("{} is in use by another rgpud", directory)};
  warn_if_closed(directory);
  for (const std::string& name : names_in(spool.scripts_directory())) {
    std::string_view whose = name;
    for (const std::string_view suffix :
         {std::string_view(share_suffix), std::string_view(container_suffix), fetch_suffix})
      if (whose.ends_with(suffix)) whose.remove_suffix(suffix.size());
    std::error_code ignored;
    if (const auto run = run_from_name(whose);
        run && ::access(spool.record_path(*run).c_str(), F_OK) != 0)
      std::filesystem::remove_all(spool.scripts_directory() + '/' + name, ignored);
  }
  return spool;
}

std::string Spool::id() const {
  struct stat status {};
  ::stat(directory_.c_str(), &status);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint64_t part : {std::uint64_t{status.st_dev}, std::uint64_t{status.st_ino}})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15, hash ^= hash >> 32;
  return format("{:08x}", static_cast<std::uint32_t>(hash));
}

std::string Spool::record_path(RunId run) const { return directory_ + "/runs/" + run_name(run); }

Result<Fd> Spool::create(const StepOrder& order) {
  const std::string path = record_path(order.launch.run);
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return failed("make the record", path);
  const std::string bytes = record_new(order);
  ssize_t written = -1;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    written = ::write(file.get(), bytes.data(), bytes.size());
  if (written == static_cast<ssize_t>(bytes.size())) return file;
  if (written >= 0) errno = ENOSPC;
  Error error = failed("write the record", path);
  ::unlink(path.c_str());
  return error;
}

Spool::Found Spool::look(RunId run) const {
  Found found;
  found.run = run;
  const std::string path = record_path(run);
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    found.trouble = failed("open", path).detail;
    return found;
  }
  // The lock first: an end that is written after we have read would come from a living rstepd.
  found.is_alive = is_locked(file.get());
  const auto bytes = record_read(file.get());
  if (!bytes) {
    found.trouble = format("cannot read {}: {}", path, bytes.error().detail);
    return found;
  }
  found.record = record_parse(*bytes);
  if (!found.record.order)
    found.trouble = format("{} has no complete order", path);
  else if (found.record.order->launch.run != run)
    found.trouble = format("{} is the record of another run", path);
  return found;
}

bool Spool::is_alive(RunId run) const {
  const Fd file(::open(record_path(run).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return file && is_locked(file.get());
}

std::vector<Spool::Found> Spool::scan() const {
  std::vector<Found> all;
  for (const std::string& name : names_in(directory_ + "/runs")) {
    if (const auto run = run_from_name(name))
      all.push_back(look(*run));
    else
      log::warning("{}/runs/{} is not the record of a run; left alone", directory_, name);
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.run < b.run; });
  return all;
}

void Spool::remove(RunId run) const {
  ::unlink(record_path(run).c_str());
  ::unlink((scripts_directory() + '/' + run_name(run)).c_str());
  // Left by an rstepd that was killed: links, a socket, empty files.
  std::error_code ignored;
  const std::string place = scripts_directory() + '/' + run_name(run);
  std::filesystem::remove_all(place + share_suffix, ignored);
  std::filesystem::remove_all(place + container_suffix, ignored);
  std::filesystem::remove_all(place + std::string(fetch_suffix), ignored);
}

Result<Fd> Spool::listen() const {
  const std::string path = directory_ + '/' + step_socket_name;
  const std::string fresh = path + ".new";
  const Fd place(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!place || !socket) return failed("open", path);
  // By the directory's descriptor, as a socket's path is short; and renamed when it listens, so
  // that nobody meets a socket that refuses.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = format("/proc/self/fd/{}/{}.new", place.get(), step_socket_name);
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  ::unlink(fresh.c_str());
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(fresh.c_str(), 0600) != 0 || ::listen(socket.get(), step_backlog) != 0 ||
      ::rename(fresh.c_str(), path.c_str()) != 0)
    return failed("listen on", path);
  return socket;
}

}  // namespace rota::gpud
