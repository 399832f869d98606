// gpud/launch/namespaces.cpp - setns, in the only order that works. In rstepd, so without libfmt.
#include "gpud/launch/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "gpud/launch/identity.h"

namespace rota::gpud {
namespace {

struct Kind {
  int flag;
  const char* name;
};
constexpr Kind kinds[] = {{CLONE_NEWIPC, "ipc"},       {CLONE_NEWUTS, "uts"}, {CLONE_NEWNET, "net"},
                          {CLONE_NEWCGROUP, "cgroup"}, {CLONE_NEWPID, "pid"}, {CLONE_NEWNS, "mnt"}};

/// Opens the namespace if it is not our own; 0 or errno.
int open_if_other(const std::string& process, const char* name, Fd& file) {
  const std::string path = process + "/ns/" + name;
  struct stat theirs {
  }, ours{};
  if (::stat(path.c_str(), &theirs) != 0) {
    if (errno != ENOENT) return errno;
    return ::access(process.c_str(), F_OK) == 0 ? 0 : ESRCH;  // a kernel without this kind
  }
  const std::string own = std::string("/proc/self/ns/") + name;
  if (::stat(own.c_str(), &ours) != 0) return errno;
  if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev) return 0;
  file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? 0 : errno;
}

}  // namespace

int Namespaces::open(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (const int error = open_if_other(process, "user", user_)) return error;
  for (const Kind& kind : kinds) {
    Fd file;
    if (const int error = open_if_other(process, kind.name, file)) return error;
    if (!file) continue;
    if (kind.flag == CLONE_NEWPID)
      pid_ = std::move(file);
    else
      spaces_.push_back({kind.flag, kind.name, std::move(file)});
    if (kind.flag != CLONE_NEWNS) continue;
    // A container may also have changed its root without a mount.
    root_.reset(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root_) return errno;
  }
  directory_.reset(::open((process + "/cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return 0;
}

int Namespaces::enter(uid_t uid, gid_t gid, const std::vector<std::uint32_t>& groups,
                      std::string& what) {
  const auto failed = [&what](std::string at) {
    const int error = errno;
    what = std::move(at);
    return error;
  };
  if (user_) {
    errno = become(uid, gid, groups);
    if (errno != 0) return failed("become uid " + std::to_string(uid));
    if (::setns(user_.get(), CLONE_NEWUSER) != 0) return failed("enter its user namespace");
  }
  if (pid_ && ::setns(pid_.get(), CLONE_NEWPID) != 0) return failed("enter its pid namespace");
  for (const Space& space : spaces_)
    if (::setns(space.file.get(), space.kind) != 0)
      return failed(std::string("enter its ") + space.name + " namespace");
  if (root_ && (::fchdir(root_.get()) != 0 || ::chroot(".") != 0)) return failed("enter its root");
  if (user_) return 0;
  errno = become(uid, gid, groups);
  return errno == 0 ? 0 : failed("become uid " + std::to_string(uid));
}

int Namespaces::enter_network() {
  if (user_ && ::geteuid() != 0 && ::setns(user_.get(), CLONE_NEWUSER) != 0) return errno;
  for (const Space& space : spaces_)
    if (space.kind == CLONE_NEWNET && ::setns(space.file.get(), space.kind) != 0) return errno;
  return 0;
}

bool Namespaces::go_to_directory() const { return directory_ && ::fchdir(directory_.get()) == 0; }

}  // namespace rota::gpud
