// gpushim/cuda_context.c - the start, contexts, and what the job is told of its memory.
#include <limits.h>

#include "gpushim/cuda_real.h"
#include "gpushim/ledger.h"
#include "gpushim/share.h"

// Without somebody who counts there is no limit, so there is no GPU either.
int cuInit(unsigned int flags) {
  if (cuda_real.cuInit == NULL || !cuda_ready()) return cuda_system_not_ready;
  return cuda_real.cuInit(flags);
}

// ---- what there is ----

int cuDeviceTotalMem_v2(size_t* bytes, CudaDevice device) {
  const int code = cuda_real.cuDeviceTotalMem_v2(bytes, device);
  if (code != cuda_success) return code;
  if (!cuda_ready()) return cuda_system_not_ready;
  const int gpu = cuda_gpu_of(device);
  if (gpu >= 0) *bytes = share_rules_of((unsigned int)gpu)->limit_bytes;
  return code;
}

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  const int code = cuda_real.cuMemGetInfo_v2(free_bytes, total_bytes);
  if (code != cuda_success) return code;
  if (!cuda_ready()) return cuda_system_not_ready;
  const int gpu = cuda_gpu_here(NULL);
  if (gpu < 0) return code;
  const uint64_t left = share_free((unsigned int)gpu);
  if (left < *free_bytes) *free_bytes = left;
  *total_bytes = share_rules_of((unsigned int)gpu)->limit_bytes;
  return code;
}

static unsigned int in_32_bits(size_t bytes) {
  return bytes < UINT_MAX ? (unsigned int)bytes : UINT_MAX;
}

int cuDeviceTotalMem(unsigned int* bytes, CudaDevice device) {
  size_t all = 0;
  if (bytes == NULL) return cuda_invalid_value;
  const int code = cuDeviceTotalMem_v2(&all, device);
  if (code == cuda_success) *bytes = in_32_bits(all);
  return code;
}

int cuMemGetInfo(unsigned int* free_bytes, unsigned int* total_bytes) {
  size_t left = 0, all = 0;
  if (free_bytes == NULL || total_bytes == NULL) return cuda_invalid_value;
  const int code = cuMemGetInfo_v2(&left, &all);
  if (code == cuda_success) {
    *free_bytes = in_32_bits(left);
    *total_bytes = in_32_bits(all);
  }
  return code;
}

// ---- contexts ----

static uint64_t context_bytes(int gpu) {
  return gpu >= 0 ? share_rules_of((unsigned int)gpu)->context_bytes : 0;
}

// A GPU of somebody else's is no device for a context; the driver's device cgroup says so too.
static int begin_context(CudaDevice device, int* gpu) {
  if (!cuda_ready()) return cuda_system_not_ready;
  *gpu = cuda_gpu_of(device);
  if (*gpu == cuda_gpu_foreign) return cuda_invalid_device;
  return cuda_take(*gpu, context_bytes(*gpu));
}

static int end_context(int code, int gpu, CudaContext context) {
  if (code != cuda_success) {
    cuda_give(gpu, context_bytes(gpu));
  } else if (gpu >= 0) {
    const LedgerEntry entry = {.key = (uintptr_t)context,
                               .kind = ledger_context,
                               .gpu = (uint32_t)gpu,
                               .bytes = context_bytes(gpu)};
    ledger_put(&entry);
  }
  return code;
}

// A context is gone, and all that was allocated in it.
static void forget_context(CudaContext context) {
  LedgerEntry entry;
  if (ledger_take(ledger_context, (uintptr_t)context, &entry)) {
    cuda_give((int)entry.gpu, entry.bytes);
  }
  while (ledger_take_owned((uintptr_t)context, &entry)) cuda_give((int)entry.gpu, entry.bytes);
}

int cuCtxCreate_v2(CudaContext* context, unsigned int flags, CudaDevice device) {
  int gpu;
  int code = begin_context(device, &gpu);
  if (code != cuda_success) return code;
  code = cuda_real.cuCtxCreate_v2(context, flags, device);
  return end_context(code, gpu, code == cuda_success ? *context : NULL);
}

