// testsuite/fakegpu/cuda_context.c - contexts of the fake CUDA driver: each takes memory, and each
// thread has a stack of them.
#include <stdlib.h>
#include <string.h>

#include "cuda_core.h"

enum { stack_max = 64 };
static __thread CudaContext stack[stack_max];
static __thread unsigned int depth;
static CudaContext others;  // all that are not primary
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t context_bytes(CudaDevice device) {
  return cuda_device(device)->gpu.context_mib << 20;
}

static bool is_context(CudaContext context) {
  CudaWorld* world = cuda_world();
  if (context >= world->primaries && context < world->primaries + fake_gpu_max) {
    return context->alive;
  }
  pthread_mutex_lock(&contexts_lock);
  CudaContext at = others;
  while (at != NULL && at != context) at = at->next;
  pthread_mutex_unlock(&contexts_lock);
  return at != NULL;
}

int cuda_enter_context(CudaContext* context) {
  CUDA_ENTER();
  if (depth == 0 || stack[depth - 1] == NULL) return cuda_invalid_context;
  if (!is_context(stack[depth - 1])) return cuda_context_is_destroyed;
  *context = stack[depth - 1];
  return cuda_success;
}

static int push(CudaContext context) {
  if (depth == stack_max) return cuda_invalid_context;
  stack[depth++] = context;
  return cuda_success;
}

CUDA(cuCtxCreate_v2, CudaContext* context, unsigned int flags, CudaDevice device) {
  CUDA_ENTER();
  if (context == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  const int code = cuda_charge(device, context_bytes(device));
  if (code != cuda_success) return code;
  CudaContext made = calloc(1, sizeof *made);
  if (made == NULL) return cuda_out_of_memory;
  made->device = device;
  made->flags = flags;
  made->alive = true;
  pthread_mutex_lock(&contexts_lock);
  made->next = others;
  others = made;
  pthread_mutex_unlock(&contexts_lock);
  *context = made;
  return push(made);
}

CUDA(cuCtxCreate_v3, CudaContext* context, void* affinity, int affinity_count, unsigned int flags,
     CudaDevice device) {
  (void)affinity;
  (void)affinity_count;
  return cuCtxCreate_v2(context, flags, device);
}

CUDA(cuCtxCreate_v4, CudaContext* context, void* parameters, unsigned int flags,
     CudaDevice device) {
  (void)parameters;
  return cuCtxCreate_v2(context, flags, device);
}

CUDA(cuCtxDestroy_v2, CudaContext context) {
  CUDA_ENTER();
  if (context == NULL || !is_context(context) || context->primary) return cuda_invalid_context;
  cuda_forget_memory(context);
  cuda_uncharge(context->device, context_bytes(context->device));
  pthread_mutex_lock(&contexts_lock);
  CudaContext* at = &others;
  while (*at != NULL && *at != context) at = &(*at)->next;
  if (*at != NULL) *at = context->next;
  pthread_mutex_unlock(&contexts_lock);
  if (depth > 0 && stack[depth - 1] == context) --depth;
  free(context);
  return cuda_success;
}

static int begin_primary(CudaContext primary, CudaDevice device) {
  if (primary->alive) return cuda_success;
  const int code = cuda_charge(device, context_bytes(device));
  if (code != cuda_success) return code;
  primary->device = device;
  primary->primary = true;
  primary->alive = true;
  return cuda_success;
}

static void end_primary(CudaContext primary) {
  if (!primary->alive) return;
  cuda_forget_memory(primary);
  cuda_uncharge(primary->device, context_bytes(primary->device));
  primary->alive = false;
}

CUDA(cuDevicePrimaryCtxRetain, CudaContext* context, CudaDevice device) {
  CUDA_ENTER();
  if (context == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  CudaContext primary = &cuda_world()->primaries[device];
  pthread_mutex_lock(&contexts_lock);
  const int code = begin_primary(primary, device);
  if (code == cuda_success) ++primary->retained;
  pthread_mutex_unlock(&contexts_lock);
  if (code == cuda_success) *context = primary;
  return code;
}

CUDA(cuDevicePrimaryCtxRelease_v2, CudaDevice device) {
  CUDA_ENTER();
  if (!cuda_has_device(device)) return cuda_invalid_device;
  CudaContext primary = &cuda_world()->primaries[device];
  pthread_mutex_lock(&contexts_lock);
  const bool held = primary->retained > 0;
  const bool last = held && --primary->retained == 0;
  pthread_mutex_unlock(&contexts_lock);
  if (last) end_primary(primary);
  return held ? cuda_success : cuda_invalid_context;
}

CUDA(cuDevicePrimaryCtxReset_v2, CudaDevice device) {
  CUDA_ENTER();
  if (!cuda_has_device(device)) return cuda_invalid_device;
  end_primary(&cuda_world()->primaries[device]);
  return cuda_success;
}

CUDA(cuDevicePrimaryCtxSetFlags_v2, CudaDevice device, unsigned int flags) {
  CUDA_ENTER();
  if (!cuda_has_device(device)) return cuda_invalid_device;
  cuda_world()->primaries[device].flags = flags;
  return cuda_success;
}

CUDA(cuDevicePrimaryCtxGetState, CudaDevice device, unsigned int* flags, int* active) {
  CUDA_ENTER();
  if (!cuda_has_device(device)) return cuda_invalid_device;
  if (flags != NULL) *flags = cuda_world()->primaries[device].flags;
  if (active != NULL) *active = cuda_world()->primaries[device].alive;
  return cuda_success;
}

// The oldest forms differ in name only.
CUDA_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
CUDA_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);
CUDA_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);
CUDA_ALIAS(cuCtxCreate, cuCtxCreate_v2);
CUDA_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);

