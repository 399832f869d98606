// ctld/shares.h - who holds and waits for how much, added up along the organisation.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/project.h"

namespace rota::ctld {

/// Jobs go in, one by one; lines come out. Every department's line is the sum of those right below
/// it, every project's the sum of its users'.
class ShareTally {
 public:
  /// `gpus_asked`: millionths that it would be charged; only looked at while it waits.
  void add(const Job& job, std::int64_t gpus_asked);
  /// GPU seconds that a user has used of late.
  void add_usage(const std::string& project, const std::string& user, double gpu_seconds);

  /// In the order of a tree: departments before projects, by name; each followed by what is below.
  std::vector<ShareView> views(const Org& org) const;

 private:
  struct Holding {
    bool preemptible = true;
    JobId job;
    std::int64_t gpus = 0;
    std::string user;
  };
  struct UserTally {
    std::int64_t in_quota = 0;
    std::int64_t over_quota = 0;
    std::int64_t waiting = 0;
    std::int64_t usage = 0;
    std::uint64_t jobs_running = 0;
    std::uint64_t jobs_waiting = 0;
  };
  struct ProjectTally {
    std::vector<Holding> holdings;
    std::map<std::string, UserTally> users;
  };
  std::vector<ShareView> project_views(const Project& project) const;

  std::map<std::string, ProjectTally, std::less<>> projects_;
};

}  // namespace rota::ctld
