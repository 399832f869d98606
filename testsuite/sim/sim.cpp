// testsuite/sim/sim.cpp - runs many seeds and prints TAP; a failure prints the line that replays
// it.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/world.h"

namespace rota::sim {
namespace {

struct Flags {
  std::uint64_t seeds = 2000;
  std::uint64_t seed = 0;  // only this one
  Mistake mistake = Mistake::none;
  bool verbose = false;
};

int tests = 0;
int failures = 0;

void ok(bool passed, const std::string& name) {
  std::printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, name.c_str());
  if (!passed) ++failures;
  std::fflush(stdout);
}

std::string replay(const Options& options) {
  std::string line = "testsuite/sim/sim --seed=" + std::to_string(options.seed) + " --verbose";
  if (!options.faults) line += " --no-faults";
  if (options.mistake != Mistake::none)
    line += std::string(" --mistake=") + name_of(options.mistake);
  return line;
}

/// Seeds 1..count: how many broke a promise; says the first.
std::uint64_t broken_seeds(std::uint64_t count, Options options, bool stop_at_first, bool quiet) {
  std::uint64_t broken = 0;
  World::Counts sum;
  for (options.seed = 1; options.seed <= count; ++options.seed) {
    World world(options);
    const std::string text = world.run();
    const auto& counts = world.counts();
    sum.events += counts.events;
    sum.jobs_acknowledged += counts.jobs_acknowledged;
    sum.controller_crashes += counts.controller_crashes;
    sum.node_crashes += counts.node_crashes;
    sum.reboots += counts.reboots;
    sum.sessions_cut += counts.sessions_cut;
    sum.commits_failed += counts.commits_failed;
    sum.requeues += counts.requeues;
    sum.preemptions += counts.preemptions;
    sum.growths += counts.growths;
    sum.shrinks += counts.shrinks;
    if (text.empty()) continue;
    if (!quiet && broken++ == 0)
      std::printf("# %s\n# replay: %s\n", text.c_str(), replay(options).c_str());
    if (stop_at_first) return quiet ? 1 : broken;
  }
  std::printf(
      "# %llu seeds: %llu steps, %llu jobs, %llu controller crashes, %llu rgpud crashes, %llu "
      "reboots, %llu sessions cut, %llu failed commits, %llu requeues, %llu preemptions, %llu "
      "nodes grown, %llu shrinks\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(sum.events),
      static_cast<unsigned long long>(sum.jobs_acknowledged),
      static_cast<unsigned long long>(sum.controller_crashes),
      static_cast<unsigned long long>(sum.node_crashes),
      static_cast<unsigned long long>(sum.reboots),
      static_cast<unsigned long long>(sum.sessions_cut),
      static_cast<unsigned long long>(sum.commits_failed),
      static_cast<unsigned long long>(sum.requeues),
      static_cast<unsigned long long>(sum.preemptions),
      static_cast<unsigned long long>(sum.growths), static_cast<unsigned long long>(sum.shrinks));
  return broken;
}

int replay_one(const Flags& flags, bool faults) {
  Options options;
  options.seed = flags.seed;
  options.mistake = flags.mistake;
  options.faults = faults;
  options.verbose = flags.verbose;
  const std::string text = World(options).run();
  std::printf("%s\n", text.empty() ? "all promises kept" : text.c_str());
  return text.empty() ? 0 : 1;
}

int run_all(const Flags& flags) {
  Options options;
  ok(broken_seeds(flags.seeds, options, false, false) == 0,
     std::to_string(flags.seeds) + " seeds of faults keep the promises");
  options.faults = false;
  ok(broken_seeds(flags.seeds / 20 + 1, options, false, false) == 0,
     "without faults the ledger is what was held");
  // Each mistake must be found, or the checks are worth nothing.
  options.faults = true;
  for (const Mistake mistake : {Mistake::answer_before_commit, Mistake::launch_twice,
                                Mistake::requeue_at_once, Mistake::forget_without_record}) {
    options.mistake = mistake;
    ok(broken_seeds(200, options, true, true) > 0,
       std::string("the simulation catches ") + name_of(mistake));
  }
  std::printf("1..%d\n", tests);
  return failures == 0 ? 0 : 1;
}

int main_of(int argc, char** argv) {
  static const option options[] = {
      {"seeds", required_argument, nullptr, 'n'},   {"seed", required_argument, nullptr, 's'},
      {"mistake", required_argument, nullptr, 'm'}, {"no-faults", no_argument, nullptr, 'f'},
      {"verbose", no_argument, nullptr, 'v'},       {nullptr, 0, nullptr, 0}};
  Flags flags;
  bool faults = true;
  if (const char* seeds = std::getenv("ROTA_SIM_SEEDS"))
    flags.seeds = std::strtoull(seeds, nullptr, 10);
  for (int letter; (letter = getopt_long(argc, argv, "v", options, nullptr)) != -1;) {
    if (letter == 'n') flags.seeds = std::strtoull(optarg, nullptr, 10);
    if (letter == 's') flags.seed = std::strtoull(optarg, nullptr, 10);
    if (letter == 'f') faults = false;
    if (letter == 'v') flags.verbose = true;
    if (letter == 'm')
      for (const Mistake mistake : {Mistake::answer_before_commit, Mistake::launch_twice,
                                    Mistake::requeue_at_once, Mistake::forget_without_record})
        if (std::string(optarg) == name_of(mistake)) flags.mistake = mistake;
    if (letter == '?') return 2;
  }
  return flags.seed != 0 ? replay_one(flags, faults) : run_all(flags);
}

}  // namespace
}  // namespace rota::sim

int main(int argc, char** argv) { return rota::sim::main_of(argc, argv); }
