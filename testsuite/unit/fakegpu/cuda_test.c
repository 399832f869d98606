// testsuite/unit/fakegpu/cuda_test.c - the fake libcuda.so.1 as any program sees it, from several
// processes at once.
//
// Uses no declaration of ours: names, numbers and layouts are those of the public driver API.
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

typedef int (*AnyCall)();
typedef unsigned long long Ptr;
static const size_t mib = 1 << 20;
static const size_t total = 32510ull << 20;    // a V100-32GB
static const size_t context_size = 305 << 20;  // of each context
static void* library;
static void* nvml;

static AnyCall in(void* from, const char* name) {
  AnyCall found = (AnyCall)dlsym(from, name);
  if (found == NULL) {
    printf("Bail out! %s is missing\n", name);
    exit(1);
  }
  return found;
}
static AnyCall call(const char* name) { return in(library, name); }

static size_t free_now(void) {
  size_t free_bytes = 0, all = 0;
  call("cuMemGetInfo_v2")(&free_bytes, &all);
  return free_bytes;
}

// Runs `body` in a child and gives what it returns.
static int in_child(int (*body)(void)) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count_devices(void) {
  int count = 0;
  const int code = call("cuInit")(0);
  if (code != 0) return code;
  call("cuDeviceGetCount")(&count);
  return count;
}

static int seen(const char* visible) {
  setenv("CUDA_VISIBLE_DEVICES", visible, 1);
  const int count = in_child(count_devices);
  unsetenv("CUDA_VISIBLE_DEVICES");
  return count;
}

static void nvml_uuid(unsigned int index, char* text) {
  void* device = NULL;
  in(nvml, "nvmlDeviceGetHandleByIndex_v2")(index, &device);
  in(nvml, "nvmlDeviceGetUUID")(device, text, 96u);
}

static void test_visible(void) {
  char first[96], second[96], list[256];
  nvml_uuid(0, first);
  nvml_uuid(1, second);
  IS_NUMBER(in_child(count_devices), 8, "eight devices");
  IS_NUMBER(seen("1,2"), 2, "two by number");
  IS_NUMBER(seen(" 3 , 1 "), 2, "with spaces");
  IS_NUMBER(seen(first), 1, "one by UUID");
  first[9] = '\0';
  snprintf(list, sizeof list, "%s,%s", first, second);
  IS_NUMBER(seen(list), 2, "one by the beginning of its UUID, one by all of it");
  IS_NUMBER(seen("0,1,77,2"), 2, "the first bad one ends the list");
  IS_NUMBER(seen("0,x"), 1, "a word as well");
  IS_NUMBER(seen("GPU-"), 100, "a beginning that all have names none");
  IS_NUMBER(seen("MIG-0f-1"), 100, "a MIG device that is not there");
  IS_NUMBER(seen("2,2"), 1, "nor is one there twice");
  IS_NUMBER(seen(""), 100, "an empty list: NO_DEVICE");
}

// On the node of two models: the first A10, and whether its memory is an A10's.
static int first_a10(void) {
  char name[100] = "";
  size_t bytes = 0;
  setenv("ROTA_FAKEGPU", TEST_FAKEGPU_MODELS "/mixed-v100-a10.yaml", 1);
  unsetenv("ROTA_FAKEGPU_STATE");
  if (count_devices() != 6) return 100;
  int ordinal = 0;
  while (call("cuDeviceGetName")(name, 100, ordinal) == 0 && strcmp(name, "NVIDIA A10") != 0) {
    ++ordinal;
  }
  call("cuDeviceTotalMem_v2")(&bytes, ordinal);
  return bytes == (23028ull - 472) << 20 ? ordinal : 101;
}

static void test_order(void) {
  IS_NUMBER(in_child(first_a10), 4, "the fastest devices come first");
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  IS_NUMBER(in_child(first_a10), 2, "or all in the order of the bus");
  unsetenv("CUDA_DEVICE_ORDER");
}

// ---- MIG: the instance that `mig_uuid` names, in a child ----

static char mig_uuid[64];

