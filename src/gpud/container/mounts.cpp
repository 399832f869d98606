// gpud/container/mounts.cpp - sources opened as the owner, trees cloned as root, attached inside.
// Linked into rstepd, so without libfmt.
//
// The container's files are the image's, which its owner wrote: a link in it may point anywhere.
// All that is looked up inside is held below the container's root by the kernel (openat2), and what
// is made there is made on the container's own file system only. Nothing of this is ever visible on
// the node: the trees are attached in the container's namespace and go with it.
#include "gpud/container/mounts.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "gpud/container/inside.h"
#include "gpud/container/share_trees.h"
#include "gpud/launch/file.h"
#include "gpud/launch/identity.h"

namespace rota::gpud {
namespace {

/// A source that was opened, or why it was not.
struct Source {
  Fd fd;
  int error = 0;
  bool is_directory = false;
};

// ---- the owner's half: a child with their rights opens the sources and hands them over ----

void send_source(int socket, int fd, int error) {
  iovec part{.iov_base = &error, .iov_len = sizeof error};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  static_cast<void>(::sendmsg(socket, &message, MSG_NOSIGNAL));
}

/// What they could not read by themselves, they do not get through a container.
int may_read(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  const int wanted = S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK;
  return ::faccessat(fd, "", wanted, AT_EMPTY_PATH | AT_EACCESS) == 0 ? 0 : errno;
}

[[noreturn]] void open_all_as_owner(const ContainerOrder& order, const Owner& owner,
                                    const std::vector<std::uint32_t>& groups, int socket) {
  const int refused = become(owner.uid, owner.gid, groups);
  for (const ContainerMount& mount : order.mounts) {
    const Fd fd(refused == 0 ? ::open(mount.source.c_str(), O_PATH | O_CLOEXEC) : -1);
    int error = refused != 0 ? refused : fd ? 0 : errno;
    if (error == 0) error = may_read(fd.get());
    send_source(socket, error == 0 ? fd.get() : -1, error);
  }
  ::_exit(0);
}

Source receive_source(int socket) {
  Source source;
  source.error = EIO;
  iovec part{.iov_base = &source.error, .iov_len = sizeof source.error};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof source.error) {
    source.error = errno == EAGAIN ? ETIMEDOUT : EIO;
    return source;
  }
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
      header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    source.fd.reset(fd);
    struct stat status {};
    source.is_directory = ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
  } else if (source.error == 0) {
    source.error = EIO;
  }
  return source;
}

std::string no_mount(const ContainerMount& mount, const std::string& why) {
  return "cannot mount '" + mount.source + "' at '" + mount.target + "': " + why;
}

std::string not_for(const ContainerMount& mount, const Owner& owner, int error) {
  return no_mount(mount, std::string(strerrordesc_np(error)) + " for " + owner.user.str());
}

std::string open_sources(const ContainerOrder& order, const Owner& owner,
                         const std::vector<std::uint32_t>& groups, std::vector<Source>& sources) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return std::string("cannot make a socket: ") + strerrordesc_np(errno);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const pid_t pid = ::_Fork();
  if (pid == 0) open_all_as_owner(order, owner, groups, theirs.get());
  theirs.reset();
  if (pid < 0) return std::string("cannot start a process: ") + strerrordesc_np(errno);
  std::string trouble;
  for (const ContainerMount& mount : order.mounts) {
    sources.push_back(receive_source(ours.get()));
    if (sources.back().error == 0) continue;
    trouble = not_for(mount, owner, sources.back().error);
    break;
  }
  // It may hang in a file system that does not answer; it is waited for with all our children.
  ::kill(pid, SIGKILL);
  return trouble;
}

// ---- root's half, outside: trees that are attached nowhere yet ----

/// Set-user-id programs in there are none: what the owner can do stays what the owner can do.
std::string clone_tree(const ContainerMount& mount, Source& source) {
  Fd tree(::open_tree(source.fd.get(), "",
                      AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return no_mount(mount, strerrordesc_np(errno));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | (mount.read_only ? MOUNT_ATTR_RDONLY : 0);
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                      sizeof attributes) != 0)
    return no_mount(mount, std::string(strerrordesc_np(errno)) +
                               (errno == ENOSYS ? " (Linux 5.12 or later is needed)" : ""));
  source.fd = std::move(tree);
  return {};
}

// ---- root's half, inside: a child in the container's mount namespace ----

