// testsuite/fakegpu/cuda_core.c - the fake CUDA driver's start: which devices a process sees, and
// what it holds of their memory.
#include "cuda_core.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static CudaWorld world;
static pid_t started_by;  // 0: nobody yet
static uint32_t life;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

CudaWorld* cuda_world(void) { return &world; }

// A process that was forked off one with a started driver cannot use it, as with the real one.
int cuda_enter(void) {
  return started_by != 0 && started_by == getpid() ? cuda_success : cuda_not_initialized;
}

bool cuda_has_device(CudaDevice device) {
  return device >= 0 && (unsigned int)device < world.visible_count;
}

const FakeDevice* cuda_device(CudaDevice device) {
  return &world.machine.devices[world.visible[device].gpu];
}

FakeGpuState* cuda_gpu(CudaDevice device) { return &world.state->gpus[world.visible[device].gpu]; }

const CudaSeen* cuda_instance(CudaDevice device) {
  return world.visible[device].is_mig ? &world.visible[device] : NULL;
}

static FakeMigGpu mig_gpu(unsigned int index) {
  return (FakeMigGpu){&world.machine.devices[index], world.state, &world.state->gpus[index]};
}

const FakeMigProfile* cuda_profile(const CudaSeen* seen) {
  const FakeMigGpu on = mig_gpu(seen->gpu);
  return fake_mig_profile_of(&on, &seen->instance);
}

// CUDA counts the fastest device first, unless it is asked for the order of the bus, which is
// NVML's.
static void order_devices(unsigned int order[fake_gpu_max]) {
  const char* wish = getenv("CUDA_DEVICE_ORDER");
  const bool by_bus = wish != NULL && strcmp(wish, "PCI_BUS_ID") == 0;
  for (unsigned int i = 0; i < world.machine.device_count; ++i) {
    unsigned int at = i;
    while (!by_bus && at > 0 &&
           world.machine.devices[order[at - 1]].gpu.multiprocessors <
               world.machine.devices[i].gpu.multiprocessors) {
      order[at] = order[at - 1];
      --at;
    }
    order[at] = i;
  }
}

// Locked: the whole GPU, or of one in MIG mode its first instance. False: it has none.
static bool see_gpu(unsigned int index, CudaSeen* seen) {
  *seen = (CudaSeen){.gpu = index};
  const FakeMigState* mig = &world.state->gpus[index].mig;
  if (mig->mode == 0) return true;
  seen->is_mig = true;
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    for (unsigned int j = 0; j < fake_compute_instance_max; ++j) {
      if (mig->instances[i].computes[j].serial == 0) continue;
      seen->instance = mig->instances[i];
      seen->compute = mig->instances[i].computes[j];
      return true;
    }
  }
  return false;
}

static bool see_instance(const char* uuid, CudaSeen* seen) {
  for (unsigned int i = 0; i < world.machine.device_count; ++i) {
    const FakeMigGpu on = mig_gpu(i);
    FakeGpuInstance* instance = NULL;
    FakeComputeInstance* compute = NULL;
    if (!fake_mig_by_uuid(&on, uuid, &instance, &compute)) continue;
    *seen = (CudaSeen){.gpu = i, .is_mig = true, .instance = *instance, .compute = *compute};
    return true;
  }
  return false;
}

// Locked: the device that one entry of CUDA_VISIBLE_DEVICES names: a whole number, the beginning of
// a UUID that only one device has, or a MIG instance's whole UUID.
static bool named_device(const unsigned int* order, const char* name, size_t length,
                         CudaSeen* seen) {
  if (length > 0 && length < 4 && strspn(name, "0123456789") >= length) {
    const int index = atoi(name);
    return index < (int)world.machine.device_count && see_gpu(order[index], seen);
  }
  if (length == fake_mig_uuid_size - 8 && strncmp(name, "MIG-", 4) == 0) {
    char uuid[fake_mig_uuid_size];
    snprintf(uuid, sizeof uuid, "%.*s", (int)length, name);
    return see_instance(uuid, seen);
  }
  int found = -1;
  if (length <= 4 || strncasecmp(name, "GPU-", 4) != 0) return false;
  for (unsigned int i = 0; i < world.machine.device_count; ++i) {
    if (strncasecmp(world.machine.devices[i].uuid, name, length) != 0) continue;
    if (found != -1) return false;
    found = (int)i;
  }
  return found != -1 && see_gpu((unsigned int)found, seen);
}

// Before r570 a process has one MIG instance at the most, and no GPU beside it. False: no more.
static bool add_device(const CudaSeen* seen) {
  for (unsigned int i = 0; i < world.visible_count; ++i) {
    const CudaSeen* known = &world.visible[i];
    if (known->gpu == seen->gpu && known->compute.serial == seen->compute.serial) return false;
    if ((known->is_mig || seen->is_mig) && world.machine.driver_branch < 570) return false;
  }
  if (world.visible_count == fake_gpu_max) return false;
  world.visible[world.visible_count++] = *seen;
  return true;
}