// What is wrong with it as a device; 0: nothing.
static int use_instance(void) {
  size_t bytes = 0, free_bytes = 0;
  int multiprocessors = 0;
  char name[100] = "";
  void* context = NULL;
  unsigned long long pointer = 0;
  if (count_devices() != 1) return 1;
  call("cuDeviceTotalMem_v2")(&bytes, 0);
  call("cuDeviceGetAttribute")(&multiprocessors, 16, 0);
  call("cuDeviceGetName")(name, 100, 0);
  if (bytes != 19968ull << 20 || multiprocessors != 42) return 2;
  if (strcmp(name, "NVIDIA A100-SXM4-40GB MIG 3g.20gb") != 0) return 3;
  if (call("cuDevicePrimaryCtxRetain")(&context, 0) != 0) return 4;
  call("cuCtxSetCurrent")(context);
  call("cuMemGetInfo_v2")(&free_bytes, &bytes);
  if (bytes != 19968ull << 20 || free_bytes != bytes - (305ull << 20)) return 5;
  if (call("cuMemAlloc_v2")(&pointer, (size_t)20 << 30) != 2) return 6;
  if (call("cuMemAlloc_v2")(&pointer, (size_t)1 << 30) != 0) return 7;
  unsigned int pending = 4;
  unsigned char entry[4 * 24];
  void* device = NULL;
  in(nvml, "nvmlDeviceGetHandleByIndex_v2")(0u, &device);
  if (in(nvml, "nvmlDeviceGetComputeRunningProcesses_v3")(device, &pending, entry) != 0) return 8;
  uint32_t words[6];
  memcpy(words, entry, sizeof words);
  if (pending != 1 || words[0] != (uint32_t)getpid() || words[4] != 2 || words[5] != 0) return 9;
  return system(TEST_FAKEGPU_TOOL " destroy-instance 0 2 2>/dev/null") == 0 ? 10 : 0;
}

static void test_mig(void) {
  char state[] = "/tmp/rota-cuda-mig-XXXXXX";
  const int fd = mkstemp(state);
  char* before = strdup(getenv("ROTA_FAKEGPU_STATE"));
  in(nvml, "nvmlShutdown")();
  setenv("ROTA_FAKEGPU", TEST_FAKEGPU_MODELS "/dgx-a100-40gb.yaml", 1);
  setenv("ROTA_FAKEGPU_STATE", state, 1);
  in(nvml, "nvmlInit_v2")();
  IS_NUMBER(system(TEST_FAKEGPU_TOOL " set 0 mig=on"), 0, "a GPU in MIG mode");
  IS_NUMBER(in_child(count_devices), 7, "  without an instance is no device");
  FILE* made = popen(TEST_FAKEGPU_TOOL " create-instance 0 3g.20gb 4", "re");
  OK(made != NULL && fscanf(made, "%63s", mig_uuid) == 1, "  and with one");
  if (made != NULL) pclose(made);
  IS_NUMBER(in_child(count_devices), 1, "  is one, and hides the others from older drivers");
  setenv("CUDA_VISIBLE_DEVICES", mig_uuid, 1);
  IS_NUMBER(in_child(use_instance), 0, "the instance has its own memory and processors");
  unsetenv("CUDA_VISIBLE_DEVICES");
  IS_NUMBER(system(TEST_FAKEGPU_TOOL " destroy-instance 0 2"), 0, "  and can be ended behind it");
  IS_NUMBER(seen(mig_uuid), 100, "  and then is no device");
  in(nvml, "nvmlShutdown")();
  setenv("ROTA_FAKEGPU", TEST_FAKEGPU_MODELS "/dgx1-v100-32gb.yaml", 1);
  setenv("ROTA_FAKEGPU_STATE", before, 1);
  in(nvml, "nvmlInit_v2")();
  free(before);
  close(fd);
  unlink(state);
}

static int start_without_description(void) {
  unsetenv("ROTA_FAKEGPU");
  return call("cuInit")(0);
}

static void test_start(void) {
  int version = 0;
  IS_NUMBER(in_child(start_without_description), 100, "no description: NO_DEVICE");
  IS_NUMBER(call("cuDeviceGetCount")(&version), 3, "a call before cuInit: NOT_INITIALIZED");
  IS_NUMBER(call("cuDriverGetVersion")(&version), 0, "but the version may be asked");
  IS_NUMBER(version, 12020, "  which is CUDA 12.2");
  IS_NUMBER(call("cuInit")(1), 1, "cuInit with flags: INVALID_VALUE");
  IS_NUMBER(call("cuInit")(0), 0, "cuInit");
  IS_NUMBER(in_child(count_devices), 3, "a child of a started process: NOT_INITIALIZED");
}

