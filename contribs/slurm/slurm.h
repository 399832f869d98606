// contribs/slurm/slurm.h - what the commands that speak Slurm's language have in common.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "commands/program.h"
#include "commands/session.h"
#include "common/result.h"
#include "common/time.h"
#include "model/job.h"
#include "model/node.h"

namespace rota::slurm {

using commands::Arguments;
using commands::Command;
using commands::Given;
using commands::Option;
using commands::Program;

/// Slurm's commands end with 1 when anything is wrong.
inline constexpr int exit_failure = 1;
/// What tools that look for a version find.
inline constexpr std::string_view release = "slurm 23.11.0";

/// Reads the command line by the table, answers --help, --usage and --version, calls `work`, and
/// prints what went wrong: "squeue: error: ...".
int slurm_main(const Command& command, const std::vector<std::string>& words,
               Result<int> (*work)(Program& program, Arguments arguments));

Result<std::vector<NodeView>> nodes_named(const Program& program,
                                          const std::vector<std::string>& names);

/// "2026-11-18T02:40:00", in the local time zone; "Unknown" where there is none.
std::string date_text(WallTime time, std::string_view none = "Unknown");
/// "1-02:03:04", "02:03:04"
std::string long_duration(Duration time);
/// Slurm's word for a state.
std::string_view state_name(JobState state);
/// "cpu=8,mem=32G,node=1,billing=8,gres/gpu=4"
std::string tres_text(const JobView& job);
std::uint64_t cpus_of(const JobView& job);
/// Whether it is of one of the queues and on one of the nodes; an empty list is any.
bool is_within(const JobView& job, const std::vector<std::string>& queues,
               const std::vector<std::string>& nodes);

/// Each is a command: the words behind its name.
int sbatch(const std::vector<std::string>& words);
int srun(const std::vector<std::string>& words);
int salloc(const std::vector<std::string>& words);
int scancel(const std::vector<std::string>& words);
int squeue(const std::vector<std::string>& words);
int sinfo(const std::vector<std::string>& words);
int sacct(const std::vector<std::string>& words);
int scontrol(const std::vector<std::string>& words);
int seff(const std::vector<std::string>& words);

}  // namespace rota::slurm
