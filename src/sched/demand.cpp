// sched/demand.cpp - fractions and memory in quota's units.
#include "sched/demand.h"

#include <charconv>

namespace rota::sched {
namespace {

/// A memory request is charged in hundredths of a GPU, rounded up.
std::int64_t memory_portion(std::int64_t memory_mib, std::int64_t gpu_memory_mib) {
  if (gpu_memory_mib <= 0) return one_gpu;
  const std::int64_t hundredths = (memory_mib * 100 + gpu_memory_mib - 1) / gpu_memory_mib;
  return hundredths * (one_gpu / 100);
}

}  // namespace

std::uint32_t mig_slices(const std::string& profile) {
  std::uint32_t slices = 0;
  const char* end = profile.data() + profile.size();
  const auto [at, error] = std::from_chars(profile.data(), end, slices);
  return error == std::errc() && at != end && *at == 'g' ? slices : 0;
}

std::int64_t Demand::share_mib(std::int64_t gpu_memory_mib) const {
  if (gpu == Gpu::memory) return memory_mib;
  if (gpu == Gpu::cut) return 0;
  return portion * gpu_memory_mib / one_gpu;
}

Amount Demand::charge(std::int64_t gpu_memory_mib) const {
  Amount amount;
  std::int64_t gpus = 0;
  switch (gpu) {
    case Gpu::none:
      break;
    case Gpu::whole:
      gpus = devices * one_gpu;
      break;
    case Gpu::portion:
      gpus = portion * devices;
      break;
    case Gpu::cut:
      gpus = (portion > 0 ? portion : memory_portion(memory_mib, gpu_memory_mib)) * devices;
      break;
    case Gpu::memory:
      gpus = memory_portion(memory_mib, gpu_memory_mib) * devices;
      break;
  }
  for (const MigAsk& ask : mig) gpus += std::int64_t{mig_slices(ask.profile)} * ask.count * one_gpu;
  amount[Resource::gpu] = gpus;
  amount[Resource::cpu] = cpu_milli;
  amount[Resource::memory] = memory_bytes;
  return amount;
}

}  // namespace rota::sched
