// gpushim/probe.c - rota-gpuprobe: does this environment show the share, and nothing more?
//
// usage: rota-gpuprobe UUID=BYTES...
// Asks libcuda.so.1 and libnvidia-ml.so.1, as the loader finds them for any program, for the memory
// of every GPU. Exit code 1, with one sentence, if one shows another total than its share, or CUDA
// shows a GPU that is not the job's. A library that is not there can do no harm.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpud/inventory/nvml_abi.h"
#include "gpushim/cuda_abi.h"

// "UUID=BYTES" of a GPU among the arguments: its bytes, or 0.
static unsigned long long share_of(char** shares, const char* uuid) {
  const size_t length = strlen(uuid);
  for (; *shares != NULL; ++shares) {
    if (strncmp(*shares, uuid, length) == 0 && (*shares)[length] == '=') {
      return strtoull(*shares + length + 1, NULL, 10);
    }
  }
  return 0;
}

static void print_uuid(const CudaUuid* uuid, char text[48]) {
  char* at = text + sprintf(text, "GPU-");
  for (int i = 0; i < 16; ++i) {
    at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid->bytes[i]);
  }
}

static int say(const char* library, const char* uuid, unsigned long long shown,
               unsigned long long share) {
  printf("%s shows %llu MiB of %s, and its share is %llu MiB\n", library, shown >> 20, uuid,
         share >> 20);
  return 1;
}

static int probe_cuda(char** shares) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return 0;
  int (*init)(unsigned int) = (int (*)(unsigned int))dlsym(library, "cuInit");
  int (*get_count)(int*) = (int (*)(int*))dlsym(library, "cuDeviceGetCount");
  int (*get_uuid)(CudaUuid*, int) = (int (*)(CudaUuid*, int))dlsym(library, "cuDeviceGetUuid");
  int (*get_total)(size_t*, int) = (int (*)(size_t*, int))dlsym(library, "cuDeviceTotalMem_v2");
  if (init == NULL || get_count == NULL || get_uuid == NULL || get_total == NULL) {
    return puts("libcuda.so.1 is no CUDA driver"), 1;
  }
  int count = 0;
  const int code = init(0);
  if (code == cuda_no_device) return 0;
  if (code != cuda_success || get_count(&count) != cuda_success) {
    return printf("CUDA does not start: error %d\n", code), 1;
  }
  for (int i = 0; i < count; ++i) {
    CudaUuid uuid;
    char name[48];
    size_t total = 0;
    if (get_uuid(&uuid, i) != cuda_success || get_total(&total, i) != cuda_success) {
      return printf("CUDA does not say what device %d is\n", i), 1;
    }
    print_uuid(&uuid, name);
    const unsigned long long share = share_of(shares, name);
    if (total != share) return say("CUDA", name, total, share);
  }
  return 0;
}

static int probe_nvml(char** shares) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == NULL) return 0;
  int (*init)(void) = (int (*)(void))dlsym(library, "nvmlInit_v2");
  int (*get_handle)(const char*, NvmlHandle*) =
      (int (*)(const char*, NvmlHandle*))dlsym(library, "nvmlDeviceGetHandleByUUID");
  int (*get_memory)(NvmlHandle, NvmlMemory*) =
      (int (*)(NvmlHandle, NvmlMemory*))dlsym(library, "nvmlDeviceGetMemoryInfo");
  if (init == NULL || get_handle == NULL || get_memory == NULL) {
    return puts("libnvidia-ml.so.1 is no NVML"), 1;
  }
  const int code = init();
  if (code == nvml_driver_not_loaded) return 0;
  if (code != nvml_success) return printf("NVML does not start: error %d\n", code), 1;
  for (char** at = shares; *at != NULL; ++at) {
    char name[96];
    NvmlHandle device = NULL;
    NvmlMemory memory = {0};
    snprintf(name, sizeof name, "%.*s", (int)strcspn(*at, "="), *at);
    if (get_handle(name, &device) != nvml_success || get_memory(device, &memory) != nvml_success) {
      return printf("NVML does not know %s\n", name), 1;
    }
    const unsigned long long share = share_of(shares, name);
    if (memory.total != share) return say("NVML", name, memory.total, share);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return puts("usage: rota-gpuprobe UUID=BYTES..."), 2;
  return probe_cuda(argv + 1) != 0 || probe_nvml(argv + 1) != 0 ? 1 : 0;
}
