// sim/replay_options.h - what rsim replay and rsim what-if are asked for, and the files behind it.
#pragma once
#include <string>
#include <string_view>

#include "commands/cli.h"
#include "sim/replay.h"
#include "sim/replay_report.h"

namespace rota::sim {

struct ReplayRequest {
  std::string cluster, projects, trace;  // files; projects may be ""
  std::string with;                      // what-if: the changed projects
  std::string html;                      // "": no page
  bool one_project = false;
  bool json = false;
  ReplayOptions options;
};

/// `verb` is "replay" or "what-if". Says which file is missing.
Result<ReplayRequest> read_replay_request(const commands::Arguments& arguments,
                                          std::string_view verb);

/// "reservations=8,preemption_delay=5m": keys of rota.yaml without "scheduler.".
Result<sched::Policy> policy_parse(std::string_view text);

/// Reads the files and replays the trace with the projects of `projects`; "": an even share each.
/// `label` stands in the progress bar.
Result<ReplayReport> run_replay(const ReplayRequest& request, const std::string& projects,
                                std::string_view label);

}  // namespace rota::sim
