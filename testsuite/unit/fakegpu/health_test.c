// testsuite/unit/fakegpu/health_test.c - the fake NVML's events and counters byte by byte.
//
// Uses no declaration of ours, as abi_test.c.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nvml_calls.h"
#include "tap.h"

static char state[64];

static void put_u32(size_t offset, uint32_t value) {
  memcpy(buffer + offset, &value, sizeof value);
}

static int tool(const char* words) {
  char command[2048];
  snprintf(command, sizeof command, "%s %s >/dev/null 2>&1", TEST_FAKEGPU_TOOL, words);
  return WEXITSTATUS(system(command));
}

static void begin(const char* model) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.yaml", TEST_FAKEGPU_MODELS, model);
  setenv("ROTA_FAKEGPU", path, 1);
  setenv("ROTA_FAKEGPU_NODE", "n1", 1);
  setenv("ROTA_FAKEGPU_STATE", state, 1);
  IS_NUMBER(call("nvmlInit_v2")(), 0, model);
}

static void end(void) {
  call("nvmlShutdown")();
  unlink(state);
}

static int64_t elapsed_ms(struct timespec from) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000;
}

static void test_events(void) {
  begin("hgx-h100-80gb");
  void* set = NULL;
  unsigned long long types = 0;
  IS_NUMBER(call("nvmlEventSetCreate")(&set), 0, "an event set");
  IS_NUMBER(call("nvmlDeviceGetSupportedEventTypes")(device(3), &types), 0, "what can be told");
  OK((types & 8) != 0 && (types & 0x8000) == 0, "Xids; no recovery actions before r565");
  IS_NUMBER(call("nvmlDeviceRegisterEvents")(device(3), 0x8008ull, set), 3,
            "NOT_SUPPORTED for what cannot be told");
  tool("xid 3 13");
  IS_NUMBER(call("nvmlDeviceRegisterEvents")(device(3), 8ull, set), 0, "GPU 3 is registered");
  tool("xid 2 31");
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  clean();
  IS_NUMBER(call("nvmlEventSetWait_v2")(set, buffer, 200), 10,
            "TIMEOUT: another GPU's, and what came before");
  OK(elapsed_ms(start) >= 200, "after all of the time");
  IS_NUMBER(written(), 0, "nothing is written");
  tool("xid 3 48 pid=17 instance=5");
  IS_NUMBER(call("nvmlEventSetWait_v2")(set, buffer, 1000), 0, "an Xid");
  IS_NUMBER(written(), 32, "32 bytes");
  OK((void*)(uintptr_t)u64(0) == device(3), "of that GPU");
  IS_NUMBER(u64(8), 8, "of that type");
  IS_NUMBER(u64(16), 48, "with its number");
  IS_NUMBER(u32(24), 5, "of that instance");
  tool("xid 3 63");
  clean();
  IS_NUMBER(call("nvmlEventSetWait")(set, buffer, 1000), 0, "by the older call");
  IS_NUMBER(written(), 24, "24 bytes");
  // Another process injects while this one sleeps.
  const pid_t child = fork();
  if (child == 0) _exit(usleep(50000) == 0 ? tool("xid all 79") : 1);
  clock_gettime(CLOCK_MONOTONIC, &start);
  IS_NUMBER(call("nvmlEventSetWait_v2")(set, buffer, 20000), 0, "woken by another process");
  OK(elapsed_ms(start) < 10000, "at once");
  waitpid(child, NULL, 0);
  tool("lose 3");
  IS_NUMBER(call("nvmlEventSetWait_v2")(set, buffer, 10), 15, "GPU_IS_LOST");
  IS_NUMBER(call("nvmlEventSetWait_v2")(set, buffer, 10), 10, "once");
  IS_NUMBER(call("nvmlEventSetFree")(set), 0, "free");
  end();
}

