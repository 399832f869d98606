// sim/rsim.cpp - rsim: the scheduler without a cluster.
#include <algorithm>
#include <array>
#include <span>

#include "commands/program.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "sim/rsim_options.h"

namespace rota::sim {
namespace {

using namespace commands;

constexpr auto table = std::to_array<Option>({
    {id_strict, 0, "strict", "", "conform: compare nodes and shared GPUs too", Scope::command_line},
    {id_filter, 0, "filter", "TEXT", "conform: only cases whose name contains TEXT",
     Scope::command_line},
    {id_nodes, 0, "nodes", "FILE", "pack: the nodes", Scope::command_line},
    {id_tasks, 0, "tasks", "FILE", "pack: the tasks", Scope::command_line},
    {id_arrivals, 0, "arrivals", "FILE", "pack: the orders in which tasks arrive",
     Scope::command_line},
    {id_seed, 0, "seed", "N", "pack: only the order of this seed", Scope::command_line},
    {id_policy, 0, "policy", "NAME", "pack: least-loss (the default) or first-fit",
     Scope::command_line},
    {id_time, 0, "time", "", "pack: show the CPU time of a decision too", Scope::command_line},
    {id_json, 0, "json", "", "print the result as JSON", Scope::command_line},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 2> synopses{
    "[OPTION...] conform FILE...",
    "[OPTION...] pack --nodes=FILE --tasks=FILE --arrivals=FILE",
};

constexpr Command command{
    .name = "rsim",
    .synopses = synopses,
    .summary = "Run the scheduler on described clusters, without any daemon.",
    .options = table,
};

struct Verb {
  std::string_view name;
  std::span<const int> options;  // its own, besides --json
  Result<int> (*run)(const Arguments& arguments);
};

constexpr std::array<int, 2> conform_options{id_strict, id_filter};
constexpr std::array<int, 6> pack_options{id_nodes, id_tasks,  id_arrivals,
                                          id_seed,  id_policy, id_time};
constexpr auto verbs = std::to_array<Verb>({
    {"conform", conform_options, conform_command},
    {"pack", pack_options, pack_command},
});

Error unknown_verb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  const auto near = nearest(word, names);
  return {Errc::usage,
          format("unknown command {}; {}", quoted(word),
                 near.empty() ? "known are conform and pack" : format("did you mean '{}'?", near))};
}

bool belongs_to(const Verb& verb, int id) {
  return id < option_own || id == id_json ||
         std::find(verb.options.begin(), verb.options.end(), id) != verb.options.end();
}

Result<int> run_verb(Program&, Arguments arguments) {
  if (arguments.operands.empty()) return Error{Errc::usage, "what to do? conform or pack"};
  const std::string word = arguments.operands.front();
  arguments.operands.erase(arguments.operands.begin());
  const auto verb =
      std::find_if(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.name == word; });
  if (verb == verbs.end()) return unknown_verb(word);
  for (const Given& given : arguments.options)
    if (!belongs_to(*verb, given.option->id))
      return Error{Errc::usage, format("{} does not take {}", word, long_form(*given.option))};
  return verb->run(arguments);
}

}  // namespace
}  // namespace rota::sim

int main(int argc, char** argv) {
  return rota::commands::program_main(rota::sim::command, argc, argv, rota::sim::run_verb);
}
