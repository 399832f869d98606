// commands/sisters.h - where our other commands are, and how to become one of them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota::commands {

/// "/usr/bin/rqueue": beside this program, in the tree it was built in, or where it is installed.
Result<std::string> sister_path(std::string_view name);

/// Becomes that command; comes back only when that is impossible.
Error become_sister(std::string_view name, const std::vector<std::string>& arguments);

/// Runs it and waits: its exit code, 128 and the signal when it was killed.
Result<int> run_sister(std::string_view name, const std::vector<std::string>& arguments);

/// Where sbatch, srun and the others of contribs/slurm are; "": nowhere.
std::string slurm_directory();

}  // namespace rota::commands
