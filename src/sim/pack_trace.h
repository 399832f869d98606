// sim/pack_trace.h - a packing experiment as files: nodes, tasks, and in which order they arrive.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/result.h"
#include "sched/packing_fleet.h"

namespace rota::sim {

/// One order of arrival.
struct Arrivals {
  std::vector<std::uint32_t> ranks;  // of each node, 0 and up: the smaller one wins a tie
  std::vector<std::uint32_t> tasks;  // rows of the tasks, the first to arrive first
};

struct PackTrace {
  std::vector<sched::PackNode> nodes;
  std::vector<sched::PackRequest> tasks;
  std::map<std::uint64_t, Arrivals> arrivals;  // by seed

  std::int64_t gpu_count() const;
};

struct PackFiles {
  std::string nodes, tasks, arrivals;
};

/// Reads the three files, plain or gzipped; rsim(1) describes them.
Result<PackTrace> read_pack_trace(const PackFiles& files);

}  // namespace rota::sim
