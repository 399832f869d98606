// gpushim/cuda_vmm.c - memory that is made, mapped and released apart: charged from cuMemCreate to
// the last release and the last unmap, whichever comes later.
#include <stdlib.h>

#include "gpushim/cuda_real.h"
#include "gpushim/ledger.h"
#include "gpushim/share.h"

typedef struct {
  uint64_t bytes;
  int gpu;
  uint32_t handles;
  uint32_t maps;
} Physical;

// Lies where a fork finds it open.
static uint32_t* vmm_lock(void) {
  return (uint32_t*)((char*)share_local() + share_ledger_size + 128);
}

static Physical* behind(const LedgerEntry* entry) { return (Physical*)(uintptr_t)entry->owner; }

// Counts one down; gives all back when it was the last of both kinds.
static void drop(Physical* physical, uint32_t* count) {
  share_lock(vmm_lock());
  --*count;
  const bool last = physical->handles == 0 && physical->maps == 0;
  share_unlock(vmm_lock());
  if (!last) return;
  cuda_give(physical->gpu, physical->bytes);
  free(physical);
}

// The memory of a handle, with one more handle or mapping counted; NULL: not one of ours.
static Physical* hold_handle(CudaAllocation handle, bool as_map) {
  LedgerEntry entry;
  Physical* physical = NULL;
  share_lock(vmm_lock());
  if (ledger_find(ledger_physical, handle, &entry)) {
    physical = behind(&entry);
    ++*(as_map ? &physical->maps : &physical->handles);
  }
  share_unlock(vmm_lock());
  return physical;
}

int cuMemCreate(CudaAllocation* handle, size_t bytes, const CudaAllocationProp* prop,
                unsigned long long flags) {
  if (!cuda_ready()) return cuda_system_not_ready;
  // Memory of the host is charged to nobody, and its location says nothing of a device.
  const int gpu = prop != NULL && prop->location.type == cuda_location_device
                      ? cuda_gpu_of(prop->location.id)
                      : cuda_gpu_unlimited;
  Physical* physical = gpu >= 0 ? calloc(1, sizeof *physical) : NULL;
  if (gpu >= 0 && physical == NULL) return cuda_out_of_memory;
  int code = cuda_take(gpu, bytes);
  if (code == cuda_success) {
    code = cuda_real.cuMemCreate(handle, bytes, prop, flags);
    if (code != cuda_success) cuda_give(gpu, bytes);
  }
  if (code != cuda_success || physical == NULL) {
    free(physical);
    return code;
  }
  *physical = (Physical){.bytes = bytes, .gpu = gpu, .handles = 1};
  const LedgerEntry entry = {
      .key = *handle, .kind = ledger_physical, .gpu = (uint32_t)gpu, .owner = (uintptr_t)physical};
  ledger_put(&entry);
  return code;
}

int cuMemRelease(CudaAllocation handle) {
  LedgerEntry entry;
  Physical* physical = NULL;
  if (cuda_ready()) {
    // The last release frees the handle's number for another allocation: forget it before.
    share_lock(vmm_lock());
    if (ledger_find(ledger_physical, handle, &entry)) {
      physical = behind(&entry);
      if (physical->handles == 1) ledger_take(ledger_physical, handle, &entry);
    }
    share_unlock(vmm_lock());
  }
  const int code = cuda_real.cuMemRelease(handle);
  if (physical == NULL) return code;
  if (code == cuda_success) {
    drop(physical, &physical->handles);
  } else {
    ledger_put(&entry);
  }
  return code;
}

int cuMemMap(CudaPtr pointer, size_t bytes, size_t offset, CudaAllocation handle,
             unsigned long long flags) {
  Physical* physical = cuda_ready() ? hold_handle(handle, true) : NULL;
  const int code = cuda_real.cuMemMap(pointer, bytes, offset, handle, flags);
  if (physical == NULL) return code;
  if (code != cuda_success) {
    drop(physical, &physical->maps);
    return code;
  }
  const LedgerEntry entry = {.key = pointer,
                             .kind = ledger_mapping,
                             .gpu = (uint32_t)physical->gpu,
                             .bytes = bytes,
                             .owner = (uintptr_t)physical};
  ledger_put(&entry);
  return code;
}

// One call may unmap several mappings that lie side by side.
int cuMemUnmap(CudaPtr pointer, size_t bytes) {
  enum { smallest = 64 << 10 };  // no mapping is smaller, on any device
  const int code = cuda_real.cuMemUnmap(pointer, bytes);
  if (code != cuda_success || !cuda_ready()) return code;
  for (CudaPtr at = pointer; at < pointer + bytes;) {
    LedgerEntry entry;
    if (!ledger_take(ledger_mapping, at, &entry)) {
      at += smallest;
      continue;
    }
    at += entry.bytes;
    Physical* physical = behind(&entry);
    drop(physical, &physical->maps);
  }
  return code;
}

int cuMemRetainAllocationHandle(CudaAllocation* handle, void* address) {
  const int code = cuda_real.cuMemRetainAllocationHandle(handle, address);
  if (code != cuda_success || !cuda_ready()) return code;
  if (hold_handle(*handle, false) != NULL) return code;
  // All its handles had been released; now it has one again, whatever its number.
  LedgerEntry mapping;
  if (!ledger_find_mapping((uintptr_t)address, &mapping)) return code;
  Physical* physical = behind(&mapping);
  share_lock(vmm_lock());
  ++physical->handles;
  share_unlock(vmm_lock());
  const LedgerEntry entry = {
      .key = *handle, .kind = ledger_physical, .gpu = mapping.gpu, .owner = mapping.owner};
  ledger_put(&entry);
  return code;
}
