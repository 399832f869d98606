// ctld/engine_org.h - the organisation as the engine keeps it: admission by it, and its changes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "ctld/rows.h"
#include "model/job.h"
#include "model/project.h"

namespace rota::ctld {

/// The cluster's own rules about time, for jobs whose project and queue have none.
struct TimeRules {
  std::int64_t default_seconds = 0;
  std::int64_t max_seconds = 0;  // 0: none
};

/// A valid, normalized Org with its revision. Pure: changes come out as rows.
class OrgBook {
 public:
  OrgBook(Org org, std::uint64_t revision, std::uint64_t serial_last);

  const Org& org() const { return org_; }
  /// Grows with every change.
  std::uint64_t revision() const { return revision_; }

  /// Settles what the job left open - project, queue, priority, time limit - and refuses what they
  /// do not allow. `groups` are the Unix groups of the owner.
  Result<void> admit(const Owner& owner, const std::vector<std::string>& groups,
                     const TimeRules& cluster, JobSpec& spec) const;

  /// Takes over a valid, normalized Org; the rows say what is new.
  void replace(Org desired, std::vector<Row>& rows);
  /// Seconds between the signal and SIGKILL when a job of the project is preempted, as it or a
  /// department above it says; none: nobody does.
  std::optional<std::int64_t> grace_of(const std::string& project) const;
  /// Makes a project for jobs that name one which is not there (of a release that had none).
  void adopt_project(const std::string& name, std::vector<Row>& rows);

 private:
  Result<const Project*> settle_project(const Owner& owner, const std::vector<std::string>& groups,
                                        JobSpec& spec) const;
  Result<const Queue*> settle_queue(const Project& project, JobSpec& spec) const;

  Org org_;
  std::uint64_t revision_ = 0;
  std::uint64_t serial_last_ = 0;
};

/// Live jobs by what they would lose, for the refusal to delete it: "jobs 3, 5 and 7".
std::string jobs_text(const std::vector<JobId>& jobs, std::uint64_t count);

}  // namespace rota::ctld
