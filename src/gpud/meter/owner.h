// gpud/meter/owner.h - which run a process of this host belongs to.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"

namespace rota::gpud {

/// The run in whose cgroup a process is. `text`: its /proc/PID/cgroup; `node_directory`: our place
/// in every hierarchy, "n1.3fa94c20".
std::optional<RunId> run_in_cgroup(std::string_view text, std::string_view node_directory);
/// The run whose variable a process carries. `text`: its /proc/PID/environ.
std::optional<RunId> run_in_environment(std::string_view text, std::string_view node_directory);

/// By its cgroup, and where runs have none by its environment; none: of no run of ours, or gone.
std::optional<RunId> run_of_process(std::uint32_t pid, const std::string& node_directory);

}  // namespace rota::gpud
