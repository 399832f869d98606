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
    {id_policy, 0, "policy", "POLICY",
     "pack: least-loss (the default) or first-fit; replay, what-if: KEY=VALUE,... of "
     "scheduler.* in rota.yaml",
     Scope::command_line},
    {id_time, 0, "time", "", "pack: show the CPU time of a decision too", Scope::command_line},
    {id_cluster, 0, "cluster", "FILE", "replay, what-if: the nodes", Scope::command_line},
    {id_projects, 0, "projects", "FILE",
     "replay, what-if: the projects; without it every project of the trace has an even share",
     Scope::command_line},
    {id_trace, 0, "trace", "FILE", "replay, what-if: the jobs", Scope::command_line},
    {id_with, 0, "with", "FILE", "what-if: the projects as they might be", Scope::command_line},
    {id_limits, 0, "limits", "LIMITS",
     "replay, what-if: time limits of the jobs: exact (the default), none or factor:F",
     Scope::command_line},
    {id_checkpoint, 0, "checkpoint", "DURATION",
     "replay, what-if: jobs save their work so often; without it a preempted job starts over",
     Scope::command_line},
    {id_one_project, 0, "one-project", "", "replay: all jobs are of one project",
     Scope::command_line},
    {id_html, 0, "html", "FILE", "replay, what-if: write a page with plots too",
     Scope::command_line},
    {id_json, 0, "json", "", "print the result as JSON", Scope::command_line},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 5> synopses{
    "[OPTION...] conform FILE...",
    "[OPTION...] pack --nodes=FILE --tasks=FILE --arrivals=FILE",
    "[OPTION...] replay --cluster=FILE --trace=FILE",
    "[OPTION...] what-if --cluster=FILE --trace=FILE --with=FILE",
    "[OPTION...] scenario FILE...",
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
constexpr std::array<int, 8> replay_options{id_cluster, id_projects,   id_trace,       id_policy,
                                            id_limits,  id_checkpoint, id_one_project, id_html};
constexpr std::array<int, 8> what_if_options{id_cluster, id_projects, id_trace,      id_with,
                                             id_policy,  id_limits,   id_checkpoint, id_html};
constexpr auto verbs = std::to_array<Verb>({
    {"conform", conform_options, conform_command},
    {"pack", pack_options, pack_command},
    {"replay", replay_options, replay_command},
    {"what-if", what_if_options, what_if_command},
    {"scenario", {}, scenario_command},
});

std::vector<std::string_view> verb_names() {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  return names;
}

Error unknown_verb(std::string_view word) {
  const auto names = verb_names();
  const auto near = nearest(word, names);
  return {Errc::usage, format("unknown command {}; {}", quoted(word),
                              near.empty() ? format("known are {}", fmt::join(names, ", "))
                                           : format("did you mean '{}'?", near))};
}

bool belongs_to(const Verb& verb, int id) {
  return id < option_own || id == id_json ||
         std::find(verb.options.begin(), verb.options.end(), id) != verb.options.end();
}

Result<int> run_verb(Program&, Arguments arguments) {
  if (arguments.operands.empty())
    return Error{Errc::usage, format("what to do? One of {}", fmt::join(verb_names(), ", "))};
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
