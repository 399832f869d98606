// gpushim/cuda_real.c - finds the real driver's functions and tells its devices apart.
#include "gpushim/cuda_real.h"

#include <dlfcn.h>
#include <stddef.h>

#include "gpushim/glibc.h"
#include "gpushim/share.h"

CudaReal cuda_real;
static void* library;

// The loader has mapped the real driver before us, for we need it: this only asks for its handle.
__attribute__((constructor)) static void find_real(void) {
  library = dlopen(rota_share_real_cuda, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return;
#define FIND(symbol) *(void**)&cuda_real.symbol = dlsym(library, #symbol);
#define HOOK(symbol, name, version, per_thread, arguments) FIND(symbol)
#include "gpushim/cuda_hooks.def"
#undef HOOK
  FIND(cuCtxGetCurrent)
  FIND(cuCtxGetDevice)
  FIND(cuDeviceGetUuid)
  FIND(cuDeviceGetUuid_v2)
  FIND(cuStreamIsCapturing)
#undef FIND
}

bool cuda_ready(void) { return share_joined() || share_join(library, rota_share_holder); }

// What is known of each device: 0 nothing yet, else a GPU of the share + 4.
enum { device_max = 64 };
static int8_t* known_devices(void) { return (int8_t*)share_local() + share_ledger_size; }

int cuda_gpu_of(CudaDevice device) {
  if (device < 0 || device >= device_max) return cuda_gpu_unknown;
  int8_t* known = known_devices() + device;
  const int8_t found = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (found != 0) return found - 4;
  CudaUuid uuid;
  int (*ask)(CudaUuid*, CudaDevice) = cuda_real.cuDeviceGetUuid_v2 != NULL
                                          ? cuda_real.cuDeviceGetUuid_v2
                                          : cuda_real.cuDeviceGetUuid;
  if (ask == NULL || ask(&uuid, device) != cuda_success) return cuda_gpu_unknown;
  int gpu = share_gpu(uuid.bytes);
  if (gpu < 0) {
    gpu = cuda_gpu_foreign;
  } else if (share_rules_of((unsigned int)gpu)->limit_bytes == rota_region_no_limit) {
    gpu = cuda_gpu_unlimited;
  }
  __atomic_store_n(known, (int8_t)(gpu + 4), __ATOMIC_RELAXED);
  return gpu;
}

int cuda_gpu_here(CudaContext* context) {
  CudaDevice device = -1;
  if (cuda_real.cuCtxGetDevice == NULL || cuda_real.cuCtxGetDevice(&device) != cuda_success) {
    return cuda_gpu_unknown;
  }
  if (context != NULL && cuda_real.cuCtxGetCurrent(context) != cuda_success) *context = NULL;
  return cuda_gpu_of(device);
}

// A GPU that is not the job's has no share to take from. A device that the driver does not know, or
// no context, is for the driver to complain about.
int cuda_take(int gpu, uint64_t bytes) {
  if (gpu == cuda_gpu_foreign) return cuda_out_of_memory;
  if (gpu < 0 || share_reserve((unsigned int)gpu, bytes)) return cuda_success;
  return cuda_out_of_memory;
}

void cuda_give(int gpu, uint64_t bytes) {
  if (gpu >= 0) share_release((unsigned int)gpu, bytes);
}
