// testsuite/fakegpu/cuda_vmm.c - memory that is made, mapped and released apart, and arrays.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_core.h"

enum { granularity = 2 << 20 };

// Physical memory: lives until the last release and the last unmap.
typedef struct Physical {
  struct Physical* next;
  CudaAllocation handle;
  size_t bytes;
  CudaDevice device;
  bool on_device;
  int fd;
  unsigned int handles;
  unsigned int maps;
} Physical;

typedef struct Mapping {
  struct Mapping* next;
  uintptr_t start;
  size_t bytes;
  Physical* physical;
} Mapping;

static Physical* all;
static Mapping* mappings;
static CudaAllocation next_handle = 0x10000;
static pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;

static Physical* find(CudaAllocation handle) {  // locked
  Physical* at = all;
  while (at != NULL && (at->handle != handle || at->handles == 0)) at = at->next;
  return at;
}

static void drop_if_unused(Physical* physical) {  // locked
  if (physical->handles > 0 || physical->maps > 0) return;
  Physical** at = &all;
  while (*at != physical) at = &(*at)->next;
  *at = physical->next;
  if (physical->on_device) cuda_uncharge(physical->device, physical->bytes);
  close(physical->fd);
  free(physical);
}

CUDA(cuMemGetAllocationGranularity, size_t* bytes, const CudaAllocationProp* prop, int option) {
  CUDA_ENTER();
  (void)option;
  if (bytes == NULL || prop == NULL) return cuda_invalid_value;
  *bytes = granularity;
  return cuda_success;
}

CUDA(cuMemCreate, CudaAllocation* handle, size_t bytes, const CudaAllocationProp* prop,
     unsigned long long flags) {
  CUDA_ENTER();
  if (handle == NULL || prop == NULL || bytes == 0 || bytes % granularity != 0 || flags != 0) {
    return cuda_invalid_value;
  }
  const bool on_device = prop->location.type == cuda_location_device;
  if (on_device && !cuda_has_device(prop->location.id)) return cuda_invalid_device;
  const int code = on_device ? cuda_charge(prop->location.id, bytes) : cuda_success;
  if (code != cuda_success) return code;
  Physical* made = calloc(1, sizeof *made);
  const int fd = memfd_create("fake GPU memory", MFD_CLOEXEC);
  if (made == NULL || fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
    if (on_device) cuda_uncharge(prop->location.id, bytes);
    if (fd >= 0) close(fd);
    free(made);
    return cuda_out_of_memory;
  }
  *made = (Physical){
      .bytes = bytes, .device = prop->location.id, .on_device = on_device, .fd = fd, .handles = 1};
  pthread_mutex_lock(&vmm_lock);
  made->handle = next_handle++;
  made->next = all;
  all = made;
  pthread_mutex_unlock(&vmm_lock);
  *handle = made->handle;
  return cuda_success;
}

CUDA(cuMemRelease, CudaAllocation handle) {
  CUDA_ENTER();
  pthread_mutex_lock(&vmm_lock);
  Physical* physical = find(handle);
  if (physical != NULL) {
    --physical->handles;
    drop_if_unused(physical);
  }
  pthread_mutex_unlock(&vmm_lock);
  return physical != NULL ? cuda_success : cuda_invalid_value;
}

CUDA(cuMemAddressReserve, CudaPtr* pointer, size_t bytes, size_t alignment, CudaPtr wanted,
     unsigned long long flags) {
  CUDA_ENTER();
  (void)alignment;
  (void)wanted;
  if (pointer == NULL || bytes == 0 || bytes % granularity != 0 || flags != 0) {
    return cuda_invalid_value;
  }
  void* start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return cuda_out_of_memory;
  *pointer = (uintptr_t)start;
  return cuda_success;
}

CUDA(cuMemAddressFree, CudaPtr pointer, size_t bytes) {
  CUDA_ENTER();
  return munmap((void*)(uintptr_t)pointer, bytes) == 0 ? cuda_success : cuda_invalid_value;
}

CUDA(cuMemMap, CudaPtr pointer, size_t bytes, size_t offset, CudaAllocation handle,
     unsigned long long flags) {
  CUDA_ENTER();
  if (flags != 0 || bytes == 0) return cuda_invalid_value;
  Mapping* mapping = calloc(1, sizeof *mapping);
  if (mapping == NULL) return cuda_out_of_memory;
  pthread_mutex_lock(&vmm_lock);
  Physical* physical = find(handle);
  const bool good = physical != NULL && offset + bytes <= physical->bytes &&
                    mmap((void*)(uintptr_t)pointer, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                         physical->fd, (off_t)offset) != MAP_FAILED;
  if (good) {
    *mapping = (Mapping){mappings, (uintptr_t)pointer, bytes, physical};
    mappings = mapping;
    ++physical->maps;
  }
  pthread_mutex_unlock(&vmm_lock);
  if (!good) free(mapping);
  return good ? cuda_success : cuda_invalid_value;
}

