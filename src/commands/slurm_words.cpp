// commands/slurm_words.cpp - one row for each of Slurm's options: what it is here.
#include "commands/slurm_words.h"

#include <algorithm>
#include <array>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"
#include "model/job.h"

namespace rota::commands {
namespace {

enum : std::uint8_t { b = 1, r = 2, a = 4, all = 7 };  // sbatch, srun, salloc

enum class Way : std::uint8_t {
  same,     // it is ours
  named,    // it is ours by another name, which is `text`
  dropped,  // it is so anyway
  lost,     // `text` says why
  refused,  // leaving it out would do what was not asked for
  gres,
  qos,
  queue,
  memory,
  signal,
  open_mode,
  exclusive,
};

struct Row {
  std::uint8_t commands;
  char letter;
  std::string_view name;
  std::string_view argument;
  Way way;
  std::string_view text = {};
};

constexpr std::string_view no_binding =
    "which cores and memory a task is bound to is Rota's choice";
constexpr std::string_view no_sockets = "tasks are counted by node and by GPU here";
constexpr std::string_view no_reservations = "there are no reservations by name here";
constexpr std::string_view no_files = "files are not copied to the nodes; 'rota cp' does that";
constexpr std::string_view site = "this is for the site to configure";

/// In the order of sbatch(1), then what srun and salloc have besides.
constexpr auto rows = std::to_array<Row>({
    {all, 'A', "account", "NAME", Way::named, "project"},
    {all, 0, "acctg-freq", "LIST", Way::lost, "all jobs are measured alike"},
    {b, 'a', "array", "TASKS", Way::same},
    {b, 0, "batch", "LIST", Way::lost, "the script runs on the first node"},
    {all, 0, "bb", "SPEC", Way::lost, "there are no burst buffers"},
    {all, 0, "bbf", "FILE", Way::lost, "there are no burst buffers"},
    {all, 'b', "begin", "DATE", Way::same},
    {all, 'D', "chdir", "DIR", Way::same},
    {all, 0, "workdir", "DIR", Way::named, "chdir"},
    {all, 0, "cluster-constraint", "LIST", Way::lost, "there is one cluster"},
    {all, 'M', "clusters", "LIST", Way::lost, "there is one cluster"},
    {all, 0, "comment", "TEXT", Way::same},
    {all, 'C', "constraint", "LIST", Way::same},
    {all, 0, "container", "PATH", Way::lost, "images are named with --container-image"},
    {all, 0, "container-id", "ID", Way::lost, "images are named with --container-image"},
    {all, 0, "contiguous", "", Way::lost, "ask for nodes that are close with --topology"},
    {all, 'S', "core-spec", "N", Way::lost, site},
    {all, 0, "cores-per-socket", "N", Way::lost, no_sockets},
    {all, 0, "cpu-freq", "SPEC", Way::lost, site},
    {all, 0, "cpus-per-gpu", "N", Way::same},
    {all, 'c', "cpus-per-task", "N", Way::same},
    {all, 0, "deadline", "DATE", Way::same},
    {all, 0, "delay-boot", "MINUTES", Way::lost, "nodes are not booted for a job"},
    {all, 'd', "dependency", "LIST", Way::same},
    {all, 'm', "distribution", "LIST", Way::lost, "tasks fill one node after the other"},
    {all, 'e', "error", "FILE", Way::same},
    {all, 'x', "exclude", "NODES", Way::same},
    {all, 0, "exclusive", "[user|mcs]", Way::exclusive},
    {b | r, 0, "export", "LIST", Way::same},
    {b | r, 0, "export-file", "FILE", Way::refused, "variables are given with --export"},
    {all, 0, "extra", "TEXT", Way::lost, "a job carries --comment and --label"},
    {all, 'B', "extra-node-info", "SPEC", Way::lost, no_sockets},
    {b | a, 0, "get-user-env", "[TIMEOUT]", Way::dropped},
    {all, 0, "gid", "GROUP", Way::refused, "a job belongs to who submits it"},
    {all, 0, "gpu-bind", "SPEC", Way::lost, "--gpus-per-task gives each task its own"},
    {all, 0, "gpu-freq", "SPEC", Way::lost, site},
    {all, 'G', "gpus", "[TYPE:]N", Way::same},
    {all, 0, "gpus-per-node", "[TYPE:]N", Way::same},
    {all, 0, "gpus-per-socket", "[TYPE:]N", Way::lost, no_sockets},
    {all, 0, "gpus-per-task", "[TYPE:]N", Way::same},
    {all, 0, "gres", "LIST", Way::gres},
    {all, 0, "gres-flags", "LIST", Way::lost, no_binding},
    {b | a, 'H', "hold", "", Way::same},
    {all, 0, "hint", "LIST", Way::lost, no_binding},
    {b, 0, "ignore-pbs", "", Way::dropped},
    {b, 'i', "input", "FILE", Way::same},
    {r, 'i', "input", "FILE", Way::lost, "write < FILE"},
    {all, 'J', "job-name", "NAME", Way::same},
    {b, 0, "kill-on-invalid-dep", "yes|no", Way::same},
    {all, 'L', "licenses", "LIST", Way::lost, "licences are not counted here"},
    {all, 0, "mail-type", "LIST", Way::same},
    {all, 0, "mail-user", "ADDRESS", Way::same},
    {all, 0, "mcs-label", "NAME", Way::lost, "there are no such labels"},
    {all, 0, "mem", "SIZE", Way::memory},
    {all, 0, "mem-bind", "SPEC", Way::lost, no_binding},
    {all, 0, "mem-per-cpu", "SIZE", Way::same},
    {all, 0, "mem-per-gpu", "SIZE", Way::same},
    {all, 0, "mincpus", "N", Way::lost, "CPUs are counted by task: --cpus-per-task"},
    {all, 0, "network", "SPEC", Way::lost, "all networks of the nodes are there"},
    {all, 0, "nice", "[N]", Way::same},
    {all, 'k', "no-kill", "[off]", Way::lost, "a job that loses a node ends, unless it is elastic"},
    {b, 0, "no-requeue", "", Way::same},
    {b, 'F', "nodefile", "FILE", Way::lost, "write --nodelist"},
    {all, 'w', "nodelist", "NODES", Way::same},
    {all, 'N', "nodes", "N[-MAX]", Way::same},
    {all, 'n', "ntasks", "N", Way::same},
    {all, 0, "ntasks-per-core", "N", Way::lost, no_sockets},
    {all, 0, "ntasks-per-gpu", "N", Way::same},
    {all, 0, "ntasks-per-node", "N", Way::same},
    {all, 0, "tasks-per-node", "N", Way::named, "ntasks-per-node"},
    {all, 0, "ntasks-per-socket", "N", Way::lost, no_sockets},
    {all, 0, "oom-kill-step", "[0|1]", Way::lost, "what is over its memory ends the job"},
    {b | r, 0, "open-mode", "append|truncate", Way::open_mode},
    {b | r, 'o', "output", "FILE", Way::same},
    {all, 'O', "overcommit", "", Way::lost, "a task has its CPUs to itself"},
    {all, 's', "oversubscribe", "", Way::lost, "a job has its CPUs and GPUs to itself"},
    {all, 0, "share", "", Way::lost, "a job has its CPUs and GPUs to itself"},
    {b, 0, "parsable", "", Way::same},
    {all, 'p', "partition", "NAME", Way::queue},
    {all, 0, "power", "FLAGS", Way::lost, site},
    {all, 0, "prefer", "LIST", Way::lost, "only --constraint is known, and it must be met"},
    {all, 0, "priority", "N", Way::lost, "priorities are other numbers here: see rsubmit(1)"},
    {all, 0, "profile", "LIST", Way::lost, "all jobs are measured alike"},
    {b | r, 0, "propagate", "[LIST]", Way::lost, "all of your limits go along"},
    {all, 'q', "qos", "NAME", Way::qos},
    {all, 'Q', "quiet", "", Way::same},
    {all, 0, "reboot", "", Way::lost, "nodes are not booted for a job"},
    {b, 0, "requeue", "", Way::same},
    {all, 0, "reservation", "NAME", Way::lost, no_reservations},
    {all, 0, "resv-ports", "[N]", Way::lost, "MASTER_PORT is free on the first node"},
    {all, 0, "segment", "N", Way::same},
    {all, 0, "signal", "[B:]SIGNAL[@TIME]", Way::signal},
    {all, 0, "sockets-per-node", "N", Way::lost, no_sockets},
    {all, 0, "spread-job", "", Way::lost, "where jobs go is the queue's choice: pack or spread"},
    {b | r, 0, "stepmgr", "", Way::dropped},
    {all, 0, "switches", "N[@TIME]", Way::lost, "ask for nodes that are close with --topology"},
    {b | r, 0, "test-only", "", Way::refused,
     "nothing tells the start of a job before it is queued"},
    {all, 0, "thread-spec", "N", Way::lost, site},
    {all, 0, "threads-per-core", "N", Way::lost, no_binding},
    {all, 't', "time", "TIME", Way::same},
    {all, 0, "time-min", "TIME", Way::lost, "a job has one time limit"},
    {all, 0, "tmp", "SIZE", Way::lost, "room in /tmp is not counted"},
    {all, 0, "tres-bind", "SPEC", Way::lost, no_binding},
    {all, 0, "tres-per-task", "LIST", Way::lost, "ask with --gpus-per-task and --cpus-per-task"},
    {all, 0, "uid", "USER", Way::refused, "a job belongs to who submits it"},
    {all, 0, "use-min-nodes", "", Way::lost, "give the number of nodes"},
    {b, 'W', "wait", "", Way::same},
    {b | a, 0, "wait-all-nodes", "0|1", Way::dropped},
    {all, 0, "wckey", "NAME", Way::lost, "a job carries --comment and --label"},
    {b, 0, "wrap", "COMMAND", Way::same},
    // pyxis
    {all, 0, "container-image", "IMAGE", Way::named, "image"},
    {all, 0, "container-mounts", "LIST", Way::same},
    {all, 0, "container-workdir", "DIR", Way::same},
    {all, 0, "container-name", "NAME", Way::same},
    {all, 0, "container-save", "FILE", Way::same},
    {all, 0, "container-mount-home", "", Way::same},
    {all, 0, "no-container-mount-home", "", Way::dropped},
    {all, 0, "container-remap-root", "", Way::same},
    {all, 0, "no-container-remap-root", "", Way::dropped},
    {all, 0, "container-entrypoint", "", Way::named, "entrypoint"},
    {all, 0, "no-container-entrypoint", "", Way::named, "no-entrypoint"},
    {all, 0, "container-entrypoint-log", "", Way::lost, "its output is in the job's"},
    {all, 0, "container-writable", "", Way::same},
    {all, 0, "container-readonly", "", Way::same},
    {all, 0, "container-env", "NAMES", Way::same},
    // srun
    {r, 0, "bcast", "[FILE]", Way::lost, no_files},
    {r, 0, "compress", "[TYPE]", Way::lost, no_files},
    {r, 0, "send-libs", "[yes|no]", Way::lost, no_files},
    {r, 0, "cpu-bind", "SPEC", Way::lost, no_binding},
    {r, 'X', "disable-status", "", Way::dropped},
    {r, 0, "epilog", "FILE", Way::lost, site},
    {r, 0, "prolog", "FILE", Way::lost, site},
    {r, 0, "task-epilog", "FILE", Way::lost, site},
    {r, 0, "task-prolog", "FILE", Way::lost, site},
    {r, 0, "exact", "", Way::lost, "a step may use all that the job has"},
    {r, 0, "whole", "", Way::dropped},
    {r, 0, "external", "", Way::lost, "there are no such steps"},
    {r, 0, "external-launcher", "", Way::lost, "there are no such steps"},
    {r, 0, "het-group", "LIST", Way::lost, "a job is of one kind of tasks"},
    {r | a, 'I', "immediate", "[SECONDS]", Way::lost, "the command waits, and ^C ends that"},
    {r, 0, "jobid", "JOB", Way::refused, "a step is started from within its job; see rexec(1)"},
    {r, 'K', "kill-on-bad-exit", "[0|1]", Way::same},
    {a, 'K', "kill-command", "[SIGNAL]", Way::lost, "the command is told by SIGHUP"},
    {r, 'l', "label", "", Way::same},
    {r, 0, "mpi", "KIND", Way::same},
    {r, 0, "msg-timeout", "SECONDS", Way::dropped},
    {r, 0, "multi-prog", "", Way::refused, "all tasks run one command, which may look at RANK"},
    {r | a, 'Z', "no-allocate", "", Way::refused, "nothing runs beside its allocation"},
    {r, 0, "overlap", "", Way::same},
    {r, 'E', "preserve-env", "", Way::dropped},
    {r, 0, "pty", "[FD]", Way::named, "pty"},
    {r, 0, "quit-on-interrupt", "", Way::lost, "the third ^C ends the command"},
    {r, 'r', "relative", "N", Way::lost, "write --nodelist"},
    {r, 0, "slurmd-debug", "LEVEL", Way::dropped},
    {r, 'T', "threads", "N", Way::dropped},
    {r, 'u', "unbuffered", "", Way::dropped},
    {r, 'W', "wait", "SECONDS", Way::lost, "with --kill-on-bad-exit the others end"},
    {r, 0, "treewidth", "N", Way::dropped},
    {a, 0, "bell", "", Way::dropped},
    {a, 0, "no-bell", "", Way::dropped},
    {a, 0, "no-shell", "", Way::refused, "an allocation lasts as long as its command"},
});

/// Rows of one command, as cli.h reads them.
struct Table {
  std::vector<Option> options;
  Command command;
};

constexpr std::array<std::string_view, 2> batch_synopses{"[OPTION...] SCRIPT [ARGUMENT...]",
                                                         "[OPTION...] --wrap=COMMAND"};
constexpr std::array<std::string_view, 1> run_synopses{"[OPTION...] COMMAND [ARGUMENT...]"};
constexpr std::array<std::string_view, 1> alloc_synopses{"[OPTION...] [COMMAND [ARGUMENT...]]"};

std::string_view help_of(const Row& row) {
  switch (row.way) {
    case Way::named:
    case Way::lost:
    case Way::refused:
      return row.text;
    case Way::dropped:
      return "it is so anyway";
    default:
      return "as rsubmit has it";
  }
}

Table table_of(SlurmCommand which) {
  Table table;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if ((row.commands & static_cast<std::uint8_t>(which)) == 0) continue;
    // In our tables a '[' makes the argument optional: Slurm's types and letters stand inside it.
    const bool is_optional = row.argument.starts_with('[') && row.argument.ends_with(']');
    const std::string_view argument = is_optional                     ? row.argument
                                      : row.argument.starts_with('[') ? "VALUE"
                                                                      : row.argument;
    table.options.push_back({static_cast<int>(i) + option_own, row.letter, row.name, argument,
                             help_of(row), Scope::command_line});
  }
  for (const Option& option : {verbose_option, help_option, usage_option, version_option})
    table.options.push_back(option);
  return table;
}

/// "gpu:a100:4,tmpdisk:10": GPUs of each node, and the rest that nobody counts here.
void translate_gres(const Given& given, Translation& out) {
  std::string_view rest = given.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (one == "none") continue;
    if (one.starts_with("gres:")) one.remove_prefix(5);  // as TRES have it
    if (one.starts_with("gres/")) one.remove_prefix(5);
    if (one != "gpu" && !one.starts_with("gpu:")) {
      out.lost.push_back({long_option("gres", one), "only GPUs are counted", given.word});
      continue;
    }
    std::string wanted(one.substr(std::min<std::size_t>(one.size(), 4)));
    wanted = wanted.substr(0, wanted.find('('));  // "gpu:2(S:0)"
    const bool has_count =
        !wanted.empty() && wanted.back() >= '0' && wanted.back() <= '9' &&
        wanted.find_first_not_of("0123456789", wanted.rfind(':') + 1) == std::string::npos;
    if (!has_count) wanted += wanted.empty() ? "1" : ":1";
    out.options.push_back({long_option("gpus-per-node", wanted), given.word});
  }
}

