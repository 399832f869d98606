// testsuite/fakegpu/cuda_run.c - streams, events, modules and kernels of the fake CUDA driver: all
// is done when it is asked for, and kernels do nothing.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_core.h"

struct CudaStreamBody {
  unsigned int flags;
  int priority;
  bool captures;
};
struct CudaEventBody {
  double milliseconds;
};
struct CudaModuleBody {
  int unused;
};
struct CudaFunctionBody {
  CudaModule module;
};
struct CudaGraphBody {
  int unused;
};

// 0, 1 and 2 are the default streams, which nobody makes.
static bool is_made(CudaStream stream) { return (uintptr_t)stream > 2; }

bool cuda_stream_captures(CudaStream stream) { return is_made(stream) && stream->captures; }

CUDA(cuStreamCreateWithPriority, CudaStream* stream, unsigned int flags, int priority) {
  CUDA_ENTER_CONTEXT(context);
  if (stream == NULL) return cuda_invalid_value;
  CudaStream made = calloc(1, sizeof *made);
  if (made == NULL) return cuda_out_of_memory;
  made->flags = flags;
  made->priority = priority;
  *stream = made;
  return cuda_success;
}
CUDA(cuStreamCreate, CudaStream* stream, unsigned int flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
CUDA(cuStreamDestroy_v2, CudaStream stream) {
  CUDA_ENTER();
  if (!is_made(stream)) return cuda_invalid_handle;
  free(stream);
  return cuda_success;
}
CUDA_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

CUDA(cuStreamSynchronize, CudaStream stream) {
  CUDA_ENTER();
  (void)stream;
  return cuda_success;
}
CUDA(cuStreamQuery, CudaStream stream) {
  CUDA_ENTER();
  (void)stream;
  return cuda_success;
}
CUDA(cuStreamWaitEvent, CudaStream stream, CudaEvent event, unsigned int flags) {
  CUDA_ENTER();
  (void)stream;
  (void)flags;
  return event != NULL ? cuda_success : cuda_invalid_handle;
}
CUDA(cuStreamGetPriority, CudaStream stream, int* priority) {
  CUDA_ENTER();
  if (priority == NULL) return cuda_invalid_value;
  *priority = is_made(stream) ? stream->priority : 0;
  return cuda_success;
}
CUDA(cuStreamGetFlags, CudaStream stream, unsigned int* flags) {
  CUDA_ENTER();
  if (flags == NULL) return cuda_invalid_value;
  *flags = is_made(stream) ? stream->flags : 0;
  return cuda_success;
}
CUDA(cuStreamGetCtx, CudaStream stream, CudaContext* context) {
  CUDA_ENTER_CONTEXT(current);
  (void)stream;
  if (context == NULL) return cuda_invalid_value;
  *context = current;
  return cuda_success;
}
CUDA(cuStreamAddCallback, CudaStream stream, void (*callback)(CudaStream, int, void*), void* data,
     unsigned int flags) {
  CUDA_ENTER();
  if (callback == NULL || flags != 0) return cuda_invalid_value;
  callback(stream, cuda_success, data);
  return cuda_success;
}
CUDA(cuLaunchHostFunc, CudaStream stream, void (*function)(void*), void* data) {
  CUDA_ENTER();
  (void)stream;
  if (function == NULL) return cuda_invalid_value;
  function(data);
  return cuda_success;
}
CUDA(cuStreamBeginCapture_v2, CudaStream stream, int mode) {
  CUDA_ENTER();
  (void)mode;
  if (!is_made(stream)) return cuda_stream_capture_unsupported;
  stream->captures = true;
  return cuda_success;
}
CUDA(cuStreamEndCapture, CudaStream stream, CudaGraph* graph) {
  CUDA_ENTER();
  if (!is_made(stream) || !stream->captures || graph == NULL) return cuda_invalid_value;
  stream->captures = false;
  *graph = calloc(1, sizeof **graph);
  return *graph != NULL ? cuda_success : cuda_out_of_memory;
}
CUDA(cuGraphDestroy, CudaGraph graph) {
  CUDA_ENTER();
  free(graph);
  return cuda_success;
}
CUDA(cuStreamIsCapturing, CudaStream stream, int* status) {
  CUDA_ENTER();
  if (status == NULL) return cuda_invalid_value;
  *status = cuda_stream_captures(stream) ? cuda_capture_active : cuda_capture_none;
  return cuda_success;
}
CUDA_ALIAS(cuStreamSynchronize_ptsz, cuStreamSynchronize);
CUDA_ALIAS(cuStreamQuery_ptsz, cuStreamQuery);
CUDA_ALIAS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);
CUDA_ALIAS(cuStreamGetPriority_ptsz, cuStreamGetPriority);
CUDA_ALIAS(cuStreamGetFlags_ptsz, cuStreamGetFlags);
CUDA_ALIAS(cuStreamGetCtx_ptsz, cuStreamGetCtx);
CUDA_ALIAS(cuStreamAddCallback_ptsz, cuStreamAddCallback);
CUDA_ALIAS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);
CUDA_ALIAS(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);
CUDA_ALIAS(cuStreamEndCapture_ptsz, cuStreamEndCapture);
CUDA_ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

