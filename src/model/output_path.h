// model/output_path.h - where a task's output goes: %j %x %u %N %t in a job's patterns.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"
#include "model/job.h"

namespace rota {

struct OutputContext {
  JobId job;
  std::uint32_t restart = 0;
  std::string_view name;
  std::string_view user;
  std::string_view node;
  std::uint32_t task = 0;
  JobId array = {};  // of a task of an array
  std::uint32_t index = 0;
};

/// Expands %j (job id), %x (name), %u (user), %N (node), %t (task), %r (restart), %A (the
/// array's id, or the job's), %a (which task of the array), %%; a number
/// after the % pads with zeros ("%5j"). Relative paths start at `working_directory`. An unknown
/// letter is an error that names it and those we know.
Result<std::string> output_path(std::string_view pattern, const OutputContext& context,
                                std::string_view working_directory);

/// The patterns of a payload with their defaults filled in: stdout "rota-%j.out"; stderr as stdout.
/// Of a task of an array "rota-%A_%a.out".
std::string_view stdout_pattern(const JobPayload& payload, bool in_array = false);
std::string_view stderr_pattern(const JobPayload& payload, bool in_array = false);

}  // namespace rota
