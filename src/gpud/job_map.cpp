// gpud/job_map.cpp - written beside and renamed, so that nobody reads half a file.
#include "gpud/job_map.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

std::vector<JobHolder> job_holders(const std::map<RunId, Agent::Run>& runs) {
  std::vector<JobHolder> holders;
  for (const auto& [id, run] : runs)
    if (run.phase != proto::RunPhase::ended && !run.launch.gpu_uuids.empty())
      holders.push_back({id.job, run.launch.owner.uid, run.launch.gpu_uuids});
  return holders;
}

JobMap::JobMap(std::string dcgm_dir, std::string jobstats_dir, const NodeInventory& inventory)
    : dcgm_dir_(std::move(dcgm_dir)), jobstats_dir_(std::move(jobstats_dir)) {
  for (const Gpu& gpu : inventory.gpus) indexes_[gpu.uuid] = gpu.index;
  for (const std::string& directory : {dcgm_dir_, jobstats_dir_}) {
    if (directory.empty()) continue;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) complain(directory, error.message());
    for (const auto& [uuid, index] : indexes_) written_[format("{}/{}", directory, index)];
  }
}

void JobMap::add_line(Files& files, const std::string& directory, std::uint32_t index,
                      const std::string& line) const {
  if (!directory.empty()) files[format("{}/{}", directory, index)] += line + '\n';
}

void JobMap::update(const std::vector<JobHolder>& holders) {
  if (dcgm_dir_.empty() && jobstats_dir_.empty()) return;
  Files wanted;
  for (const JobHolder& holder : holders) {
    for (const std::string& uuid : holder.gpu_uuids) {
      const auto index = indexes_.find(uuid);
      if (index == indexes_.end()) continue;
      add_line(wanted, dcgm_dir_, index->second, format("{}", holder.job.value));
      add_line(wanted, jobstats_dir_, index->second, format("{} {}", holder.job.value, holder.uid));
    }
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
  const std::string beside = path + ".new";
  std::FILE* file = std::fopen(beside.c_str(), "we");
  if (file == nullptr) return complain(path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(beside.c_str(), path.c_str()) != 0)
    complain(path, std::strerror(errno));
}

void JobMap::complain(const std::string& path, const std::string& what) {
  if (std::exchange(complained_, true)) return;
  log::warning("which job has which GPU cannot be told to monitoring: {}: {}", path, what);
}

}  // namespace rota::gpud
