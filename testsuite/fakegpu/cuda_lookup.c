// testsuite/fakegpu/cuda_lookup.c - cuGetProcAddress of the fake CUDA driver, in both its forms.
#include <stdlib.h>
#include <string.h>

#include "cuda_core.h"
#include "cuda_names.h"

EXPORT int cuDriverGetVersion(int* version);
EXPORT int cuMemAlloc_v2(CudaPtr* pointer, size_t bytes);

// A driver may give out another pointer than it exports; with ROTA_FAKEGPU_OTHER_POINTERS this one
// does.
static int other_mem_alloc(CudaPtr* pointer, size_t bytes) { return cuMemAlloc_v2(pointer, bytes); }

static void* given_out(void* address) {
  const bool other = getenv("ROTA_FAKEGPU_OTHER_POINTERS") != NULL;
  return other && address == (void*)cuMemAlloc_v2 ? (void*)other_mem_alloc : address;
}

// The newest form that is not newer than what is asked for, nor than the driver that is played.
static const CudaSymbol* find(const char* name, int version, unsigned long long flags,
                              bool* known) {
  const CudaSymbol* best = NULL;
  int driver = 0;
  cuDriverGetVersion(&driver);
  for (size_t i = 0; i < cuda_symbol_count; ++i) {
    const CudaSymbol* at = &cuda_symbols[i];
    if (strcmp(at->name, name) != 0) continue;
    if (at->per_thread && (flags & cuda_proc_per_thread_stream) == 0) continue;
    *known = true;
    if (at->version > version || at->version > driver) continue;
    if (best == NULL || at->per_thread > best->per_thread ||
        (at->per_thread == best->per_thread && at->version > best->version)) {
      best = at;
    }
  }
  return best;
}

CUDA(cuGetProcAddress_v2, const char* name, void** function, int version, unsigned long long flags,
     int* status) {
  if (name == NULL || function == NULL) return cuda_invalid_value;
  bool known = false;
  const CudaSymbol* found = find(name, version, flags, &known);
  *function = found != NULL ? given_out(found->address) : NULL;
  if (status != NULL) {
    *status = found != NULL ? cuda_proc_found
              : known       ? cuda_proc_needs_newer
                            : cuda_proc_no_such_name;
  }
  return found != NULL ? cuda_success : cuda_not_found;
}

CUDA(cuGetProcAddress, const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
