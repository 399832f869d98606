// gpud/launch/namespaces.h - into the namespaces of another process of the run.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpud/launch/file.h"

namespace rota::gpud {

/// Those namespaces of a process that differ from ours, its root and its working directory. Opened
/// first, while its /proc can be seen; entered later, when that may no longer be so.
class Namespaces {
 public:
  /// 0, or the errno of what could not be opened. It is ESRCH for a process that has ended.
  int open(pid_t pid);

  /// In a child: enters them and becomes the owner on the way: before a user namespace, which is
  /// the owner's own, and after all others, for which root is needed. 0 or errno; then `what` says
  /// at what it failed. Of a pid namespace only children are members: see has_pid().
  int enter(uid_t uid, gid_t gid, const std::vector<std::uint32_t>& groups, std::string& what);
  /// The same for the network alone, as who we are.
  int enter_network();

  /// A child has to be forked to be in the process's pid namespace.
  bool has_pid() const { return static_cast<bool>(pid_); }
  /// Goes where the process is. False when that cannot be done.
  bool go_to_directory() const;

 private:
  struct Space {
    int kind;  // CLONE_NEW*
    const char* name;
    Fd file;
  };
  std::vector<Space> spaces_;  // without those below
  Fd user_;
  Fd pid_;
  Fd root_;  // opened with a mount namespace
  Fd directory_;
};

}  // namespace rota::gpud
