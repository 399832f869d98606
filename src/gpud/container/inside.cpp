// gpud/container/inside.cpp - openat2, which knows what a path must not do. In rstepd, so without
// libfmt.
#include "gpud/container/inside.h"

#include <fcntl.h>
#include <linux/openat2.h>
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

}  // namespace rota::gpud
