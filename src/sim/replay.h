// sim/replay.h - a trace on a virtual cluster: who started when, and what that cost.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "sim/cluster_file.h"
#include "sim/trace.h"
#include "sim/virtual_cluster.h"

namespace rota::sim {

/// Which time limits the jobs of a trace ask for.
struct Limits {
  enum class Kind : std::uint8_t { exact, none, factor };
  Kind kind = Kind::exact;
  std::int64_t factor_micro = gpu_unit;  // of the duration, in millionths; at least one
};
/// "exact", "none" or "factor:1.5".
Result<Limits> limits_parse(std::string_view text);

struct ReplayOptions {
  VirtualCluster::Options cluster;
  Limits limits;
  /// Told now and then how many jobs have been submitted; empty: nobody is.
  std::function<void(std::size_t jobs)> progress;
};

/// What became of one job of the trace.
struct ReplayJob {
  SimTime submitted = 0;
  SimTime work = 0;
  std::int64_t gpu_amount = 0;  // millionths of GPUs
  std::uint32_t project = 0;    // in ReplayLog::projects
};

/// All that happened, for the report to count.
struct ReplayLog {
  struct Project {
    std::string name;
    std::int64_t quota = 0;  // millionths of GPUs
  };
  std::vector<Project> projects;
  std::vector<ReplayJob> jobs;  // by JobNumber: those that were taken
  std::vector<Happening> happenings;
  std::vector<std::uint64_t> refused;  // by project: jobs that would never fit
  std::uint64_t gpu_count = 0;         // of the cluster
  std::size_t node_count = 0;
};

/// The organisation of a trace for which nobody wrote one: every project has an even part of the
/// cluster as its quota.
Org even_org(const Trace& trace, const ClusterDescription& cluster);

/// Pre: every project of the trace is in `org`.
ReplayLog replay(const ClusterDescription& cluster, const Org& org, const Trace& trace,
                 const ReplayOptions& options);

}  // namespace rota::sim
