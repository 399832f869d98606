// sim/scenario_command.cpp - rsim scenario: one line for what does not hold, and the counts.
#include <chrono>

#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/output.h"
#include "common/format.h"
#include "common/units.h"
#include "sim/rsim_options.h"
#include "sim/scenario_run.h"

namespace rota::sim {
namespace {

using namespace commands;

struct Played {
  std::string file;
  ScenarioOutcome outcome;
};

std::string as_text(const std::vector<Played>& all, std::size_t passed, std::size_t failed) {
  std::string text;
  for (const Played& played : all)
    for (const ScenarioFailure& failure : played.outcome.failures)
      text +=
          format("{}:{}:{}: after {}: {}: expected {}, came {}\n", played.file, failure.mark.line,
                 failure.mark.column, duration_format(std::chrono::milliseconds(failure.time)),
                 failure.what, failure.expected, failure.came);
  return text + format("{} passed, {} failed\n", passed, failed);
}

void write_failure(JsonWriter& json, const std::string& file, const ScenarioFailure& failure) {
  json.begin_object();
  json.field("file", file);
  json.field("line", failure.mark.line);
  json.field("column", failure.mark.column);
  json.key("time_seconds");
  json.units(failure.time, 3);
  json.field("what", failure.what);
  json.field("expected", failure.expected);
  json.field("came", failure.came);
  json.end_object();
}

std::string as_json(const std::vector<Played>& all, std::size_t passed, std::size_t failed) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("passed", passed);
  json.field("failed", failed);
  json.key("failures");
  json.begin_array();
  for (const Played& played : all)
    for (const ScenarioFailure& failure : played.outcome.failures)
      write_failure(json, played.file, failure);
  json.end_array();
  json.end_object();
  return text + "\n";
}

}  // namespace

Result<int> scenario_command(const Arguments& arguments) {
  if (arguments.operands.empty())
    return Error{Errc::usage, "scenario: which files? rsim scenario FILE..."};
  bool json = false;
  for (const Given& given : arguments.options) json = json || given.option->id == id_json;
  std::vector<Played> all;
  std::size_t passed = 0, failed = 0;
  for (const std::string& path : arguments.operands) {
    ROTA_TRY(const auto scenario, scenario_load(path));
    all.push_back({path, run_scenario(scenario)});
    passed += all.back().outcome.passed;
    failed += all.back().outcome.failures.size();
  }
  ROTA_CHECK(print(json ? as_json(all, passed, failed) : as_text(all, passed, failed)));
  return failed == 0 ? exit_ok : exit_error;
}

}  // namespace rota::sim
