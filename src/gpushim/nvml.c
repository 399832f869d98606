// gpushim/nvml.c - what a job with a share sees of NVML: its share as the GPU's memory, and its own
// processes.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gpud/inventory/nvml_abi.h"
#include "gpushim/glibc.h"
#include "gpushim/share.h"

#define EXPORT __attribute__((visibility("default")))

// Entries of nvmlDeviceGetProcessUtilization start with the pid and are this long.
enum { utilization_entry_size = 32 };

typedef int (*ListProcesses)(NvmlHandle device, unsigned int* count, void* entries);

#define HOOKS(F)                                                            \
  F(nvmlInit, (void))                                                       \
  F(nvmlInit_v2, (void))                                                    \
  F(nvmlInitWithFlags, (unsigned int flags))                                \
  F(nvmlDeviceGetMemoryInfo, (NvmlHandle device, NvmlMemory * memory))      \
  F(nvmlDeviceGetMemoryInfo_v2, (NvmlHandle device, NvmlMemoryV2 * memory)) \
  F(nvmlDeviceGetProcessUtilization,                                        \
    (NvmlHandle device, void* entries, unsigned int* count, unsigned long long since))
#define LISTS(F)                                \
  F(nvmlDeviceGetComputeRunningProcesses)       \
  F(nvmlDeviceGetComputeRunningProcesses_v2)    \
  F(nvmlDeviceGetComputeRunningProcesses_v3)    \
  F(nvmlDeviceGetGraphicsRunningProcesses)      \
  F(nvmlDeviceGetGraphicsRunningProcesses_v2)   \
  F(nvmlDeviceGetGraphicsRunningProcesses_v3)   \
  F(nvmlDeviceGetMPSComputeRunningProcesses)    \
  F(nvmlDeviceGetMPSComputeRunningProcesses_v2) \
  F(nvmlDeviceGetMPSComputeRunningProcesses_v3)

static void* library;
static struct {
#define FIELD(name, arguments) int(*name) arguments;
  HOOKS(FIELD)
#undef FIELD
#define FIELD(name) ListProcesses name;
  LISTS(FIELD)
#undef FIELD
  int (*nvmlDeviceGetUUID)(NvmlHandle device, char* text, unsigned int size);
} real;

#define DECLARE(name, arguments) EXPORT int name arguments;
HOOKS(DECLARE)
#undef DECLARE

