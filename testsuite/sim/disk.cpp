// testsuite/sim/disk.cpp - rows kept in maps.
#include "sim/disk.h"

namespace rota::sim {

void Disk::commit(const std::vector<ctld::Row>& rows) {
  for (const auto& row : rows) std::visit([this](const auto& r) { apply(r); }, row);
}

void Disk::apply(const ctld::AllocationPut& row) {
  Allocation& allocation = allocations_[{row.run, row.node}];
  if (row.end) {
    allocation.closed = true;
    allocation.held_ms = row.held_ms;
  } else {
    allocation.gpu_count = row.gpu_uuids.size();
  }
}

ctld::Snapshot Disk::load() const {
  ctld::Snapshot snapshot;
  for (const auto& [id, job] : jobs_) {
    snapshot.jobs.push_back(job);
    snapshot.job_last = id;
  }
  for (const auto& [id, node] : nodes_) snapshot.nodes.push_back(node);
  for (const auto& [sequence, request] : requests_) snapshot.requests.push_back(request);
  return snapshot;
}

}  // namespace rota::sim
