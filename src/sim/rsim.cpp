// sim/rsim.cpp - rsim: the scheduler without a cluster.
#include <array>
#include <boost/json/value.hpp>

#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/output.h"
#include "commands/program.h"
#include "common/escape.h"
#include "common/format.h"
#include "sim/conform.h"

namespace rota::sim {
namespace {

using namespace commands;

enum : int { id_strict = option_own, id_filter, id_json };

constexpr auto table = std::to_array<Option>({
    {id_strict, 0, "strict", "", "conform: compare nodes and shared GPUs too", Scope::command_line},
    {id_filter, 0, "filter", "TEXT", "conform: only cases whose name contains TEXT",
     Scope::command_line},
    {id_json, 0, "json", "", "print the result as JSON", Scope::command_line},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] conform FILE..."};

constexpr Command command{
    .name = "rsim",
    .synopses = synopses,
    .summary = "Run the scheduler on described clusters, without any daemon.",
    .options = table,
};

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

Result<int> conform(const ConformOptions& options, const std::vector<std::string>& files) {
  if (files.empty()) return Error{Errc::usage, "conform: which files of cases?"};
  Tally tally;
  for (const std::string& file : files) ROTA_CHECK(run_file(file, options, tally));
  ROTA_CHECK(print(options.json ? as_json(tally) : as_text(tally)));
  return tally.failed.empty() ? exit_ok : exit_error;
}

Result<int> run_verb(Program&, Arguments arguments) {
  if (arguments.operands.empty()) return Error{Errc::usage, "what to do? conform"};
  const std::string verb = arguments.operands.front();
  const std::vector<std::string> rest(arguments.operands.begin() + 1, arguments.operands.end());
  ConformOptions options;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_strict) options.strict = true;
    if (given.option->id == id_json) options.json = true;
    if (given.option->id == id_filter) options.filter = given.value;
  }
  if (verb == "conform") return conform(options, rest);
  return Error{Errc::usage, format("unknown command {}; known is conform", quoted(verb))};
}

}  // namespace
}  // namespace rota::sim

int main(int argc, char** argv) {
  return rota::commands::program_main(rota::sim::command, argc, argv, rota::sim::run_verb);
}
