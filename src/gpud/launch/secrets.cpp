// gpud/launch/secrets.cpp - memfd, variables, and files for the owner alone. Linked into rstepd, so
// without libfmt.
#include "gpud/launch/secrets.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gpud/launch/record.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

/// Another rstepd removes the directory of all runs as soon as it is empty.
constexpr int make_tries = 20;

struct Bundle {
  std::vector<proto::Secret> secrets;
  static auto fields(auto& m) { return std::tie(m.secrets); }
};

std::string failed(const std::string& what) {
  return "cannot " + what + ": " + strerrordesc_np(errno);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// A directory that is ours: on a tmpfs for all, anybody could have made one under that name.
Fd open_own(const std::string& path) {
  Fd place(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0) return Fd();
  if (status.st_uid == ::geteuid() && (status.st_mode & 022) == 0) return place;
  errno = EPERM;
  return Fd();
}

/// The run's directory, new and empty. Nobody but us can add to it or list it.
Fd make_directory(const std::string& path) {
  const std::string base = path.substr(0, path.rfind('/'));
  remove_secrets(path);
  for (int left = make_tries; left > 0; --left) {
    if (::mkdir(base.c_str(), 0711) == 0)
      ::chmod(base.c_str(), 0711);
    else if (errno != EEXIST)
      return Fd();
    if (!open_own(base)) {
      if (errno == ENOENT) continue;
      return Fd();
    }
    if (::mkdir(path.c_str(), 0711) == 0) {
      ::chmod(path.c_str(), 0711);
      return open_own(path);
    }
    if (errno != ENOENT) return Fd();
  }
  return Fd();
}

std::string write_files(const StepOrder& order) {
  const std::string& directory = order.secrets_dir;
  const Fd place = make_directory(directory);
  if (!place) return failed("make " + directory);
  const Owner& owner = order.launch.owner;
  for (const SecretUse& use : order.launch.payload.secrets) {
    if (use.target.empty()) continue;
    const std::string* value = secret_value(order.launch.secrets, use.name);
    const Fd file(::openat(place.get(), use.target.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
    if (!file || value == nullptr || !write_all(file.get(), *value) ||
        (::geteuid() == 0 && ::fchown(file.get(), owner.uid, owner.gid) != 0))
      return failed("make the file '" + use.target + "' of secret " + use.name);
  }
  return {};
}

void set_variables(StepOrder& order) {
  std::vector<std::string>& environment = order.launch.payload.environment;
  for (const SecretUse& use : order.launch.payload.secrets) {
    const std::string* value = secret_value(order.launch.secrets, use.name);
    if (!use.target.empty() || value == nullptr) continue;
    const std::string start = use.name + '=';
    std::erase_if(environment, [&start](const std::string& each) {
      return each.compare(0, start.size(), start) == 0;
    });
    environment.push_back(start + *value);
  }
}

}  // namespace

Result<Fd> memory_file(std::string_view bytes) {
  Fd file(::memfd_create("rota", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), bytes) || ::lseek(file.get(), 0, SEEK_SET) != 0)
    return Error{Errc::io_failed, failed("make a file in memory")};
  return file;
}

std::string memory_read(int fd) {
  const auto bytes = record_read(fd);
  return bytes ? *bytes : std::string();
}

Result<Fd> take_secrets_out(StepOrder& order) {
  order.launch.login = {};
  if (order.launch.secrets.empty()) return Fd();
  const Bundle bundle{std::exchange(order.launch.secrets, {})};
  return memory_file(proto::encode(bundle));
}

bool put_secrets_in(StepOrder& order, int file) {
  auto bundle = proto::decode<Bundle>(memory_read(file));
  if (!bundle) return false;
  order.launch.secrets = std::move(bundle->secrets);
  return true;
}

bool has_secret_files(const std::vector<SecretUse>& uses) {
  return std::ranges::any_of(uses, [](const SecretUse& use) { return !use.target.empty(); });
}

const std::string* secret_value(const std::vector<proto::Secret>& secrets,
                                const std::string& name) {
  const auto found = std::ranges::find(secrets, name, &proto::Secret::name);
  return found == secrets.end() ? nullptr : &found->value;
}

std::string place_secrets(StepOrder& order) {
  for (const SecretUse& use : order.launch.payload.secrets)
    if (secret_value(order.launch.secrets, use.name) == nullptr)
      return "its secret " + use.name + " did not reach rstepd";
  set_variables(order);
  return order.secrets_dir.empty() ? "" : write_files(order);
}

void remove_secrets(const std::string& directory) {
  if (directory.empty()) return;
  DIR* const list = ::opendir(directory.c_str());
  if (list == nullptr) return;
  // Only files are in it: nobody else could put anything there.
  while (const dirent* item = ::readdir(list)) ::unlinkat(::dirfd(list), item->d_name, 0);
  ::closedir(list);
  ::rmdir(directory.c_str());
  ::rmdir(directory.substr(0, directory.rfind('/')).c_str());
}

std::string secrets_base(const std::string& node) {
  for (const char* const place : {"/run", "/dev/shm"}) {
    struct statfs status {};
    if (::statfs(place, &status) != 0 || ::access(place, W_OK) != 0) continue;
    const auto type = static_cast<std::uint32_t>(status.f_type);
    if (type == TMPFS_MAGIC || type == RAMFS_MAGIC)
      return std::string(place) + "/rota-secrets." + node;
  }
  return {};
}

void sweep_secrets(const std::string& base, const std::function<bool(RunId)>& is_wanted) {
  if (base.empty()) return;
  DIR* const list = ::opendir(base.c_str());
  if (list == nullptr) return;
  std::vector<std::string> left;
  while (const dirent* item = ::readdir(list))
    if (const auto run = run_from_name(item->d_name); run && !is_wanted(*run))
      left.push_back(base + '/' + item->d_name);
  ::closedir(list);
  for (const std::string& directory : left) remove_secrets(directory);
  ::rmdir(base.c_str());
}

}  // namespace rota::gpud
