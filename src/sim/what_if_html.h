// sim/what_if_html.h - two replays of one trace over each other, as one page.
#pragma once
#include <string>

#include "sim/replay_report.h"

namespace rota::sim {

/// Both reports are of the same trace. Like replay_html, the page needs nothing else.
std::string what_if_html(const ReplayReport& before, const ReplayReport& after);

}  // namespace rota::sim
