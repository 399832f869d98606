// testsuite/fakegpu/core.c - start, stop, handles and injected faults of the fake NVML.
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Static, and the state is never unmapped: a call that hangs across the last nvmlShutdown, and
// comes back after it, still finds what it looks at.
static FakeDescription machine;
static FakeState* shared_state;
static struct NvmlDevice handles[fake_gpu_max];
static unsigned int users;  // nvmlInit less nvmlShutdown
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

static int start(void) {
  char error[512] = "";
  const char* description = getenv("ROTA_FAKEGPU");
  if (description == NULL || description[0] == '\0') return nvml_driver_not_loaded;
  if (!fake_description_from_environment(&machine, error, sizeof error) ||
      (shared_state =
           fake_state_open(getenv("ROTA_FAKEGPU_STATE"), &machine, error, sizeof error)) == NULL) {
    fprintf(stderr, "fake libnvidia-ml.so.1: %s\n", error);
    return nvml_unknown;
  }
  for (unsigned int i = 0; i < fake_gpu_max; ++i) handles[i].index = i;
  return nvml_success;
}

static const FakeFault* find_fault(const FakeState* state, const char* name, int gpu) {
  for (unsigned int i = 0; i < fake_fault_max; ++i) {
    const FakeFault* fault = &state->faults[i];
    if (fault->kind == fake_fault_none || (fault->gpu != -1 && fault->gpu != gpu)) continue;
    if (strcmp(fault->call, "*") == 0 || strcmp(fault->call, name) == 0) return fault;
  }
  return NULL;
}

// Hangs for as long as the state says so; then gives the code of an injected failure, if any.
static int suffer(FakeState* state, const char* name, int gpu) {
  for (;;) {
    fake_state_lock(state);
    const uint32_t seen = state->changes;
    const FakeFault* fault = find_fault(state, name, gpu);
    const FakeFault found = fault != NULL ? *fault : (FakeFault){0};
    fake_state_unlock(state);
    if (found.kind == fake_fault_none) return nvml_success;
    if (found.kind == fake_fault_fail) return found.code;
    fake_state_wait(state, seen);
  }
}

static bool running(void) {
  pthread_mutex_lock(&users_lock);
  const bool result = users > 0;
  pthread_mutex_unlock(&users_lock);
  return result;
}

int enter(const char* name, Call* call) {
  if (!running()) return nvml_uninitialized;
  call->machine = &machine;
  call->state = shared_state;
  return suffer(call->state, name, -1);
}

static int enter_gpu(const char* name, unsigned int index, Call* call) {
  call->index = index;
  call->device = &machine.devices[index];
  call->gpu = &shared_state->gpus[index];
  const int code = suffer(call->state, name, (int)index);
  if (code != nvml_success) return code;
  fake_state_lock(call->state);
  const bool lost = call->gpu->lost != 0;
  fake_state_unlock(call->state);
  return lost ? nvml_gpu_is_lost : nvml_success;
}

int enter_device(const char* name, NvmlHandle device, Call* call) {
  if (!running()) return nvml_uninitialized;
  call->machine = &machine;
  call->state = shared_state;
  if (device < handles || device >= handles + machine.device_count) return nvml_invalid_argument;
  return enter_gpu(name, device->index, call);
}

int enter_any_device(const char* name, NvmlHandle device, Call* call) {
  if (device >= handles && device < handles + fake_gpu_max) return enter_device(name, device, call);
  return enter_handle(name, device, fake_mig_handle, call);
}

// ---- what MIG made ----

// Freed with the library: a program may keep a handle for as long as it likes. Found by serial, and
// known as ours by lying in a chunk.
enum { chunk_size = 256, bucket_count = 1024 };
typedef struct Chunk {
  struct NvmlDevice handles[chunk_size];
  unsigned int used;
  struct Chunk* next;
} Chunk;
static Chunk* chunks;
static struct NvmlDevice* buckets[bucket_count];
static pthread_mutex_t mig_handles_lock = PTHREAD_MUTEX_INITIALIZER;

FakeMigGpu mig_gpu(const Call* call) {
  return (FakeMigGpu){.device = call->device, .state = call->state, .gpu = call->gpu};
}

static struct NvmlDevice* new_handle(void) {  // locked
  if (chunks == NULL || chunks->used == chunk_size) {
    Chunk* chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL) return NULL;
    chunk->next = chunks;
    chunks = chunk;
  }
  return &chunks->handles[chunks->used++];
}

__attribute__((destructor)) static void free_handles(void) {
  while (chunks != NULL) {
    Chunk* chunk = chunks;
    chunks = chunk->next;
    free(chunk);
  }
}

