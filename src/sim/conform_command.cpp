// sim/conform_command.cpp - rsim conform: which cases hold, and what came where one does not.
#include <boost/json/value.hpp>

#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/output.h"
#include "common/escape.h"
#include "common/format.h"
#include "sim/conform.h"
#include "sim/rsim_options.h"

namespace rota::sim {
namespace {

using namespace commands;

struct ConformOptions {
  bool strict = false;
  bool json = false;
  std::string filter;
};

struct Tally {
  std::size_t passed = 0;
  std::vector<Verdict> failed;
};

Result<void> run_file(const std::string& path, const ConformOptions& options, Tally& tally) {
  ROTA_TRY(const auto cases, read_cases(path));
  for (const auto& item : cases) {
    if (!item.is_object())
      return Error{Errc::malformed, format("{}: a case is not an object", path)};
    const auto* id = item.as_object().if_contains("id");
    if (!options.filter.empty() && id != nullptr && id->is_string() &&
        std::string_view(id->as_string()).find(options.filter) == std::string_view::npos)
      continue;
    Verdict verdict = run_case(item.as_object(), options.strict);
    if (verdict.faults.empty())
      ++tally.passed;
    else
      tally.failed.push_back(std::move(verdict));
  }
  return {};
}

std::string as_json(const Tally& tally) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("passed", tally.passed);
  json.field("failed", tally.failed.size());
  json.key("failures");
  json.begin_array();
  for (const Verdict& verdict : tally.failed) {
    json.begin_object();
    json.field("id", verdict.id);
    json.key("faults");
    json.begin_array();
    for (const std::string& fault : verdict.faults) json.value(fault);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string as_text(const Tally& tally) {
  std::string text;
  for (const Verdict& verdict : tally.failed) {
    text += escaped(verdict.id);
    for (std::size_t i = 0; i < verdict.faults.size(); ++i)
      text += (i == 0 ? ": " : "; ") + escaped(verdict.faults[i]);
    text += '\n';
  }
  return text + format("{} passed, {} failed\n", tally.passed, tally.failed.size());
}

}  // namespace

Result<int> conform_command(const Arguments& arguments) {
  if (arguments.operands.empty()) return Error{Errc::usage, "conform: which files of cases?"};
  ConformOptions options;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_strict) options.strict = true;
    if (given.option->id == id_json) options.json = true;
    if (given.option->id == id_filter) options.filter = given.value;
  }
  Tally tally;
  for (const std::string& file : arguments.operands) ROTA_CHECK(run_file(file, options, tally));
  ROTA_CHECK(print(options.json ? as_json(tally) : as_text(tally)));
  return tally.failed.empty() ? exit_ok : exit_error;
}

}  // namespace rota::sim
