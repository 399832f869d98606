// sim/replay.cpp - jobs of a trace as submissions, each at its time.
#include "sim/replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "common/assert.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::sim {
namespace {

constexpr std::int64_t milli = 1'000;
constexpr std::int64_t factor_max = 1'000;
constexpr std::size_t progress_step = 1'000;

/// The tasks of one part for each node: as even as can be.
JobSpec spread_over(const TraceJob& job, std::uint32_t node_count) {
  JobSpec spec;
  spec.name = "replayed";
  const bool is_even = job.gpu_count % node_count == 0;
  spec.node_count = node_count;
  spec.task_count = is_even ? node_count : job.gpu_count;
  spec.task.gpu_count = job.gpu_count / spec.task_count;
  spec.task.gpu_share = job.gpu_share;
  const std::uint32_t cpus = (job.cpu_count + spec.task_count - 1) / spec.task_count;
  spec.task.cpu_count = std::max<std::uint32_t>(cpus, 1);
  spec.task.memory_bytes = (job.memory_bytes + spec.task_count - 1) / spec.task_count;
  return spec;
}

/// Finds the fewest nodes that a job's GPUs could ever be divided among. Jobs of one shape are
/// many, so what was found is kept.
class Shapes {
 public:
  Shapes(const VirtualCluster& cluster, std::uint32_t gpus_per_node, std::size_t node_count)
      : cluster_(cluster),
        gpus_per_node_(std::max<std::uint32_t>(gpus_per_node, 1)),
        node_count_(static_cast<std::uint32_t>(node_count)) {}

  /// None: it would never fit.
  const std::optional<JobSpec>& find(const TraceJob& job) {
    const auto key = Key(job.gpu_count, job.gpu_share, job.cpu_count, job.memory_bytes);
    const auto [at, is_new] = found_.try_emplace(key);
    if (is_new) at->second = search(job);
    return at->second;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;

  std::optional<JobSpec> search(const TraceJob& job) const {
    if (job.gpu_count <= gpus_per_node_) return fitting(job, 1);
    for (std::uint32_t part = gpus_per_node_; part > 0; --part) {
      const std::uint32_t nodes = (job.gpu_count + part - 1) / part;
      if (nodes > node_count_) break;
      if (auto spec = fitting(job, nodes)) return spec;
    }
    return std::nullopt;
  }
  std::optional<JobSpec> fitting(const TraceJob& job, std::uint32_t nodes) const {
    JobSpec spec = spread_over(job, nodes);
    if (!validate(spec) || !cluster_.fits(spec)) return std::nullopt;
    return spec;
  }

  const VirtualCluster& cluster_;
  std::uint32_t gpus_per_node_, node_count_;
  std::map<Key, std::optional<JobSpec>> found_;
};

/// Whole seconds, as limits are; 0 is no limit.
std::int64_t limit_of(SimTime duration, const Limits& limits) {
  if (limits.kind == Limits::Kind::none) return 0;
  // Ten years in milliseconds, a thousandfold and in millionths, need more than 63 bits.
  const auto product = static_cast<__int128>(duration) * limits.factor_micro;
  const auto unit = static_cast<__int128>(gpu_unit) * milli;
  const auto seconds = static_cast<std::int64_t>((product + unit - 1) / unit);
  return std::clamp<std::int64_t>(seconds, 1, JobBounds::time_limit_seconds_max);
}

ReplayLog begin_log(const ClusterDescription& cluster, const Org& org, const Trace& trace) {
  ReplayLog log;
  for (const std::string& name : trace.projects) {
    const Project* project = find_project(org, name);
    ROTA_ASSERT(project != nullptr);
    log.projects.push_back({name, project->quota.gpu_quota});
  }
  log.refused.resize(trace.projects.size());
  log.gpu_count = cluster.gpu_count();
  log.node_count = cluster.node_count();
  return log;
}

}  // namespace

Result<Limits> limits_parse(std::string_view text) {
  constexpr std::string_view prefix = "factor:";
  if (text == "exact") return Limits{};
  if (text == "none") return Limits{.kind = Limits::Kind::none};
  if (!text.starts_with(prefix))
    return Error{Errc::usage, format("{} is none of exact, none and factor:NUMBER", quoted(text))};
  const auto factor = decimal_parse(text.substr(prefix.size()), 6, factor_max * gpu_unit);
  if (!factor || *factor < gpu_unit)
    return Error{Errc::usage, format("{}: the factor must be a decimal number from 1 to {}",
                                     quoted(text), factor_max)};
  return Limits{.kind = Limits::Kind::factor, .factor_micro = *factor};
}

Org even_org(const Trace& trace, const ClusterDescription& cluster) {
  Org org;
  const auto gpus = static_cast<std::int64_t>(cluster.gpu_count()) * gpu_unit;
  for (const std::string& name : trace.projects) {
    Project& project = org.projects.emplace_back();
    project.name = name;
    project.quota.gpu_quota = gpus / static_cast<std::int64_t>(trace.projects.size());
  }
  normalize(org);
  return org;
}

ReplayLog replay(const ClusterDescription& description, const Org& org, const Trace& trace,
                 const ReplayOptions& options) {
  ReplayLog log = begin_log(description, org, trace);
  VirtualCluster cluster(description, org, options.cluster);
  Shapes shapes(cluster, description.gpus_per_node_max(), description.node_count());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    if (options.progress && i % progress_step == 0) options.progress(i);
    const auto& shape = shapes.find(job);
    if (!shape) {
      ++log.refused[job.project];
      continue;
    }
    cluster.run_until(job.submitted);
    JobSpec spec = *shape;
    spec.project = trace.projects[job.project];
    spec.time_limit_seconds = limit_of(job.duration, options.limits);
    cluster.submit(std::move(spec), job.duration, trace.users[job.user]);
    log.jobs.push_back({job.submitted, job.duration, job.gpu_amount(), job.project});
  }
  cluster.run_out();
  log.happenings = cluster.take_happenings();
  return log;
}

}  // namespace rota::sim
