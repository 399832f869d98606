// sim/replay_text.h - a report for people and as JSON.
#pragma once
#include <string>

#include "commands/json.h"
#include "commands/table.h"
#include "sim/replay_report.h"

namespace rota::sim {

/// A row for every project and one for all, then the lines that are about the whole.
std::string replay_text(const ReplayReport& report, const commands::TableStyle& style);

/// The object of rsim replay --json; also part of what-if's.
void write_replay(commands::JsonWriter& json, const ReplayReport& report);

/// Seconds as people read them: "1-02:03:04", "3:04".
std::string time_text(double seconds);
/// GPU-hours, or any other amount: "12.5".
std::string amount_text(double amount);
/// A part of one: "97.3 %".
std::string percent_text(double part);

}  // namespace rota::sim
