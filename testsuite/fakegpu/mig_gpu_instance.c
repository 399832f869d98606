// testsuite/fakegpu/mig_gpu_instance.c - the fake NVML's MIG mode, profiles and GPU instances.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

// How many indexes of profiles a driver knows, whether or not the GPU has them.
static unsigned int index_count(const Call* call) {
  if (call->machine->driver_branch < 510) return 8;
  return call->machine->driver_branch < 545 ? 10 : 18;
}

// What any question about instances wants: a GPU that can be cut and, before r550, is.
static int may_ask(const Call* call) {
  if (!fake_mig_can(call->device)) return nvml_not_supported;
  fake_state_lock(call->state);
  const bool on = call->gpu->mig.mode != 0;
  fake_state_unlock(call->state);
  return on || call->machine->driver_branch >= 550 ? nvml_success : nvml_not_supported;
}

int mig_change(const Call* call) {
  if (geteuid() != 0) return nvml_no_permission;
  fake_state_lock(call->state);
  const uint32_t wait_ms = call->gpu->mig.latency_ms;
  fake_state_unlock(call->state);
  struct timespec left = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0) continue;
  return nvml_success;
}

int fake_mig_field(const Call* call, unsigned int field, unsigned long long* value) {
  enum { resetless = 184, asked_without_mode = 199 };
  const uint64_t branch = call->machine->driver_branch;
  const bool known =
      (field == resetless && branch >= 535) || (field == asked_without_mode && branch >= 550);
  if (!known || !fake_mig_can(call->device)) return nvml_not_supported;
  *value = field == asked_without_mode || call->device->gpu.architecture >= nvml_arch_hopper;
  return nvml_success;
}

int nvmlDeviceGetMigMode(NvmlHandle device, unsigned int* current, unsigned int* pending) {
  ENTER_DEVICE(call, device);
  if (current == NULL || pending == NULL) return nvml_invalid_argument;
  if (!fake_mig_can(call.device)) return nvml_not_supported;
  fake_state_lock(call.state);
  *current = call.gpu->mig.mode;
  *pending = call.gpu->mig.pending;
  fake_state_unlock(call.state);
  return nvml_success;
}

int nvmlDeviceSetMigMode(NvmlHandle device, unsigned int mode, int* activation) {
  ENTER_DEVICE(call, device);
  if (activation == NULL) return nvml_invalid_argument;
  if (!fake_mig_can(call.device)) return nvml_not_supported;
  const int allowed = mig_change(&call);
  if (allowed != nvml_success) return allowed;
  fake_state_lock(call.state);
  const int code = fake_mig_set_mode(mig_gpu(&call), mode, activation);
  if (code == nvml_success) fake_state_changed(call.state);
  fake_state_unlock(call.state);
  return code;
}

// ---- profiles: by index here, by id everywhere else ----

static int profile_of_index(const Call* call, unsigned int index, const FakeMigProfile** found) {
  if (index >= index_count(call)) return nvml_invalid_argument;
  const int code = may_ask(call);
  if (code != nvml_success) return code;
  *found = fake_mig_profile_by_index(call->device, index);
  return *found != NULL ? nvml_success : nvml_not_supported;
}

static int profile_of_id(const Call* call, unsigned int id, const FakeMigProfile** found) {
  const int code = may_ask(call);
  if (code != nvml_success) return code;
  *found = fake_mig_profile_by_id(call->device, id);
  return *found != NULL ? nvml_success : nvml_invalid_argument;
}

static NvmlGpuInstanceProfile info_of(const FakeMigProfile* profile) {
  const bool media = strstr(profile->name, "+me") != NULL || profile->compute > 1;
  return (NvmlGpuInstanceProfile){.id = (unsigned int)profile->id,
                                  .slice_count = (unsigned int)profile->compute,
                                  .instance_count = (unsigned int)profile->max,
                                  .multiprocessor_count = (unsigned int)profile->multiprocessors,
                                  .copy_engine_count = (unsigned int)profile->compute,
                                  .decoder_count = media ? 1 : 0,
                                  .jpeg_count = media ? 1 : 0,
                                  .ofa_count = media ? 1 : 0,
                                  .memory_mib = profile->memory_mib};
}

