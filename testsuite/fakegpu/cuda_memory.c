// testsuite/fakegpu/cuda_memory.c - memory of the fake CUDA driver: the host's own, charged to a
// device.
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda_core.h"

// One allocation. Pages are only taken when they are written, so a program may fill a GPU.
typedef struct {
  uintptr_t start;
  size_t bytes;  // as charged
  size_t mapped;
  CudaContext context;
  CudaPool pool;  // of cuMemAllocAsync; NULL: charged directly
  bool charged;
} Block;

struct CudaPoolBody {
  CudaDevice device;
  uint64_t threshold;  // kept when freed, up to this
  uint64_t used, used_high;
  uint64_t reserved, reserved_high;  // charged to the device
};

static void* blocks;  // a tree of Block, by address
static struct CudaPoolBody default_pools[fake_gpu_max];
static CudaPool current_pools[fake_gpu_max];
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

// Blocks that overlap are equal: so any address in a block finds it.
static int compare(const void* first, const void* second) {
  const Block *a = first, *b = second;
  if (a->start + a->mapped <= b->start) return -1;
  return b->start + b->mapped <= a->start ? 1 : 0;
}

static Block* find(CudaPtr pointer) {  // locked
  const Block key = {.start = (uintptr_t)pointer, .mapped = 1};
  Block** found = tfind(&key, &blocks, compare);
  return found != NULL ? *found : NULL;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) & ~(size_t)4095; }

static Block* add_block(size_t bytes, CudaContext context) {
  Block* block = calloc(1, sizeof *block);
  if (block == NULL) return NULL;
  block->bytes = bytes;
  block->mapped = whole_pages(bytes);
  block->context = context;
  void* start = mmap(NULL, block->mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    free(block);
    return NULL;
  }
  block->start = (uintptr_t)start;
  pthread_mutex_lock(&memory_lock);
  tsearch(block, &blocks, compare);
  pthread_mutex_unlock(&memory_lock);
  return block;
}

static void pool_give_back(CudaPool pool, uint64_t keep) {  // locked
  const uint64_t least = keep > pool->used ? keep : pool->used;
  if (pool->reserved <= least) return;
  cuda_uncharge(pool->device, pool->reserved - least);
  pool->reserved = least;
}

static void drop_block(Block* block) {  // locked, and out of the tree
  if (block->pool != NULL) {
    block->pool->used -= block->bytes;
    pool_give_back(block->pool, block->pool->threshold);
  } else if (block->charged) {
    cuda_uncharge(block->context->device, block->bytes);
  }
  munmap((void*)block->start, block->mapped);
  free(block);
}

static int allocate(CudaPtr* pointer, size_t bytes) {
  CUDA_ENTER_CONTEXT(context);
  if (pointer == NULL || bytes == 0) return cuda_invalid_value;
  const int code = cuda_charge(context->device, bytes);
  if (code != cuda_success) return code;
  Block* block = add_block(bytes, context);
  if (block == NULL) {
    cuda_uncharge(context->device, bytes);
    return cuda_out_of_memory;
  }
  block->charged = true;
  *pointer = block->start;
  return cuda_success;
}

static int release(CudaPtr pointer) {
  CUDA_ENTER();
  if (pointer == 0) return cuda_success;
  pthread_mutex_lock(&memory_lock);
  Block* block = find(pointer);
  const bool ours = block != NULL && block->start == pointer;
  if (ours) {
    tdelete(block, &blocks, compare);
    drop_block(block);
  }
  pthread_mutex_unlock(&memory_lock);
  return ours ? cuda_success : cuda_invalid_value;
}

static CudaContext ending;
static Block* of_ending;
static void look_for_ending(const void* node, VISIT visit, int depth) {
  (void)depth;
  Block* block = *(Block* const*)node;
  if ((visit == postorder || visit == leaf) && block->context == ending) of_ending = block;
}

void cuda_forget_memory(CudaContext context) {
  pthread_mutex_lock(&memory_lock);
  ending = context;
  do {
    of_ending = NULL;
    twalk(blocks, look_for_ending);
    if (of_ending != NULL) {
      Block* block = of_ending;
      tdelete(block, &blocks, compare);
      drop_block(block);
    }
  } while (of_ending != NULL);
  pthread_mutex_unlock(&memory_lock);
}

CUDA(cuMemAlloc_v2, CudaPtr* pointer, size_t bytes) { return allocate(pointer, bytes); }
CUDA(cuMemFree_v2, CudaPtr pointer) { return release(pointer); }

CUDA(cuMemAllocManaged, CudaPtr* pointer, size_t bytes, unsigned int flags) {
  if (flags != cuda_attach_global && flags != cuda_attach_host) return cuda_invalid_value;
  return allocate(pointer, bytes);
}

