// gpud/container/store.h - the files of a container whose job has ended: kept for the next, saved
// to a file, and an image made from such a file.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gpud/container/order.h"
#include "model/job.h"

namespace rota::gpud {

/// Keeps and saves what the order says, while the container is there. Done in a child that `join`
/// puts into the run's cgroup (0 or errno). One sentence when something of it fails.
std::string store_files(const ContainerOrder& order, const Owner& owner,
                        const std::vector<std::uint32_t>& groups, std::uint32_t umask,
                        const std::function<int()>& join);

/// Before the container is made, in a child that is root: an image from the archive of the order,
/// which is opened with the owner's rights. One sentence when that fails.
std::string import_file(const ContainerOrder& order, const Owner& owner,
                        const std::vector<std::uint32_t>& groups);
/// That image goes with the run.
void remove_import(const ContainerOrder& order);

}  // namespace rota::gpud
