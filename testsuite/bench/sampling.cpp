// testsuite/bench/sampling.cpp - what it costs a node to look at its eight GPUs once a second.
//
// All of one look: NVML's thread with the fake library, the samples' way to the daemon's thread,
// and the adding up for eight runs, once with a GPU each and once with two on each GPU. CPU time of
// the whole process, as many looks one after the other as are quick; a look a second costs the
// same.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "common/clock.h"
#include "common/log.h"
#include "gpud/inventory/nvml_worker.h"
#include "gpud/meter/meter.h"

namespace rota::gpud {
namespace {

constexpr double promised_percent = 1;
constexpr int looks = 500;

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int measure(NvmlWorker& worker, const std::vector<Gpu>& gpus, bool shared) {
  UsageMeter meter;
  std::uint64_t job = 0;
  for (const Gpu& gpu : gpus)
    for (int part = 0; part < (shared ? 2 : 1); ++part)
      meter.begin({RunId{JobId{++job}, 0, 0}, {{gpu.uuid, shared ? 500'000u : 0u}}}, mono_now());
  worker.set_shared(meter.shared());
  const auto owner_of = [](std::uint32_t pid) -> std::optional<RunId> {
    return RunId{JobId{pid}, 0, 0};
  };
  const double begin = cpu_seconds();
  for (int i = 0; i < looks; ++i) {
    MonoTime last;
    for (const GpuSample& sample : worker.last_samples()) last = sample.at;
    worker.sample();
    // The last GPU of the new look is there: the look is over.
    for (bool over = false; !over; usleep(200)) {
      const auto samples = worker.last_samples();
      over = samples.size() == gpus.size() && samples.back().at > last;
      if (over) meter.take(samples, owner_of);
    }
  }
  const double percent = (cpu_seconds() - begin) / looks * 100;
  std::printf("sampling, 8 GPUs, %-6s: %.3f %% of a core at one look a second  %s (< %.0f %%)\n",
              shared ? "shared" : "whole", percent, percent < promised_percent ? "ok" : "MISSED",
              promised_percent);
  return 0;
}

int run() {
  setenv("ROTA_FAKEGPU", BENCH_FAKEGPU_MODEL, 0);
  setenv("ROTA_FAKEGPU_NODE", "bench", 0);
  NvmlWorker worker(BENCH_FAKEGPU);
  const auto gpus = worker.gpus(std::chrono::seconds(30));
  if (!gpus || gpus->size() != 8) {
    std::fprintf(stderr, "sampling: no eight GPUs of the fake library\n");
    return 1;
  }
  return measure(worker, *gpus, false) + measure(worker, *gpus, true);
}

}  // namespace
}  // namespace rota::gpud

int main() { return rota::gpud::run(); }
