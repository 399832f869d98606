// gpushim/cuda_real.h - the real driver behind the shim: its functions, and which GPU a call is
// about.
#pragma once
#include <stdbool.h>

#include "gpushim/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct {
#define HOOK(symbol, name, version, per_thread, arguments) int(*symbol) arguments;
#include "gpushim/cuda_hooks.def"
#undef HOOK
  // Asked, but not hooked.
  int (*cuCtxGetCurrent)(CudaContext* context);
  int (*cuCtxGetDevice)(CudaDevice* device);
  int (*cuDeviceGetUuid)(CudaUuid* uuid, CudaDevice device);
  int (*cuDeviceGetUuid_v2)(CudaUuid* uuid, CudaDevice device);
  int (*cuStreamIsCapturing)(CudaStream stream, int* status);
} CudaReal;

/// A function is NULL where the driver is too old to have it.
extern CudaReal cuda_real;

// Every hook is a function of this library with the driver's own name.
#define HOOK(symbol, name, version, per_thread, arguments) EXPORT int symbol arguments;
#include "gpushim/cuda_hooks.def"
#undef HOOK

enum { cuda_gpu_unlimited = -1, cuda_gpu_foreign = -2, cuda_gpu_unknown = -3 };

/// Joins the share. False: nobody watches over the limit, and no call may be let through.
bool cuda_ready(void);
/// The GPU of the share that a device is, or one of the above: whole, not of this job, no device.
int cuda_gpu_of(CudaDevice device);
/// The same for the current context, which is given too.
int cuda_gpu_here(CudaContext* context);

/// Takes bytes for a call. Anything but success is what the call must return.
int cuda_take(int gpu, uint64_t bytes);
void cuda_give(int gpu, uint64_t bytes);
