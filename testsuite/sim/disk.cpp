// testsuite/sim/disk.cpp - rows kept in maps.
#include "sim/disk.h"

#include "model/org_keys.h"

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
    allocation.gpu_amount = row.gpu_amount;
  }
}

void Disk::apply(const ctld::OrgPut& row) {
  const auto key = std::visit(
      [](const auto& item) {
        return std::tuple(org_kind_of<std::remove_cvref_t<decltype(item)>>, item.name);
      },
      row.item);
  org_[key] = row;
}

ctld::Snapshot Disk::load() const {
  ctld::Snapshot snapshot;
  for (const auto& [id, job] : jobs_) {
    snapshot.jobs.push_back(job);
    snapshot.job_last = id;
  }
  for (const auto& [id, job] : jobs_) {
    if (!job.array->of || !is_final(job.state) || is_final(jobs_.at(job.array->of).state)) continue;
    snapshot.ended_tasks.push_back(
        {job.array->of, job.array->index, job.state, job.last->end ? job.last->end->exit_code : 0});
  }
  for (const auto& [id, node] : nodes_) snapshot.nodes.push_back(node);
  for (const auto& [sequence, request] : requests_) snapshot.requests.push_back(request);
  for (const auto& [key, row] : org_) {
    if (const auto* department = std::get_if<Department>(&row.item))
      snapshot.org.departments.push_back(*department);
    else if (const auto* project = std::get_if<Project>(&row.item))
      snapshot.org.projects.push_back(*project);
    else if (const auto* queue = std::get_if<Queue>(&row.item))
      snapshot.org.queues.push_back(*queue);
    else
      snapshot.org.users.push_back(std::get<UserDefaults>(row.item));
  }
  snapshot.org_revision = org_revision_;
  for (const auto& [key, usage] : usage_) snapshot.usage.push_back(usage);
  for (const auto& [serial, event] : health_) snapshot.health.push_back(event);
  for (const auto& [name, row] : secrets_) snapshot.secrets.push_back(row.secret);
  return snapshot;
}

}  // namespace rota::sim
