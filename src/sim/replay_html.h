// sim/replay_html.h - a report as one page that needs nothing else.
#pragma once
#include <string>

#include "sim/replay_report.h"

namespace rota::sim {

/// Plots and the table of a replay. No script and nothing from elsewhere: it can be mailed, printed
/// and kept.
std::string replay_html(const ReplayReport& report);

}  // namespace rota::sim
