// testsuite/fakegpu/mig_compute_instance.c - the fake NVML's compute instances and MIG devices.
#include <string.h>

#include "core.h"

int nvmlGpuInstanceGetComputeInstanceProfileInfo(NvmlGpuInstance instance, unsigned int index,
                                                 unsigned int engine,
                                                 NvmlComputeInstanceProfile* info) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  enum { index_count = 8 };
  if (info == NULL || index >= index_count || engine != nvml_compute_engine_shared) {
    return nvml_invalid_argument;
  }
  const FakeMigGpu on = mig_gpu(&call);
  const FakeMigProfile* profile = fake_mig_profile_of(&on, &call.instance);
  const FakeComputeInstance one = {.size = fake_mig_compute_slices(&on, &call.instance, index)};
  if (one.size == 0) return nvml_not_supported;
  *info =
      (NvmlComputeInstanceProfile){.id = index,
                                   .slice_count = one.size,
                                   .instance_count = (unsigned int)profile->compute / one.size,
                                   .multiprocessor_count = fake_mig_multiprocessors(profile, &one),
                                   .shared_copy_engine_count = (unsigned int)profile->compute};
  return nvml_success;
}

int nvmlGpuInstanceGetComputeInstanceRemainingCapacity(NvmlGpuInstance instance, unsigned int id,
                                                       unsigned int* count) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  if (count == NULL) return nvml_invalid_argument;
  const FakeMigGpu on = mig_gpu(&call);
  if (fake_mig_compute_slices(&on, &call.instance, id) == 0) return nvml_invalid_argument;
  *count = fake_mig_compute_room(&on, &call.instance, id);
  return nvml_success;
}

int nvmlGpuInstanceCreateComputeInstance(NvmlGpuInstance instance, unsigned int id,
                                         NvmlComputeInstance* compute) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  if (compute == NULL) return nvml_invalid_argument;
  int code = mig_change(&call);
  if (code != nvml_success) return code;
  const FakeMigGpu on = mig_gpu(&call);
  FakeComputeInstance* made = NULL;
  uint32_t serial = 0;
  fake_state_lock(call.state);
  FakeGpuInstance* known = fake_mig_find(&on, call.instance.serial);
  code = known != NULL ? fake_mig_create_compute(on, known, id, &made) : nvml_not_found;
  if (code == nvml_success) {
    serial = made->serial;
    fake_state_changed(call.state);
  }
  fake_state_unlock(call.state);
  if (code != nvml_success) return code;
  *compute = mig_handle_of(call.index, fake_compute_handle, call.instance.serial, serial);
  return *compute != NULL ? nvml_success : nvml_memory;
}

// Locked.
static FakeComputeInstance* find_compute(FakeGpuInstance* instance, uint32_t serial) {
  for (unsigned int i = 0; instance != NULL && i < fake_compute_instance_max; ++i) {
    if (instance->computes[i].serial == serial) return &instance->computes[i];
  }
  return NULL;
}

int nvmlComputeInstanceDestroy(NvmlComputeInstance compute) {
  ENTER_HANDLE(call, compute, fake_compute_handle);
  int code = mig_change(&call);
  if (code != nvml_success) return code;
  const FakeMigGpu on = mig_gpu(&call);
  fake_state_lock(call.state);
  FakeGpuInstance* instance = fake_mig_find(&on, call.instance.serial);
  FakeComputeInstance* known = find_compute(instance, call.compute.serial);
  code = known != NULL ? fake_mig_destroy_compute(on, instance, known) : nvml_not_found;
  if (code == nvml_success) fake_state_changed(call.state);
  fake_state_unlock(call.state);
  return code;
}

// As with GPU instances: `count` is not read.
int nvmlGpuInstanceGetComputeInstances(NvmlGpuInstance instance, unsigned int id,
                                       NvmlComputeInstance* computes, unsigned int* count) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  if (computes == NULL || count == NULL) return nvml_invalid_argument;
  const FakeMigGpu on = mig_gpu(&call);
  if (fake_mig_compute_slices(&on, &call.instance, id) == 0) return nvml_invalid_argument;
  *count = 0;
  for (unsigned int i = 0; i < fake_compute_instance_max; ++i) {
    const FakeComputeInstance* known = &call.instance.computes[i];
    if (known->serial == 0 || known->profile != id) continue;
    computes[(*count)++] =
        mig_handle_of(call.index, fake_compute_handle, call.instance.serial, known->serial);
  }
  return nvml_success;
}