static void test_counters(void) {
  begin("hgx-h100-80gb");
  unsigned int a = 9, b = 9, c = 9, d = 9;
  unsigned long long count = 9;
  IS_NUMBER(call("nvmlDeviceGetEccMode")(device(0), &a, &b), 0, "ECC");
  OK(a == 1 && b == 1, "is on");
  tool("ecc 0 uncorrected 2");
  tool("ecc 0 corrected 7 sram");
  call("nvmlDeviceGetTotalEccErrors")(device(0), 1u, 0u, &count);
  IS_NUMBER(count, 2, "uncorrected errors");
  call("nvmlDeviceGetMemoryErrorCounter")(device(0), 0u, 1u, 7u, &count);
  IS_NUMBER(count, 7, "corrected errors of the SRAM, in all");
  IS_NUMBER(call("nvmlDeviceGetMemoryErrorCounter")(device(0), 0u, 1u, 3u, &count), 3,
            "registers are not counted apart");
  tool("remap 0 pending");
  IS_NUMBER(call("nvmlDeviceGetRemappedRows")(device(0), &a, &b, &c, &d), 0, "remapped rows");
  OK(a == 0 && b == 0 && c == 1 && d == 0, "one is pending");
  IS_NUMBER(call("nvmlDeviceGetRetiredPagesPendingStatus")(device(0), &a), 3,
            "no pages are retired on Hopper");
  clean();
  put_u32(0, 0x01000068);
  IS_NUMBER(call("nvmlDeviceGetSramEccErrorStatus")(device(0), buffer), 0, "SRAM");
  IS_NUMBER(written(), 104, "104 bytes");
  IS_NUMBER(u32(96), 0, "not over its threshold");
  put_u32(0, 0x01000060);
  IS_NUMBER(call("nvmlDeviceGetSramEccErrorStatus")(device(0), buffer), 25, "VERSION_MISMATCH");
  clean();
  put_u32(0, 144);
  put_u32(40, 230);
  put_u32(80, 165), put_u32(84, 17);
  tool("link 0 17 down");
  IS_NUMBER(call("nvmlDeviceGetFieldValues")(device(0), 3, buffer), 0, "fields");
  OK(u32(28) == 0 && u32(24) == 1 && u32(32) == 1, "pending rows, as unsigned int");
  IS_NUMBER(u32(40 + 28), 3, "no recovery action before r565");
  OK(u32(80 + 28) == 0 && u32(80 + 32) == 0, "the state of link 17: down");
  call("nvmlDeviceGetNvLinkState")(device(0), 17u, &a);
  IS_NUMBER(a, 0, "the same by the other call");
  tool("add-process 0 77 1MiB");
  IS_NUMBER(tool("reset 0"), 1, "no reset while a process has it");
  tool("remove-process 0 77");
  IS_NUMBER(tool("reset 0"), 0, "a reset");
  call("nvmlDeviceGetRemappedRows")(device(0), &a, &b, &c, &d);
  OK(b == 1 && c == 0, "the row is remapped");
  call("nvmlDeviceGetTotalEccErrors")(device(0), 1u, 0u, &count);
  IS_NUMBER(count, 0, "volatile counters begin again");
  call("nvmlDeviceGetTotalEccErrors")(device(0), 1u, 1u, &count);
  IS_NUMBER(count, 2, "the others do not");
  call("nvmlDeviceGetTemperatureThreshold")(device(0), 1u, &a);
  OK(a > 50 && a < 120, "where it slows down");
  tool("set 0 clock-reasons=64");
  call("nvmlDeviceGetCurrentClocksEventReasons")(device(0), &count);
  IS_NUMBER(count, 64, "why its clocks are low");
  end();
}

static void test_volta(void) {
  begin("dgx1-v100-32gb");
  unsigned int a = 9, b = 9, c = 9, d = 9;
  unsigned long long addresses[4];
  tool("remap 5 pending");
  call("nvmlDeviceGetRetiredPagesPendingStatus")(device(5), &a);
  IS_NUMBER(a, 1, "a page is to be retired");
  IS_NUMBER(call("nvmlDeviceGetRemappedRows")(device(5), &a, &b, &c, &d), 3, "no rows on Volta");
  tool("reset 5");
  a = 0;
  IS_NUMBER(call("nvmlDeviceGetRetiredPages")(device(5), 1u, &a, NULL), 7, "INSUFFICIENT_SIZE");
  IS_NUMBER(call("nvmlDeviceGetRetiredPages")(device(5), 1u, &a, addresses), 0, "with room");
  IS_NUMBER(a, 1, "one page");
  end();
}

static void test_old_names(void) {
  void* old = dlopen(TEST_FAKEGPU_DIR "/r470/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  OK(old != NULL, "driver 470");
  if (old == NULL) return;
  OK(dlsym(old, "nvmlEventSetWait_v2") != NULL, "has events");
  OK(dlsym(old, "nvmlDeviceGetSramEccErrorStatus") == NULL, "has no status of the SRAM");
  OK(dlsym(old, "nvmlDeviceGetCurrentClocksEventReasons") == NULL, "knows throttling by its old");
  OK(dlsym(old, "nvmlDeviceGetCurrentClocksThrottleReasons") != NULL, "name");

  void* middle = dlopen(TEST_FAKEGPU_DIR "/r535/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  OK(middle != NULL, "driver 535");
  if (middle == NULL) return;
  OK(dlsym(middle, "nvmlDeviceGetSramEccErrorStatus") != NULL, "has it");
  OK(dlsym(middle, "nvmlDeviceGetNumaNodeId") == NULL, "and tells no NUMA node (550)");

  void* recent = dlopen(TEST_FAKEGPU_DIR "/r580/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  OK(recent != NULL, "driver 580");
  if (recent == NULL) return;
  OK(dlsym(recent, "nvmlDeviceGetNumaNodeId") != NULL, "does");
  OK(dlsym(recent, "nvmlDeviceSetMemoryLimits_v1") == NULL, "and limits no memory (615)");
  OK(dlsym(library, "nvmlDeviceSetMemoryLimits_v1") != NULL, "which the newest does");
}

int main(void) {
  char folder[] = "/tmp/rota-fakegpu-XXXXXX";
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(state, sizeof state, "%s/state", folder);
  library = dlopen(TEST_FAKEGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("Bail out! %s\n", dlerror());
    return 1;
  }
  test_events();
  test_counters();
  test_volta();
  test_old_names();
  rmdir(folder);
  return tap_done();
}