int nvmlDeviceGetGpuInstanceProfileInfo(NvmlHandle device, unsigned int index,
                                        NvmlGpuInstanceProfile* info) {
  ENTER_DEVICE(call, device);
  const FakeMigProfile* profile = NULL;
  if (info == NULL) return nvml_invalid_argument;
  const int code = profile_of_index(&call, index, &profile);
  if (code == nvml_success) *info = info_of(profile);
  return code;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(NvmlHandle device, unsigned int index, void* info) {
  ENTER_DEVICE(call, device);
  SINCE(call, 510);
  const FakeMigProfile* profile = NULL;
  if (info == NULL) return nvml_invalid_argument;
  unsigned int version = 0;
  memcpy(&version, info, sizeof version);
  const bool third = version == nvml_profile_v3_version && call.machine->driver_branch >= 545;
  if (version != nvml_profile_v2_version && !third) return nvml_argument_version_mismatch;
  const int code = profile_of_index(&call, index, &profile);
  if (code != nvml_success) return code;
  const NvmlGpuInstanceProfile plain = info_of(profile);
  // From slice_count to ofa_count all forms are alike.
  const size_t same =
      offsetof(NvmlGpuInstanceProfile, memory_mib) - offsetof(NvmlGpuInstanceProfile, slice_count);
  if (third) {
    NvmlGpuInstanceProfileV3 full = {.version = version, .id = plain.id};
    memcpy(&full.slice_count, &plain.slice_count, same);
    full.memory_mib = plain.memory_mib;
    snprintf(full.name, sizeof full.name, "MIG %.90s", profile->name);
    memcpy(info, &full, sizeof full);
  } else {
    NvmlGpuInstanceProfileV2 full = {.version = version, .id = plain.id};
    memcpy(&full.slice_count, &plain.slice_count, same);
    full.memory_mib = plain.memory_mib;
    snprintf(full.name, sizeof full.name, "MIG %.90s", profile->name);
    memcpy(info, &full, sizeof full);
  }
  return nvml_success;
}

static int by_start(const void* a, const void* b) {
  const NvmlPlacement *first = a, *second = b;
  return (first->start > second->start) - (first->start < second->start);
}

// Where one could ever be, taken or not. Without room the count alone is told.
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(NvmlHandle device, unsigned int id,
                                                  NvmlPlacement* placements, unsigned int* count) {
  ENTER_DEVICE(call, device);
  SINCE(call, 470);
  const FakeMigProfile* profile = NULL;
  if (count == NULL) return nvml_invalid_argument;
  const int code = profile_of_id(&call, id, &profile);
  if (code != nvml_success) return code;
  const unsigned int room = *count;
  *count = profile->start_count;
  if (placements == NULL) return nvml_success;
  if (room < profile->start_count) return nvml_insufficient_size;
  for (unsigned int i = 0; i < profile->start_count; ++i) {
    placements[i] = (NvmlPlacement){profile->starts[i], (unsigned int)profile->size};
  }
  qsort(placements, profile->start_count, sizeof *placements, by_start);
  return nvml_success;
}

int nvmlDeviceGetGpuInstanceRemainingCapacity(NvmlHandle device, unsigned int id,
                                              unsigned int* count) {
  ENTER_DEVICE(call, device);
  const FakeMigProfile* profile = NULL;
  if (count == NULL) return nvml_invalid_argument;
  const int code = profile_of_id(&call, id, &profile);
  if (code != nvml_success) return code;
  const FakeMigGpu on = mig_gpu(&call);
  fake_state_lock(call.state);
  *count = fake_mig_room(&on, profile);
  fake_state_unlock(call.state);
  return nvml_success;
}

// ---- instances ----

static int create(const Call* call, unsigned int id, int start, unsigned int size,
                  NvmlGpuInstance* made) {
  const FakeMigProfile* profile = NULL;
  int code = profile_of_id(call, id, &profile);
  if (code == nvml_success) code = mig_change(call);
  if (code != nvml_success) return code;
  if (size != 0 && size != profile->size) return nvml_invalid_argument;
  FakeGpuInstance* instance = NULL;
  uint32_t serial = 0;
  fake_state_lock(call->state);
  code = fake_mig_create(mig_gpu(call), profile, start, &instance);
  if (code == nvml_success) {
    serial = instance->serial;
    fake_state_changed(call->state);
  }
  fake_state_unlock(call->state);
  if (code != nvml_success) return code;
  *made = mig_handle_of(call->index, fake_instance_handle, serial, 0);
  return *made != NULL ? nvml_success : nvml_memory;
}

int nvmlDeviceCreateGpuInstance(NvmlHandle device, unsigned int id, NvmlGpuInstance* instance) {
  ENTER_DEVICE(call, device);
  if (instance == NULL) return nvml_invalid_argument;
  return create(&call, id, fake_mig_anywhere, 0, instance);
}

int nvmlDeviceCreateGpuInstanceWithPlacement(NvmlHandle device, unsigned int id,
                                             const NvmlPlacement* placement,
                                             NvmlGpuInstance* instance) {
  ENTER_DEVICE(call, device);
  SINCE(call, 460);
  if (instance == NULL || placement == NULL || placement->start > fake_mig_slice_max) {
    return nvml_invalid_argument;
  }
  return create(&call, id, (int)placement->start, placement->size, instance);
}

int nvmlGpuInstanceDestroy(NvmlGpuInstance instance) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  int code = mig_change(&call);
  if (code != nvml_success) return code;
  const FakeMigGpu on = mig_gpu(&call);
  fake_state_lock(call.state);
  FakeGpuInstance* known = fake_mig_find(&on, call.instance.serial);
  code = known != NULL ? fake_mig_destroy(on, known) : nvml_not_found;
  if (code == nvml_success) fake_state_changed(call.state);
  fake_state_unlock(call.state);
  return code;
}

