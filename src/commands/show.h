// commands/show.h - rota show: all that is known of jobs, nodes, projects and queues.
#pragma once
#include <string>
#include <vector>

#include "commands/program.h"
#include "common/result.h"

namespace rota::commands {

/// scontrol's "show": the first word says of what, the others which. Prints "key: value", one a
/// line and a blank line between two of them, or JSON. The exit code is exit_not_found when one of
/// them is not known; the others are shown.
Result<int> show(const Program& program, const std::vector<std::string>& words, bool as_json);

}  // namespace rota::commands