// The first entry that names no device, or one a second time, ends the list.
static void see_named(const unsigned int* order, const char* at) {
  while (*at != '\0') {
    while (isspace((unsigned char)*at)) ++at;
    size_t length = strcspn(at, ",");
    const size_t whole = length;
    while (length > 0 && isspace((unsigned char)at[length - 1])) --length;
    CudaSeen seen;
    if (!named_device(order, at, length, &seen) || !add_device(&seen)) return;
    at += whole;
    if (*at == ',') ++at;
  }
}

static void see_devices(void) {
  unsigned int order[fake_gpu_max];
  order_devices(order);
  const char* names = getenv("CUDA_VISIBLE_DEVICES");
  world.visible_count = 0;
  fake_state_lock(world.state);
  if (names != NULL) {
    see_named(order, names);
  } else {
    CudaSeen seen;
    for (unsigned int i = 0; i < world.machine.device_count; ++i) {
      if (see_gpu(order[i], &seen)) add_device(&seen);
    }
  }
  fake_state_unlock(world.state);
}

static int start(void) {
  char error[512] = "";
  const char* description = getenv("ROTA_FAKEGPU");
  if (description == NULL || description[0] == '\0') return cuda_no_device;
  if (!fake_description_from_environment(&world.machine, error, sizeof error) ||
      (world.state = fake_state_open(getenv("ROTA_FAKEGPU_STATE"), &world.machine, error,
                                     sizeof error)) == NULL) {
    fprintf(stderr, "fake libcuda.so.1: %s\n", error);
    return cuda_unknown;
  }
  see_devices();
  if (world.visible_count == 0) return cuda_no_device;
  world.is_mps_client = cuda_find_mps();
  life = fake_state_live(world.state);
  return life != 0 ? cuda_success : cuda_unknown;
}

CUDA(cuInit, unsigned int flags) {
  if (flags != 0) return cuda_invalid_value;
  pthread_mutex_lock(&start_lock);
  int code = cuda_success;
  if (started_by == 0) {
    code = start();
    if (code == cuda_success) started_by = getpid();
  } else if (started_by != getpid()) {
    code = cuda_not_initialized;
  }
  pthread_mutex_unlock(&start_lock);
  return code;
}

CUDA(cuDriverGetVersion, int* version) {
  if (version == NULL) return cuda_invalid_value;
  // May be asked before cuInit.
  char error[512];
  FakeDescription machine;
  if (cuda_enter() == cuda_success) {
    *version = (int)world.machine.cuda_version;
  } else {
    *version = fake_description_from_environment(&machine, error, sizeof error)
                   ? (int)machine.cuda_version
                   : 0;
  }
  return cuda_success;
}

// ---- memory of a device, over all processes ----

static uint64_t whole_capacity(CudaDevice device) {
  const FakeModel* model = &cuda_device(device)->gpu;
  const CudaSeen* seen = cuda_instance(device);
  if (seen != NULL) return cuda_profile(seen)->memory_mib << 20;
  return (model->memory_mib - model->reserved_mib) << 20;
}

// Locked: of this process's cgroup; 0: none, or the driver knows no such thing.
static uint32_t own_limit(CudaDevice device) {
  // The driver knows no limits for instances.
  if (world.machine.driver_branch < 615 || cuda_instance(device) != NULL) return 0;
  return fake_limit_of_self(world.state, world.visible[device].gpu);
}

uint64_t cuda_capacity(CudaDevice device) {
  const uint64_t capacity = whole_capacity(device);
  fake_state_lock(world.state);
  const uint32_t limit = own_limit(device);
  const uint64_t hard = limit != 0 ? world.state->limits[limit - 1].hard_bytes : capacity;
  fake_state_unlock(world.state);
  return hard < capacity ? hard : capacity;
}

// Locked: what is in use of a device, be it a GPU or an instance.
static uint64_t used_of(CudaDevice device) {
  const CudaSeen* seen = cuda_instance(device);
  return seen != NULL ? fake_mig_memory_used(cuda_gpu(device), &seen->instance)
                      : fake_state_memory_used(cuda_gpu(device));
}

// Locked: an instance may be ended under nobody, but be gone before we come.
static bool is_there(CudaDevice device) {
  const CudaSeen* seen = cuda_instance(device);
  if (seen == NULL) return cuda_gpu(device)->mig.mode == 0;
  const FakeMigGpu on = mig_gpu(seen->gpu);
  return fake_mig_find(&on, seen->instance.serial) != NULL;
}