CUDA(cuMemAllocPitch_v2, CudaPtr* pointer, size_t* pitch, size_t width, size_t height,
     unsigned int element) {
  if (pitch == NULL || width == 0 || height == 0) return cuda_invalid_value;
  if (element != 4 && element != 8 && element != 16) return cuda_invalid_value;
  const size_t row = (width + 511) & ~(size_t)511;
  const int code = allocate(pointer, row * height);
  if (code == cuda_success) *pitch = row;
  return code;
}

CUDA(cuMemGetAddressRange_v2, CudaPtr* start, size_t* bytes, CudaPtr pointer) {
  CUDA_ENTER();
  pthread_mutex_lock(&memory_lock);
  const Block* block = find(pointer);
  if (block != NULL && start != NULL) *start = block->start;
  if (block != NULL && bytes != NULL) *bytes = block->bytes;
  pthread_mutex_unlock(&memory_lock);
  return block != NULL ? cuda_success : cuda_not_found;
}

CUDA(cuPointerGetAttribute, void* value, int attribute, CudaPtr pointer) {
  CUDA_ENTER();
  if (value == NULL) return cuda_invalid_value;
  pthread_mutex_lock(&memory_lock);
  const Block* block = find(pointer);
  const Block copy = block != NULL ? *block : (Block){0};
  pthread_mutex_unlock(&memory_lock);
  if (block == NULL) return cuda_invalid_value;
  switch (attribute) {
    case 1:  // context
      *(CudaContext*)value = copy.context;
      break;
    case 2:  // type of memory
      *(unsigned int*)value = cuda_memory_device;
      break;
    case 3:  // device and host pointers
    case 4:
      *(CudaPtr*)value = pointer;
      break;
    case 9:  // device's ordinal
      *(int*)value = copy.context->device;
      break;
    default:
      return cuda_operation_not_supported;
  }
  return cuda_success;
}

// ---- memory in the order of a stream ----

static CudaPool pool_of(CudaDevice device) {
  default_pools[device].device = device;
  if (current_pools[device] == NULL) current_pools[device] = &default_pools[device];
  return current_pools[device];
}

static int allocate_from(CudaPtr* pointer, size_t bytes, CudaPool pool, CudaStream stream) {
  CUDA_ENTER_CONTEXT(context);
  if (pointer == NULL || bytes == 0) return cuda_invalid_value;
  if (pool == NULL) pool = pool_of(context->device);
  // What is captured is memory of a graph, which takes it when it runs.
  const bool captured = cuda_stream_captures(stream);
  int code = cuda_success;
  pthread_mutex_lock(&memory_lock);
  if (!captured) {
    const uint64_t wanted = pool->used + bytes;
    if (wanted > pool->reserved) code = cuda_charge(pool->device, wanted - pool->reserved);
    if (code == cuda_success) {
      if (wanted > pool->reserved) pool->reserved = wanted;
      pool->used = wanted;
      if (pool->used > pool->used_high) pool->used_high = pool->used;
      if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
    }
  }
  pthread_mutex_unlock(&memory_lock);
  if (code != cuda_success) return code;
  Block* block = add_block(bytes, context);
  if (block == NULL) return cuda_out_of_memory;
  block->pool = captured ? NULL : pool;
  *pointer = block->start;
  return cuda_success;
}

CUDA(cuMemAllocAsync, CudaPtr* pointer, size_t bytes, CudaStream stream) {
  return allocate_from(pointer, bytes, NULL, stream);
}
CUDA(cuMemAllocAsync_ptsz, CudaPtr* pointer, size_t bytes, CudaStream stream) {
  return allocate_from(pointer, bytes, NULL, stream);
}
CUDA(cuMemAllocFromPoolAsync, CudaPtr* pointer, size_t bytes, CudaPool pool, CudaStream stream) {
  if (pool == NULL) return cuda_invalid_value;
  return allocate_from(pointer, bytes, pool, stream);
}
CUDA(cuMemAllocFromPoolAsync_ptsz, CudaPtr* pointer, size_t bytes, CudaPool pool,
     CudaStream stream) {
  if (pool == NULL) return cuda_invalid_value;
  return allocate_from(pointer, bytes, pool, stream);
}
CUDA(cuMemFreeAsync, CudaPtr pointer, CudaStream stream) {
  (void)stream;
  return release(pointer);
}
CUDA(cuMemFreeAsync_ptsz, CudaPtr pointer, CudaStream stream) {
  (void)stream;
  return release(pointer);
}

