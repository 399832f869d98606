// gpud/container/enroot_start.h - a container by enroot: all of it with the owner's rights.
//
// enroot makes a user namespace, which the owner rules: whatever is in there they can change, and
// root must not act on it. So the mounts are enroot's, looked up and attached by the kernel as the
// owner; trees that root had cloned would come without the locks that keep a user namespace from
// taking off "read-only" or "no devices", or from looking below what is mounted.
#pragma once
#include <string>
#include <vector>

#include "gpud/container/order.h"
#include "gpud/launch/order.h"
#include "model/job.h"

namespace rota::gpud {

/// In a child that has become the owner: unpacks the image if need be and becomes the container.
/// What goes wrong is said to `output`.
[[noreturn]] void run_enroot(const ContainerOrder& order, const Owner& owner,
                             const ShareOrder& share, int output);

/// Puts the shim of its part of a GPU before the driver, in a child that has become the owner
/// before it goes into the namespaces of `init`. One sentence when that fails.
std::string furnish_as_owner(const ShareOrder& share, const Owner& owner,
                             const std::vector<std::uint32_t>& groups, pid_t init);

/// The variables that it shows to whoever runs in there, for the tasks of the order: they win over
/// those that the submitter happened to have, and over nothing that was asked for.
void adopt_variables(const std::vector<std::string>& found, StepOrder& order);

/// "/a b:/c" as enroot takes the words of a mount: for it and for tests. "": it cannot be written.
std::string enroot_mount(const ContainerMount& mount);

/// For a process in the container: where its tasks begin, the first that is there. Before the
/// submitter's directory comes the one that the image's script has.
std::vector<std::string> workdirs_inside(const ContainerOrder& container);
/// Where the script of an image made by enroot goes before it runs its command; "": it does not
/// say.
std::string enroot_workdir(const std::string& script);

}  // namespace rota::gpud
