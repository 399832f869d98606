// proto/messages_jobs.h - messages between a command and rctld that change jobs. By way of
// messages.h, which says what holds for all.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "model/job.h"
#include "model/project.h"
#include "proto/messages_node.h"

namespace rota::proto {

/// One job that a request named but did not change, and why.
struct JobRefusal {
  JobId job;
  std::uint16_t code = 0;  // Errc
  std::string detail;
  friend bool operator==(const JobRefusal&, const JobRefusal&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.code, m.detail); }
};

/// rota hold, release, requeue, suspend, resume, update -> rctld: do this to the jobs that the
/// filter names.
enum class JobVerb : std::uint8_t {
  hold = 1,     // waits until it is released
  release = 2,  // may start
  requeue = 3,  // ends, and waits again under its number
  suspend = 4,  // ends, and waits until it is resumed
  resume = 5,   // may start
  update = 6,   // `settings`
};
struct JobChangeRequest {
  static constexpr std::uint16_t number = 132;
  static constexpr std::uint32_t size_max = large_message;
  RequestId request;
  JobVerb verb = JobVerb::hold;
  JobFilter filter;
  std::vector<OrgSetting> settings;  // of update: as model/job_update reads them
  friend bool operator==(const JobChangeRequest&, const JobChangeRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.verb, m.filter, m.settings); }
};
struct JobChangeReply {
  static constexpr std::uint16_t number = 133;
  static constexpr std::uint32_t size_max = large_message;
  std::vector<JobId> done;
  std::vector<JobRefusal> refused;
  friend bool operator==(const JobChangeReply&, const JobChangeReply&) = default;
  static auto fields(auto& m) { return std::tie(m.done, m.refused); }
};

/// rota checkpointed -> rctld: the work of this job is saved; what it does from now on is all that
/// could be lost. One that has to make way is ended at once.
struct SavedRequest {
  static constexpr std::uint16_t number = 134;
  static constexpr std::uint32_t size_max = small_message;
  RequestId request;
  JobId job;
  friend bool operator==(const SavedRequest&, const SavedRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.request, m.job); }
};
struct SavedReply {
  static constexpr std::uint16_t number = 135;
  static constexpr std::uint32_t size_max = small_message;
  bool makes_way = false;  // it was being ended, and is so at once
  friend bool operator==(const SavedReply&, const SavedReply&) = default;
  static auto fields(auto& m) { return std::tie(m.makes_way); }
};

}  // namespace rota::proto
