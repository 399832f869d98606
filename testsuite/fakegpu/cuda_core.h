// testsuite/fakegpu/cuda_core.h - what every part of the fake libcuda.so.1 leans on.
#pragma once
#include <stdbool.h>

#include "description.h"
#include "gpushim/cuda_abi.h"
#include "mig_state.h"
#include "state.h"

// A function of the driver: declared, exported and then defined, here once.
#define EXPORT __attribute__((visibility("default")))
#define CUDA(name, ...)         \
  EXPORT int name(__VA_ARGS__); \
  int name(__VA_ARGS__)
// A second name for the same function: the forms that only differ in the default stream.
#define CUDA_ALIAS(name, target) extern __typeof(target) name EXPORT __attribute__((alias(#target)))

struct CudaContextBody {
  struct CudaContextBody* next;
  CudaDevice device;
  unsigned int flags;
  unsigned int retained;  // of a primary context
  bool primary;
  bool alive;
};

/// One device of this process: a GPU, or a MIG instance of one.
typedef struct {
  unsigned int gpu;  // index in the machine
  bool is_mig;
  FakeGpuInstance instance;
  FakeComputeInstance compute;
} CudaSeen;

typedef struct {
  FakeDescription machine;
  FakeState* state;
  CudaSeen visible[fake_gpu_max];
  unsigned int visible_count;
  struct CudaContextBody primaries[fake_gpu_max];
  bool is_mps_client;
} CudaWorld;

/// The code to return at once, or success: cuInit was called, in this process and not before a
/// fork.
int cuda_enter(void);
/// The same, and there is a current context.
int cuda_enter_context(CudaContext* context);
CudaWorld* cuda_world(void);
bool cuda_has_device(CudaDevice device);
const FakeDevice* cuda_device(CudaDevice device);
/// The instance that a device is; NULL: it is a whole GPU.
const CudaSeen* cuda_instance(CudaDevice device);
const FakeMigProfile* cuda_profile(const CudaSeen* seen);
FakeGpuState* cuda_gpu(CudaDevice device);

/// Whether an MPS daemon takes this process as its client.
bool cuda_find_mps(void);
/// How many multiprocessors such a client may use.
unsigned int cuda_mps_multiprocessors(const FakeModel* model);

/// Takes memory of a device for this process, or says that there is no more.
int cuda_charge(CudaDevice device, uint64_t bytes);
void cuda_uncharge(CudaDevice device, uint64_t bytes);
uint64_t cuda_capacity(CudaDevice device);
uint64_t cuda_free_bytes(CudaDevice device);

/// All that was allocated in a context which ends.
void cuda_forget_memory(CudaContext context);
/// Where the bytes of a copy's end are: pointers are addresses of this process.
unsigned char* cuda_array_data(CudaArray array, size_t* pitch, size_t* height);
bool cuda_stream_captures(CudaStream stream);

#define CUDA_ENTER()                         \
  do {                                       \
    const int code_ = cuda_enter();          \
    if (code_ != cuda_success) return code_; \
  } while (0)
#define CUDA_ENTER_CONTEXT(context)                   \
  CudaContext context = NULL;                         \
  do {                                                \
    const int code_ = cuda_enter_context(&(context)); \
    if (code_ != cuda_success) return code_;          \
  } while (0)
