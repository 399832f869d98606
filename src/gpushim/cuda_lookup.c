// gpushim/cuda_lookup.c - cuGetProcAddress: who asks the driver for a function gets ours where we
// have one.
#include <stddef.h>
#include <string.h>

#include "gpushim/cuda_real.h"

typedef struct {
  const char* name;
  int version;
  int per_thread;
  void* ours;
  void* const* real;
} Hook;

static const Hook hooks[] = {
#define HOOK(symbol, name, version, per_thread, arguments) \
  {#name, version, per_thread, (void*)symbol, (void* const*)&cuda_real.symbol},
#include "gpushim/cuda_hooks.def"
#undef HOOK
};
enum { hook_count = sizeof hooks / sizeof hooks[0] };

// A driver that gives out its exported functions is answered by comparing pointers, which needs no
// knowledge of versions.
static void* by_pointer(void* function) {
  for (size_t i = 0; i < hook_count; ++i) {
    if (*hooks[i].real == function) return hooks[i].ours;
  }
  return NULL;
}

// Any other: by the name, and the newest form that is not newer than what is asked for.
static void* by_name(const char* name, int version, unsigned long long flags) {
  const Hook* best = NULL;
  for (size_t i = 0; i < hook_count; ++i) {
    const Hook* hook = &hooks[i];
    if (*hook->real == NULL || hook->version > version || strcmp(hook->name, name) != 0) continue;
    if (hook->per_thread && (flags & cuda_proc_per_thread_stream) == 0) continue;
    if (best == NULL || hook->per_thread > best->per_thread ||
        (hook->per_thread == best->per_thread && hook->version > best->version)) {
      best = hook;
    }
  }
  return best != NULL ? best->ours : NULL;
}

static void swap(const char* name, void** function, int version, unsigned long long flags) {
  if (function == NULL || *function == NULL || name == NULL) return;
  void* ours = by_pointer(*function);
  if (ours == NULL) ours = by_name(name, version, flags);
  if (ours != NULL) *function = ours;
}

int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  if (cuda_real.cuGetProcAddress == NULL) return cuda_operation_not_supported;
  const int code = cuda_real.cuGetProcAddress(name, function, version, flags);
  if (code == cuda_success) swap(name, function, version, flags);
  return code;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* status) {
  if (cuda_real.cuGetProcAddress_v2 == NULL) {
    // We have the name though the driver does not: the first form says as much, but not why.
    const int code = cuGetProcAddress(name, function, version, flags);
    if (status != NULL) *status = code == cuda_success ? cuda_proc_found : cuda_proc_no_such_name;
    return code;
  }
  const int code = cuda_real.cuGetProcAddress_v2(name, function, version, flags, status);
  if (code == cuda_success) swap(name, function, version, flags);
  return code;
}
