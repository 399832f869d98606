// sim/rsim_options.h - the options of rsim by number, and the commands that take them.
#pragma once
#include "commands/cli.h"
#include "common/result.h"

namespace rota::sim {

enum : int {
  id_json = commands::option_own,
  // conform
  id_strict,
  id_filter,
  // pack
  id_nodes,
  id_tasks,
  id_arrivals,
  id_seed,
  id_policy,
  id_time,
  // replay, what-if
  id_cluster,
  id_projects,
  id_trace,
  id_with,
  id_limits,
  id_checkpoint,
  id_one_project,
  id_html,
};

/// Each gets its own options and, as operands, what stands behind its name. The exit code.
Result<int> conform_command(const commands::Arguments& arguments);
Result<int> pack_command(const commands::Arguments& arguments);
Result<int> replay_command(const commands::Arguments& arguments);
Result<int> scenario_command(const commands::Arguments& arguments);
Result<int> what_if_command(const commands::Arguments& arguments);

}  // namespace rota::sim