// The caller's buffer has room for as many as the profile allows: `count` is not read.
int nvmlDeviceGetGpuInstances(NvmlHandle device, unsigned int id, NvmlGpuInstance* instances,
                              unsigned int* count) {
  ENTER_DEVICE(call, device);
  const FakeMigProfile* profile = NULL;
  if (instances == NULL || count == NULL) return nvml_invalid_argument;
  const int code = profile_of_id(&call, id, &profile);
  if (code != nvml_success) return code;
  const FakeMigGpu on = mig_gpu(&call);
  uint32_t serials[fake_gpu_instance_max];
  *count = 0;
  fake_state_lock(call.state);
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    const FakeGpuInstance* known = &call.gpu->mig.instances[i];
    if (known->serial != 0 && fake_mig_profile_of(&on, known) == profile) {
      serials[(*count)++] = known->serial;
    }
  }
  fake_state_unlock(call.state);
  for (unsigned int i = 0; i < *count; ++i) {
    instances[i] = mig_handle_of(call.index, fake_instance_handle, serials[i], 0);
  }
  return nvml_success;
}

int nvmlDeviceGetGpuInstanceById(NvmlHandle device, unsigned int instance_id,
                                 NvmlGpuInstance* instance) {
  ENTER_DEVICE(call, device);
  if (instance == NULL) return nvml_invalid_argument;
  if (!fake_mig_can(call.device)) return nvml_not_supported;
  const FakeMigGpu on = mig_gpu(&call);
  fake_state_lock(call.state);
  const FakeGpuInstance* known = fake_mig_by_id(&on, instance_id);
  const uint32_t serial = known != NULL ? known->serial : 0;
  fake_state_unlock(call.state);
  if (serial == 0) return nvml_not_found;
  *instance = mig_handle_of(call.index, fake_instance_handle, serial, 0);
  return *instance != NULL ? nvml_success : nvml_memory;
}

int nvmlGpuInstanceGetInfo(NvmlGpuInstance instance, NvmlGpuInstanceInfo* info) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  if (info == NULL) return nvml_invalid_argument;
  const FakeMigGpu on = mig_gpu(&call);
  *info = (NvmlGpuInstanceInfo){
      .device = handle_of(call.index),
      .id = call.instance.id,
      .profile_id = (unsigned int)fake_mig_profile_of(&on, &call.instance)->id,
      .placement = {call.instance.start, call.instance.size}};
  return nvml_success;
}
