// testsuite/fakegpu/limits.c - r615's limits: what the processes of one cgroup may hold of a GPU.
#include <stdio.h>
#include <string.h>

#include "state.h"

// The directory of the cgroup v2 that this process is in; false: there is none.
static bool own_cgroup(char* path, size_t size) {
  char line[1024], root[512] = "", type[64];
  FILE* mounts = fopen("/proc/self/mounts", "re");
  while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
    if (sscanf(line, "%*s %511s %63s", root, type) == 2 && strcmp(type, "cgroup2") == 0) break;
    root[0] = '\0';
  }
  if (mounts != NULL) fclose(mounts);
  FILE* own = root[0] != '\0' ? fopen("/proc/self/cgroup", "re") : NULL;
  if (own == NULL) return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, own) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    found = strncmp(line, "0::/", 4) == 0 &&
            (size_t)snprintf(path, size, "%s%s", root, line + 3) < size;
  }
  fclose(own);
  return found;
}

FakeLimit* fake_limit_find(FakeState* state, const char* cgroup, uint32_t gpu) {
  for (unsigned int i = 0; i < fake_limit_max; ++i) {
    FakeLimit* limit = &state->limits[i];
    if (limit->hard_bytes != 0 && limit->gpu == gpu && strcmp(limit->cgroup, cgroup) == 0)
      return limit;
  }
  return NULL;
}

FakeLimit* fake_limit_new(FakeState* state) {
  for (unsigned int i = 0; i < fake_limit_max; ++i)
    if (state->limits[i].hard_bytes == 0) return &state->limits[i];
  return NULL;
}

// The nearest one above counts, as with the driver's "misc" back end.
uint32_t fake_limit_of_self(FakeState* state, uint32_t gpu) {
  char path[1024];
  if (!own_cgroup(path, sizeof path)) return 0;
  for (char* slash; (slash = strrchr(path, '/')) != NULL; *slash = '\0') {
    const FakeLimit* limit = fake_limit_find(state, path, gpu);
    if (limit != NULL) return (uint32_t)(limit - state->limits) + 1;
  }
  return 0;
}

uint64_t fake_limit_used(const FakeGpuState* gpu, uint32_t limit) {
  uint64_t used = 0;
  for (unsigned int i = 0; i < fake_process_max; ++i)
    if (gpu->processes[i].pid != 0 && gpu->processes[i].limit == limit)
      used += gpu->processes[i].memory_bytes;
  return used;
}