// Locked: this process's line on a device, made if there is room; NULL if there is none.
static FakeProcess* own_line(CudaDevice device, uint32_t limit) {
  FakeGpuState* gpu = cuda_gpu(device);
  const CudaSeen* seen = cuda_instance(device);
  const uint32_t instance = seen != NULL ? seen->instance.id + 1 : 0;
  const uint32_t compute = seen != NULL ? seen->compute.id + 1 : 0;
  FakeProcess* place = NULL;
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    FakeProcess* process = &gpu->processes[i];
    if (process->pid != 0 && process->life == life && process->gpu_instance == instance &&
        process->compute_instance == compute) {
      return process;
    }
    if (process->pid == 0 && place == NULL) place = process;
  }
  if (place != NULL) {
    *place = (FakeProcess){.pid = (uint32_t)started_by,
                           .kind = world.is_mps_client ? fake_mps : fake_compute,
                           .life = life,
                           .limit = limit,
                           .gpu_instance = instance,
                           .compute_instance = compute};
  }
  return place;
}

int cuda_charge(CudaDevice device, uint64_t bytes) {
  FakeGpuState* gpu = cuda_gpu(device);
  const uint64_t capacity = whole_capacity(device);
  int code = cuda_out_of_memory;
  fake_state_lock(world.state);
  if (bytes <= capacity && used_of(device) > capacity - bytes) fake_state_reap(world.state, gpu);
  const uint32_t limit = own_limit(device);
  if (limit != 0) fake_state_reap(world.state, gpu);
  const bool allowed = limit == 0 || fake_limit_used(gpu, limit) + bytes <=
                                         world.state->limits[limit - 1].hard_bytes;
  if (!is_there(device)) {
    code = cuda_invalid_device;
  } else if (allowed && bytes <= capacity && used_of(device) <= capacity - bytes) {
    FakeProcess* process = own_line(device, limit);
    if (process == NULL) {
      fake_state_reap(world.state, gpu);
      process = own_line(device, limit);
    }
    if (process != NULL) {
      process->memory_bytes += bytes;
      const uint64_t used = fake_state_memory_used(gpu);
      if (used > gpu->memory_high_bytes) gpu->memory_high_bytes = used;
      code = cuda_success;
    }
  }
  fake_state_unlock(world.state);
  return code;
}

void cuda_uncharge(CudaDevice device, uint64_t bytes) {
  fake_state_lock(world.state);
  FakeProcess* process = own_line(device, own_limit(device));
  if (process != NULL) {
    process->memory_bytes -= bytes < process->memory_bytes ? bytes : process->memory_bytes;
    if (process->memory_bytes == 0) *process = (FakeProcess){0};
  }
  fake_state_unlock(world.state);
}

uint64_t cuda_free_bytes(CudaDevice device) {
  FakeGpuState* gpu = cuda_gpu(device);
  const uint64_t capacity = whole_capacity(device);
  fake_state_lock(world.state);
  fake_state_reap(world.state, gpu);
  const uint64_t used = used_of(device);
  uint64_t left = used < capacity ? capacity - used : 0;
  const uint32_t limit = own_limit(device);
  if (limit != 0) {
    const uint64_t own = fake_limit_used(gpu, limit);
    const uint64_t hard = world.state->limits[limit - 1].hard_bytes;
    const uint64_t own_left = own < hard ? hard - own : 0;
    if (own_left < left) left = own_left;
  }
  fake_state_unlock(world.state);
  return left;
}

// A process that ends in order has gone before its parent hears of it.
__attribute__((destructor)) static void leave(void) {
  if (cuda_enter() != cuda_success) return;
  fake_state_lock(world.state);
  for (unsigned int i = 0; i < fake_gpu_max; ++i) {
    for (unsigned int j = 0; j < fake_process_max; ++j) {
      FakeProcess* process = &world.state->gpus[i].processes[j];
      if (process->pid != 0 && process->life == life) {
        *process = (FakeProcess){0};
      }
    }
  }
  fake_state_unlock(world.state);
}

// The last one stands for every other code.
static const struct {
  int code;
  const char* name;
  const char* text;
} error_words[] = {
    {cuda_success, "CUDA_SUCCESS", "no error"},
    {cuda_invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cuda_out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cuda_not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {cuda_no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {cuda_invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cuda_invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {cuda_operation_not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {cuda_system_not_ready, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {-1, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static size_t words_of(int code) {
  size_t i = 0;
  while (error_words[i].code != code && error_words[i].code >= 0) ++i;
  return i;
}

CUDA(cuGetErrorString, int code, const char** text) {
  if (text == NULL) return cuda_invalid_value;
  *text = error_words[words_of(code)].text;
  return cuda_success;
}

CUDA(cuGetErrorName, int code, const char** text) {
  if (text == NULL) return cuda_invalid_value;
  *text = error_words[words_of(code)].name;
  return cuda_success;
}
