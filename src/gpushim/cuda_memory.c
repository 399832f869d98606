// gpushim/cuda_memory.c - allocations and frees: taken from the share before the driver is asked,
// given back after it has freed.
#include "gpushim/cuda_real.h"
#include "gpushim/ledger.h"

// What a call has taken so far.
typedef struct {
  int gpu;
  uint64_t bytes;
  CudaContext context;
} Charge;

static int begin(Charge* charge, uint64_t bytes) {
  if (!cuda_ready()) return cuda_system_not_ready;
  charge->bytes = bytes;
  charge->gpu = cuda_gpu_here(&charge->context);
  return cuda_take(charge->gpu, bytes);
}

// The driver has answered `code`: keeps the books of `key`, or gives all back.
static int end(const Charge* charge, int code, enum LedgerKind kind, uint64_t key) {
  if (charge->gpu < 0) return code;
  if (code != cuda_success) {
    cuda_give(charge->gpu, charge->bytes);
    return code;
  }
  const LedgerEntry entry = {.key = key,
                             .kind = kind,
                             .gpu = (uint32_t)charge->gpu,
                             .bytes = charge->bytes,
                             .owner = (uintptr_t)charge->context};
  ledger_put(&entry);
  return code;
}

// Out of the ledger first: once the driver has freed, another thread may get the same address.
static bool leave(enum LedgerKind kind, uint64_t key, LedgerEntry* entry) {
  return cuda_ready() && ledger_take(kind, key, entry);
}

static int left(bool known, const LedgerEntry* entry, int code) {
  if (!known) return code;
  if (code == cuda_success) {
    cuda_give((int)entry->gpu, entry->bytes);
  } else {
    ledger_put(entry);
  }
  return code;
}

static uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}
static uint64_t at_least_one(uint64_t n) { return n > 0 ? n : 1; }

int cuMemAlloc_v2(CudaPtr* pointer, size_t bytes) {
  Charge charge;
  int code = begin(&charge, bytes);
  if (code != cuda_success) return code;
  code = cuda_real.cuMemAlloc_v2(pointer, bytes);
  return end(&charge, code, ledger_memory, code == cuda_success ? *pointer : 0);
}

int cuMemAllocManaged(CudaPtr* pointer, size_t bytes, unsigned int flags) {
  Charge charge;
  int code = begin(&charge, bytes);
  if (code != cuda_success) return code;
  code = cuda_real.cuMemAllocManaged(pointer, bytes, flags);
  return end(&charge, code, ledger_memory, code == cuda_success ? *pointer : 0);
}

// How long a row becomes only the driver knows: first a guess, then the truth.
int cuMemAllocPitch_v2(CudaPtr* pointer, size_t* pitch, size_t width, size_t height,
                       unsigned int element) {
  enum { row_alignment = 512 };
  Charge charge;
  const uint64_t row = width > SIZE_MAX - row_alignment
                           ? UINT64_MAX
                           : (width + row_alignment - 1) / row_alignment * row_alignment;
  int code = begin(&charge, product(row, height));
  if (code != cuda_success) return code;
  CudaPtr made = 0;
  size_t made_pitch = 0;
  code = cuda_real.cuMemAllocPitch_v2(pointer != NULL ? &made : NULL,
                                      pitch != NULL ? &made_pitch : NULL, width, height, element);
  const uint64_t real = product(made_pitch, height);
  if (code == cuda_success && charge.gpu >= 0 && real != charge.bytes) {
    if (real < charge.bytes) {
      cuda_give(charge.gpu, charge.bytes - real);
      charge.bytes = real;
    } else if (cuda_take(charge.gpu, real - charge.bytes) == cuda_success) {
      charge.bytes = real;
    } else {
      cuda_real.cuMemFree_v2(made);
      code = cuda_out_of_memory;
    }
  }
  if (code == cuda_success) {
    *pointer = made;
    *pitch = made_pitch;
  }
  return end(&charge, code, ledger_memory, made);
}

int cuMemFree_v2(CudaPtr pointer) {
  LedgerEntry entry;
  const bool known = leave(ledger_memory, pointer, &entry);
  return left(known, &entry, cuda_real.cuMemFree_v2(pointer));
}

