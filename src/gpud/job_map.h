// gpud/job_map.h - files that tell monitoring which job has which GPU.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "gpud/agent.h"
#include "model/node.h"

namespace rota::gpud {

/// Who has GPUs of this node now.
struct JobHolder {
  JobId job;
  std::uint32_t uid = 0;
  std::vector<std::string> gpu_uuids;
};
/// Of runs that start or run, by job.
std::vector<JobHolder> job_holders(const std::map<RunId, Agent::Run>& runs);

/// Keeps one file per GPU that a job has, named by the GPU's index, in each of two directories ("":
/// not wished): for NVIDIA's DCGM exporter (--hpc-job-mapping-dir) with a line `JOB`, for jobstats
/// with a line `JOB UID`; one line for each job that shares the GPU. A GPU that nobody has has no
/// file.
class JobMap {
 public:
  JobMap(std::string dcgm_dir, std::string jobstats_dir, const NodeInventory& inventory);

  /// Files of an earlier rgpud go with the first call. What cannot be written is logged once.
  void update(const std::vector<JobHolder>& holders);

 private:
  using Files = std::map<std::string, std::string>;  // path: text
  void add_line(Files& files, const std::string& directory, std::uint32_t index,
                const std::string& line) const;
  void write(const std::string& path, const std::string& text);
  void complain(const std::string& path, const std::string& what);

  std::string dcgm_dir_;
  std::string jobstats_dir_;
  std::map<std::string, std::uint32_t> indexes_;  // by UUID
  Files written_;                                 // "": it may be there, and must not
  bool complained_ = false;
};

}  // namespace rota::gpud