void lose(const Given& given, std::string_view name, std::string_view why, Translation& out) {
  out.lost.push_back({long_option(name, given.value), std::string(why), given.word});
}

Result<void> translate_one(const Row& row, const Given& given, Translation& out) {
  const auto put = [&](std::string_view name, std::string_view value) {
    out.options.push_back({long_option(name, value), given.word});
  };
  switch (row.way) {
    case Way::same:
      put(row.name, given.value);
      break;
    case Way::named:
      put(row.text, row.text == "pty" ? "" : given.value);
      break;
    case Way::dropped:
      break;
    case Way::lost:
      lose(given, row.name, row.text, out);
      break;
    case Way::refused:
      return Error{Errc::usage, format("--{}: {}", row.name, row.text)};
    case Way::gres:
      translate_gres(given, out);
      break;
    case Way::qos:
      if (!given.value.empty() && !(given.value[0] >= '0' && given.value[0] <= '9') &&
          priority_from(given.value))
        put("priority", given.value);
      else
        lose(given, row.name, "there are no QOS; priorities go from very-low to very-high", out);
      break;
    case Way::queue: {
      const std::size_t comma = given.value.find(',');
      put("queue", std::string_view(given.value).substr(0, comma));
      if (comma != std::string::npos)
        lose(given, row.name, "a job goes through one queue, the first", out);
      break;
    }
    case Way::memory:
      // All of a node's, which is what a job has that says nothing.
      if (given.value.find_first_not_of("0KMGTkmgt") != std::string::npos || given.value.empty())
        put("mem", given.value);
      break;
    case Way::signal:
      put("signal", std::string_view(given.value).substr(given.value.starts_with("R:") ? 2 : 0));
      break;
    case Way::open_mode:
      if (!given.value.starts_with('t'))
        lose(given, row.name, "a job that starts again goes on in its file, a new one begins it",
             out);
      break;
    case Way::exclusive:
      put("exclusive", given.value);
      break;
  }
  return {};
}

