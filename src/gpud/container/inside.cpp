// gpud/container/inside.cpp - openat2, which knows what a path must not do. In rstepd, so without
// libfmt.
#include "gpud/container/inside.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

constexpr std::uint64_t inside = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;

}  // namespace

int open_in(int root, const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  return static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

int open_inside(int root, const std::string& path, std::uint64_t flags) {
  return open_in(root, path, flags, inside);
}

int make_target(int root, const std::string& target, bool is_directory) {
  if (const Fd there(open_inside(root, target, O_PATH)); there) return 0;
  for (std::size_t at = 0; at < target.size();) {
    const std::size_t start = target.find_first_not_of('/', at);
    if (start == std::string::npos) break;
    const std::size_t end = std::min(target.find('/', start), target.size());
    const bool is_last = target.find_first_not_of('/', end) == std::string::npos;
    const std::string name = target.substr(start, end - start);
    const Fd parent(open_in(root, target.substr(0, std::max<std::size_t>(start, 1)),
                            O_PATH | O_DIRECTORY, inside | RESOLVE_NO_XDEV));
    if (!parent) return errno;
    if (is_last && !is_directory) {
      const Fd file(::openat(parent.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
      return file ? 0 : errno;
    }
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return errno;
    at = end;
  }
  return 0;
}

/// "36 35 98:0 / /a\\040b rw,noatime master:1 - ext4 /dev/root rw"
MountLine mount_line(const std::string& line) {
  MountLine mount;
  std::size_t at = 0;
  for (int field = 0; field < 4 && at != std::string::npos; ++field)
    at = line.find(' ', at == 0 && field == 0 ? 0 : at + 1);
  if (at == std::string::npos) return mount;
  const std::size_t end = std::min(line.find(' ', at + 1), line.size());
  for (std::size_t i = at + 1; i < end; ++i) {
    if (line[i] == '\\' && i + 3 < end) {
      mount.point += static_cast<char>((line[i + 1] - '0') * 64 + (line[i + 2] - '0') * 8 +
                                       (line[i + 3] - '0'));
      i += 3;
    } else {
      mount.point += line[i];
    }
  }
  const std::size_t dash = line.find(" - ", end);
  if (dash == std::string::npos) return mount;
  mount.type = line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3);
  return mount;
}

int close_devices(int root, int self) {
  const Fd list(::openat(self, "mountinfo", O_RDONLY | O_CLOEXEC));
  if (!list) return errno;
  std::string text;
  char part[16 << 10];
  for (ssize_t size; (size = ::read(list.get(), part, sizeof part)) != 0;) {
    if (size < 0) return errno;
    text.append(part, static_cast<std::size_t>(size));
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const MountLine mount = mount_line(text.substr(at, end - at));
    at = end + 1;
    if (mount.type == "devpts" || (mount.point == "/dev" && mount.type.ends_with("tmpfs")))
      continue;
    const Fd place(open_inside(root, mount.point, O_PATH));
    struct stat status {};
    if (!place || ::fstat(place.get(), &status) != 0) continue;  // something else covers it
    // A single device that the engine put there.
    if (mount.point.starts_with("/dev/") && !S_ISDIR(status.st_mode)) continue;
    mount_attr closed{};
    closed.attr_set = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID;
    if (::mount_setattr(place.get(), "", AT_EMPTY_PATH, &closed, sizeof closed) != 0 &&
        errno != EINVAL)  // not the root of a mount: covered by what is mounted above it
      return errno;
  }
  return 0;
}

}  // namespace rota::gpud
