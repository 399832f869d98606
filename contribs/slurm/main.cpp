// contribs/slurm/main.cpp - which of Slurm's commands this is, by the name that it was called by.
#include <cstdio>

#include "commands/payload.h"
#include "slurm.h"

int main(int argc, char** argv) {
  using namespace rota::slurm;
  struct Name {
    std::string_view name;
    int (*work)(const std::vector<std::string>& words);
  };
  constexpr Name names[] = {{"sbatch", sbatch}, {"srun", srun},         {"salloc", salloc},
                            {"squeue", squeue}, {"scancel", scancel},   {"sinfo", sinfo},
                            {"sacct", sacct},   {"scontrol", scontrol}, {"seff", seff}};
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::string called = argc > 0 ? rota::commands::base_name(argv[0]) : std::string();
  // "rota-slurm squeue -h" is the same as "squeue -h".
  if (called == "rota-slurm" && !words.empty()) {
    called = words.front();
    words.erase(words.begin());
  }
  for (const Name& each : names)
    if (called == each.name) return each.work(words);
  std::fputs(
      "rota-slurm: call it by one of its names: sbatch, srun, salloc, squeue, scancel, "
      "sinfo, sacct, scontrol, seff\n",
      stderr);
  return 1;
}
