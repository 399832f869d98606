// gpud/health/record.h - what of the GPUs' health outlives rgpud: a file in its spool.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "model/gpu_health.h"
#include "model/job.h"

namespace rota::gpud {

/// A job that made a GPU report an error.
struct JobFault {
  JobId job;
  WallTime at;
  friend bool operator==(const JobFault&, const JobFault&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.at); }
};

struct GpuFile {
  GpuHealth health;
  bool ends_jobs = false;            // draining: its jobs are ended, not waited for
  bool is_final = false;             // it is not tried again after a reset or a reboot
  std::uint32_t reset_failures = 0;  // in a row
  std::uint64_t links_baseline = 0;  // that were up when this boot's first look was taken
  std::vector<WallTime> incidents;   // that ended its jobs, of the last week
  std::vector<JobFault> job_faults;  // of the last day
  std::string cause;                 // for which it was closed, whatever came of it since
  std::vector<ProcessName> left;     // of jobs that are over; it is not reset before they are gone
  friend bool operator==(const GpuFile&, const GpuFile&) = default;
  static auto fields(auto& m) {
    return std::tie(m.health, m.ends_jobs, m.is_final, m.reset_failures, m.links_baseline,
                    m.incidents, m.job_faults, m.cause, m.left);
  }
};

/// Why the node takes no more jobs.
struct NodeTrouble {
  std::string source;  // a GPU's UUID, or a check's path
  std::string text;
  bool until_reboot = false;  // the next boot takes it away
  friend bool operator==(const NodeTrouble&, const NodeTrouble&) = default;
  static auto fields(auto& m) { return std::tie(m.source, m.text, m.until_reboot); }
};

struct HealthRecord {
  std::string boot_id;
  std::uint64_t sequence = 0;       // of the last event
  std::uint64_t kmsg_sequence = 0;  // of the last line of the kernel's log that was acted on
  std::vector<GpuFile> gpus;
  std::vector<HealthEvent> events;  // that the controller has not taken yet
  std::vector<NodeTrouble> troubles;
  friend bool operator==(const HealthRecord&, const HealthRecord&) = default;
  static auto fields(auto& m) {
    return std::tie(m.boot_id, m.sequence, m.kmsg_sequence, m.gpus, m.events, m.troubles);
  }
};

/// Written beside and renamed, and on the disk when this returns.
Result<void> health_record_write(const std::string& path, const HealthRecord& record);
/// not_found: there is none. Anything else: it cannot be read or makes no sense.
Result<HealthRecord> health_record_read(const std::string& path);

}  // namespace rota::gpud