static void test_device(void) {
  char name[100], wanted[96], got[96];
  unsigned char uuid[17];
  size_t bytes = 0;
  int value = 0;
  IS_NUMBER(call("cuDeviceGetName")(name, 100, 2), 0, "a name");
  IS_TEXT(name, "Tesla V100-SXM2-32GB", "  which NVML has too");
  memset(uuid, 0x5A, sizeof uuid);
  IS_NUMBER(call("cuDeviceGetUuid")(uuid, 2), 0, "a UUID");
  IS_NUMBER(uuid[16], 0x5A, "  of 16 bytes");
  char* at = got + sprintf(got, "GPU-");
  for (int i = 0; i < 16; ++i) {
    at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
  }
  nvml_uuid(2, wanted);
  IS_TEXT(got, wanted, "  which NVML has too");
  IS_NUMBER(call("cuDeviceTotalMem_v2")(&bytes, 0), 0, "its memory");
  IS_NUMBER(bytes, total, "  of 32510 MiB");
  IS_NUMBER(call("cuDeviceGetAttribute")(&value, 75, 0), 0, "an attribute");
  IS_NUMBER(value, 7, "  compute capability 7");
  IS_NUMBER(call("cuDeviceGet")(&value, 8), 101, "no ninth device");
}

static void test_memory(void) {
  Ptr pointer = 0, second = 0;
  void* context = NULL;
  char text[] = "to the device and back", back[64] = "";
  IS_NUMBER(call("cuMemAlloc_v2")(&pointer, 64 * mib), 201, "no context: INVALID_CONTEXT");
  IS_NUMBER(call("cuDevicePrimaryCtxRetain")(&context, 0), 0, "a primary context");
  call("cuCtxSetCurrent")(context);
  IS_NUMBER(free_now(), total - context_size, "  takes some memory");
  IS_NUMBER(call("cuMemAlloc_v2")(&pointer, 64 * mib), 0, "64 MiB");
  IS_NUMBER(free_now(), total - context_size - 64 * mib, "  are taken");
  call("cuMemcpyHtoD_v2")(pointer, text, sizeof text);
  call("cuMemcpyDtoH_v2")(back, pointer, sizeof text);
  IS_TEXT(back, text, "copies are real");
  IS_NUMBER(call("cuMemsetD32_v2")(pointer, 0x41424344, (size_t)2), 0, "so are fills");
  call("cuMemcpyDtoH_v2")(back, pointer, (size_t)4);
  IS_NUMBER(back[0], 0x44, "  in the host's order");
  IS_NUMBER(call("cuMemAlloc_v2")(&second, total), 2, "more than there is: OUT_OF_MEMORY");
  IS_NUMBER(second, 0, "  and the pointer is left alone");
  IS_NUMBER(call("cuMemFree_v2")(pointer + 8), 1, "freeing the middle: INVALID_VALUE");
  IS_NUMBER(call("cuMemFree_v2")(pointer), 0, "freeing");
  IS_NUMBER(call("cuMemFree_v2")(pointer), 1, "and again: INVALID_VALUE");
  IS_NUMBER(free_now(), total - context_size, "nothing is left");
  call("cuMemAlloc_v2")(&pointer, 64 * mib);
  IS_NUMBER(call("cuDevicePrimaryCtxRelease_v2")(0), 0, "the context ends");
  call("cuDevicePrimaryCtxRetain")(&context, 0);
  call("cuCtxSetCurrent")(context);
  IS_NUMBER(free_now(), total - context_size, "  and its memory with it");
}

