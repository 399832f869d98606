// testsuite/unit/fakegpu/abi_test.c - the fake libnvidia-ml.so.1 byte by byte, as any program sees
// it.
//
// Uses no declaration of ours: sizes and offsets are the numbers of NVML's public interface, and
// every buffer is longer than the answer, so that a byte too many is seen.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "nvml_calls.h"
#include "tap.h"

static void use(const char* model, const char* node, const char* state) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.yaml", TEST_FAKEGPU_MODELS, model);
  setenv("ROTA_FAKEGPU", path, 1);
  setenv("ROTA_FAKEGPU_NODE", node, 1);
  setenv("ROTA_FAKEGPU_STATE", state, 1);
  unsetenv("ROTA_FAKEGPU_COUNT");
}

static void tool(const char* words) {
  char command[2048];
  snprintf(command, sizeof command, "%s %s", TEST_FAKEGPU_TOOL, words);
  if (system(command) != 0) printf("# %s failed\n", command);
}

static void test_start(void) {
  unsigned int count = 0;
  IS_NUMBER(call("nvmlDeviceGetCount_v2")(&count), 1, "a call before nvmlInit: UNINITIALIZED");
  IS_NUMBER(call("nvmlShutdown")(), 1, "nvmlShutdown before nvmlInit: UNINITIALIZED");
  IS_NUMBER(call("nvmlDeviceGetFanSpeed")(), 1, "also one that is not supported");
  char* description = strdup(getenv("ROTA_FAKEGPU"));
  unsetenv("ROTA_FAKEGPU");
  IS_NUMBER(call("nvmlInit_v2")(), 9, "no description: DRIVER_NOT_LOADED");
  setenv("ROTA_FAKEGPU", description, 1);
  free(description);

  IS_NUMBER(call("nvmlInit_v2")(), 0, "nvmlInit_v2");
  IS_NUMBER(call("nvmlInit")(), 0, "nvmlInit, unsuffixed, counts too");
  IS_NUMBER(call("nvmlShutdown")(), 0, "one nvmlShutdown of two");
  IS_NUMBER(call("nvmlDeviceGetCount")(&count), 0, "still there");
  IS_NUMBER(count, 8, "eight devices");
  IS_NUMBER(call("nvmlDeviceGetFanSpeed")(device(0), &count), 3, "no fan: NOT_SUPPORTED");
  const char* (*error_string)(int) = (const char* (*)(int))dlsym(library, "nvmlErrorString");
  IS_TEXT(error_string(15), "GPU is lost", "nvmlErrorString(15)");
  IS_TEXT(error_string(4711), "Unknown Error", "nvmlErrorString of no code");
}

static void test_text(void) {
  clean();
  IS_NUMBER(call("nvmlDeviceGetName")(device(0), buffer, 96u), 0, "nvmlDeviceGetName");
  IS_TEXT((char*)buffer, "Tesla V100-SXM2-32GB", "the name");
  clean();
  IS_NUMBER(call("nvmlDeviceGetName")(device(0), buffer, 20u), 7, "too short: INSUFFICIENT_SIZE");
  IS_NUMBER(written(), 0, "and nothing written");
  IS_NUMBER(call("nvmlDeviceGetName")(device(0), NULL, 96u), 2, "no buffer: INVALID_ARGUMENT");
  IS_NUMBER(call("nvmlDeviceGetName")(NULL, buffer, 96u), 2, "no device: INVALID_ARGUMENT");
  IS_NUMBER(call("nvmlDeviceGetName")(buffer, buffer, 96u), 2, "no device of ours, likewise");
  clean();
  call("nvmlDeviceGetUUID")(device(3), buffer, 96u);
  IS_NUMBER(strlen((char*)buffer), 40, "a UUID has 40 characters");
  void* found = NULL;
  IS_NUMBER(call("nvmlDeviceGetHandleByUUID")(buffer, &found), 0, "and leads back");
  OK(found == device(3), "to its device");
  IS_NUMBER(call("nvmlDeviceGetHandleByUUID")("GPU-0", &found), 6, "no such UUID: NOT_FOUND");
  IS_NUMBER(call("nvmlDeviceGetHandleByIndex_v2")(8u, &found), 2, "no such index");
  IS_NUMBER(call("nvmlDeviceGetHandleByPciBusId_v2")("0000:0a:00.0", &found), 0, "by PCI address");
  OK(found == device(2), "is the third device");
  IS_NUMBER(call("nvmlDeviceGetHandleByPciBusId_v2")("rubbish", &found), 2, "no PCI address");
  clean();
  IS_NUMBER(call("nvmlSystemGetDriverVersion")(buffer, 80u), 0, "nvmlSystemGetDriverVersion");
  IS_TEXT((char*)buffer, "535.183.01", "the driver's version");
}

