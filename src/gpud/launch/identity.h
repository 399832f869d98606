// gpud/launch/identity.h - a child gives up rgpud's rights for those of the job's owner.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace rota::gpud {

/// Becomes uid and gid with exactly these supplementary groups, for good. A process that is not
/// root can only stay who it is. 0 or errno.
int become(uid_t uid, gid_t gid, const std::vector<std::uint32_t>& groups);

}  // namespace rota::gpud
