// gpud/inventory/inventory.h - what this node has: hwloc's and NVML's answers as one NodeInventory.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/agent.h"
#include "gpud/inventory/nvml_worker.h"
#include "model/node.h"

namespace rota::gpud {

struct Inventory {
  NodeInventory node;
  std::vector<Cpu> cpus;    // node.cpu_count of them
  bool this_system = true;  // false: CPUs are described, not real; do not bind
  std::string gpu_trouble;  // why NVML could not be asked; "" when it could, or there is none
};

/// Fails only without CPUs: a node whose driver is in trouble still has CPUs, and says so in
/// `gpu_trouble` and in the log.
Result<Inventory> read_inventory(NvmlWorker& nvml, Duration limit = std::chrono::seconds(30));

}  // namespace rota::gpud
