// testsuite/fakegpu/state.h - what the simulated GPUs do now: one file, seen by several processes.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "description.h"
#include "health.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  fake_process_max = 64,
  fake_life_max = 256,
  fake_fault_max = 16,
  fake_limit_max = 64,
  fake_call_size = 64
};
enum { fake_gpu_instance_max = 16, fake_compute_instance_max = 8 };
enum { fake_compute = 1, fake_graphics = 2, fake_mps = 3 };
enum { fake_fault_none = 0, fake_fault_hang = 1, fake_fault_fail = 2 };

typedef struct {
  uint32_t pid;  // 0: a free place
  uint32_t kind;
  uint64_t memory_bytes;
  uint32_t life;   // place + 1 in FakeState.lives of a real process; 0: put here by rota-fakegpu
  uint32_t load;   // percent of the GPU's time that it uses
  uint32_t limit;  // place + 1 in FakeState.limits of its cgroup's; 0: none
  uint32_t gpu_instance;      // id + 1 of the MIG instance that it is in; 0: none
  uint32_t compute_instance;  // the same
} FakeProcess;

// MIG instances. A serial is never given twice, so that a handle of one that is gone finds nothing.
typedef struct {
  uint32_t serial;  // 0: a free place
  uint32_t id;
  uint32_t profile;  // its index, which for compute instances is its id too
  uint32_t start;    // slices of compute
  uint32_t size;
  uint32_t slot;  // as nvmlDeviceGetMigDeviceHandleByIndex counts
} FakeComputeInstance;

typedef struct {
  uint32_t serial;
  uint32_t id;
  uint32_t profile;  // place in FakeMig.profiles
  uint32_t start;    // slices of memory
  uint32_t size;
  FakeComputeInstance computes[fake_compute_instance_max];
} FakeGpuInstance;

typedef struct {
  uint32_t mode;
  uint32_t pending;
  uint32_t latency_ms;  // of what makes and ends instances
  FakeGpuInstance instances[fake_gpu_instance_max];
} FakeMigState;

typedef struct {
  uint32_t utilization_gpu;  // percent
  uint32_t utilization_memory;
  uint32_t temperature;
  uint32_t power_mw;
  uint32_t lost;
  uint32_t fabric_down;  // its links to switches are up, but lead nowhere
  uint32_t persistence_mode;
  uint32_t compute_mode;
  uint64_t memory_used_bytes;  // beside what the processes hold
  uint64_t memory_high_bytes;  // the most that was in use at once, CUDA's processes included
  uint64_t energy_uj;          // up to energy_ns
  uint64_t energy_ns;
  FakeProcess processes[fake_process_max];
  FakeMigState mig;
  FakeHealth health;
} FakeGpuState;

// A process that uses CUDA. One of its threads holds the lock to the end: the kernel tells when the
// process is gone, by exec and kill -9 too, and to every PID namespace.
typedef struct {
  uint32_t taken;
  pthread_mutex_t lock;
} FakeLife;

// A call that shall not work: `call` is an NVML function or "*", `gpu` an index or -1 for every GPU
// and the calls without one.
typedef struct {
  char call[fake_call_size];
  int32_t gpu;
  uint32_t kind;
  int32_t code;  // what a failing call returns
} FakeFault;

// What the processes of a cgroup may hold of a GPU.
typedef struct {
  char cgroup[512];
  uint32_t gpu;
  uint64_t soft_bytes;
  uint64_t hard_bytes;  // 0: a free place
} FakeLimit;

typedef struct {
  uint32_t magic;  // written last: a file without it was never finished
  uint32_t version;
  uint32_t size;
  uint32_t changes;  // a futex: hanging calls wait for the next change
  pthread_mutex_t lock;
  FakeLife lives[fake_life_max];
  FakeFault faults[fake_fault_max];
  FakeLimit limits[fake_limit_max];
  FakeGpuState gpus[fake_gpu_max];
  uint32_t mig_serials;  // given so far
  FakeEvents events;
} FakeState;

/// Maps the state in `path`, made from `description` if it is not there yet; NULL or "" gives one
/// that only this process has. NULL, with one line in `error`, on failure. Never unmapped: a
/// hanging call may still look at it.
FakeState* fake_state_open(const char* path, const FakeDescription* description, char* error,
                           size_t error_size);

/// A holder that died with the lock is forgiven: every change is one small step.
void fake_state_lock(FakeState* state);
void fake_state_unlock(FakeState* state);

/// After a change, locked: lets hanging calls look again.
void fake_state_changed(FakeState* state);
/// Waits, not locked, until the state has changed since `seen` was read from `changes`.
void fake_state_wait(FakeState* state, uint32_t seen);
/// The same for at most so long.
void fake_state_wait_for(FakeState* state, uint32_t seen, int64_t nanoseconds);

/// Locked: something that the GPU tells to who has registered for it.
void fake_state_add_event(FakeState* state, FakeEvent event);

/// Not locked: this process lives from now on, until exec or its end. Its life, or 0: no place.
uint32_t fake_state_live(FakeState* state);
/// Locked: forgets what real processes held that are gone, however they went.
void fake_state_reap(FakeState* state, FakeGpuState* gpu);

/// Locked: memory in use, by processes and otherwise.
uint64_t fake_state_memory_used(const FakeGpuState* gpu);
/// Locked, all four: the limit of that cgroup itself, or NULL; a free place, or NULL; place + 1 of
/// the one that counts for this process, or 0; what its processes hold.
FakeLimit* fake_limit_find(FakeState* state, const char* cgroup, uint32_t gpu);
FakeLimit* fake_limit_new(FakeState* state);
uint32_t fake_limit_of_self(FakeState* state, uint32_t gpu);
uint64_t fake_limit_used(const FakeGpuState* gpu, uint32_t limit);

/// Locked: energy used so far; a change of power counts from now on.
uint64_t fake_state_energy_mj(const FakeGpuState* gpu);
void fake_state_set_power(FakeGpuState* gpu, uint32_t power_mw);

#ifdef __cplusplus
}
#endif