Result<void> translate_all(const Arguments& arguments, std::size_t first_word, Translation& out) {
  for (Given given : arguments.options) {
    if (given.option->id == option_verbose) {
      out.options.push_back({"--verbose", given.word});
      continue;
    }
    if (given.option->id < option_own) {
      out.options.push_back({long_form(*given.option), given.word});
      continue;
    }
    given.word += first_word;
    ROTA_CHECK(
        translate_one(rows[static_cast<std::size_t>(given.option->id - option_own)], given, out));
  }
  return {};
}

}  // namespace

const Command& slurm_command(SlurmCommand which) {
  static const std::array<Table, 3> tables = [] {
    std::array<Table, 3> made{table_of(SlurmCommand::sbatch), table_of(SlurmCommand::srun),
                              table_of(SlurmCommand::salloc)};
    const auto fill = [](Table& table, std::string_view name,
                         std::span<const std::string_view> synopses, std::string_view summary) {
      table.command = {.name = name,
                       .synopses = synopses,
                       .summary = summary,
                       .options = table.options,
                       .options_anywhere = false};
    };
    fill(made[0], "sbatch", batch_synopses, "Queue a script, with Slurm's words: see rsubmit(1).");
    fill(made[1], "srun", run_synopses, "Run a command, with Slurm's words: see rrun(1).");
    fill(made[2], "salloc", alloc_synopses, "Hold resources, with Slurm's words: see ralloc(1).");
    return made;
  }();
  // The spans were made in place: they still show where their vectors are.
  return tables[which == SlurmCommand::sbatch ? 0 : which == SlurmCommand::srun ? 1 : 2].command;
}