int cuCtxCreate(CudaContext* context, unsigned int flags, CudaDevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

int cuCtxCreate_v3(CudaContext* context, void* affinity, int affinity_count, unsigned int flags,
                   CudaDevice device) {
  int gpu;
  if (cuda_real.cuCtxCreate_v3 == NULL) {
    return affinity_count == 0 ? cuCtxCreate_v2(context, flags, device)
                               : cuda_operation_not_supported;
  }
  int code = begin_context(device, &gpu);
  if (code != cuda_success) return code;
  code = cuda_real.cuCtxCreate_v3(context, affinity, affinity_count, flags, device);
  return end_context(code, gpu, code == cuda_success ? *context : NULL);
}

int cuCtxCreate_v4(CudaContext* context, void* parameters, unsigned int flags, CudaDevice device) {
  int gpu;
  // We have the name though the driver does not: without parameters it is what it always was.
  if (cuda_real.cuCtxCreate_v4 == NULL) {
    return parameters == NULL ? cuCtxCreate_v2(context, flags, device)
                              : cuda_operation_not_supported;
  }
  int code = begin_context(device, &gpu);
  if (code != cuda_success) return code;
  code = cuda_real.cuCtxCreate_v4(context, parameters, flags, device);
  return end_context(code, gpu, code == cuda_success ? *context : NULL);
}

int cuCtxDestroy_v2(CudaContext context) {
  const int code = cuda_real.cuCtxDestroy_v2(context);
  if (code == cuda_success && cuda_ready()) forget_context(context);
  return code;
}

int cuCtxDestroy(CudaContext context) { return cuCtxDestroy_v2(context); }

// ---- the primary context of each device, which is counted ----

typedef struct {
  uint32_t lock;
  uint32_t retained[64];
  CudaContext context[64];
} Primaries;
enum { primaries_offset = share_ledger_size + 256 };
static_assert(primaries_offset + sizeof(Primaries) <= share_local_size, "fits share_local()");

static Primaries* primaries(void) { return (Primaries*)((char*)share_local() + primaries_offset); }

int cuDevicePrimaryCtxRetain(CudaContext* context, CudaDevice device) {
  int gpu;
  LedgerEntry entry;
  int code = begin_context(device, &gpu);
  if (code != cuda_success) return code;
  code = cuda_real.cuDevicePrimaryCtxRetain(context, device);
  if (code != cuda_success || gpu < 0) return end_context(code, gpu, NULL);
  Primaries* all = primaries();
  share_lock(&all->lock);
  ++all->retained[device];
  all->context[device] = *context;
  const bool known = ledger_find(ledger_context, (uintptr_t)*context, &entry);
  if (!known) end_context(code, gpu, *context);
  share_unlock(&all->lock);
  if (known) cuda_give(gpu, context_bytes(gpu));  // it had been charged before
  return code;
}

static int release_primary(CudaDevice device, int code) {
  if (code != cuda_success || !cuda_ready() || cuda_gpu_of(device) < 0) return code;
  Primaries* all = primaries();
  share_lock(&all->lock);
  const bool last = all->retained[device] > 0 && --all->retained[device] == 0;
  const CudaContext context = all->context[device];
  share_unlock(&all->lock);
  if (last) forget_context(context);
  return code;
}

int cuDevicePrimaryCtxRelease_v2(CudaDevice device) {
  return release_primary(device, cuda_real.cuDevicePrimaryCtxRelease_v2(device));
}
int cuDevicePrimaryCtxRelease(CudaDevice device) {
  return release_primary(device, cuda_real.cuDevicePrimaryCtxRelease(device));
}

// Who retains it keeps it; but it is empty, and charged again when it is retained again.
static int reset_primary(CudaDevice device, int code) {
  if (code != cuda_success || !cuda_ready() || cuda_gpu_of(device) < 0) return code;
  Primaries* all = primaries();
  share_lock(&all->lock);
  const CudaContext context = all->context[device];
  share_unlock(&all->lock);
  if (context != NULL) forget_context(context);
  return code;
}

int cuDevicePrimaryCtxReset_v2(CudaDevice device) {
  return reset_primary(device, cuda_real.cuDevicePrimaryCtxReset_v2(device));
}
int cuDevicePrimaryCtxReset(CudaDevice device) {
  return reset_primary(device, cuda_real.cuDevicePrimaryCtxReset(device));
}