std::string attach(int root, const ContainerMount& mount, const Source& source) {
  const Fd target(open_inside(root, mount.target, O_PATH));
  if (!target) return no_mount(mount, strerrordesc_np(errno));
  if (::move_mount(source.fd.get(), "", target.get(), "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
    return {};
  return no_mount(
      mount, errno == ENOTDIR ? "one is a directory, the other a file" : strerrordesc_np(errno));
}

/// /proc in there does not know this process, so that the descriptor is all there is to read by.
std::string read_all(int fd) {
  std::string text(std::size_t{1} << 20, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

/// "x:y:1000:..." -> the field with this number, from 0; "" if it has fewer.
std::string_view field_of(std::string_view line, int number) {
  for (; number > 0; --number) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return {};
    line.remove_prefix(colon + 1);
  }
  return line.substr(0, line.find(':'));
}

/// Adds the line unless the file has one for the number; `field` is where numbers stand.
void add_line(int root, const char* path, const std::string& line, int field,
              const std::string& number) {
  if (line.empty()) return;
  const Fd file(open_in(root, path, O_RDWR | O_APPEND,
                        RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV));
  if (!file) return;  // an image without the file has no use for it
  const std::string text = read_all(file.get());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (field_of(std::string_view(text).substr(at, end - at), field) == number) return;
    at = end + 1;
  }
  const std::string addition = (text.empty() || text.back() == '\n' ? "" : "\n") + line + '\n';
  static_cast<void>(!::write(file.get(), addition.data(), addition.size()));
}

std::string furnish_inside(const ContainerOrder& order, const ShareTrees& share,
                           const SecretTrees& secrets, const Owner& owner,
                           const std::vector<Source>& sources, int mount_namespace) {
  const Fd self(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (::setns(mount_namespace, CLONE_NEWNS) != 0)
    return std::string("cannot enter the container: ") + strerrordesc_np(errno);
  ::umask(022);
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (const int error = close_devices(root.get(), self.get()))
    return std::string("cannot close the image's device files: ") + strerrordesc_np(error);
  // All places first, while nothing but the container's own files is there to be written to.
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ContainerMount& mount = order.mounts[i];
    if (const int error = make_target(root.get(), mount.target, sources[i].is_directory))
      return no_mount(mount, std::string("the place in the container cannot be made: ") +
                                 strerrordesc_np(error));
  }
  if (std::string trouble = secrets.make_places(root.get()); !trouble.empty()) return trouble;
  add_line(root.get(), "etc/passwd", order.passwd_line, 2, std::to_string(owner.uid));
  add_line(root.get(), "etc/group", order.group_line, 2, std::to_string(owner.gid));
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (std::string trouble = attach(root.get(), order.mounts[i], sources[i]); !trouble.empty())
      return trouble;
  if (std::string trouble = secrets.attach(root.get()); !trouble.empty()) return trouble;
  // Last, so that it stands before whatever was mounted.
  return share.attach(root.get());
}

}  // namespace

std::string furnish(const ContainerOrder& order, const ShareOrder& share,
                    const SecretTrees& secrets, const Owner& owner,
                    const std::vector<std::uint32_t>& groups, int mount_namespace) {
  std::vector<Source> sources;
  if (!order.mounts.empty()) {
    if (std::string trouble = open_sources(order, owner, groups, sources); !trouble.empty())
      return trouble;
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (std::string trouble = clone_tree(order.mounts[i], sources[i]); !trouble.empty())
        return trouble;
  }
  ShareTrees shim;
  if (std::string trouble = shim.open(share); !trouble.empty()) return trouble;
  return furnish_by(
      [&] { return furnish_inside(order, shim, secrets, owner, sources, mount_namespace); });
}

std::string no_reading(const ContainerMount& mount, const Owner& owner) {
  const Fd fd(::open(mount.source.c_str(), O_PATH | O_CLOEXEC));
  const int error = fd ? may_read(fd.get()) : errno;
  return error == 0 ? "" : not_for(mount, owner, error);
}

int as_owner(const Owner& owner, const std::vector<std::uint32_t>& groups,
             const std::function<void()>& work) {
  constexpr auto same = static_cast<uid_t>(-1);
  int error = 0;
  if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(same, owner.gid, same) != 0 ||
      ::setresuid(same, owner.uid, same) != 0)
    error = errno;
  if (error == 0) work();
  if (::setresuid(same, 0, same) != 0 || ::setresgid(same, 0, same) != 0 ||
      ::setgroups(0, nullptr) != 0)
    ::_exit(126);  // neither root nor the owner: nothing good can follow
  return error;
}

int open_as_owner(const std::string& path, const Owner& owner,
                  const std::vector<std::uint32_t>& groups) {
  int fd = -1;
  int error = 0;
  const int refused = as_owner(owner, groups, [&] {
    fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    error = errno;
  });
  errno = refused != 0 ? refused : error;
  return fd;
}

std::string furnish_by(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return std::string("cannot make a pipe: ") + strerrordesc_np(errno);
  const Fd words(ends[0]);
  Fd output(ends[1]);
  const pid_t pid = ::_Fork();
  if (pid == 0) {
    const std::string said = work();
    static_cast<void>(!::write(output.get(), said.data(), said.size()));
    ::_exit(said.empty() ? 0 : 1);
  }
  output.reset();
  if (pid < 0) return std::string("cannot start a process: ") + strerrordesc_np(errno);
  std::string trouble;
  char part[4096];
  for (ssize_t size; (size = ::read(words.get(), part, sizeof part)) != 0;) {
    if (size < 0 && errno != EINTR) break;
    if (size > 0) trouble.append(part, static_cast<std::size_t>(size));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (trouble.empty() && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
    trouble = "what is put into the container could not be put there";
  return trouble;
}

}  // namespace rota::gpud
