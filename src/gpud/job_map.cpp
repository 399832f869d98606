// gpud/job_map.cpp - written beside and renamed, so that nobody reads half a file.
#include "gpud/job_map.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

std::vector<JobHolder> job_holders(
    const std::map<RunId, Agent::Run>& runs,
    const std::function<std::vector<MigDevice>(RunId)>& instances_of) {
  std::vector<JobHolder> holders;
  for (const auto& [id, run] : runs) {
    if (run.phase == proto::RunPhase::ended) continue;
    JobHolder holder{id.job, run.launch.owner.uid, {}, {}};
    if (run.launch.part.mig.empty())
      holder.gpu_uuids = run.launch.gpu_uuids;
    else if (instances_of)
      holder.instances = instances_of(id);
    if (!holder.gpu_uuids.empty() || !holder.instances.empty())
      holders.push_back(std::move(holder));
  }
  return holders;
}

JobMap::JobMap(std::string dcgm_dir, std::string jobstats_dir, const NodeInventory& inventory)
    : dcgm_dir_(std::move(dcgm_dir)), jobstats_dir_(std::move(jobstats_dir)) {
  for (const Gpu& gpu : inventory.gpus) {
    indexes_[gpu.uuid] = gpu.index;
    positions_.push_back(gpu.index);
  }
  for (const std::string& directory : {dcgm_dir_, jobstats_dir_}) {
    if (directory.empty()) continue;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) complain(directory, error.message());
    for (const auto& [uuid, index] : indexes_) written_[format("{}/{}", directory, index)];
    find_instances(directory);
  }
}

/// What an earlier rgpud left of instances: their names say that they are such.
void JobMap::find_instances(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    const bool is_numbers = name.find_first_not_of("0123456789.") == std::string::npos &&
                            std::ranges::count(name, '.') == 1 && name.front() != '.';
    if (is_numbers || name.starts_with("MIG-")) written_[directory + '/' + name];
  }
}

void JobMap::add_lines(Files& files, const JobHolder& holder, const std::string& dcgm_name,
                       const std::string& jobstats_name) const {
  if (!dcgm_dir_.empty()) files[dcgm_dir_ + '/' + dcgm_name] += format("{}\n", holder.job.value);
  if (!jobstats_dir_.empty())
    files[jobstats_dir_ + '/' + jobstats_name] += format("{} {}\n", holder.job.value, holder.uid);
}

void JobMap::update(const std::vector<JobHolder>& holders) {
  if (dcgm_dir_.empty() && jobstats_dir_.empty()) return;
  Files wanted;
  for (const JobHolder& holder : holders) {
    for (const std::string& uuid : holder.gpu_uuids) {
      const auto index = indexes_.find(uuid);
      if (index == indexes_.end()) continue;
      const std::string name = std::to_string(index->second);
      add_lines(wanted, holder, name, name);
    }
    for (const MigDevice& instance : holder.instances)
      if (instance.gpu < positions_.size())
        add_lines(wanted, holder, format("{}.{}", positions_[instance.gpu], instance.instance),
                  instance.uuid);
  }
  for (const auto& [path, text] : written_)
    if (!wanted.contains(path) && ::unlink(path.c_str()) != 0 && errno != ENOENT)
      complain(path, std::strerror(errno));
  for (const auto& [path, text] : wanted) {
    const auto before = written_.find(path);
    if (before == written_.end() || before->second != text) write(path, text);
  }
  written_ = std::move(wanted);
}

void JobMap::write(const std::string& path, const std::string& text) {
  if (const int error = file_replace(path, text, 0666); error != 0)
    complain(path, std::strerror(error));
}

void JobMap::complain(const std::string& path, const std::string& what) {
  if (std::exchange(complained_, true)) return;
  log::warning("which job has which GPU cannot be told to monitoring: {}: {}", path, what);
}

}  // namespace rota::gpud
