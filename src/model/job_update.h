// model/job_update.h - what of a job can be changed after it was submitted, by key and value.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/job.h"
#include "model/project.h"

namespace rota {

struct JobUpdateKey {
  std::string_view name;
  std::string_view help;
  bool while_running;  // else only while it waits
  Result<void> (*apply)(JobSpec& spec, std::string_view value);
};
std::span<const JobUpdateKey> job_update_keys();

/// All of it or nothing. Dates are seconds since 1970 here, or "none": whoever asks knows in which
/// time zone they were written. The result may still be a job that validate() refuses.
Result<JobSpec> job_updated(JobSpec spec, const std::vector<OrgSetting>& settings, bool is_waiting);

}  // namespace rota
