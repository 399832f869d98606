// testsuite/fakegpu/topology.c - the fake NVML's answers to: how near is what to a device?
#include <string.h>

#include "core.h"

static int give_set(const uint64_t* from, unsigned int from_words, unsigned int words,
                    unsigned long* set) {
  if (words == 0 || set == NULL) return nvml_invalid_argument;
  for (unsigned int i = 0; i < words; ++i) set[i] = i < from_words ? from[i] : 0;
  return nvml_success;
}

int nvmlDeviceGetCpuAffinity(NvmlHandle device, unsigned int words, unsigned long* set) {
  ENTER_DEVICE(call, device);
  return give_set(call.device->cpus, fake_cpu_words, words, set);
}

int nvmlDeviceGetCpuAffinityWithinScope(NvmlHandle device, unsigned int words, unsigned long* set,
                                        unsigned int scope) {
  ENTER_DEVICE(call, device);
  if (scope > nvml_affinity_socket) return nvml_invalid_argument;
  return give_set(call.device->cpus, fake_cpu_words, words, set);
}

int nvmlDeviceGetMemoryAffinity(NvmlHandle device, unsigned int words, unsigned long* set,
                                unsigned int scope) {
  ENTER_DEVICE(call, device);
  if (scope > nvml_affinity_socket) return nvml_invalid_argument;
  const uint64_t node = 1ull << call.device->numa_node;
  return give_set(&node, 1, words, set);
}

// Only of GPUs whose memory is a NUMA node of the host; none of ours is.
int nvmlDeviceGetNumaNodeId(NvmlHandle device, unsigned int* node) {
  ENTER_DEVICE(call, device);
  SINCE(call, 550);
  return node == NULL ? nvml_invalid_argument : nvml_not_supported;
}

static unsigned int link_count(const Call* call) {
  unsigned int count = (unsigned int)call->machine->links_to_switches;
  for (unsigned int i = 0; i < call->machine->device_count; ++i) {
    count += call->machine->nvlinks[call->index][i];
  }
  return count;
}

// What the link's other end is: links to switches first, then to the other GPUs by index.
static unsigned int link_end(const Call* call, unsigned int link, FakePci* pci) {
  const FakeDescription* machine = call->machine;
  if (link < machine->links_to_switches) {
    *pci = machine->switches[link % machine->switch_count];
    return nvml_link_to_switch;
  }
  link -= (unsigned int)machine->links_to_switches;
  unsigned int peer = 0;
  while (link >= machine->nvlinks[call->index][peer]) link -= machine->nvlinks[call->index][peer++];
  *pci = machine->devices[peer].pci;
  return nvml_link_to_gpu;
}

static int check_link(const Call* call, unsigned int link, const void* answer) {
  const unsigned int count = link_count(call);
  if (count == 0) return nvml_not_supported;
  return link >= count || answer == NULL ? nvml_invalid_argument : nvml_success;
}

int nvmlDeviceGetNvLinkState(NvmlHandle device, unsigned int link, unsigned int* active) {
  ENTER_DEVICE(call, device);
  const int code = check_link(&call, link, active);
  if (code != nvml_success) return code;
  fake_state_lock(call.state);
  *active = (call.gpu->health.links_down >> link & 1) == 0;
  fake_state_unlock(call.state);
  return nvml_success;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlHandle device, unsigned int link, NvmlPciInfo* pci) {
  ENTER_DEVICE(call, device);
  const int code = check_link(&call, link, pci);
  if (code != nvml_success) return code;
  FakePci end;
  const unsigned int type = link_end(&call, link, &end);
  give_pci(&end, pci);
  pci->pci_device_id =
      type == nvml_link_to_gpu ? (unsigned int)call.device->gpu.pci_device_id : 0x1AF110DE;
  return nvml_success;
}

int nvmlDeviceGetNvLinkRemotePciInfo(NvmlHandle device, unsigned int link, NvmlPciInfoLegacy* pci) {
  NvmlPciInfo full;
  const int code = pci == NULL ? nvml_invalid_argument
                               : nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &full);
  if (code == nvml_success) give_legacy_pci(&full, pci, sizeof *pci);
  return code;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(NvmlHandle device, unsigned int link, unsigned int* type) {
  ENTER_DEVICE(call, device);
  const int code = check_link(&call, link, type);
  if (code != nvml_success) return code;
  FakePci end;
  *type = link_end(&call, link, &end);
  return nvml_success;
}

int nvmlDeviceGetTopologyCommonAncestor(NvmlHandle first, NvmlHandle second, unsigned int* level) {
  ENTER_DEVICE(call, first);
  ENTER_DEVICE(other, second);
  if (level == NULL) return nvml_invalid_argument;
  *level = call.machine->ancestors[call.index][other.index];
  return nvml_success;
}

int nvmlDeviceGetP2PStatus(NvmlHandle first, NvmlHandle second, unsigned int capability,
                           unsigned int* status) {
  ENTER_DEVICE(call, first);
  ENTER_DEVICE(other, second);
  if (status == NULL || call.index == other.index || capability >= nvml_p2p_unknown) {
    return nvml_invalid_argument;
  }
  const FakeDescription* machine = call.machine;
  fake_state_lock(call.state);
  const bool fabric = call.gpu->fabric_down == 0 && other.gpu->fabric_down == 0;
  fake_state_unlock(call.state);
  const bool linked =
      (machine->links_to_switches > 0 && fabric) || machine->nvlinks[call.index][other.index] > 0;
  const bool near = machine->ancestors[call.index][other.index] < nvml_topology_system;
  const bool by_pci = capability == nvml_p2p_read || capability == nvml_p2p_write;
  *status = linked || (by_pci && near) ? nvml_p2p_ok : nvml_p2p_not_supported;
  return nvml_success;
}