CUDA(cuMemPoolCreate, CudaPool* pool, const CudaPoolProps* props) {
  CUDA_ENTER();
  if (pool == NULL || props == NULL || props->location.type != cuda_location_device ||
      !cuda_has_device(props->location.id)) {
    return cuda_invalid_value;
  }
  CudaPool made = calloc(1, sizeof *made);
  if (made == NULL) return cuda_out_of_memory;
  made->device = props->location.id;
  *pool = made;
  return cuda_success;
}

// What was allocated from it stays, so its books stay too: a pool of a test is never freed.
CUDA(cuMemPoolDestroy, CudaPool pool) {
  CUDA_ENTER();
  if (pool == NULL) return cuda_invalid_value;
  pthread_mutex_lock(&memory_lock);
  pool->threshold = 0;
  pool_give_back(pool, 0);
  pthread_mutex_unlock(&memory_lock);
  return cuda_success;
}

CUDA(cuMemPoolTrimTo, CudaPool pool, size_t keep) {
  CUDA_ENTER();
  if (pool == NULL) return cuda_invalid_value;
  pthread_mutex_lock(&memory_lock);
  pool_give_back(pool, keep);
  pthread_mutex_unlock(&memory_lock);
  return cuda_success;
}

CUDA(cuMemPoolSetAttribute, CudaPool pool, int attribute, void* value) {
  CUDA_ENTER();
  if (pool == NULL || value == NULL) return cuda_invalid_value;
  if (attribute == cuda_pool_release_threshold) pool->threshold = *(const uint64_t*)value;
  return cuda_success;
}

CUDA(cuMemPoolGetAttribute, CudaPool pool, int attribute, void* value) {
  CUDA_ENTER();
  if (pool == NULL || value == NULL) return cuda_invalid_value;
  switch (attribute) {
    case cuda_pool_release_threshold:
      *(uint64_t*)value = pool->threshold;
      break;
    case cuda_pool_reserved_now:
      *(uint64_t*)value = pool->reserved;
      break;
    case cuda_pool_reserved_high:
      *(uint64_t*)value = pool->reserved_high;
      break;
    case cuda_pool_used_now:
      *(uint64_t*)value = pool->used;
      break;
    case cuda_pool_used_high:
      *(uint64_t*)value = pool->used_high;
      break;
    default:
      *(int*)value = 1;  // reuse is allowed
  }
  return cuda_success;
}

CUDA(cuDeviceGetDefaultMemPool, CudaPool* pool, CudaDevice device) {
  CUDA_ENTER();
  if (pool == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  pool_of(device);
  *pool = &default_pools[device];
  return cuda_success;
}

CUDA(cuDeviceGetMemPool, CudaPool* pool, CudaDevice device) {
  CUDA_ENTER();
  if (pool == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  *pool = pool_of(device);
  return cuda_success;
}

CUDA(cuDeviceSetMemPool, CudaDevice device, CudaPool pool) {
  CUDA_ENTER();
  if (pool == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  current_pools[device] = pool;
  return cuda_success;
}

// ---- the host's memory: charged to nobody ----

CUDA(cuMemHostAlloc, void** pointer, size_t bytes, unsigned int flags) {
  CUDA_ENTER_CONTEXT(context);
  (void)flags;
  if (pointer == NULL || bytes == 0) return cuda_invalid_value;
  *pointer = aligned_alloc(4096, whole_pages(bytes));
  return *pointer != NULL ? cuda_success : cuda_out_of_memory;
}
CUDA(cuMemAllocHost_v2, void** pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
CUDA(cuMemFreeHost, void* pointer) {
  CUDA_ENTER();
  free(pointer);
  return cuda_success;
}
CUDA(cuMemHostRegister_v2, void* pointer, size_t bytes, unsigned int flags) {
  CUDA_ENTER_CONTEXT(context);
  (void)flags;
  return pointer != NULL && bytes > 0 ? cuda_success : cuda_invalid_value;
}
CUDA(cuMemHostUnregister, void* pointer) {
  CUDA_ENTER();
  return pointer != NULL ? cuda_success : cuda_invalid_value;
}
CUDA(cuMemHostGetDevicePointer_v2, CudaPtr* device, void* pointer, unsigned int flags) {
  CUDA_ENTER();
  (void)flags;
  if (device == NULL || pointer == NULL) return cuda_invalid_value;
  *device = (uintptr_t)pointer;
  return cuda_success;
}
CUDA(cuMemHostGetFlags, unsigned int* flags, void* pointer) {
  CUDA_ENTER();
  (void)pointer;
  if (flags == NULL) return cuda_invalid_value;
  *flags = 0;
  return cuda_success;
}