__attribute__((constructor)) static void find_real(void) {
  library = dlopen(rota_share_real_nvml, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return;
#define FIND(name, ...) *(void**)&real.name = dlsym(library, #name);
  HOOKS(FIND)
  LISTS(FIND)
  FIND(nvmlDeviceGetUUID)
#undef FIND
}

static bool ready(void) { return share_joined() || share_join(library, rota_share_watcher); }

static int start(int (*init)(void)) {
  if (init == NULL) return nvml_function_not_found;
  return ready() ? init() : nvml_not_ready;
}

int nvmlInit(void) { return start(real.nvmlInit); }
int nvmlInit_v2(void) { return start(real.nvmlInit_v2); }
int nvmlInitWithFlags(unsigned int flags) {
  if (real.nvmlInitWithFlags == NULL) return nvml_function_not_found;
  return ready() ? real.nvmlInitWithFlags(flags) : nvml_not_ready;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "GPU-" and 32 hexadecimal digits with hyphens, as 16 bytes.
static bool parse_uuid(const char* text, uint8_t uuid[16]) {
  unsigned int count = 0;
  if (strncmp(text, "GPU-", 4) != 0) return false;
  for (text += 4; *text != '\0'; ++text) {
    if (*text == '-') continue;
    const int digit = hex_digit(*text);
    if (digit < 0 || count == 32) return false;
    uuid[count / 2] = (uint8_t)(uuid[count / 2] << 4 | digit);
    ++count;
  }
  return count == 32;
}

// The GPU of the share that a device is; -1: not limited by it.
static int gpu_of(NvmlHandle device) {
  char text[nvml_uuid_size] = "";
  uint8_t uuid[16] = {0};
  if (real.nvmlDeviceGetUUID == NULL ||
      real.nvmlDeviceGetUUID(device, text, sizeof text) != nvml_success ||
      !parse_uuid(text, uuid)) {
    return -1;
  }
  const int gpu = share_gpu(uuid);
  if (gpu < 0 || share_rules_of((unsigned int)gpu)->limit_bytes == rota_region_no_limit) return -1;
  return gpu;
}

int nvmlDeviceGetMemoryInfo(NvmlHandle device, NvmlMemory* memory) {
  if (real.nvmlDeviceGetMemoryInfo == NULL) return nvml_function_not_found;
  if (!ready()) return nvml_not_ready;
  const int code = real.nvmlDeviceGetMemoryInfo(device, memory);
  const int gpu = code == nvml_success ? gpu_of(device) : -1;
  if (gpu < 0) return code;
  memory->total = share_rules_of((unsigned int)gpu)->limit_bytes;
  memory->free = share_free((unsigned int)gpu);
  memory->used = memory->total - memory->free;
  return code;
}

// What the driver keeps for itself lies outside all shares.
int nvmlDeviceGetMemoryInfo_v2(NvmlHandle device, NvmlMemoryV2* memory) {
  if (real.nvmlDeviceGetMemoryInfo_v2 == NULL) return nvml_function_not_found;
  if (!ready()) return nvml_not_ready;
  const int code = real.nvmlDeviceGetMemoryInfo_v2(device, memory);
  const int gpu = code == nvml_success ? gpu_of(device) : -1;
  if (gpu < 0) return code;
  memory->total = share_rules_of((unsigned int)gpu)->limit_bytes;
  memory->free = share_free((unsigned int)gpu);
  memory->used = memory->total - memory->free;
  memory->reserved = 0;
  return code;
}

// ---- processes: only the job's ----

static uint32_t pid_at(const unsigned char* entry) {
  uint32_t pid;
  memcpy(&pid, entry, sizeof pid);
  return pid;
}

// Moves the job's entries to the front and gives their number.
static unsigned int keep_own(unsigned char* entries, unsigned int count, size_t stride) {
  unsigned int kept = 0;
  for (unsigned int i = 0; i < count; ++i) {
    if (!share_has_pid(pid_at(entries + i * stride))) continue;
    memmove(entries + kept++ * stride, entries + i * stride, stride);
  }
  return kept;
}

// The newest form's entries are 16, 24 or 32 bytes long, as the driver likes: the last byte it
// wrote into a buffer of sentinels tells.
enum { entry_longest = 32, sentinel = 0xA5 };
static size_t stride_of(const unsigned char* buffer, size_t size, unsigned int count) {
  while (size > 0 && buffer[size - 1] == sentinel) --size;
  for (size_t stride = 16; stride <= entry_longest; stride += 8) {
    if (size <= count * stride) return stride;
  }
  return 0;
}

static int list_own(ListProcesses list, NvmlHandle device, unsigned int* count, void* entries) {
  enum { room = 1024 };
  if (list == NULL) return nvml_function_not_found;
  if (!ready()) return nvml_not_ready;
  if (count == NULL || (*count > 0 && entries == NULL)) return nvml_invalid_argument;
  unsigned char* all = malloc(room * entry_longest);
  if (all == NULL) return nvml_memory;
  memset(all, sentinel, room * entry_longest);
  unsigned int found = room;
  int code = list(device, &found, all);
  if (code == nvml_success) {
    const size_t stride = stride_of(all, room * entry_longest, found);
    const unsigned int kept = stride > 0 ? keep_own(all, found, stride) : 0;
    const unsigned int fits = *count;
    *count = kept;
    if (kept > fits) {
      code = nvml_insufficient_size;
    } else if (kept > 0) {
      memcpy(entries, all, kept * stride);
    }
  }
  free(all);
  return code;
}

#define LIST(name)                                                        \
  EXPORT int name(NvmlHandle device, unsigned int* count, void* entries); \
  int name(NvmlHandle device, unsigned int* count, void* entries) {       \
    return list_own(real.name, device, count, entries);                   \
  }
LISTS(LIST)

int nvmlDeviceGetProcessUtilization(NvmlHandle device, void* entries, unsigned int* count,
                                    unsigned long long since) {
  if (real.nvmlDeviceGetProcessUtilization == NULL) return nvml_function_not_found;
  if (!ready()) return nvml_not_ready;
  const int code = real.nvmlDeviceGetProcessUtilization(device, entries, count, since);
  if (code == nvml_success && entries != NULL && count != NULL) {
    *count = keep_own(entries, *count, utilization_entry_size);
  }
  return code;
}
