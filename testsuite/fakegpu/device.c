// testsuite/fakegpu/device.c - the fake NVML's answers to: which devices are there, and what are
// they?
#include <stdio.h>
#include <string.h>

#include "core.h"

int nvmlSystemGetDriverVersion(char* text, unsigned int size) {
  ENTER(call);
  return give_text(call.machine->driver_version, text, size);
}

int nvmlSystemGetNVMLVersion(char* text, unsigned int size) {
  ENTER(call);
  return give_text(call.machine->nvml_version, text, size);
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  ENTER(call);
  if (version == NULL) return nvml_invalid_argument;
  *version = (int)call.machine->cuda_version;
  return nvml_success;
}

int nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

// Lost devices are counted: only their handles cannot be had.
int nvmlDeviceGetCount_v2(unsigned int* count) {
  ENTER(call);
  if (count == NULL) return nvml_invalid_argument;
  *count = call.machine->device_count;
  return nvml_success;
}

int nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

static int give_handle(const char* name, unsigned int index, NvmlHandle* device) {
  Call call = {0};
  const int code = enter_device(name, handle_of(index), &call);
  if (code == nvml_success) *device = handle_of(index);
  return code;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, NvmlHandle* device) {
  ENTER(call);
  if (device == NULL || index >= call.machine->device_count) return nvml_invalid_argument;
  return give_handle(__func__, index, device);
}

