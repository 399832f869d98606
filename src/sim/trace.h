// sim/trace.h - jobs of the past as a file: when they came, what they asked for, how long they ran.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "model/project.h"

namespace rota::sim {

/// Milliseconds of virtual time.
using SimTime = std::int64_t;

struct TraceJob {
  SimTime submitted = 0;
  SimTime duration = 0;
  std::uint32_t gpu_count = 0;
  std::uint32_t gpu_share = 0;     // of each of them, in millionths; 0: all of it
  std::uint32_t cpu_count = 0;     // of the whole job; 0: not known
  std::uint64_t memory_bytes = 0;  // the same
  std::uint32_t project = 0;       // its place in Trace::projects
  std::uint32_t user = 0;          // its place in Trace::users

  /// Millionths of GPUs.
  std::int64_t gpu_amount() const {
    return std::int64_t{gpu_count} * (gpu_share == 0 ? gpu_unit : gpu_share);
  }
};

struct Trace {
  std::vector<std::string> projects;   // in the order of their first job
  std::vector<std::string> users{""};  // the first: not known
  std::vector<TraceJob> jobs;          // by submission; those of one moment as in the file
};

struct TraceOptions {
  /// Whose projects the jobs must belong to; nullptr: any names will do.
  const Org* org = nullptr;
  /// All jobs are of the project `default`, whatever the file says.
  bool one_project = false;
};

/// Reads a file, plain or gzipped; rsim(1) describes it. A job without a project is of `default`.
Result<Trace> trace_load(const std::string& path, const TraceOptions& options);

}  // namespace rota::sim
