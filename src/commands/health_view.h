// commands/health_view.h - what has happened to GPUs and nodes, for people and for programs.
#pragma once
#include <string>
#include <vector>

#include "commands/table.h"
#include "model/gpu_health.h"

namespace rota::commands {

Table health_table(const std::vector<HealthEvent>& events);
/// All of rinfo --health --json.
std::string health_json(const std::vector<HealthEvent>& events);

}  // namespace rota::commands
