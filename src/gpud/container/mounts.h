// gpud/container/mounts.h - puts what a job may see of the node into its container.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gpud/container/order.h"
#include "gpud/container/secret_trees.h"
#include "gpud/share/order.h"
#include "model/job.h"

namespace rota::gpud {

/// Opens every source with the owner's rights, so that no link and no later change leads anywhere
/// else, and attaches what was opened in the container's mount namespace. Gives the owner a name
/// there, and puts the shim of its part of a GPU before the driver. One sentence when something of
/// it fails, "" when all is there.
std::string furnish(const ContainerOrder& order, const ShareOrder& share,
                    const SecretTrees& secrets, const Owner& owner,
                    const std::vector<std::uint32_t>& groups, int mount_namespace);

/// Why this process, which has the owner's rights, may not read the source; "": it may.
std::string no_reading(const ContainerMount& mount, const Owner& owner);

/// Does `work` with the owner's rights, in a process that is root again afterwards. 0, or errno
/// when it could not have them and nothing was done.
int as_owner(const Owner& owner, const std::vector<std::uint32_t>& groups,
             const std::function<void()>& work);
/// Opens a file to read in that way; -1 and errno when it cannot.
int open_as_owner(const std::string& path, const Owner& owner,
                  const std::vector<std::uint32_t>& groups);

/// Does `work` in a child, whose sentence is the result.
std::string furnish_by(const std::function<std::string()>& work);

}  // namespace rota::gpud
