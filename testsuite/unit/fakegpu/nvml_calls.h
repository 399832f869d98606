// testsuite/unit/fakegpu/nvml_calls.h - calls into a loaded NVML by name, and the bytes they write.
#pragma once
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { guard = 0x5A, room = 4096 };
static void* library;
static unsigned char buffer[room];

typedef int (*AnyCall)();  // arguments as the caller writes them: here all are pointers or unsigned

static AnyCall call(const char* name) {
  AnyCall found = (AnyCall)dlsym(library, name);
  if (found == NULL) {
    printf("Bail out! %s is missing\n", name);
    exit(1);
  }
  return found;
}

static size_t written(void) {
  size_t end = sizeof buffer;
  while (end > 0 && buffer[end - 1] == guard) --end;
  return end;
}

static uint32_t u32(size_t offset) {
  uint32_t value;
  memcpy(&value, buffer + offset, sizeof value);
  return value;
}

static uint64_t u64(size_t offset) {
  uint64_t value;
  memcpy(&value, buffer + offset, sizeof value);
  return value;
}

static void clean(void) { memset(buffer, guard, sizeof buffer); }

static void* device(unsigned int index) {
  void* handle = NULL;
  call("nvmlDeviceGetHandleByIndex_v2")(index, &handle);
  return handle;
}
