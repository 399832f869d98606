// gpud/inventory/cpus.h - the door to hwloc: CPUs, their NUMA nodes, and the host's memory.
#pragma once
#include <cstdint>
#include <vector>

#include "common/result.h"
#include "gpud/agent.h"

namespace rota::gpud {

struct CpuInventory {
  std::vector<Cpu> cpus;  // by OS index, ascending
  std::uint64_t memory_bytes = 0;
  bool this_system = true;  // false: a described machine; nothing can be bound to its CPUs
};

/// What hwloc sees. HWLOC_XMLFILE, HWLOC_SYNTHETIC and HWLOC_THISSYSTEM work as in any hwloc
/// program. On this system only the CPUs that this process may use are listed.
Result<CpuInventory> read_cpus();

}  // namespace rota::gpud