Result<Translation> slurm_translate(SlurmCommand command, std::span<const std::string> words) {
  Arguments arguments;
  if (const auto bad = parse_words(slurm_command(command), words, arguments))
    return Error{Errc::usage, bad->what};
  Translation out;
  ROTA_CHECK(translate_all(arguments, 0, out));
  out.operands = std::move(arguments.operands);
  out.after_dashes = arguments.after_dashes;
  return out;
}

Result<Translation> slurm_directive(std::span<const std::string> words) {
  Translation out;
  for (std::size_t first = 0; first < words.size();) {
    Arguments arguments;
    const auto bad =
        parse_words(slurm_command(SlurmCommand::sbatch), words.subspan(first), arguments);
    ROTA_CHECK(translate_all(arguments, first, out));
    if (!bad && arguments.operands.empty()) break;
    // Of a name that nobody knows, or a value of such a one: the next words may be known again.
    const std::size_t at = bad ? first + bad->word : words.size() - arguments.operands.size();
    out.lost.push_back({words[at], "it is no option of sbatch's", at});
    first = at + 1;
  }
  return out;
}

std::vector<std::string> slurm_variables(SlurmCommand command,
                                         std::span<const char* const> environment) {
  const std::string_view prefix = command == SlurmCommand::sbatch   ? "SBATCH_"
                                  : command == SlurmCommand::salloc ? "SALLOC_"
                                                                    : "SLURM_";
  // Inside of a job srun's variables are the job's own: what it has, not what is asked for.
  if (command == SlurmCommand::srun) return {};
  std::vector<std::string> words;
  for (const std::string_view variable : environment) {
    if (!variable.starts_with(prefix)) continue;
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    std::string name =
        lower_case(std::string(variable.substr(prefix.size(), equals - prefix.size())));
    std::ranges::replace(name, '_', '-');
    if (name == "timelimit") name = "time";
    if (name == "array-inx") name = "array";
    for (const Option& option : slurm_command(command).options) {
      if (option.id < option_own || (option.name != name)) continue;
      const std::string_view value = variable.substr(equals + 1);
      const bool is_flag = option.argument.empty();
      if (is_flag && (value == "0" || value == "no")) continue;
      words.push_back(is_flag ? long_form(option) : long_option(name, value));
    }
  }
  return words;
}

}  // namespace rota::commands
