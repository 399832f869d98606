// sim/replay_report.h - a replay in numbers: waits, completion, use of the GPUs, what was lost.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay.h"

namespace rota::sim {

/// Of some durations, in seconds. Percentiles are by nearest rank: the least value that so many of
/// all are not above. All 0 when there are none.
struct Spread {
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};
/// Sorts `values`, which are milliseconds.
Spread spread_of(std::vector<SimTime>& values);

/// One project, or all of them.
struct ProjectReport {
  std::string name;
  std::int64_t quota = 0;        // millionths of GPUs
  std::uint64_t jobs = 0;        // in the trace
  std::uint64_t finished = 0;    // of those, ran to their end
  std::uint64_t refused = 0;     // would never fit
  std::uint64_t unfinished = 0;  // waited for ever: the quotas never let them start
  Spread wait;                   // of finished jobs: all the time that they did not run
  Spread completion;             // of finished jobs: from submission to end
  double gpu_hours_in_quota = 0;
  double gpu_hours_over_quota = 0;
  std::uint64_t preemptions = 0;
  double gpu_hours_lost = 0;  // work that was done again, part of the hours above
  double utilisation = 0;     // of the cluster's GPU time from the first submission to the last end
  /// Work that counted, as a part of the GPU time asked for: GPUs times the time from submission to
  /// end. None when nothing was asked for.
  std::optional<double> served;
};

/// Means over equal pieces of time, from the first submission to the last that happened.
struct Timeline {
  double piece_seconds = 0;
  std::vector<std::vector<double>> gpus_held;  // by project, then by piece
  std::vector<double> jobs_waiting;            // by piece
  std::size_t pieces() const { return jobs_waiting.size(); }
};

struct ReplayReport {
  std::uint64_t gpu_count = 0;
  std::size_t node_count = 0;
  double makespan_seconds = 0;  // from the first submission to the last end
  double fairness = 1;          // Jain's index of `served` over the projects that have it
  ProjectReport all;
  std::vector<ProjectReport> projects;  // by name
  Timeline timeline;
  std::vector<double> waits_seconds;  // of all finished jobs, ascending
};

/// (sum of x)^2 / (n * sum of x^2): 1 when all are equal, 1/n when one has everything.
double jain_index(const std::vector<double>& values);

ReplayReport report_of(const ReplayLog& log);

}  // namespace rota::sim
