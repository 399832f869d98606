// gpud/launch/identity.cpp - groups first, the user last: afterwards nothing more can be changed.
#include "gpud/launch/identity.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>

namespace rota::gpud {

int become(uid_t uid, gid_t gid, const std::vector<std::uint32_t>& groups) {
  if (::geteuid() != 0) return ::geteuid() == uid ? 0 : EPERM;
  static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
  if (::setgroups(groups.size(), groups.data()) != 0) return errno;
  if (::setresgid(gid, gid, gid) != 0) return errno;
  if (::setresuid(uid, uid, uid) != 0) return errno;
  return 0;
}

}  // namespace rota::gpud
