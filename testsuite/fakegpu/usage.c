// testsuite/fakegpu/usage.c - the fake NVML's answers to: what does a device do now?
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

// One number of the shared state, copied out under its lock.
static int give_number(const Call* call, const uint32_t* from, unsigned int* to) {
  if (to == NULL) return nvml_invalid_argument;
  fake_state_lock(call->state);
  *to = *from;
  fake_state_unlock(call->state);
  return nvml_success;
}

static NvmlMemoryV2 memory_of(const Call* call) {
  NvmlMemoryV2 memory = {.version = nvml_memory_v2_version};
  const FakeMigGpu on = mig_gpu(call);
  memory.total = call->device->gpu.memory_mib << 20;
  memory.reserved = call->device->gpu.reserved_mib << 20;
  fake_state_lock(call->state);
  fake_state_reap(call->state, call->gpu);
  memory.used = fake_state_memory_used(call->gpu);
  if (call->is_mig) {
    memory.total = fake_mig_profile_of(&on, &call->instance)->memory_mib << 20;
    memory.reserved = 0;
    memory.used = fake_mig_memory_used(call->gpu, &call->instance);
  } else {
    // From r615 on a process in a cgroup with a limit sees that, and nothing of the others.
    const uint32_t limit =
        call->machine->driver_branch >= 615 ? fake_limit_of_self(call->state, call->index) : 0;
    if (limit != 0) {
      memory.total = call->state->limits[limit - 1].hard_bytes;
      memory.reserved = 0;
      memory.used = fake_limit_used(call->gpu, limit);
    }
  }
  fake_state_unlock(call->state);
  const unsigned long long usable = memory.total - memory.reserved;
  if (memory.used > usable) memory.used = usable;
  memory.free = usable - memory.used;
  return memory;
}

int nvmlDeviceGetMemoryInfo(NvmlHandle device, NvmlMemory* memory) {
  ENTER_ANY_DEVICE(call, device);
  if (memory == NULL) return nvml_invalid_argument;
  const NvmlMemoryV2 full = memory_of(&call);
  memory->free = full.free;
  // What the driver keeps for itself is left out by older ones, and counted as used by newer ones.
  const unsigned long long kept = call.device->gpu.v1_hides_reserved ? 0 : full.reserved;
  memory->used = full.used + kept;
  memory->total = memory->free + memory->used;
  return nvml_success;
}

int nvmlDeviceGetMemoryInfo_v2(NvmlHandle device, NvmlMemoryV2* memory) {
  ENTER_ANY_DEVICE(call, device);
  SINCE(call, 510);
  if (memory == NULL) return nvml_invalid_argument;
  if (memory->version != nvml_memory_v2_version) return nvml_argument_version_mismatch;
  *memory = memory_of(&call);
  return nvml_success;
}

int nvmlDeviceGetUtilizationRates(NvmlHandle device, NvmlUtilization* utilization) {
  ENTER_ANY_DEVICE(call, device);
  if (utilization == NULL) return nvml_invalid_argument;
  fake_state_lock(call.state);
  const bool cut = call.gpu->mig.mode != 0;
  utilization->gpu = call.gpu->utilization_gpu;
  utilization->memory = call.gpu->utilization_memory;
  fake_state_unlock(call.state);
  return cut ? nvml_not_supported : nvml_success;
}

// Writes the processes of one kind, `stride` bytes each, in the layout of that length.
static int list_processes(const Call* call, uint32_t kind, size_t stride, unsigned int* count,
                          void* entries) {
  if (count == NULL || (*count > 0 && entries == NULL)) return nvml_invalid_argument;
  const unsigned int room = *count;
  unsigned int needed = 0;
  const bool sees_all = geteuid() == 0;
  fake_state_lock(call->state);
  fake_state_reap(call->state, call->gpu);
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    const FakeProcess* process = &call->gpu->processes[i];
    if (process->pid == 0 || process->kind != kind) continue;
    if (call->is_mig && (process->gpu_instance != call->instance.id + 1 ||
                         process->compute_instance != call->compute.id + 1)) {
      continue;
    }
    // What goes on in instances is told of the whole GPU to a privileged caller only.
    if (!call->is_mig && process->gpu_instance != 0 && !sees_all) continue;
    if (needed < room) {
      // No instance is 0 here, and all ones in the answer.
      const NvmlProcessV3Long entry = {.pid = process->pid,
                                       .used_gpu_memory = process->memory_bytes,
                                       .gpu_instance = process->gpu_instance - 1,
                                       .compute_instance = process->compute_instance - 1};
      memcpy((char*)entries + needed * stride, &entry, stride);
    }
    ++needed;
  }
  fake_state_unlock(call->state);
  *count = needed;
  return needed > room ? nvml_insufficient_size : nvml_success;
}