static void test_pitch(void) {
  Ptr pointer = 0;
  size_t pitch = 0;
  unsigned char from[3][100], to[3][100];
  for (int i = 0; i < 300; ++i) from[i / 100][i % 100] = (unsigned char)i;
  IS_NUMBER(call("cuMemAllocPitch_v2")(&pointer, &pitch, (size_t)100, (size_t)3, 4u), 0, "rows");
  IS_NUMBER(pitch, 512, "  start at multiples of 512");
  // srcX srcY srcType srcHost srcDevice srcArray srcPitch, the same for dst, width height.
  uint64_t up[16] = {0, 0, 1, (uintptr_t)from, 0, 0, 100, 0, 0, 2, 0, pointer, 0, pitch, 100, 3};
  uint64_t down[16] = {0, 0, 2, 0, pointer, 0, pitch, 0, 0, 1, (uintptr_t)to, 0, 0, 100, 100, 3};
  IS_NUMBER(call("cuMemcpy2D_v2")(up), 0, "copied there");
  IS_NUMBER(call("cuMemcpy2D_v2")(down), 0, "  and back");
  IS_NUMBER(memcmp(from, to, sizeof to), 0, "  unchanged");
  call("cuMemFree_v2")(pointer);
}

static void test_pools(void) {
  Ptr pointer = 0;
  void* pool = NULL;
  uint64_t keep = ~0ull, reserved = 0;
  const size_t before = free_now();
  IS_NUMBER(call("cuMemAllocAsync")(&pointer, 32 * mib, NULL), 0, "memory in a stream's order");
  IS_NUMBER(before - free_now(), 32 * mib, "  is taken");
  call("cuMemFreeAsync")(pointer, NULL);
  IS_NUMBER(free_now(), before, "  and given back");
  call("cuDeviceGetDefaultMemPool")(&pool, 0);
  call("cuMemPoolSetAttribute")(pool, 4, &keep);
  call("cuMemAllocAsync")(&pointer, 32 * mib, NULL);
  call("cuMemFreeAsync")(pointer, NULL);
  call("cuMemPoolGetAttribute")(pool, 5, &reserved);
  IS_NUMBER(reserved, 32 * mib, "a pool that keeps what is freed");
  IS_NUMBER(before - free_now(), 32 * mib, "  takes it from the others");
  call("cuMemPoolTrimTo")(pool, (size_t)0);
  IS_NUMBER(free_now(), before, "  until it is trimmed");
}

static void test_vmm(void) {
  // type, handle types, location {device, 1}, -, flags
  int prop[8] = {1, 0, 1, 0, 0, 0, 0, 0}, access[3] = {1, 0, 3};
  unsigned long long handle = 0;
  Ptr pointer = 0;
  const size_t before = free_now();
  IS_NUMBER(call("cuMemCreate")(&handle, 3 * mib, prop, 0ull), 1, "odd size: INVALID_VALUE");
  IS_NUMBER(call("cuMemCreate")(&handle, 4 * mib, prop, 0ull), 0, "physical memory");
  call("cuMemAddressReserve")(&pointer, 4 * mib, (size_t)0, 0ull, 0ull);
  IS_NUMBER(call("cuMemMap")(pointer, 4 * mib, (size_t)0, handle, 0ull), 0, "mapped");
  IS_NUMBER(call("cuMemSetAccess")(pointer, 4 * mib, access, (size_t)1), 0, "made accessible");
  IS_NUMBER(call("cuMemRelease")(handle), 0, "released");
  IS_NUMBER(before - free_now(), 4 * mib, "  but alive while it is mapped");
  IS_NUMBER(call("cuMemsetD8_v2")(pointer, 7, 4 * mib), 0, "  and used");
  IS_NUMBER(call("cuMemUnmap")(pointer, 4 * mib), 0, "unmapped");
  IS_NUMBER(free_now(), before, "  and gone");
  call("cuMemAddressFree")(pointer, 4 * mib);
}

static void test_arrays(void) {
  const size_t before = free_now();
  struct {
    size_t width, height;
    int format;
    unsigned int channels;
  } desc = {1024, 1024, 0x20, 4};
  void* array = NULL;
  IS_NUMBER(call("cuArrayCreate_v2")(&array, &desc), 0, "an array of 1024 x 1024 float4");
  IS_NUMBER(before - free_now(), 16 * mib, "  takes 16 MiB");
  IS_NUMBER(call("cuArrayDestroy")(array), 0, "  and gives them back");
  IS_NUMBER(free_now(), before, "  all");
}

// What NVML says this process holds of GPU 1; 0: it is not in the list.
static uint64_t nvml_held(pid_t pid) {
  struct {
    unsigned int pid;
    unsigned long long bytes;
    unsigned int instances[2];
  } list[64];
  void* device = NULL;
  unsigned int count = 64;
  in(nvml, "nvmlDeviceGetHandleByIndex_v2")(1u, &device);
  in(nvml, "nvmlDeviceGetComputeRunningProcesses_v3")(device, &count, list);
  for (unsigned int i = 0; i < count; ++i) {
    if ((pid_t)list[i].pid == pid) return list[i].bytes;
  }
  return 0;
}

