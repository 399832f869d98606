// gpud/container/mounts.h - puts what a job may see of the node into its container.
#pragma once
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

}  // namespace rota::gpud