CUDA(cuMemUnmap, CudaPtr pointer, size_t bytes) {
  CUDA_ENTER();
  bool any = false;
  pthread_mutex_lock(&vmm_lock);
  for (Mapping** at = &mappings; *at != NULL;) {
    Mapping* mapping = *at;
    if (mapping->start < pointer || mapping->start + mapping->bytes > pointer + bytes) {
      at = &mapping->next;
      continue;
    }
    any = true;
    *at = mapping->next;
    mmap((void*)mapping->start, mapping->bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    --mapping->physical->maps;
    drop_if_unused(mapping->physical);
    free(mapping);
  }
  pthread_mutex_unlock(&vmm_lock);
  return any ? cuda_success : cuda_invalid_value;
}

CUDA(cuMemSetAccess, CudaPtr pointer, size_t bytes, const CudaAccess* access, size_t count) {
  CUDA_ENTER();
  if (access == NULL || count == 0) return cuda_invalid_value;
  const int protection = access[0].flags == 3   ? PROT_READ | PROT_WRITE
                         : access[0].flags == 1 ? PROT_READ
                                                : PROT_NONE;
  return mprotect((void*)(uintptr_t)pointer, bytes, protection) == 0 ? cuda_success
                                                                     : cuda_invalid_value;
}

CUDA(cuMemRetainAllocationHandle, CudaAllocation* handle, void* pointer) {
  CUDA_ENTER();
  if (handle == NULL) return cuda_invalid_value;
  const uintptr_t at = (uintptr_t)pointer;
  pthread_mutex_lock(&vmm_lock);
  Mapping* mapping = mappings;
  while (mapping != NULL && (at < mapping->start || at >= mapping->start + mapping->bytes)) {
    mapping = mapping->next;
  }
  if (mapping != NULL) {
    ++mapping->physical->handles;
    *handle = mapping->physical->handle;
  }
  pthread_mutex_unlock(&vmm_lock);
  return mapping != NULL ? cuda_success : cuda_invalid_value;
}

// ---- arrays ----

struct CudaArrayBody {
  CudaArray3dDesc desc;
  CudaDevice device;
  size_t bytes;
  size_t pitch;
  unsigned char* data;
};

struct CudaMipmapBody {
  unsigned int levels;
  CudaArray level[16];
};

unsigned char* cuda_array_data(CudaArray array, size_t* pitch, size_t* height) {
  *pitch = array->pitch;
  *height = array->desc.height > 0 ? array->desc.height : 1;
  return array->data;
}

static size_t at_least_one(size_t n) { return n > 0 ? n : 1; }

CUDA(cuArray3DCreate_v2, CudaArray* array, const CudaArray3dDesc* desc) {
  CUDA_ENTER_CONTEXT(context);
  if (array == NULL || desc == NULL || desc->width == 0) return cuda_invalid_value;
  const size_t element = cuda_format_bytes(desc->format) * desc->channels;
  if (element == 0) return cuda_invalid_value;
  CudaArray made = calloc(1, sizeof *made);
  if (made == NULL) return cuda_out_of_memory;
  made->desc = *desc;
  made->device = context->device;
  made->pitch = desc->width * element;
  made->bytes = made->pitch * at_least_one(desc->height) * at_least_one(desc->depth);
  const int code = cuda_charge(context->device, made->bytes);
  if (code == cuda_success) {
    made->data = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (code != cuda_success || made->data == MAP_FAILED) {
    free(made);
    return cuda_out_of_memory;
  }
  *array = made;
  return cuda_success;
}

CUDA(cuArrayCreate_v2, CudaArray* array, const CudaArrayDesc* desc) {
  if (desc == NULL) return cuda_invalid_value;
  const CudaArray3dDesc three = {.width = desc->width,
                                 .height = desc->height,
                                 .format = desc->format,
                                 .channels = desc->channels};
  return cuArray3DCreate_v2(array, &three);
}

CUDA(cuArrayDestroy, CudaArray array) {
  CUDA_ENTER();
  if (array == NULL) return cuda_invalid_handle;
  cuda_uncharge(array->device, array->bytes);
  munmap(array->data, array->bytes);
  free(array);
  return cuda_success;
}

CUDA(cuMipmappedArrayCreate, CudaMipmap* mipmap, const CudaArray3dDesc* desc, unsigned int levels) {
  CUDA_ENTER_CONTEXT(context);
  if (mipmap == NULL || desc == NULL || levels == 0 || levels > 16) return cuda_invalid_value;
  CudaMipmap made = calloc(1, sizeof *made);
  if (made == NULL) return cuda_out_of_memory;
  CudaArray3dDesc level = *desc;
  for (made->levels = 0; made->levels < levels; ++made->levels) {
    const int code = cuArray3DCreate_v2(&made->level[made->levels], &level);
    if (code != cuda_success) {
      while (made->levels > 0) cuArrayDestroy(made->level[--made->levels]);
      free(made);
      return code;
    }
    level.width = at_least_one(level.width / 2);
    level.height /= 2;
    level.depth /= 2;
  }
  *mipmap = made;
  return cuda_success;
}

CUDA(cuMipmappedArrayDestroy, CudaMipmap mipmap) {
  CUDA_ENTER();
  if (mipmap == NULL) return cuda_invalid_handle;
  while (mipmap->levels > 0) cuArrayDestroy(mipmap->level[--mipmap->levels]);
  free(mipmap);
  return cuda_success;
}
