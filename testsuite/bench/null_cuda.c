// testsuite/bench/null_cuda.c - a CUDA driver that does nothing, so that all the time is the
// shim's.
#include "gpushim/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

static CudaPtr next = 1 << 20;
static struct CudaContextBody* const context = (struct CudaContextBody*)16;

EXPORT int cuInit(unsigned int flags);
int cuInit(unsigned int flags) { return (int)flags; }

EXPORT int cuDeviceGetUuid(CudaUuid* uuid, CudaDevice device);
int cuDeviceGetUuid(CudaUuid* uuid, CudaDevice device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = 0x11;
  return device == 0 ? cuda_success : cuda_invalid_device;
}

EXPORT int cuCtxGetDevice(CudaDevice* device);
int cuCtxGetDevice(CudaDevice* device) {
  *device = 0;
  return cuda_success;
}

EXPORT int cuCtxGetCurrent(CudaContext* current);
int cuCtxGetCurrent(CudaContext* current) {
  *current = context;
  return cuda_success;
}

// Addresses as an allocator gives them: the last one freed is the next one taken.
EXPORT int cuMemAlloc_v2(CudaPtr* pointer, size_t bytes);
int cuMemAlloc_v2(CudaPtr* pointer, size_t bytes) {
  *pointer = next;
  next += (bytes + 511) & ~(size_t)511;
  return cuda_success;
}

EXPORT int cuMemFree_v2(CudaPtr pointer);
int cuMemFree_v2(CudaPtr pointer) {
  next = pointer;
  return cuda_success;
}
