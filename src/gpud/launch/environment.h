// gpud/launch/environment.h - the variables a job finds: its own, ROTA_* and, if wished, SLURM_*.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/time.h"
#include "gpud/mps/access.h"
#include "model/node.h"
#include "proto/messages.h"

namespace rota::gpud {

/// A run's place with an MPS daemon.
struct MpsSeat {
  MpsAccess access;
  std::uint32_t percent = 100;
};

/// What the variables tell of the node, besides the launch itself.
struct EnvironmentContext {
  const NodeSettings& settings;
  std::string_view node;   // this node's name
  std::string_view token;  // value of ROTA_RUN: names the run on this host, among all its rgpuds
  WallTime start_time;
  std::vector<MpsSeat> mps = {};   // one for each of its GPUs, or none
  std::string secrets_dir = {};    // where files of its secrets are; "": it has none
  std::uint16_t meeting_port = 0;  // of its first node; 0: not known here
};

/// All variables that every task of the run sees: those of the submission, without what stems from
/// another job, and then ours.
std::vector<std::string> job_environment(const proto::LaunchRun& launch,
                                         const EnvironmentContext& context);

/// What differs from task to task; `local` counts this node's tasks from 0. Its GPUs are here: a
/// task that asked for some of its own sees these and the node's shared ones, not its neighbours'.
std::vector<std::string> task_environment(const proto::LaunchRun& launch,
                                          const EnvironmentContext& context, std::uint32_t local);

}  // namespace rota::gpud
