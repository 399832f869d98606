// gpud/inventory/cpus.cpp - asks hwloc; the only file that includes it.
#include "gpud/inventory/cpus.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <type_traits>

#include "common/format.h"
#include "common/idset.h"

namespace rota::gpud {
namespace {

struct Free {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Free>;
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, Free>;

Result<Topology> load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return Error{Errc::io_failed, format("hwloc does not start: {}", std::strerror(errno))};
  }
  Topology topology(raw);
  // Some of hwloc's plugins pass over a description that they cannot read; who gave one means it.
  const char* described = std::getenv("HWLOC_XMLFILE");
  const bool is_read = described == nullptr || hwloc_topology_set_xml(raw, described) == 0;
  if (!is_read || hwloc_topology_load(raw) != 0) {
    return Error{Errc::io_failed, format("hwloc cannot read this machine ({}); if HWLOC_XMLFILE or "
                                         "HWLOC_SYNTHETIC is set, look there",
                                         std::strerror(errno))};
  }
  return topology;
}

/// The CPUs this process may run on: of a described machine all of them.
Bitmap usable_cpus(hwloc_topology_t topology, bool this_system) {
  Bitmap cpus(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  Bitmap bound(hwloc_bitmap_alloc());
  if (this_system && hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_THREAD) == 0) {
    hwloc_bitmap_and(cpus.get(), cpus.get(), bound.get());
  }
  return cpus;
}

// A CPU can be near several nodes when one of them is memory of another kind (HBM); ordinary memory
// has the lowest number.
std::int32_t numa_node_of(hwloc_obj_t cpu) {
  return cpu->nodeset != nullptr ? hwloc_bitmap_first(cpu->nodeset) : -1;
}

Result<std::vector<Cpu>> list_cpus(hwloc_topology_t topology, bool this_system) {
  const Bitmap usable = usable_cpus(topology, this_system);
  std::vector<Cpu> cpus;
  for (hwloc_obj_t cpu = nullptr;
       (cpu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, cpu)) != nullptr;) {
    if (hwloc_bitmap_isset(usable.get(), cpu->os_index) == 0) continue;
    if (cpu->os_index > idset_index_max) {
      return Error{Errc::too_large, format("hwloc numbers a CPU {}; Rota knows CPUs up to {}",
                                           cpu->os_index, idset_index_max)};
    }
    cpus.push_back({cpu->os_index, numa_node_of(cpu)});
  }
  if (cpus.empty()) return Error{Errc::not_found, "hwloc finds no CPU that this process may use"};
  std::ranges::sort(cpus, {}, &Cpu::index);
  return cpus;
}

std::uint64_t memory_of_this_host() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  std::uint64_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemTotal:") return kib * 1024;
    std::getline(file, unit);
  }
  return 0;
}

}  // namespace

Result<CpuInventory> read_cpus() {
  ROTA_TRY(const Topology topology, load());
  CpuInventory inventory;
  inventory.this_system = hwloc_topology_is_thissystem(topology.get()) != 0;
  ROTA_TRY(inventory.cpus, list_cpus(topology.get(), inventory.this_system));
  inventory.memory_bytes = hwloc_get_root_obj(topology.get())->total_memory;
  if (inventory.memory_bytes == 0 && inventory.this_system) {
    inventory.memory_bytes = memory_of_this_host();
  }
  return inventory;
}

}  // namespace rota::gpud
