// ctld/rows.h - what the engine asks the store to remember, and what the store gives back.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "common/time.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/project.h"

namespace rota::ctld {

struct JobPut {
  Job job;
};
struct PayloadPut {
  JobId job;
  JobPayload payload;
};
struct PayloadDrop {
  JobId job;
};

/// A GPU that takes no new jobs because an administrator says so.
struct GpuDrain {
  std::string uuid;
  std::string reason;

  friend bool operator==(const GpuDrain&, const GpuDrain&) = default;
  static auto fields(auto& m) { return std::tie(m.uuid, m.reason); }
};

/// A node the cluster has seen. Positions in the inventory are fixed for as long as it is known:
/// placements refer to them.
struct StoredNode {
  NodeId id;
  NodeIdentity identity;
  NodeInventory inventory;
  std::string drain_reason;          // not "": an administrator keeps new jobs off it
  std::vector<GpuDrain> gpu_drains;  // and off these of its GPUs

  friend bool operator==(const StoredNode&, const StoredNode&) = default;
  static auto fields(auto& m) {
    return std::tie(m.id, m.identity, m.inventory, m.drain_reason, m.gpu_drains);
  }
};
struct NodePut {
  StoredNode node;
};

/// A mutating call that was answered: a repeat gets the same answer.
struct StoredRequest {
  std::uint64_t sequence = 0;  // ascending, as they were answered
  std::uint32_t uid = 0;
  RequestId request;
  std::uint16_t reply_type = 0;
  std::string reply;
  WallTime at;
};
struct RequestPut {
  StoredRequest request;
};
/// Forget all answers up to this one.
struct RequestDrop {
  std::uint64_t sequence = 0;
};

/// What one run held on one node, and for how long: the ledger that bills are sums over.
struct AllocationPut {
  RunId run;
  NodeId node;
  std::vector<std::string> gpu_uuids;
  std::int64_t gpu_amount = 0;  // of gpu_unit
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;
  WallTime start;
  WallTime end;              // never: still held
  std::int64_t held_ms = 0;  // by the monotonic clock, once it has ended
  RunUsage usage;            // the same: what it did with its GPUs there
  bool is_charged = true;    // to its project: not what only fills gaps
};

/// One project, department, queue or user of the organisation.
struct OrgPut {
  std::variant<Department, Project, Queue, UserDefaults> item;
};
struct OrgDrop {
  OrgKind kind = OrgKind::project;
  std::string name;
};
/// With every change of the organisation.
struct OrgRevision {
  std::uint64_t revision = 0;
  std::uint64_t serial_last = 0;
};

/// GPU time that a user of a project had used at some moment, less what is forgotten by then.
struct StoredUsage {
  std::string project;
  std::string user;
  std::int64_t gpu_us = 0;
  WallTime at;
};
struct UsagePut {
  StoredUsage usage;
};
struct UsageDrop {
  std::string project;
  std::string user;
};

/// Something that happened to a GPU or a node, under a number that ascends as it was told.
struct HealthPut {
  std::uint64_t serial = 0;
  HealthEvent event;
};
/// Forget all up to this one.
struct HealthDrop {
  std::uint64_t serial = 0;
};

/// A secret of a user's, by its name. What it says is sealed (ctld/vault.h): neither the store nor
/// the engine can read it.
struct StoredSecret {
  std::uint32_t uid = 0;
  std::string name;
  WallTime changed;

  friend bool operator==(const StoredSecret&, const StoredSecret&) = default;
};
struct SecretPut {
  StoredSecret secret;
  std::string sealed;
};
struct SecretDrop {
  std::uint32_t uid = 0;
  std::string name;
};

using Row = std::variant<JobPut, PayloadPut, PayloadDrop, NodePut, RequestPut, RequestDrop,
                         AllocationPut, OrgPut, OrgDrop, OrgRevision, UsagePut, UsageDrop,
                         HealthPut, HealthDrop, SecretPut, SecretDrop>;

/// What a project held in the past; `end` never: it still does.
struct PastRun {
  SharedText project;
  std::int64_t gpu_amount = 0;
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;
  WallTime start;
  WallTime end;
};

/// A task of an array that has ended, while the array has not.
struct EndedTask {
  JobId array;
  std::uint32_t index = 0;
  JobState state = JobState::completed;
  std::int32_t exit_code = 0;
};

/// All that a controller needs to go on where the last one stopped.
struct Snapshot {
  std::vector<Job> jobs;  // ascending: all that have not ended, and the latest that have
  std::vector<StoredNode> nodes;
  std::vector<StoredRequest> requests;  // ascending by sequence
  JobId job_last;                       // the highest id ever given
  Org org;                              // not normalized
  OrgRevision org_revision;
  std::vector<StoredUsage> usage;
  std::vector<PastRun> past;      // as far back as was asked for
  std::vector<HealthPut> health;  // ascending
  std::vector<StoredSecret> secrets = {};
  std::vector<EndedTask> ended_tasks = {};  // all of them, not only the latest
};

}  // namespace rota::ctld
