// sim/what_if_text.h - two replays of one trace side by side, for people and as JSON.
#pragma once
#include <string>

#include "commands/table.h"
#include "sim/replay_report.h"

namespace rota::sim {

/// Both reports are of the same trace, so they have the same projects.
std::string what_if_text(const ReplayReport& before, const ReplayReport& after,
                         const commands::TableStyle& style);
std::string what_if_json(const ReplayReport& before, const ReplayReport& after);

/// "-12.5 %"; a dash where there was nothing before.
std::string change_text(double before, double after);

}  // namespace rota::sim
