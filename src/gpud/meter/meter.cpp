// gpud/meter/meter.cpp - time, load, memory and energy of each run, sample by sample.
#include "gpud/meter/meter.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::gpud {
namespace {

/// A GPU that was silent for longer has done something that nobody saw.
constexpr Duration gap_max = std::chrono::seconds(5);
constexpr std::uint64_t whole = 1'000'000;

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// What the counter has gone up by; none if there is none, or the driver was loaded anew.
std::optional<std::uint64_t> risen(std::optional<std::uint64_t> before,
                                   std::optional<std::uint64_t> now) {
  if (!before || !now || *now < *before) return std::nullopt;
  return *now - *before;
}

std::uint64_t energy_of(std::uint32_t power_mw, Duration time) {
  return std::uint64_t{power_mw} * static_cast<std::uint64_t>(milliseconds(time)) / 1000;
}

/// `parts` of `of`, of a number that may be large.
std::uint64_t portion(std::uint64_t amount, std::uint64_t parts, std::uint64_t of) {
  return amount / of * parts + amount % of * parts / of;
}

}  // namespace

std::vector<MeteredGpu> metered_gpus(const NodePart& part,
                                     const std::vector<std::string>& gpu_uuids) {
  std::vector<MeteredGpu> gpus;
  for (std::size_t i = 0; i < gpu_uuids.size(); ++i) {
    const bool is_instance = i >= part.gpus.size() && i - part.gpus.size() < part.mig.size();
    const std::uint32_t share =
        is_instance ? part.mig[i - part.gpus.size()].amount : part.gpu_share;
    const auto known = std::ranges::find(gpus, gpu_uuids[i], &MeteredGpu::uuid);
    if (known == gpus.end())
      gpus.push_back({gpu_uuids[i], share});
    else
      known->share += share;
  }
  return gpus;
}

void UsageMeter::begin(MeteredRun metered, MonoTime now, const SavedUsage* saved) {
  if (metered.gpus.empty()) return;
  Run& run = runs_[metered.id];
  run = Run{};
  run.begun = run.window_start = now;
  for (const MeteredGpu& gpu : metered.gpus) run.gpus[gpu.uuid].share = gpu.share;
  if (saved == nullptr) return;
  run.usage = saved->usage;
  for (const EnergyMark& mark : saved->marks)
    if (const auto gpu = run.gpus.find(mark.uuid); gpu != run.gpus.end() && gpu->second.share == 0)
      gpu->second.mark_mj = mark.energy_mj;
}

SavedUsage UsageMeter::end(RunId id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return {.run = id, .usage = {}, .marks = {}};
  SavedUsage saved{.run = id, .usage = found->second.usage, .marks = {}};
  runs_.erase(found);
  // Nothing of it is in use any more.
  saved.usage.power_mw = 0;
  saved.usage.utilization_percent = 0;
  saved.usage.memory_bytes = 0;
  return saved;
}

std::set<std::string> UsageMeter::shared() const {
  std::set<std::string> uuids;
  for (const auto& [id, run] : runs_)
    for (const auto& [uuid, gpu] : run.gpus)
      if (gpu.share != 0) uuids.insert(uuid);
  return uuids;
}

std::vector<SavedUsage> UsageMeter::all() const {
  std::vector<SavedUsage> all;
  for (const auto& [id, run] : runs_) {
    SavedUsage& saved = all.emplace_back(SavedUsage{.run = id, .usage = run.usage, .marks = {}});
    for (const auto& [uuid, gpu] : run.gpus)
      if (gpu.mark_mj) saved.marks.push_back({uuid, *gpu.mark_mj});
  }
  return all;
}

std::map<std::string, std::map<RunId, std::uint64_t>> UsageMeter::held(MonoTime now) const {
  std::map<std::string, std::map<RunId, std::uint64_t>> held;
  for (const auto& [id, run] : runs_)
    for (const auto& [uuid, gpu] : run.gpus)
      if (now - gpu.at <= gap_max) held[uuid][id] = gpu.memory_bytes;
  return held;
}

void UsageMeter::take(const std::vector<GpuSample>& samples, const OwnerOf& owner_of) {
  std::set<RunId> touched;
  MonoTime latest;
  for (GpuSample sample : samples) {
    // In MIG mode: that nobody is told to do anything does not mean that nobody does.
    if (!sample.utilization_percent) sample.loads.reset();
    std::vector<Part> parts;
    std::vector<RunId> ids;
    for (auto& [id, run] : runs_) {
      const auto gpu = run.gpus.find(sample.uuid);
      if (gpu == run.gpus.end() || sample.at <= gpu->second.at) continue;
      if (sample.at < run.begun) continue;  // the GPU was another's
      parts.push_back({.run = &run, .gpu = &gpu->second});
      ids.push_back(id);
    }
    if (parts.empty()) continue;
    latest = std::max(latest, sample.at);
    touched.insert(ids.begin(), ids.end());
    if (parts.size() == 1 && parts.front().gpu->share == 0)
      take_whole(sample, parts.front());
    else
      take_shared(sample, parts, ids, owner_of);
  }
  for (const RunId id : touched) {
    Run& run = runs_.at(id);
    RunUsage& usage = run.usage;
    std::uint64_t percent = 0;
    usage.memory_bytes = 0;
    usage.power_mw = 0;
    for (const auto& [uuid, gpu] : run.gpus) {
      percent += gpu.percent;
      usage.memory_bytes += gpu.memory_bytes;
      usage.power_mw += gpu.power_mw;
    }
    usage.utilization_percent = static_cast<std::uint32_t>(percent / run.gpus.size());
    usage.memory_max_bytes = std::max(usage.memory_max_bytes, usage.memory_bytes);
    if (latest - run.window_start >= idle_window_) close_window(run, latest);
  }
}