// ---- events ----

CUDA(cuEventCreate, CudaEvent* event, unsigned int flags) {
  CUDA_ENTER_CONTEXT(context);
  (void)flags;
  if (event == NULL) return cuda_invalid_value;
  *event = calloc(1, sizeof **event);
  return *event != NULL ? cuda_success : cuda_out_of_memory;
}
CUDA(cuEventDestroy_v2, CudaEvent event) {
  CUDA_ENTER();
  if (event == NULL) return cuda_invalid_handle;
  free(event);
  return cuda_success;
}
CUDA(cuEventRecord, CudaEvent event, CudaStream stream) {
  CUDA_ENTER();
  (void)stream;
  if (event == NULL) return cuda_invalid_handle;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  return cuda_success;
}
CUDA(cuEventQuery, CudaEvent event) {
  CUDA_ENTER();
  return event != NULL ? cuda_success : cuda_invalid_handle;
}
CUDA(cuEventSynchronize, CudaEvent event) {
  CUDA_ENTER();
  return event != NULL ? cuda_success : cuda_invalid_handle;
}
CUDA(cuEventElapsedTime, float* milliseconds, CudaEvent from, CudaEvent to) {
  CUDA_ENTER();
  if (milliseconds == NULL) return cuda_invalid_value;
  if (from == NULL || to == NULL) return cuda_invalid_handle;
  *milliseconds = (float)(to->milliseconds - from->milliseconds);
  return cuda_success;
}
CUDA_ALIAS(cuEventDestroy, cuEventDestroy_v2);
CUDA_ALIAS(cuEventRecord_ptsz, cuEventRecord);
CUDA_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);

// ---- modules: any image will do, and has every function ----

CUDA(cuModuleLoadData, CudaModule* module, const void* image) {
  CUDA_ENTER_CONTEXT(context);
  if (module == NULL || image == NULL) return cuda_invalid_value;
  *module = calloc(1, sizeof **module);
  return *module != NULL ? cuda_success : cuda_out_of_memory;
}
CUDA(cuModuleLoadDataEx, CudaModule* module, const void* image, unsigned int count, int* options,
     void** values) {
  (void)count;
  (void)options;
  (void)values;
  return cuModuleLoadData(module, image);
}
CUDA(cuModuleLoad, CudaModule* module, const char* path) { return cuModuleLoadData(module, path); }
CUDA(cuModuleLoadFatBinary, CudaModule* module, const void* image) {
  return cuModuleLoadData(module, image);
}
CUDA(cuModuleUnload, CudaModule module) {
  CUDA_ENTER();
  free(module);
  return module != NULL ? cuda_success : cuda_invalid_value;
}
CUDA(cuModuleGetFunction, CudaFunction* function, CudaModule module, const char* name) {
  CUDA_ENTER();
  if (function == NULL || module == NULL || name == NULL) return cuda_invalid_value;
  // Never freed, as a module is not taken apart: programs load few.
  *function = calloc(1, sizeof **function);
  if (*function == NULL) return cuda_out_of_memory;
  (*function)->module = module;
  return cuda_success;
}
CUDA(cuFuncGetAttribute, int* value, int attribute, CudaFunction function) {
  CUDA_ENTER();
  if (value == NULL || function == NULL) return cuda_invalid_value;
  *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0;  // threads of a block, registers
  return cuda_success;
}
CUDA(cuFuncSetAttribute, CudaFunction function, int attribute, int value) {
  CUDA_ENTER();
  (void)attribute;
  (void)value;
  return function != NULL ? cuda_success : cuda_invalid_value;
}
CUDA(cuFuncSetCacheConfig, CudaFunction function, int config) {
  CUDA_ENTER();
  (void)config;
  return function != NULL ? cuda_success : cuda_invalid_value;
}
CUDA(cuLaunchKernel, CudaFunction function, unsigned int grid_x, unsigned int grid_y,
     unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
     unsigned int shared_bytes, CudaStream stream, void** arguments, void** extra) {
  CUDA_ENTER_CONTEXT(context);
  (void)shared_bytes;
  (void)stream;
  (void)arguments;
  (void)extra;
  if (function == NULL) return cuda_invalid_handle;
  const unsigned int least = grid_x * grid_y * grid_z * block_x * block_y * block_z;
  return least > 0 ? cuda_success : cuda_invalid_value;
}
CUDA_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, CudaFunction function, int threads,
     size_t shared_bytes) {
  CUDA_ENTER();
  (void)shared_bytes;
  if (blocks == NULL || function == NULL || threads <= 0) return cuda_invalid_value;
  *blocks = 2048 / threads;
  return cuda_success;
}
CUDA(cuProfilerStart, void) {
  CUDA_ENTER();
  return cuda_success;
}
CUDA(cuProfilerStop, void) {
  CUDA_ENTER();
  return cuda_success;
}