static void test_pci(void) {
  clean();
  IS_NUMBER(call("nvmlDeviceGetPciInfo_v3")(device(2), buffer), 0, "nvmlDeviceGetPciInfo_v3");
  IS_NUMBER(written(), 68, "writes 68 bytes");
  IS_TEXT((char*)buffer, "0000:0A:00.0", "short bus id at 0");
  IS_NUMBER(u32(20), 0x0A, "bus at 20");
  IS_NUMBER(u32(28), 0x1DB510DE, "device << 16 | vendor at 28");
  IS_NUMBER(u32(32), 0x124910DE, "subsystem at 32");
  IS_TEXT((char*)buffer + 36, "00000000:0A:00.0", "long bus id at 36");
  clean();
  IS_NUMBER(call("nvmlDeviceGetPciInfo_v2")(device(2), buffer), 0, "nvmlDeviceGetPciInfo_v2");
  IS_NUMBER(written(), 52, "writes 52 bytes");
  clean();
  IS_NUMBER(call("nvmlDeviceGetPciInfo")(device(2), buffer), 0, "nvmlDeviceGetPciInfo");
  IS_NUMBER(written(), 32, "writes 32 bytes");
}

static void test_memory(void) {
  const uint64_t mib = 1 << 20;
  tool("set 1 memory-used=1GiB utilization=30 memory-utilization=7");
  clean();
  IS_NUMBER(call("nvmlDeviceGetMemoryInfo")(device(1), buffer), 0, "nvmlDeviceGetMemoryInfo");
  IS_NUMBER(written(), 24, "writes 24 bytes");
  IS_NUMBER(u64(0), 32510 * mib, "total at 0 without what the driver keeps");
  IS_NUMBER(u64(8), 31486 * mib, "free at 8");
  IS_NUMBER(u64(16), 1024 * mib, "used at 16");
  clean();
  IS_NUMBER(call("nvmlDeviceGetMemoryInfo_v2")(device(1), buffer), 25, "no version in it");
  const uint32_t version = 0x02000028;
  memcpy(buffer, &version, sizeof version);
  IS_NUMBER(call("nvmlDeviceGetMemoryInfo_v2")(device(1), buffer), 0, "nvmlDeviceGetMemoryInfo_v2");
  IS_NUMBER(written(), 40, "writes 40 bytes");
  IS_NUMBER(u64(8), 32768 * mib, "total at 8");
  IS_NUMBER(u64(16), 258 * mib, "reserved at 16");
  IS_NUMBER(u64(24), 31486 * mib, "free at 24");
  IS_NUMBER(u64(32), 1024 * mib, "used at 32");
  clean();
  call("nvmlDeviceGetUtilizationRates")(device(1), buffer);
  IS_NUMBER(written(), 8, "nvmlDeviceGetUtilizationRates writes 8 bytes");
  IS_NUMBER(u32(0), 30, "GPU at 0");
  IS_NUMBER(u32(4), 7, "memory at 4");
}

static void test_processes(void) {
  unsigned int count = 0;
  const char* v3 = "nvmlDeviceGetComputeRunningProcesses_v3";
  IS_NUMBER(call(v3)(device(1), &count, NULL), 0, "no process: nothing needed");
  tool("add-process 1 4711 2GiB");
  tool("add-process 1 4712 1GiB");
  tool("add-process 1 4713 1GiB graphics");
  IS_NUMBER(call(v3)(device(1), &count, NULL), 7, "asked without room: INSUFFICIENT_SIZE");
  IS_NUMBER(count, 2, "and how much is needed");
  clean();
  count = 16;
  IS_NUMBER(call(v3)(device(1), &count, buffer), 0, "with room");
  IS_NUMBER(count, 2, "two compute processes");
  IS_NUMBER(written(), 48, "24 bytes each");
  IS_NUMBER(u32(24), 4712, "the second's pid at 24");
  IS_NUMBER(u64(32), 1 << 30, "its memory at 32");
  IS_NUMBER(u32(40), 0xFFFFFFFF, "no GPU instance at 40");
  IS_NUMBER(u32(44), 0xFFFFFFFF, "no compute instance at 44");
  clean();
  count = 16;
  call("nvmlDeviceGetComputeRunningProcesses")(device(1), &count, buffer);
  IS_NUMBER(written(), 32, "unsuffixed: 16 bytes each");
  count = 16;
  call("nvmlDeviceGetGraphicsRunningProcesses_v3")(device(1), &count, buffer);
  IS_NUMBER(count, 1, "one graphics process");
  IS_NUMBER(u32(0), 4713, "which is this one");
}