int nvmlDeviceGetComputeRunningProcesses(NvmlHandle device, unsigned int* count, void* entries) {
  ENTER_ANY_DEVICE(call, device);
  return list_processes(&call, fake_compute, sizeof(NvmlProcessV1), count, entries);
}

int nvmlDeviceGetComputeRunningProcesses_v2(NvmlHandle device, unsigned int* count, void* entries) {
  ENTER_ANY_DEVICE(call, device);
  return list_processes(&call, fake_compute, sizeof(NvmlProcessV2), count, entries);
}

int nvmlDeviceGetComputeRunningProcesses_v3(NvmlHandle device, unsigned int* count, void* entries) {
  ENTER_ANY_DEVICE(call, device);
  SINCE(call, 510);
  return list_processes(&call, fake_compute, call.machine->process_stride, count, entries);
}

int nvmlDeviceGetGraphicsRunningProcesses(NvmlHandle device, unsigned int* count, void* entries) {
  ENTER_ANY_DEVICE(call, device);
  return list_processes(&call, fake_graphics, sizeof(NvmlProcessV1), count, entries);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(NvmlHandle device, unsigned int* count,
                                             void* entries) {
  ENTER_ANY_DEVICE(call, device);
  return list_processes(&call, fake_graphics, sizeof(NvmlProcessV2), count, entries);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(NvmlHandle device, unsigned int* count,
                                             void* entries) {
  ENTER_ANY_DEVICE(call, device);
  SINCE(call, 510);
  return list_processes(&call, fake_graphics, call.machine->process_stride, count, entries);
}

// Clients of MPS stand here and in no other list.
int nvmlDeviceGetMPSComputeRunningProcesses(NvmlHandle device, unsigned int* count, void* entries) {
  ENTER_ANY_DEVICE(call, device);
  return list_processes(&call, fake_mps, sizeof(NvmlProcessV1), count, entries);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v2(NvmlHandle device, unsigned int* count,
                                               void* entries) {
  ENTER_ANY_DEVICE(call, device);
  return list_processes(&call, fake_mps, sizeof(NvmlProcessV2), count, entries);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(NvmlHandle device, unsigned int* count,
                                               void* entries) {
  ENTER_ANY_DEVICE(call, device);
  SINCE(call, 510);
  return list_processes(&call, fake_mps, call.machine->process_stride, count, entries);
}

int nvmlDeviceSetMemoryLimits_v1(NvmlHandle device, NvmlMemoryLimits* limits) {
  ENTER_DEVICE(call, device);
  SINCE(call, 615);
  if (limits == NULL || limits->cgroup == NULL || limits->soft_bytes > limits->hard_bytes)
    return nvml_invalid_argument;
  if (geteuid() != 0) return nvml_no_permission;
  int code = nvml_success;
  fake_state_lock(call.state);
  FakeLimit* limit = fake_limit_find(call.state, limits->cgroup, call.index);
  if (limits->hard_bytes == nvml_memory_unknown) {
    if (limit != NULL) *limit = (FakeLimit){0};
  } else if (access(limits->cgroup, F_OK) != 0) {
    code = nvml_not_found;
  } else if ((limit != NULL || (limit = fake_limit_new(call.state)) != NULL) &&
             strlen(limits->cgroup) < sizeof limit->cgroup) {
    strcpy(limit->cgroup, limits->cgroup);
    limit->gpu = call.index;
    limit->soft_bytes = limits->soft_bytes;
    limit->hard_bytes = limits->hard_bytes;
  } else {
    code = nvml_insufficient_resources;
  }
  fake_state_unlock(call.state);
  return code;
}

int nvmlDeviceGetMemoryLimits_v1(NvmlHandle device, NvmlMemoryLimitsNow* limits) {
  ENTER_DEVICE(call, device);
  SINCE(call, 615);
  if (limits == NULL || limits->cgroup == NULL) return nvml_invalid_argument;
  fake_state_lock(call.state);
  fake_state_reap(call.state, call.gpu);
  const FakeLimit* limit = fake_limit_find(call.state, limits->cgroup, call.index);
  if (limit != NULL) {
    limits->soft_bytes = limit->soft_bytes;
    limits->hard_bytes = limit->hard_bytes;
    limits->used_bytes = fake_limit_used(call.gpu, (uint32_t)(limit - call.state->limits) + 1);
  }
  fake_state_unlock(call.state);
  return limit != NULL ? nvml_success : nvml_not_supported;
}

// Only who does anything has a load, and it is always a new one.
int nvmlDeviceGetProcessUtilization(NvmlHandle device, NvmlProcessLoad* loads, unsigned int* count,
                                    unsigned long long since_us) {
  ENTER_DEVICE(call, device);
  if (count == NULL || (*count > 0 && loads == NULL)) return nvml_invalid_argument;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const unsigned long long now_us =
      (unsigned long long)now.tv_sec * 1000000ull + (unsigned long long)now.tv_nsec / 1000;
  const unsigned int room = *count;
  unsigned int needed = 0;
  fake_state_lock(call.state);
  if (call.gpu->mig.mode != 0) {
    fake_state_unlock(call.state);
    return nvml_not_supported;
  }
  fake_state_reap(call.state, call.gpu);
  for (unsigned int i = 0; i < fake_process_max && now_us > since_us; ++i) {
    const FakeProcess* process = &call.gpu->processes[i];
    if (process->pid == 0 || process->load == 0) continue;
    if (needed < room) {
      loads[needed] =
          (NvmlProcessLoad){.pid = process->pid, .time_us = now_us, .sm = process->load};
    }
    ++needed;
  }
  fake_state_unlock(call.state);
  *count = needed;
  if (needed > room) return nvml_insufficient_size;
  return needed > 0 ? nvml_success : nvml_not_found;
}

int nvmlDeviceGetTemperature(NvmlHandle device, unsigned int sensor, unsigned int* celsius) {
  ENTER_DEVICE(call, device);
  if (sensor != 0) return nvml_invalid_argument;
  return give_number(&call, &call.gpu->temperature, celsius);
}

int nvmlDeviceGetPowerUsage(NvmlHandle device, unsigned int* milliwatts) {
  ENTER_DEVICE(call, device);
  return give_number(&call, &call.gpu->power_mw, milliwatts);
}

int nvmlDeviceGetEnforcedPowerLimit(NvmlHandle device, unsigned int* milliwatts) {
  ENTER_DEVICE(call, device);
  if (milliwatts == NULL) return nvml_invalid_argument;
  *milliwatts = (unsigned int)call.device->gpu.power_limit_mw;
  return nvml_success;
}

int nvmlDeviceGetTotalEnergyConsumption(NvmlHandle device, unsigned long long* millijoules) {
  ENTER_DEVICE(call, device);
  if (millijoules == NULL) return nvml_invalid_argument;
  fake_state_lock(call.state);
  *millijoules = fake_state_energy_mj(call.gpu);
  fake_state_unlock(call.state);
  return nvml_success;
}

int nvmlDeviceGetPersistenceMode(NvmlHandle device, unsigned int* mode) {
  ENTER_DEVICE(call, device);
  return give_number(&call, &call.gpu->persistence_mode, mode);
}

int nvmlDeviceGetComputeMode(NvmlHandle device, unsigned int* mode) {
  ENTER_DEVICE(call, device);
  return give_number(&call, &call.gpu->compute_mode, mode);
}

static int set_mode(const Call* call, uint32_t* mode, unsigned int value) {
  if (geteuid() != 0) return nvml_no_permission;
  fake_state_lock(call->state);
  *mode = value;
  fake_state_unlock(call->state);
  return nvml_success;
}

int nvmlDeviceSetPersistenceMode(NvmlHandle device, unsigned int mode) {
  ENTER_DEVICE(call, device);
  if (mode > 1) return nvml_invalid_argument;
  return set_mode(&call, &call.gpu->persistence_mode, mode);
}

int nvmlDeviceSetComputeMode(NvmlHandle device, unsigned int mode) {
  ENTER_DEVICE(call, device);
  if (mode > 3) return nvml_invalid_argument;
  if (mode == 1) return nvml_not_supported;  // one thread at a time: gone from all drivers
  return set_mode(&call, &call.gpu->compute_mode, mode);
}