void UsageMeter::take_whole(const GpuSample& sample, Part part) {
  part.percent = sample.utilization_percent.value_or(0);
  part.memory_bytes = sample.memory_used_bytes;
  // What the driver does not tell is not idle.
  part.busy = !sample.utilization_percent || *sample.utilization_percent > 0;
  const bool is_first = part.gpu->at == MonoTime{};
  const Duration time = is_first ? Duration{} : std::min(sample.at - part.gpu->at, gap_max);
  const auto counted = risen(part.gpu->mark_mj, sample.energy_mj);
  part.gpu->mark_mj = sample.energy_mj;
  count(sample, part, counted.value_or(sample.energy_mj ? 0 : energy_of(sample.power_mw, time)),
        sample.power_mw);
}

void UsageMeter::take_shared(const GpuSample& sample, std::vector<Part>& parts,
                             const std::vector<RunId>& ids, const OwnerOf& owner_of) {
  const auto part_of = [&](std::uint32_t pid) -> Part* {
    const auto owner = owner_of(pid);
    if (!owner) return nullptr;
    const auto at = std::find(ids.begin(), ids.end(), *owner);
    return at == ids.end() ? nullptr : &parts[static_cast<std::size_t>(at - ids.begin())];
  };
  std::uint64_t present = 0;  // shares of those who are on it
  for (const GpuProcess& process : sample.processes) {
    Part* part = part_of(process.pid);
    if (part == nullptr) continue;
    if (!part->busy) present += part->gpu->share;
    part->busy = true;  // for now: it is there
    part->memory_bytes += process.memory_bytes;
  }
  const std::uint32_t gpu_percent = sample.utilization_percent.value_or(0);
  for (Part& part : parts) {
    // Where the driver does not tell who did it: they all did, each its share of it.
    if (!sample.loads && part.busy && present > 0)
      part.percent = static_cast<std::uint32_t>(portion(gpu_percent, part.gpu->share, present));
    part.busy = !sample.loads && (!sample.utilization_percent || (part.busy && gpu_percent > 0));
  }
  for (const ProcessLoad& load : sample.loads.value_or(std::vector<ProcessLoad>{})) {
    Part* part = part_of(load.pid);
    if (part == nullptr || load.percent == 0) continue;
    part->percent = std::min(part->percent + load.percent, 100u);
    part->busy = true;
  }

  Counter& counter = counters_[sample.uuid];
  const Duration gap = counter.at == MonoTime{} ? Duration{} : sample.at - counter.at;
  const auto counted = risen(counter.energy_mj, sample.energy_mj);
  const std::uint64_t energy =
      gap > gap_max ? 0 : counted.value_or(sample.energy_mj ? 0 : energy_of(sample.power_mw, gap));
  counter = {sample.at, sample.energy_mj};
  std::uint64_t sum = 0;
  for (const Part& part : parts) sum += part.percent;
  for (const Part& part : parts) {
    const std::uint64_t weight = sum > 0 ? part.percent : part.gpu->share;
    const std::uint64_t of = sum > 0 ? sum : whole;
    count(sample, part, portion(energy, weight, of),
          static_cast<std::uint32_t>(portion(sample.power_mw, weight, of)));
  }
}

void UsageMeter::count(const GpuSample& sample, const Part& part, std::uint64_t energy_mj,
                       std::uint32_t power_mw) {
  Run& run = *part.run;
  GpuNow& gpu = *part.gpu;
  if (gpu.at != MonoTime{} && sample.utilization_percent) {
    const Duration time = std::min(sample.at - gpu.at, gap_max);
    run.usage.sampled_ms += milliseconds(time);
    run.usage.busy_ms += milliseconds(time) * part.percent / 100;
  }
  run.usage.energy_mj += energy_mj;
  gpu.at = sample.at;
  gpu.percent = part.percent;
  gpu.memory_bytes = part.memory_bytes;
  gpu.power_mw = power_mw;
  run.window_seen.insert(sample.uuid);
  if (!part.busy) return;
  run.window_busy = true;
  run.usage.idle_ms = 0;
}

/// A window in which some GPU did not answer says nothing, and what is not known is not idle.
void UsageMeter::close_window(Run& run, MonoTime now) {
  if (run.window_busy || run.window_seen.size() < run.gpus.size())
    run.usage.idle_ms = 0;
  else
    run.usage.idle_ms += milliseconds(now - run.window_start);
  run.window_start = now;
  run.window_busy = false;
  run.window_seen.clear();
}

}  // namespace rota::gpud
