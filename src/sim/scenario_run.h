// sim/scenario_run.h - plays a scenario, and says which expectations do not hold.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "sim/scenario_file.h"

namespace rota::sim {

struct ScenarioFailure {
  YamlMark mark;
  SimTime time = 0;      // virtual, since the first step
  std::string what;      // "held: team-a"
  std::string expected;  // "4"
  std::string came;      // "3"
};

struct ScenarioOutcome {
  std::size_t passed = 0;
  std::vector<ScenarioFailure> failures;
};

ScenarioOutcome run_scenario(const Scenario& scenario);

}  // namespace rota::sim