int nvmlDeviceGetHandleByIndex(unsigned int index, NvmlHandle* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

static int give_mig_handle(const Call* call, const char* uuid, NvmlHandle* device) {
  for (unsigned int i = 0; i < call->machine->device_count; ++i) {
    const FakeMigGpu on = {&call->machine->devices[i], call->state, &call->state->gpus[i]};
    FakeGpuInstance* instance = NULL;
    FakeComputeInstance* compute = NULL;
    uint32_t instance_serial = 0, compute_serial = 0;
    fake_state_lock(call->state);
    if (fake_mig_by_uuid(&on, uuid, &instance, &compute)) {
      instance_serial = instance->serial;
      compute_serial = compute->serial;
    }
    fake_state_unlock(call->state);
    if (compute_serial == 0) continue;
    *device = mig_handle_of(i, fake_mig_handle, instance_serial, compute_serial);
    return *device != NULL ? nvml_success : nvml_memory;
  }
  return nvml_not_found;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, NvmlHandle* device) {
  ENTER(call);
  if (uuid == NULL || device == NULL) return nvml_invalid_argument;
  for (unsigned int i = 0; i < call.machine->device_count; ++i) {
    if (strcmp(call.machine->devices[i].uuid, uuid) == 0) return give_handle(__func__, i, device);
  }
  return give_mig_handle(&call, uuid, device);
}

int nvmlDeviceGetHandleBySerial(const char* serial, NvmlHandle* device) {
  ENTER(call);
  if (serial == NULL || device == NULL) return nvml_invalid_argument;
  for (unsigned int i = 0; i < call.machine->device_count; ++i) {
    if (strcmp(call.machine->devices[i].serial, serial) == 0) {
      return give_handle(__func__, i, device);
    }
  }
  return nvml_not_found;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, NvmlHandle* device) {
  ENTER(call);
  FakePci pci = {0};
  if (bus_id == NULL || device == NULL || !fake_pci_parse(bus_id, &pci)) {
    return nvml_invalid_argument;
  }
  for (unsigned int i = 0; i < call.machine->device_count; ++i) {
    if (memcmp(&call.machine->devices[i].pci, &pci, sizeof pci) == 0) {
      return give_handle(__func__, i, device);
    }
  }
  return nvml_not_found;
}

int nvmlDeviceGetHandleByPciBusId(const char* bus_id, NvmlHandle* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

int nvmlDeviceGetName(NvmlHandle device, char* text, unsigned int size) {
  ENTER_ANY_DEVICE(call, device);
  if (!call.is_mig) return give_text(call.device->gpu.name, text, size);
  const FakeMigGpu on = mig_gpu(&call);
  char name[2 * fake_text_size + 8];
  snprintf(name, sizeof name, "%s MIG %s", call.device->gpu.name,
           fake_mig_profile_of(&on, &call.instance)->name);
  return give_text(name, text, size);
}

int nvmlDeviceGetUUID(NvmlHandle device, char* text, unsigned int size) {
  ENTER_ANY_DEVICE(call, device);
  if (!call.is_mig) return give_text(call.device->uuid, text, size);
  char uuid[fake_mig_uuid_size];
  fake_mig_uuid(call.device, &call.instance, &call.compute, uuid);
  return give_text(uuid, text, size);
}

int nvmlDeviceGetSerial(NvmlHandle device, char* text, unsigned int size) {
  ENTER_DEVICE(call, device);
  return give_text(call.device->serial, text, size);
}

int nvmlDeviceGetIndex(NvmlHandle device, unsigned int* index) {
  ENTER_DEVICE(call, device);
  if (index == NULL) return nvml_invalid_argument;
  *index = call.index;
  return nvml_success;
}

int nvmlDeviceGetMinorNumber(NvmlHandle device, unsigned int* minor_number) {
  ENTER_DEVICE(call, device);
  if (minor_number == NULL) return nvml_invalid_argument;
  *minor_number = (unsigned int)call.device->minor;
  return nvml_success;
}

int nvmlDeviceGetBrand(NvmlHandle device, unsigned int* brand) {
  ENTER_DEVICE(call, device);
  if (brand == NULL) return nvml_invalid_argument;
  *brand = (unsigned int)call.device->gpu.brand;
  return nvml_success;
}

int nvmlDeviceGetArchitecture(NvmlHandle device, unsigned int* architecture) {
  ENTER_DEVICE(call, device);
  if (architecture == NULL) return nvml_invalid_argument;
  *architecture = (unsigned int)call.device->gpu.architecture;
  return nvml_success;
}

int nvmlDeviceGetCudaComputeCapability(NvmlHandle device, int* major_number, int* minor_number) {
  ENTER_DEVICE(call, device);
  if (major_number == NULL || minor_number == NULL) return nvml_invalid_argument;
  *major_number = (int)call.device->gpu.compute_major;
  *minor_number = (int)call.device->gpu.compute_minor;
  return nvml_success;
}

int nvmlDeviceGetPciInfo_v3(NvmlHandle device, NvmlPciInfo* pci) {
  ENTER_DEVICE(call, device);
  if (pci == NULL) return nvml_invalid_argument;
  give_pci(&call.device->pci, pci);
  pci->pci_device_id = (unsigned int)call.device->gpu.pci_device_id;
  pci->pci_subsystem_id = (unsigned int)call.device->gpu.pci_subsystem_id;
  return nvml_success;
}

int nvmlDeviceGetPciInfo_v2(NvmlHandle device, NvmlPciInfoLegacy* pci) {
  NvmlPciInfo full;
  const int code = pci != NULL ? nvmlDeviceGetPciInfo_v3(device, &full) : nvml_invalid_argument;
  if (code == nvml_success) give_legacy_pci(&full, pci, sizeof *pci);
  return code;
}

// The first form of the struct ended behind pci_device_id.
int nvmlDeviceGetPciInfo(NvmlHandle device, NvmlPciInfoLegacy* pci) {
  NvmlPciInfo full;
  const int code = pci != NULL ? nvmlDeviceGetPciInfo_v3(device, &full) : nvml_invalid_argument;
  if (code == nvml_success) {
    give_legacy_pci(&full, pci, offsetof(NvmlPciInfoLegacy, pci_subsystem_id));
  }
  return code;
}

void give_pci(const FakePci* from, NvmlPciInfo* pci) {
  memset(pci, 0, sizeof *pci);
  pci->domain = from->domain;
  pci->bus = from->bus & 0xFF;
  pci->device = from->device & 0xFF;
  snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "%04X:%02X:%02X.0", from->domain & 0xFFFF,
           pci->bus, pci->device);
  snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
}

void give_legacy_pci(const NvmlPciInfo* from, NvmlPciInfoLegacy* pci, size_t size) {
  NvmlPciInfoLegacy all = {0};
  memcpy(all.bus_id, from->bus_id_legacy, sizeof all.bus_id);
  all.domain = from->domain;
  all.bus = from->bus;
  all.device = from->device;
  all.pci_device_id = from->pci_device_id;
  all.pci_subsystem_id = from->pci_subsystem_id;
  memcpy(pci, &all, size);
}
