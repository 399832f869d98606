// testsuite/fakegpu/state.c - the shared file behind the simulated GPUs.
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { state_magic = 0x52464750, state_version = 6 };

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
  for (unsigned int i = 0; i < fake_life_max; ++i) {
    pthread_mutex_init(&state->lives[i].lock, &attributes);
  }
  pthread_mutexattr_destroy(&attributes);
  for (unsigned int i = 0; i < fake_gpu_max; ++i) {
    FakeGpuState* gpu = &state->gpus[i];
    gpu->temperature = (uint32_t)description->devices[i].gpu.temperature_idle;
    gpu->power_mw = (uint32_t)description->devices[i].gpu.power_idle_mw;
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

void fake_state_wait_for(FakeState* state, uint32_t seen, int64_t nanoseconds) {
  const struct timespec limit = {.tv_sec = nanoseconds / 1000000000,
                                 .tv_nsec = nanoseconds % 1000000000};
  syscall(SYS_futex, &state->changes, FUTEX_WAIT, seen, &limit, NULL, 0);
}

void fake_state_add_event(FakeState* state, FakeEvent event) {
  state->events.ring[++state->events.last % fake_event_max] = event;
}

// Locked. A life whose lock can be had is over.
static bool is_alive(FakeLife* life) {
  if (!life->taken) return false;
  const int code = pthread_mutex_trylock(&life->lock);
  if (code == EBUSY) return true;
  if (code == EOWNERDEAD) pthread_mutex_consistent(&life->lock);
  if (code == 0 || code == EOWNERDEAD) pthread_mutex_unlock(&life->lock);
  life->taken = 0;
  return false;
}

typedef struct {
  FakeState* state;
  uint32_t life;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool settled;
} Birth;

// Locked: what the last owner of a life held.
static void forget_life(FakeState* state, uint32_t life) {
  for (unsigned int i = 0; i < fake_gpu_max; ++i) {
    for (unsigned int j = 0; j < fake_process_max; ++j) {
      FakeProcess* process = &state->gpus[i].processes[j];
      if (process->pid != 0 && process->life == life) *process = (FakeProcess){0};
    }
  }
}

// The thread that holds the lock: it does nothing else.
static void* live(void* argument) {
  Birth* birth = argument;
  FakeState* state = birth->state;
  fake_state_lock(state);
  for (uint32_t i = 0; i < fake_life_max && birth->life == 0; ++i) {
    FakeLife* life = &state->lives[i];
    if (is_alive(life) || pthread_mutex_trylock(&life->lock) != 0) continue;
    life->taken = 1;
    birth->life = i + 1;
    forget_life(state, birth->life);
  }
  fake_state_unlock(state);
  const uint32_t life = birth->life;
  pthread_mutex_lock(&birth->lock);
  birth->settled = true;
  pthread_cond_signal(&birth->changed);
  pthread_mutex_unlock(&birth->lock);
  while (life != 0) pause();
  return NULL;
}

uint32_t fake_state_live(FakeState* state) {
  Birth birth = {
      .state = state, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are not for our thread
  const int code = pthread_create(&thread, NULL, live, &birth);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (code != 0) return 0;
  pthread_detach(thread);
  pthread_mutex_lock(&birth.lock);
  while (!birth.settled) pthread_cond_wait(&birth.changed, &birth.lock);
  pthread_mutex_unlock(&birth.lock);
  return birth.life;
}

void fake_state_reap(FakeState* state, FakeGpuState* gpu) {
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    FakeProcess* process = &gpu->processes[i];
    if (process->pid == 0 || process->life == 0) continue;
    if (!is_alive(&state->lives[process->life - 1])) *process = (FakeProcess){0};
  }
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