int nvmlGpuInstanceGetComputeInstanceById(NvmlGpuInstance instance, unsigned int compute_id,
                                          NvmlComputeInstance* compute) {
  ENTER_HANDLE(call, instance, fake_instance_handle);
  if (compute == NULL) return nvml_invalid_argument;
  for (unsigned int i = 0; i < fake_compute_instance_max; ++i) {
    const FakeComputeInstance* known = &call.instance.computes[i];
    if (known->serial == 0 || known->id != compute_id) continue;
    *compute = mig_handle_of(call.index, fake_compute_handle, call.instance.serial, known->serial);
    return *compute != NULL ? nvml_success : nvml_memory;
  }
  return nvml_not_found;
}

int nvmlComputeInstanceGetInfo_v2(NvmlComputeInstance compute, NvmlComputeInstanceInfo* info) {
  ENTER_HANDLE(call, compute, fake_compute_handle);
  if (info == NULL) return nvml_invalid_argument;
  *info = (NvmlComputeInstanceInfo){
      .device =
          mig_handle_of(call.index, fake_mig_handle, call.instance.serial, call.compute.serial),
      .gpu_instance = mig_handle_of(call.index, fake_instance_handle, call.instance.serial, 0),
      .id = call.compute.id,
      .profile_id = call.compute.profile,
      .placement = {call.compute.start, call.compute.size}};
  return nvml_success;
}

// ---- MIG devices ----

int nvmlDeviceGetMaxMigDeviceCount(NvmlHandle device, unsigned int* count) {
  ENTER_DEVICE(call, device);
  if (count == NULL) return nvml_invalid_argument;
  *count = fake_mig_device_max(call.device);
  return nvml_success;
}

int nvmlDeviceGetMigDeviceHandleByIndex(NvmlHandle device, unsigned int index,
                                        NvmlHandle* mig_device) {
  ENTER_DEVICE(call, device);
  if (mig_device == NULL || index >= fake_mig_device_max(call.device)) return nvml_invalid_argument;
  uint32_t instance = 0, compute = 0;
  fake_state_lock(call.state);
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    for (unsigned int j = 0; j < fake_compute_instance_max; ++j) {
      const FakeComputeInstance* known = &call.gpu->mig.instances[i].computes[j];
      if (known->serial == 0 || known->slot != index) continue;
      instance = call.gpu->mig.instances[i].serial;
      compute = known->serial;
    }
  }
  fake_state_unlock(call.state);
  if (compute == 0) return nvml_not_found;
  *mig_device = mig_handle_of(call.index, fake_mig_handle, instance, compute);
  return *mig_device != NULL ? nvml_success : nvml_memory;
}

int nvmlDeviceIsMigDeviceHandle(NvmlHandle device, unsigned int* is_mig) {
  ENTER_ANY_DEVICE(call, device);
  if (is_mig == NULL) return nvml_invalid_argument;
  *is_mig = call.is_mig ? 1 : 0;
  return nvml_success;
}

int nvmlDeviceGetGpuInstanceId(NvmlHandle device, unsigned int* id) {
  ENTER_ANY_DEVICE(call, device);
  if (id == NULL || !call.is_mig) return nvml_invalid_argument;
  *id = call.instance.id;
  return nvml_success;
}

int nvmlDeviceGetComputeInstanceId(NvmlHandle device, unsigned int* id) {
  ENTER_ANY_DEVICE(call, device);
  if (id == NULL || !call.is_mig) return nvml_invalid_argument;
  *id = call.compute.id;
  return nvml_success;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(NvmlHandle mig_device, NvmlHandle* device) {
  ENTER_ANY_DEVICE(call, mig_device);
  if (device == NULL || !call.is_mig) return nvml_invalid_argument;
  *device = handle_of(call.index);
  return nvml_success;
}

int nvmlDeviceGetAttributes_v2(NvmlHandle device, NvmlMigAttributes* attributes) {
  ENTER_ANY_DEVICE(call, device);
  if (attributes == NULL) return nvml_invalid_argument;
  if (!call.is_mig) return nvml_not_supported;
  const FakeMigGpu on = mig_gpu(&call);
  const FakeMigProfile* profile = fake_mig_profile_of(&on, &call.instance);
  *attributes =
      (NvmlMigAttributes){.multiprocessor_count = fake_mig_multiprocessors(profile, &call.compute),
                          .shared_copy_engine_count = (unsigned int)profile->compute,
                          .gpu_instance_slice_count = (unsigned int)profile->compute,
                          .compute_instance_slice_count = call.compute.size,
                          .memory_mib = profile->memory_mib};
  return nvml_success;
}
