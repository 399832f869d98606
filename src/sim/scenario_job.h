// sim/scenario_job.h - a job as a scenario writes it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario_file.h"

namespace rota::sim {

/// {name: "a-[1-3]", project: team-a, gpus: 1, ...}: one job for every name. The project exists.
Result<std::vector<ScenarioJob>> read_scenario_jobs(const YamlNode& node, const std::string& file,
                                                    const Org& org);

/// A number of GPUs, in millionths.
Result<std::int64_t> read_gpus(const YamlNode& node, const std::string& file, std::string_view key);
/// A duration of at most ten years.
Result<SimTime> read_sim_time(const YamlNode& node, const std::string& file, std::string_view key);

}  // namespace rota::sim
