// commands/run_options.cpp - the tables of rrun and ralloc.
#include "commands/run_options.h"

#include <algorithm>
#include <array>

#include "commands/allocation.h"

namespace rota::commands {
namespace {

constexpr auto here = Scope::command_line;
constexpr std::array<std::string_view, 1> run_synopses{"[OPTION...] COMMAND [ARGUMENT...]"};
constexpr std::array<std::string_view, 1> alloc_synopses{"[OPTION...] [COMMAND [ARGUMENT...]]"};

}  // namespace

const Command& run_command() {
  static const std::vector<Option> table = options_of_rsubmit(
      {"job-name",
       "project",
       "queue",
       "gpus",
       "gpus-per-node",
       "gpus-per-task",
       "gpu-memory",
       "gpu-devices",
       "mig",
       "mps",
       "nodes",
       "ntasks",
       "ntasks-per-node",
       "cpus-per-task",
       "mem",
       "mem-per-cpu",
       "mem-per-gpu",
       "cpus-per-gpu",
       "ntasks-per-gpu",
       "nodelist",
       "exclude",
       "constraint",
       "exclusive",
       "time",
       "begin",
       "deadline",
       "dependency",
       "nice",
       "comment",
       "mail-type",
       "mail-user",
       "chdir",
       "kind",
       "priority",
       "image",
       "container-mounts",
       "container-workdir",
       "container-mount-home",
       "container-writable",
       "container-readonly",
       "entrypoint",
       "no-entrypoint",
       "container-entrypoint",
       "no-container-entrypoint",
       "env",
       "container-env",
       "shm-size",
       "large-shm",
       "pull",
       "local-image",
       "data",
       "git",
       "container-name",
       "container-save",
       "runtime",
       "no-container-remap-root",
       "container-remap-root",
       "container-unshare",
       "secret",
       "port",
       "url",
       "external-url"},
      {Option{run_label, 'l', "label", "", "begin each line with the number of its task", here},
       Option{run_output, 'o', "output", "FILE", "file for the output; none: nowhere", here},
       Option{run_error, 'e', "error", "FILE", "file for errors; default: the output's", here},
       Option{run_kill, 'K', "kill-on-bad-exit", "[0|1]", "a task that fails ends the others",
              here},
       Option{run_mpi, 0, "mpi", "KIND", "pmix (default where the nodes have it) or none", here},
       Option{run_overlap, 0, "overlap", "", "share the job with its other steps, as all do", here},
       Option{run_pty, 0, "pty", "", "run it on a terminal of its own", here}, verbose_option,
       help_option, usage_option, version_option});
  static const Command it{
      .name = "rrun",
      .synopses = run_synopses,
      .summary =
          "Wait for the resources asked for, run a command on them, once for each task, and return "
          "its exit code. Inside a job, run it as a step of that job.",
      .options = table,
      .options_anywhere = false,
  };
  return it;
}

const Command& alloc_command() {
  static const std::vector<Option> table =
      options_of_rsubmit({"job-name",
                          "project",
                          "queue",
                          "gpus",
                          "gpus-per-node",
                          "gpus-per-task",
                          "gpu-memory",
                          "gpu-devices",
                          "mig",
                          "nodes",
                          "ntasks",
                          "ntasks-per-node",
                          "cpus-per-task",
                          "mem",
                          "nodelist",
                          "exclude",
                          "constraint",
                          "topology",
                          "segment",
                          "exclusive",
                          "time",
                          "chdir",
                          "kind",
                          "priority",
                          "secret",
                          "mem-per-cpu",
                          "mem-per-gpu",
                          "cpus-per-gpu",
                          "ntasks-per-gpu",
                          "begin",
                          "deadline",
                          "dependency",
                          "nice",
                          "comment",
                          "mail-type",
                          "mail-user"},
                         {verbose_option, help_option, usage_option, version_option});
  static const Command it{
      .name = "ralloc",
      .synopses = alloc_synopses,
      .summary =
          "Wait for the resources asked for, then run a shell or a command on this host that may "
          "use them, and give them back at its end.",
      .options = table,
      .options_anywhere = false,
  };
  return it;
}

bool is_for_step(std::string_view name) {
  constexpr std::array<std::string_view, 7> shape{
      "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus-per-task", "nodelist", "chdir"};
  if (std::ranges::find(shape, name) != shape.end()) return true;
  return std::ranges::any_of(run_command().options, [name](const Option& option) {
    return option.name == name && (option.id >= run_pty || option.id < option_own);
  });
}

}  // namespace rota::commands