// A child that holds 1 GiB of GPU 1, says so on `ready`, and then does as it is told.
static pid_t start_holder(int* ready, int* orders) {
  int up[2], down[2];
  if (pipe(up) != 0 || pipe(down) != 0) exit(1);
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    void* context = NULL;
    Ptr pointer = 0;
    char order = 0;
    call("cuInit")(0);
    call("cuCtxCreate_v2")(&context, 0u, 1);
    call("cuMemAlloc_v2")(&pointer, 1024 * mib);
    if (write(up[1], "r", 1) != 1 || read(down[0], &order, 1) != 1) _exit(1);
    if (order == 'x') {
      dup2(down[0], 0);
      dup2(up[1], 1);
      execlp("sh", "sh", "-c", "echo; read line", NULL);
    }
    _exit(0);
  }
  *ready = up[0];
  *orders = down[1];
  char byte = 0;
  if (read(up[0], &byte, 1) != 1) exit(1);
  return pid;
}

static void test_processes(void) {
  int ready = -1, orders = -1;
  char byte = 0;
  const pid_t killed = start_holder(&ready, &orders);
  IS_NUMBER(nvml_held(killed), 1024 * mib + context_size, "NVML shows what a process holds");
  kill(killed, SIGKILL);
  waitpid(killed, NULL, 0);
  IS_NUMBER(nvml_held(killed), 0, "kill -9 gives it back");
  const pid_t replaced = start_holder(&ready, &orders);
  OK(nvml_held(replaced) > 0, "another process");
  OK(write(orders, "x", 1) == 1 && read(ready, &byte, 1) == 1, "  runs another program");
  IS_NUMBER(nvml_held(replaced), 0, "  and what it held is given back");
  kill(replaced, SIGKILL);
  waitpid(replaced, NULL, 0);
}

// ---- MPS: the daemon of `mps_control`, and clients in children ----

static const char mps_control[] = TEST_FAKEGPU_DIR "/nvidia-cuda-mps-control";

static bool is_listed_as(const char* list) {
  unsigned char entries[64 * 24];
  unsigned int count = 64;
  void* device = NULL;
  in(nvml, "nvmlDeviceGetHandleByIndex_v2")(1u, &device);
  if (in(nvml, list)(device, &count, entries) != 0) return false;
  for (unsigned int i = 0; i < count; ++i) {
    uint32_t pid = 0;
    memcpy(&pid, entries + i * 24, sizeof pid);
    if (pid == (uint32_t)getpid()) return true;
  }
  return false;
}

// The multiprocessors that it sees, with 100 more if NVML lists it as an ordinary process.
static int use_mps(void) {
  int multiprocessors = 0;
  void* context = NULL;
  if (call("cuInit")(0) != 0 || call("cuCtxCreate_v2")(&context, 0u, 1) != 0) return 255;
  call("cuDeviceGetAttribute")(&multiprocessors, 16, 1);
  const bool is_plain = is_listed_as("nvmlDeviceGetComputeRunningProcesses_v3");
  if (is_plain == is_listed_as("nvmlDeviceGetMPSComputeRunningProcesses_v3")) return 254;
  return multiprocessors + (is_plain ? 100 : 0);
}