CUDA(cuCtxGetCurrent, CudaContext* context) {
  CUDA_ENTER();
  if (context == NULL) return cuda_invalid_value;
  *context = depth > 0 ? stack[depth - 1] : NULL;
  return cuda_success;
}

CUDA(cuCtxSetCurrent, CudaContext context) {
  CUDA_ENTER();
  if (context != NULL && !is_context(context)) return cuda_invalid_context;
  if (depth > 0) --depth;
  return context != NULL ? push(context) : cuda_success;
}

CUDA(cuCtxPushCurrent_v2, CudaContext context) {
  CUDA_ENTER();
  if (context == NULL || !is_context(context)) return cuda_invalid_context;
  return push(context);
}

CUDA(cuCtxPopCurrent_v2, CudaContext* context) {
  CUDA_ENTER();
  if (depth == 0) return cuda_invalid_context;
  --depth;
  if (context != NULL) *context = stack[depth];
  return cuda_success;
}
CUDA_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);
CUDA_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

CUDA(cuCtxGetDevice, CudaDevice* device) {
  CUDA_ENTER_CONTEXT(context);
  if (device == NULL) return cuda_invalid_value;
  *device = context->device;
  return cuda_success;
}

CUDA(cuCtxGetApiVersion, CudaContext context, unsigned int* version) {
  CUDA_ENTER();
  if (version == NULL) return cuda_invalid_value;
  if (context != NULL && !is_context(context)) return cuda_invalid_context;
  *version = 3020;
  return cuda_success;
}

CUDA(cuCtxGetFlags, unsigned int* flags) {
  CUDA_ENTER_CONTEXT(context);
  if (flags == NULL) return cuda_invalid_value;
  *flags = context->flags;
  return cuda_success;
}

CUDA(cuCtxSynchronize, void) {
  CUDA_ENTER_CONTEXT(context);
  return cuda_success;
}

CUDA(cuCtxSetCacheConfig, int config) {
  CUDA_ENTER_CONTEXT(context);
  (void)config;
  return cuda_success;
}

CUDA(cuCtxGetCacheConfig, int* config) {
  CUDA_ENTER_CONTEXT(context);
  if (config == NULL) return cuda_invalid_value;
  *config = 0;
  return cuda_success;
}

CUDA(cuCtxSetLimit, int limit, size_t value) {
  CUDA_ENTER_CONTEXT(context);
  (void)limit;
  (void)value;
  return cuda_success;
}

CUDA(cuCtxGetLimit, size_t* value, int limit) {
  CUDA_ENTER_CONTEXT(context);
  if (value == NULL) return cuda_invalid_value;
  *value = limit == 0 ? 1024 : limit == 1 ? 1 << 20 : 8 << 20;  // stack, printf, heap
  return cuda_success;
}

CUDA(cuCtxGetStreamPriorityRange, int* least, int* greatest) {
  CUDA_ENTER_CONTEXT(context);
  if (least != NULL) *least = 0;
  if (greatest != NULL) *greatest = -5;
  return cuda_success;
}

CUDA(cuCtxGetId, CudaContext context, unsigned long long* id) {
  CUDA_ENTER();
  if (id == NULL) return cuda_invalid_value;
  *id = (uintptr_t)(context != NULL ? context : depth > 0 ? stack[depth - 1] : NULL);
  return cuda_success;
}