static void test_topology(void) {
  unsigned int value = 99;
  clean();
  IS_NUMBER(call("nvmlDeviceGetNvLinkRemotePciInfo_v2")(device(0), 5u, buffer), 0, "the last link");
  IS_NUMBER(u32(20), 0x85, "goes to GPU 4");
  IS_NUMBER(call("nvmlDeviceGetNvLinkState")(device(0), 6u, &value), 2, "there is no seventh link");
  call("nvmlDeviceGetNvLinkRemoteDeviceType")(device(0), 5u, &value);
  IS_NUMBER(value, 0, "the other end is a GPU");
  call("nvmlDeviceGetTopologyCommonAncestor")(device(0), device(1), &value);
  IS_NUMBER(value, 10, "0 and 1 share a switch");
  call("nvmlDeviceGetTopologyCommonAncestor")(device(0), device(7), &value);
  IS_NUMBER(value, 50, "0 and 7 share the system");
  call("nvmlDeviceGetP2PStatus")(device(0), device(7), 2u, &value);
  OK(value != 0, "0 and 7 have no NVLink");
  unsigned long set[3] = {9, 9, 9};
  call("nvmlDeviceGetCpuAffinity")(device(0), 2u, set);
  OK(set[0] == 0x0FFFFF00000FFFFFul && set[1] == 0 && set[2] == 9, "CPUs 0-19 and 40-59");
  call("nvmlDeviceGetMemoryAffinity")(device(4), 1u, set, 0u);
  OK(set[0] == 2, "GPU 4 is near NUMA node 1");
  IS_NUMBER(call("nvmlDeviceGetNumaNodeId")(device(4), &value), 13,
            "r550 only: FUNCTION_NOT_FOUND");
}

static void test_faults(void) {
  unsigned int value = 0;
  tool("lose 5");
  IS_NUMBER(call("nvmlDeviceGetTemperature")(device(4), 0u, &value), 0, "GPU 4 is there");
  void* handle = NULL;
  IS_NUMBER(call("nvmlDeviceGetHandleByIndex_v2")(5u, &handle), 15, "GPU 5 is lost");
  tool("restore 5");
  handle = device(5);
  tool("lose 5");
  IS_NUMBER(call("nvmlDeviceGetPowerUsage")(handle, &value), 15, "a handle does not help");
  tool("restore 5");
  tool("fail nvmlDeviceGetPowerUsage 10 5");
  IS_NUMBER(call("nvmlDeviceGetPowerUsage")(device(5), &value), 10, "a failure made to order");
  IS_NUMBER(call("nvmlDeviceGetPowerUsage")(device(4), &value), 0, "for one GPU only");
  tool("clear");
  IS_NUMBER(call("nvmlDeviceGetPowerUsage")(device(5), &value), 0, "and over");
}

int main(void) {
  char folder[] = "/tmp/rota-fakegpu-XXXXXX", state[64];
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(state, sizeof state, "%s/state", folder);
  library = dlopen(TEST_FAKEGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("Bail out! %s\n", dlerror());
    return 1;
  }
  use("dgx1-v100-32gb", "n1", state);
  test_start();
  test_text();
  test_pci();
  test_memory();
  test_processes();
  test_topology();
  test_faults();
  IS_NUMBER(call("nvmlShutdown")(), 0, "the last nvmlShutdown");
  IS_NUMBER(call("nvmlShutdown")(), 1, "and one too many: UNINITIALIZED");
  unlink(state);
  rmdir(folder);
  return tap_done();
}
