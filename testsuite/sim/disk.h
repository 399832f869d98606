// testsuite/sim/disk.h - the store as a simulation sees it: what is committed survives a crash.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "ctld/rows.h"

namespace rota::sim {

class Disk {
 public:
  void commit(const std::vector<ctld::Row>& rows);
  ctld::Snapshot load() const;

  struct Allocation {
    std::int64_t gpu_amount = 0;  // of gpu_unit
    bool closed = false;
    std::int64_t held_ms = 0;
  };
  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<JobId, JobPayload>& payloads() const { return payloads_; }
  const std::map<std::tuple<RunId, NodeId>, Allocation>& allocations() const {
    return allocations_;
  }

 private:
  void apply(const ctld::JobPut& row) { jobs_[row.job.id] = row.job; }
  void apply(const ctld::PayloadPut& row) { payloads_[row.job] = row.payload; }
  void apply(const ctld::PayloadDrop& row) { payloads_.erase(row.job); }
  void apply(const ctld::NodePut& row) { nodes_[row.node.id] = row.node; }
  void apply(const ctld::RequestPut& row) { requests_[row.request.sequence] = row.request; }
  void apply(const ctld::RequestDrop& row) {
    requests_.erase(requests_.begin(), requests_.upper_bound(row.sequence));
  }
  void apply(const ctld::AllocationPut& row);
  void apply(const ctld::OrgPut& row);
  void apply(const ctld::OrgDrop& row) { org_.erase({row.kind, row.name}); }
  void apply(const ctld::OrgRevision& row) { org_revision_ = row; }
  void apply(const ctld::UsagePut& row) { usage_[{row.usage.project, row.usage.user}] = row.usage; }
  void apply(const ctld::UsageDrop& row) { usage_.erase({row.project, row.user}); }
  void apply(const ctld::HealthPut& row) { health_[row.serial] = row; }
  void apply(const ctld::HealthDrop& row) {
    health_.erase(health_.begin(), health_.upper_bound(row.serial));
  }
  void apply(const ctld::SecretPut& row) { secrets_[{row.secret.uid, row.secret.name}] = row; }
  void apply(const ctld::SecretDrop& row) { secrets_.erase({row.uid, row.name}); }

  std::map<JobId, Job> jobs_;
  std::map<JobId, JobPayload> payloads_;
  std::map<NodeId, ctld::StoredNode> nodes_;
  std::map<std::uint64_t, ctld::StoredRequest> requests_;
  std::map<std::tuple<RunId, NodeId>, Allocation> allocations_;
  std::map<std::tuple<OrgKind, std::string>, ctld::OrgPut> org_;
  ctld::OrgRevision org_revision_;
  std::map<std::pair<std::string, std::string>, ctld::StoredUsage> usage_;
  std::map<std::uint64_t, ctld::HealthPut> health_;
  std::map<std::pair<std::uint32_t, std::string>, ctld::SecretPut> secrets_;
};

}  // namespace rota::sim