// The first forms, with sizes of 32 bits, are from before 2010. They are refused, not counted.
int cuMemAlloc(unsigned int* pointer, unsigned int bytes) {
  (void)pointer;
  (void)bytes;
  return cuda_operation_not_supported;
}
int cuMemAllocPitch(unsigned int* pointer, unsigned int* pitch, unsigned int width,
                    unsigned int height, unsigned int element) {
  (void)pointer;
  (void)pitch;
  (void)width;
  (void)height;
  (void)element;
  return cuda_operation_not_supported;
}
int cuArrayCreate(CudaArray* array, const void* desc) {
  (void)array;
  (void)desc;
  return cuda_operation_not_supported;
}
int cuArray3DCreate(CudaArray* array, const void* desc) {
  (void)array;
  (void)desc;
  return cuda_operation_not_supported;
}

// ---- in the order of a stream ----

// What is captured into a graph is not allocated now; the graph's memory is measured when it runs.
static bool captures(CudaStream stream) {
  int status = cuda_capture_none;
  return cuda_real.cuStreamIsCapturing != NULL &&
         cuda_real.cuStreamIsCapturing(stream, &status) == cuda_success &&
         status == cuda_capture_active;
}

// Memory of a pool outlives the context it was asked for in.
static int begin_in_stream(Charge* charge, uint64_t bytes, CudaStream stream) {
  if (!cuda_ready()) return cuda_system_not_ready;
  charge->bytes = bytes;
  charge->gpu = captures(stream) ? cuda_gpu_unlimited : cuda_gpu_here(NULL);
  charge->context = NULL;
  return cuda_take(charge->gpu, bytes);
}

static int begin_in_pool(Charge* charge, uint64_t bytes, CudaPool pool, CudaStream stream) {
  LedgerEntry entry;
  if (!cuda_ready()) return cuda_system_not_ready;
  if (captures(stream) || !ledger_find(ledger_pool, (uintptr_t)pool, &entry)) {
    return begin_in_stream(charge, bytes, stream);
  }
  charge->bytes = bytes;
  charge->gpu = (int)entry.gpu;
  charge->context = NULL;
  return cuda_take(charge->gpu, bytes);
}

int cuMemAllocAsync(CudaPtr* pointer, size_t bytes, CudaStream stream) {
  Charge charge;
  int code = begin_in_stream(&charge, bytes, stream);
  if (code != cuda_success) return code;
  code = cuda_real.cuMemAllocAsync(pointer, bytes, stream);
  return end(&charge, code, ledger_memory, code == cuda_success ? *pointer : 0);
}
int cuMemAllocAsync_ptsz(CudaPtr* pointer, size_t bytes, CudaStream stream) {
  Charge charge;
  int code = begin_in_stream(&charge, bytes, stream);
  if (code != cuda_success) return code;
  code = cuda_real.cuMemAllocAsync_ptsz(pointer, bytes, stream);
  return end(&charge, code, ledger_memory, code == cuda_success ? *pointer : 0);
}
int cuMemAllocFromPoolAsync(CudaPtr* pointer, size_t bytes, CudaPool pool, CudaStream stream) {
  Charge charge;
  int code = begin_in_pool(&charge, bytes, pool, stream);
  if (code != cuda_success) return code;
  code = cuda_real.cuMemAllocFromPoolAsync(pointer, bytes, pool, stream);
  return end(&charge, code, ledger_memory, code == cuda_success ? *pointer : 0);
}
int cuMemAllocFromPoolAsync_ptsz(CudaPtr* pointer, size_t bytes, CudaPool pool, CudaStream stream) {
  Charge charge;
  int code = begin_in_pool(&charge, bytes, pool, stream);
  if (code != cuda_success) return code;
  code = cuda_real.cuMemAllocFromPoolAsync_ptsz(pointer, bytes, pool, stream);
  return end(&charge, code, ledger_memory, code == cuda_success ? *pointer : 0);
}
int cuMemFreeAsync(CudaPtr pointer, CudaStream stream) {
  LedgerEntry entry;
  const bool known = leave(ledger_memory, pointer, &entry);
  return left(known, &entry, cuda_real.cuMemFreeAsync(pointer, stream));
}
int cuMemFreeAsync_ptsz(CudaPtr pointer, CudaStream stream) {
  LedgerEntry entry;
  const bool known = leave(ledger_memory, pointer, &entry);
  return left(known, &entry, cuda_real.cuMemFreeAsync_ptsz(pointer, stream));
}

