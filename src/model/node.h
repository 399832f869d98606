// model/node.h - a host with GPUs, as it registers and as the controller sees it.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "common/time.h"
#include "model/gpu.h"
#include "model/gpu_health.h"
#include "model/ids.h"
#include "model/placement.h"

namespace rota {

enum class NodeState : std::uint8_t {
  up = 1,       // connected, takes jobs
  down = 2,     // not heard from; takes none, its jobs are left alone
  drained = 3,  // connected, takes no new ones; those it has go on
};

/// What a node has: the scheduler's supply.
struct NodeInventory {
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<Gpu> gpus;

  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
  static auto fields(auto& m) { return std::tie(m.cpu_count, m.memory_bytes, m.gpus); }
};

/// How a node presents itself at every (re)connect.
struct NodeIdentity {
  std::string name;     // unique in the cluster
  std::string address;  // host:port where commands reach its rgpud
  std::string version;
  std::string boot_id;  // changes with every boot: runs of another boot are gone

  /// Of its address, as programs want it: without the port and the brackets of IPv6.
  std::string host() const {
    std::string host = address.substr(0, address.rfind(':'));
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
      host = host.substr(1, host.size() - 2);
    return host;
  }

  friend bool operator==(const NodeIdentity&, const NodeIdentity&) = default;
  static auto fields(auto& m) { return std::tie(m.name, m.address, m.version, m.boot_id); }
};

/// Settings of the cluster that the node needs; it has no configuration of its own.
struct NodeSettings {
  std::string cluster_name;
  std::int64_t heartbeat_ms = 5000;
  std::int64_t lost_after_ms = 60000;
  std::int64_t fence_after_ms = 0;  // 0: never
  std::int64_t kill_wait_ms = 30000;
  bool slurm_environment = true;
  std::int64_t idle_window_ms = 30000;  // a run is idle in steps of this

  friend bool operator==(const NodeSettings&, const NodeSettings&) = default;
  static auto fields(auto& m) {
    return std::tie(m.cluster_name, m.heartbeat_ms, m.lost_after_ms, m.fence_after_ms,
                    m.kill_wait_ms, m.slurm_environment, m.idle_window_ms);
  }
};

/// A job's part of a GPU that several may have.
struct GpuShare {
  std::uint16_t gpu = 0;  // position in the node's inventory
  JobId job;
  std::uint32_t share = 0;  // in millionths

  friend auto operator<=>(const GpuShare&, const GpuShare&) = default;
  static auto fields(auto& m) { return std::tie(m.gpu, m.job, m.share); }
};

/// A node for people: rinfo and its --json.
struct NodeView {
  NodeId id;
  NodeIdentity identity;
  NodeState state = NodeState::down;
  std::string reason;  // why it is not up
  WallTime since;      // of the state
  NodeInventory inventory;
  std::uint32_t cpus_held = 0;
  std::uint64_t memory_held_bytes = 0;
  std::vector<JobId> gpu_holders;      // one per GPU of the inventory; none: idle or shared
  std::vector<GpuUsage> usage;         // as of the last heartbeat
  std::vector<GpuShare> gpu_sharers;   // by GPU, then job
  std::string type;                    // as node_type() says
  std::vector<std::string> groups;     // of rota.yaml that it is in, by name
  std::string place;                   // in the topology of rota.yaml: "block-a/rack-1"; "": none
  std::vector<MigHolder> mig_holders;  // by GPU, then start
  std::vector<GpuHealth> health;       // of GPUs that are not well, by their order

  friend bool operator==(const NodeView&, const NodeView&) = default;
  static auto fields(auto& m) {
    return std::tie(m.id, m.identity, m.state, m.reason, m.since, m.inventory, m.cpus_held,
                    m.memory_held_bytes, m.gpu_holders, m.usage, m.gpu_sharers, m.type, m.groups,
                    m.place, m.mig_holders, m.health);
  }
};

}  // namespace rota
