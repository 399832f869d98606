// gpud/job_map.h - files that tell monitoring which job has which GPU.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gpud/agent.h"
#include "gpud/mig/instances.h"
#include "model/node.h"

namespace rota::gpud {

/// Who has GPUs of this node now.
struct JobHolder {
  JobId job;
  std::uint32_t uid = 0;
  std::vector<std::string> gpu_uuids;
  std::vector<MigDevice> instances = {};
};
/// Of runs that start or run, by job. `instances_of` tells the MIG instances that a run has.
std::vector<JobHolder> job_holders(
    const std::map<RunId, Agent::Run>& runs,
    const std::function<std::vector<MigDevice>(RunId)>& instances_of = {});

/// Keeps one file per GPU that a job has, named by the GPU's index, in each of two directories ("":
/// not wished): for NVIDIA's DCGM exporter (--hpc-job-mapping-dir) with a line `JOB`, for jobstats
/// with a line `JOB UID`; one line for each job that shares the GPU. A GPU that nobody has has no
/// file. A MIG instance has a file of its own: `2.7` (GPU's index, the instance's number) for the
/// former, its UUID for the latter.
class JobMap {
 public:
  JobMap(std::string dcgm_dir, std::string jobstats_dir, const NodeInventory& inventory);

  /// Files of an earlier rgpud go with the first call. What cannot be written is logged once.
  void update(const std::vector<JobHolder>& holders);

 private:
  using Files = std::map<std::string, std::string>;  // path: text
  void add_lines(Files& files, const JobHolder& holder, const std::string& dcgm_name,
                 const std::string& jobstats_name) const;
  void find_instances(const std::string& directory);
  void write(const std::string& path, const std::string& text);
  void complain(const std::string& path, const std::string& what);

  std::string dcgm_dir_;
  std::string jobstats_dir_;
  std::map<std::string, std::uint32_t> indexes_;  // by UUID
  std::vector<std::uint32_t> positions_;          // the same, by position
  Files written_;                                 // "": it may be there, and must not
  bool complained_ = false;
};

}  // namespace rota::gpud
