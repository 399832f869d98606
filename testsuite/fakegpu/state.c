// testsuite/fakegpu/state.c - the shared file behind the simulated GPUs.
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { state_magic = 0x52464750, state_version = 1 };

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void make(FakeState* state, const FakeDescription* description) {
  memset(state, 0, sizeof *state);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&state->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  for (unsigned int i = 0; i < fake_gpu_max; ++i) {
    FakeGpuState* gpu = &state->gpus[i];
    gpu->temperature = (uint32_t)description->temperature_idle;
    gpu->power_mw = (uint32_t)description->power_idle_mw;
    gpu->energy_ns = now_ns();
    gpu->persistence_mode = 1;
  }
  state->version = state_version;
  state->size = sizeof *state;
  __atomic_store_n(&state->magic, state_magic, __ATOMIC_RELEASE);
}

// The file is locked. Gives it its size and first content unless it has them.
static FakeState* map_file(int fd, const FakeDescription* description, const char** problem) {
  struct stat status;
  if (fstat(fd, &status) != 0) return NULL;
  if (status.st_size != 0 && status.st_size != sizeof(FakeState)) {
    *problem = "not a state file of this version; remove it";
    return NULL;
  }
  // Jobs of other users look at the same GPUs.
  if (status.st_size == 0 && (fchmod(fd, 0666) != 0 || ftruncate(fd, sizeof(FakeState)) != 0)) {
    return NULL;
  }
  FakeState* state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (state == MAP_FAILED) return NULL;
  if (state->magic == 0) make(state, description);
  if (state->magic != state_magic || state->version != state_version ||
      state->size != sizeof *state) {
    munmap(state, sizeof *state);
    *problem = "not a state file of this version; remove it";
    return NULL;
  }
  return state;
}

FakeState* fake_state_open(const char* path, const FakeDescription* description, char* error,
                           size_t error_size) {
  FakeState* state = NULL;
  const char* problem = NULL;
  if (path == NULL || path[0] == '\0') {
    path = "state";
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED) state = NULL;
    if (state != NULL) make(state, description);
  } else {
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) state = map_file(fd, description, &problem);
    const int saved = errno;
    if (fd >= 0) {
      flock(fd, LOCK_UN);  // the mapping would keep it, whatever close() does
      close(fd);
    }
    errno = saved;
  }
  if (state == NULL) {
    snprintf(error, error_size, "%s: %s", path, problem != NULL ? problem : strerror(errno));
  }
  return state;
}

void fake_state_lock(FakeState* state) {
  if (pthread_mutex_lock(&state->lock) == EOWNERDEAD) pthread_mutex_consistent(&state->lock);
}

void fake_state_unlock(FakeState* state) { pthread_mutex_unlock(&state->lock); }

void fake_state_changed(FakeState* state) {
  __atomic_add_fetch(&state->changes, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &state->changes, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

void fake_state_wait(FakeState* state, uint32_t seen) {
  syscall(SYS_futex, &state->changes, FUTEX_WAIT, seen, NULL, NULL, 0);
}

uint64_t fake_state_memory_used(const FakeGpuState* gpu) {
  uint64_t used = gpu->memory_used_bytes;
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    if (gpu->processes[i].pid != 0) used += gpu->processes[i].memory_bytes;
  }
  return used;
}

static uint64_t energy_uj(const FakeGpuState* gpu) {
  // mW x ns = 1e-6 uJ; in microseconds first, so that it does not overflow within years.
  return gpu->energy_uj + (now_ns() - gpu->energy_ns) / 1000 * gpu->power_mw / 1000;
}

uint64_t fake_state_energy_mj(const FakeGpuState* gpu) { return energy_uj(gpu) / 1000; }

void fake_state_set_power(FakeGpuState* gpu, uint32_t power_mw) {
  gpu->energy_uj = energy_uj(gpu);
  gpu->energy_ns = now_ns();
  gpu->power_mw = power_mw;
}