int cuMemPoolCreate(CudaPool* pool, const CudaPoolProps* props) {
  const int code = cuda_real.cuMemPoolCreate(pool, props);
  if (code != cuda_success || !cuda_ready()) return code;
  const int gpu =
      props->location.type == cuda_location_device ? cuda_gpu_of(props->location.id) : -1;
  if (gpu >= 0) {
    const LedgerEntry entry = {.key = (uintptr_t)*pool, .kind = ledger_pool, .gpu = (uint32_t)gpu};
    ledger_put(&entry);
  }
  return code;
}

int cuMemPoolDestroy(CudaPool pool) {
  LedgerEntry entry;
  leave(ledger_pool, (uintptr_t)pool, &entry);
  return cuda_real.cuMemPoolDestroy(pool);
}

// ---- arrays: about as large as their elements ----

static uint64_t array_bytes(const CudaArray3dDesc* desc) {
  // Memory of sparse and deferred ones is mapped later, from cuMemCreate.
  if (desc == NULL || (desc->flags & (cuda_array_sparse | cuda_array_deferred)) != 0) return 0;
  uint64_t element = cuda_format_bytes(desc->format);
  if (element == 0) element = 1;  // compressed formats: some bits of a texel
  return product(product(product(element * at_least_one(desc->channels), desc->width),
                         at_least_one(desc->height)),
                 at_least_one(desc->depth));
}

int cuArray3DCreate_v2(CudaArray* array, const CudaArray3dDesc* desc) {
  Charge charge;
  int code = begin(&charge, array_bytes(desc));
  if (code != cuda_success) return code;
  code = cuda_real.cuArray3DCreate_v2(array, desc);
  return end(&charge, code, ledger_array, code == cuda_success ? (uintptr_t)*array : 0);
}

int cuArrayCreate_v2(CudaArray* array, const CudaArrayDesc* desc) {
  Charge charge;
  CudaArray3dDesc three = {0};
  if (desc != NULL) {
    three.width = desc->width;
    three.height = desc->height;
    three.format = desc->format;
    three.channels = desc->channels;
  }
  int code = begin(&charge, array_bytes(&three));
  if (code != cuda_success) return code;
  code = cuda_real.cuArrayCreate_v2(array, desc);
  return end(&charge, code, ledger_array, code == cuda_success ? (uintptr_t)*array : 0);
}

int cuArrayDestroy(CudaArray array) {
  LedgerEntry entry;
  const bool known = leave(ledger_array, (uintptr_t)array, &entry);
  return left(known, &entry, cuda_real.cuArrayDestroy(array));
}

int cuMipmappedArrayCreate(CudaMipmap* mipmap, const CudaArray3dDesc* desc, unsigned int levels) {
  Charge charge;
  uint64_t bytes = 0;
  CudaArray3dDesc level = {0};
  if (desc != NULL) level = *desc;
  for (unsigned int i = 0; i < levels && i < 32; ++i) {
    const uint64_t more = array_bytes(&level);
    bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
    level.width = at_least_one(level.width / 2);
    level.height /= 2;
    level.depth /= 2;
  }
  int code = begin(&charge, bytes);
  if (code != cuda_success) return code;
  code = cuda_real.cuMipmappedArrayCreate(mipmap, desc, levels);
  return end(&charge, code, ledger_mipmap, code == cuda_success ? (uintptr_t)*mipmap : 0);
}

int cuMipmappedArrayDestroy(CudaMipmap mipmap) {
  LedgerEntry entry;
  const bool known = leave(ledger_mipmap, (uintptr_t)mipmap, &entry);
  return left(known, &entry, cuda_real.cuMipmappedArrayDestroy(mipmap));
}