// What the control program ends with, given these words and this line.
static int mps_says(const char* words, const char* line) {
  char command[1024];
  snprintf(command, sizeof command, "printf '%s' | '%s' %s >/dev/null 2>&1", line, mps_control,
           words);
  const int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_mps(void) {
  char directory[] = "/tmp/rota-cuda-mps-XXXXXX";
  if (mkdtemp(directory) == NULL) exit(1);
  setenv("CUDA_MPS_PIPE_DIRECTORY", directory, 1);
  setenv("CUDA_MPS_LOG_DIRECTORY", directory, 1);
  IS_NUMBER(mps_says("", "get_server_list\\n"), 1, "no daemon yet");
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1);
  IS_NUMBER(in_child(use_mps), 180, "without one, a process is an ordinary one, and has no bound");
  IS_NUMBER(mps_says("-d", ""), 0, "a daemon");
  IS_NUMBER(mps_says("-d", ""), 1, "  and no second one");
  IS_NUMBER(mps_says("", "get_server_list\\n"), 0, "  which answers");
  IS_NUMBER(in_child(use_mps), 40, "its client sees half of the multiprocessors");
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1", 1);
  IS_NUMBER(in_child(use_mps), 1, "or one of them");
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  IS_NUMBER(in_child(use_mps), 80, "or all");
  IS_NUMBER(mps_says("", "quit\\n"), 0, "it quits");
  IS_NUMBER(in_child(use_mps), 180, "  and nobody is its client");
  char command[256];
  snprintf(command, sizeof command, "rm -r '%s'", directory);
  OK(system(command) == 0, "its files are its directory's");
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  unsetenv("CUDA_MPS_LOG_DIRECTORY");
}

static void test_names(void) {
  void* function = NULL;
  int status = -1;
  AnyCall lookup = call("cuGetProcAddress_v2");
  IS_NUMBER(lookup("cuMemAlloc", &function, 12020, 0ull, &status), 0, "cuMemAlloc by name");
  OK(function == dlsym(library, "cuMemAlloc_v2"), "  is its newest form");
  lookup("cuMemAlloc", &function, 2000, 0ull, &status);
  OK(function == dlsym(library, "cuMemAlloc"), "  or the oldest for who asks for that");
  lookup("cuMemAllocAsync", &function, 12020, 2ull, &status);
  OK(function == dlsym(library, "cuMemAllocAsync_ptsz"), "  or the one with a stream per thread");
  IS_NUMBER(lookup("cuNothing", &function, 12020, 0ull, &status), 500, "no such name: NOT_FOUND");
  IS_NUMBER(status, 1, "  and why");
  IS_NUMBER(lookup("cuGreenCtxCreate", &function, 13000, 0ull, &status), 500, "too new: NOT_FOUND");
  IS_NUMBER(status, 2, "  and why");
  IS_NUMBER(call("cuGraphInstantiateWithFlags")(), 801, "what is not played: NOT_SUPPORTED");
  OK(dlsym(library, "cuMemcpyBatchAsync") != NULL, "the newest driver has the newest names");
  void* old = dlopen(TEST_FAKEGPU_DIR "/r470/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  OK(old != NULL && dlsym(old, "cuMemAllocAsync") != NULL, "470 has cuMemAllocAsync (11.2)");
  OK(old != NULL && dlsym(old, "cuGetProcAddress_v2") == NULL,
     "  and not cuGetProcAddress_v2 (12.0)");
  old = dlopen(TEST_FAKEGPU_DIR "/r535/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  OK(old != NULL && dlsym(old, "cuGetProcAddress_v2") != NULL, "535 has it");
  OK(old != NULL && dlsym(old, "cuCtxCreate_v4") == NULL, "  and not cuCtxCreate_v4 (12.5)");
  old = dlopen(TEST_FAKEGPU_DIR "/r580/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  OK(old != NULL && dlsym(old, "cuCtxCreate_v4") != NULL, "580 has that, too");
}

int main(void) {
  char state[] = "/tmp/rota-cuda-XXXXXX";
  const int fd = mkstemp(state);
  if (fd < 0) return 1;
  close(fd);
  setenv("ROTA_FAKEGPU", TEST_FAKEGPU_MODELS "/dgx1-v100-32gb.yaml", 1);
  setenv("ROTA_FAKEGPU_NODE", "cuda", 1);
  setenv("ROTA_FAKEGPU_STATE", state, 1);
  unsetenv("ROTA_FAKEGPU_COUNT");
  unsetenv("CUDA_VISIBLE_DEVICES");
  library = dlopen(TEST_FAKEGPU_DIR "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  nvml = dlopen(TEST_FAKEGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || nvml == NULL) {
    printf("Bail out! %s\n", dlerror());
    return 1;
  }
  in(nvml, "nvmlInit_v2")();
  test_visible();
  test_order();
  test_mig();
  test_mps();
  test_processes();  // children that start the driver themselves: before we do
  test_start();
  test_device();
  test_memory();
  test_pitch();
  test_pools();
  test_vmm();
  test_arrays();
  test_names();
  unlink(state);
  return tap_done();
}
