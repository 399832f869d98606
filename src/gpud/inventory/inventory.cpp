// gpud/inventory/inventory.cpp - puts what hwloc and NVML say together.
#include "gpud/inventory/inventory.h"

#include <utility>

#include "common/log.h"
#include "gpud/inventory/cpus.h"

namespace rota::gpud {

Result<Inventory> read_inventory(NvmlWorker& nvml, Duration limit) {
  ROTA_TRY(CpuInventory cpus, read_cpus());
  Inventory inventory;
  inventory.this_system = cpus.this_system;
  inventory.cpus = std::move(cpus.cpus);
  inventory.node.cpu_count = static_cast<std::uint32_t>(inventory.cpus.size());
  inventory.node.memory_bytes = cpus.memory_bytes;
  auto gpus = nvml.gpus(limit);
  if (gpus) {
    inventory.node.gpus = *std::move(gpus);
  } else {
    inventory.gpu_trouble = gpus.error().message();
    log::warning("this node offers no GPUs: {}", inventory.gpu_trouble);
  }
  return inventory;
}

}  // namespace rota::gpud
