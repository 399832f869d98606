// gpud/launch/owner.h - which run a process on this node belongs to.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/ids.h"

namespace rota::gpud {

struct ProcessOwner {
  std::optional<RunId> run;
  bool is_alive = false;  // there is such a process; without a run it is none of ours
};

/// By its cgroup, whose directories are below `node_directory`; without cgroups by the rstepd
/// (`step_program`) that it descends from: not by anything that a job could write itself. One that
/// is gone already cannot be told.
ProcessOwner owner_of_process(std::uint32_t pid, const std::string& node_directory,
                              const std::string& step_program);

/// The run in the text of /proc/PID/cgroup; for owner_of_process() and its tests.
std::optional<RunId> run_in_cgroup(const std::string& text, const std::string& node_directory);

}  // namespace rota::gpud
