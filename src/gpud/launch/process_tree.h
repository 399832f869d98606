// gpud/launch/process_tree.h - which processes descend from which, read from /proc.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace rota::gpud {

/// All living processes below `root`, without it. Zombies are left out.
std::vector<pid_t> descendants_of(pid_t root);

/// Processes of `uid` that carry `variable` ("NAME=value") in the environment they were started
/// with, and all that descend from them: what is left of a run when neither its rstepd nor a cgroup
/// is there to name its processes.
std::vector<pid_t> carriers_of(std::string_view variable, uid_t uid);

/// What tells a living process from a later one with the same number; none: there is no such, or
/// only a zombie.
std::optional<ProcessName> process_name(pid_t pid);
/// Those of `pids` that live.
std::vector<ProcessName> process_names(const std::vector<pid_t>& pids);

}  // namespace rota::gpud
