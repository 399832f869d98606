// model/gpu_health.h - whether a GPU can be trusted with jobs, and what has happened to it.
#pragma once
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/time.h"
#include "model/ids.h"

namespace rota {

/// Numbers are on the wire and in the store.
enum class GpuCondition : std::uint8_t {
  ok = 1,
  suspect = 2,    // something was seen; it still takes jobs
  draining = 3,   // takes no more jobs; those on it are ended, or end by themselves
  resetting = 4,  // empty, being reset
  testing = 5,    // being tested
  failed = 6,     // does not come back without an administrator
};
/// "ok": the words that people read and scripts match on.
constexpr std::string_view name_of(GpuCondition condition) {
  constexpr std::string_view names[] = {"?",         "ok",      "suspect", "draining",
                                        "resetting", "testing", "failed"};
  const auto number = static_cast<std::size_t>(condition);
  return number < std::size(names) ? names[number] : names[0];
}
/// Whether it takes new jobs.
inline bool takes_jobs(GpuCondition condition) { return condition <= GpuCondition::suspect; }

/// How a GPU is, as its node tells it.
struct GpuHealth {
  std::string uuid;
  GpuCondition condition = GpuCondition::ok;
  std::string reason;       // of the condition; "" for ok
  WallTime since;           // of the condition
  WallTime first, last;     // of what the reason counts
  std::uint32_t count = 0;  // how often it was seen

  friend bool operator==(const GpuHealth&, const GpuHealth&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uuid, m.condition, m.reason, m.since, m.first, m.last, m.count);
  }
};

/// Something that happened to a GPU or a node.
struct HealthEvent {
  std::uint64_t sequence = 0;  // ascending on its node
  WallTime at;
  std::string node;  // filled in by the controller
  std::string uuid;  // "": the node itself
  GpuCondition before = GpuCondition::ok;
  GpuCondition after = GpuCondition::ok;
  std::uint32_t xid = 0;  // 0: none
  std::string text;
  std::vector<JobId> jobs;  // that suffered

  friend bool operator==(const HealthEvent&, const HealthEvent&) = default;
  static auto fields(auto& m) {
    return std::tie(m.sequence, m.at, m.node, m.uuid, m.before, m.after, m.xid, m.text, m.jobs);
  }
};

}  // namespace rota