void* mig_handle_of(unsigned int index, FakeKind kind, uint32_t instance, uint32_t compute) {
  struct NvmlDevice** bucket = &buckets[(instance + compute) % bucket_count];
  pthread_mutex_lock(&mig_handles_lock);
  struct NvmlDevice* at = *bucket;
  while (at != NULL && (at->index != index || at->kind != kind || at->instance != instance ||
                        at->compute != compute)) {
    at = at->next;
  }
  if (at == NULL && (at = new_handle()) != NULL) {
    *at = (struct NvmlDevice){index, kind, instance, compute, *bucket};
    *bucket = at;
  }
  pthread_mutex_unlock(&mig_handles_lock);
  return at;
}

static bool is_mig_handle(const struct NvmlDevice* handle, FakeKind kind) {
  pthread_mutex_lock(&mig_handles_lock);
  const Chunk* chunk = chunks;
  while (chunk != NULL && (handle < chunk->handles || handle >= chunk->handles + chunk->used)) {
    chunk = chunk->next;
  }
  const bool known = chunk != NULL && handle->kind == kind;
  pthread_mutex_unlock(&mig_handles_lock);
  return known;
}

int enter_handle(const char* name, const void* handle, FakeKind kind, Call* call) {
  if (!running()) return nvml_uninitialized;
  call->machine = &machine;
  call->state = shared_state;
  const struct NvmlDevice* known = handle;
  if (handle == NULL || !is_mig_handle(known, kind)) return nvml_invalid_argument;
  const int code = enter_gpu(name, known->index, call);
  if (code != nvml_success) return code;
  call->is_mig = true;
  const FakeMigGpu on = mig_gpu(call);
  bool found = false;
  fake_state_lock(call->state);
  const FakeGpuInstance* instance = fake_mig_find(&on, known->instance);
  if (instance != NULL) {
    call->instance = *instance;
    found = known->compute == 0;
    for (unsigned int i = 0; i < fake_compute_instance_max && !found; ++i) {
      found = instance->computes[i].serial == known->compute;
      call->compute = instance->computes[i];
    }
  }
  fake_state_unlock(call->state);
  return found ? nvml_success : nvml_not_found;
}

NvmlHandle handle_of(unsigned int index) { return &handles[index]; }

int give_text(const char* from, char* text, unsigned int size) {
  if (text == NULL) return nvml_invalid_argument;
  if (strlen(from) + 1 > size) return nvml_insufficient_size;
  strcpy(text, from);
  return nvml_success;
}

int nvmlInit_v2(void) {
  pthread_mutex_lock(&users_lock);
  const int code = users == 0 ? start() : nvml_success;
  if (code == nvml_success) ++users;
  FakeState* state = shared_state;
  pthread_mutex_unlock(&users_lock);
  if (code != nvml_success) return code;
  const int fault = suffer(state, "nvmlInit_v2", -1);
  if (fault != nvml_success) nvmlShutdown();
  return fault;
}

int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned int flags) {
  (void)flags;
  return nvmlInit_v2();
}

int nvmlShutdown(void) {
  pthread_mutex_lock(&users_lock);
  const int code = users > 0 ? nvml_success : nvml_uninitialized;
  if (users > 0) --users;
  pthread_mutex_unlock(&users_lock);
  return code;
}

EXPORT const char* nvmlErrorString(int result) {
  switch (result) {
    case nvml_success:
      return "Success";
    case nvml_uninitialized:
      return "Uninitialized";
    case nvml_invalid_argument:
      return "Invalid Argument";
    case nvml_not_supported:
      return "Not Supported";
    case nvml_no_permission:
      return "Insufficient Permissions";
    case nvml_not_found:
      return "Not Found";
    case nvml_insufficient_size:
      return "Insufficient Size";
    case nvml_driver_not_loaded:
      return "Driver Not Loaded";
    case nvml_timeout:
      return "Timeout";
    case nvml_library_not_found:
      return "NVML Shared Library Not Found";
    case nvml_function_not_found:
      return "Function Not Found";
    case nvml_corrupted_inforom:
      return "Corrupted infoROM";
    case nvml_gpu_is_lost:
      return "GPU is lost";
    case nvml_reset_required:
      return "GPU requires reset";
    case nvml_operating_system:
      return "Blocked by the operating system";
    case nvml_lib_rm_version_mismatch:
      return "Driver/library version mismatch";
    case nvml_in_use:
      return "In use by another client";
    case nvml_memory:
      return "Insufficient Memory";
    case nvml_no_data:
      return "No data";
    case nvml_insufficient_resources:
      return "Insufficient Resources";
    case nvml_argument_version_mismatch:
      return "Argument version mismatch";
    case nvml_deprecated:
      return "Deprecated";
    case nvml_not_ready:
      return "Not ready";
    case nvml_gpu_not_found:
      return "GPU not found";
    case nvml_invalid_state:
      return "Invalid state";
    default:
      return "Unknown Error";
  }
}
