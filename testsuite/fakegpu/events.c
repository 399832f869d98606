// testsuite/fakegpu/events.c - the fake NVML's events: told once to every set that waits for them.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"

struct NvmlEventSet {
  uint64_t types[fake_gpu_max];  // 0: not registered
  uint64_t since[fake_gpu_max];  // events up to this one were before its registration
  bool told_lost[fake_gpu_max];
  uint64_t seen;
};

static uint64_t supported_types(const Call* call) {
  const uint64_t newer = call->machine->driver_branch >= 565 ? nvml_event_recovery_action : 0;
  return nvml_event_single_bit | nvml_event_double_bit | nvml_event_xid | newer;
}

int nvmlEventSetCreate(NvmlEventSetHandle* set) {
  ENTER(call);
  if (set == NULL) return nvml_invalid_argument;
  *set = calloc(1, sizeof **set);
  return *set != NULL ? nvml_success : nvml_memory;
}

int nvmlEventSetFree(NvmlEventSetHandle set) {
  ENTER(call);
  if (set == NULL) return nvml_invalid_argument;
  free(set);
  return nvml_success;
}

int nvmlDeviceGetSupportedEventTypes(NvmlHandle device, unsigned long long* types) {
  ENTER_DEVICE(call, device);
  if (types == NULL) return nvml_invalid_argument;
  *types = supported_types(&call);
  return nvml_success;
}

int nvmlDeviceRegisterEvents(NvmlHandle device, unsigned long long types, NvmlEventSetHandle set) {
  ENTER_DEVICE(call, device);
  if (set == NULL || types == 0) return nvml_invalid_argument;
  if ((types & ~supported_types(&call)) != 0) return nvml_not_supported;
  fake_state_lock(call.state);
  set->since[call.index] = call.state->events.last;
  fake_state_unlock(call.state);
  set->types[call.index] |= types;
  return nvml_success;
}

// Locked: the next event that the set waits for. Those that the ring has lost meanwhile are lost.
static const FakeEvent* next_event(const FakeState* state, NvmlEventSetHandle set) {
  const FakeEvents* events = &state->events;
  if (set->seen + fake_event_max < events->last) set->seen = events->last - fake_event_max;
  while (set->seen < events->last) {
    const FakeEvent* event = &events->ring[++set->seen % fake_event_max];
    if (set->seen > set->since[event->gpu] && (set->types[event->gpu] & event->type) != 0) {
      return event;
    }
  }
  return NULL;
}

// Locked: whether a GPU of the set has been lost since it was told last.
static bool newly_lost(const FakeState* state, NvmlEventSetHandle set) {
  bool found = false;
  for (unsigned int i = 0; i < fake_gpu_max; ++i) {
    const bool lost = set->types[i] != 0 && state->gpus[i].lost != 0;
    found = found || (lost && !set->told_lost[i]);
    set->told_lost[i] = lost;
  }
  return found;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Sleeps for all of its time when there is nothing to tell: one that comes back early makes its
// callers spin.
static int wait_event(FakeState* state, NvmlEventSetHandle set, unsigned int timeout_ms,
                      NvmlEvent* event) {
  const int64_t deadline = now_ns() + (int64_t)timeout_ms * 1000000;
  for (;;) {
    fake_state_lock(state);
    const uint32_t changes = state->changes;
    const FakeEvent* found = next_event(state, set);
    const bool lost = found == NULL && newly_lost(state, set);
    if (found != NULL) {
      *event = (NvmlEvent){.device = handle_of(found->gpu),
                           .type = found->type,
                           .data = found->data,
                           .gpu_instance = found->gpu_instance,
                           .compute_instance = nvml_no_instance};
    }
    fake_state_unlock(state);
    if (found != NULL) return nvml_success;
    if (lost) return nvml_gpu_is_lost;
    const int64_t left = deadline - now_ns();
    if (left <= 0) return nvml_timeout;
    fake_state_wait_for(state, changes, left);
  }
}

int nvmlEventSetWait_v2(NvmlEventSetHandle set, NvmlEvent* event, unsigned int timeout_ms) {
  ENTER(call);
  if (set == NULL || event == NULL) return nvml_invalid_argument;
  return wait_event(call.state, set, timeout_ms, event);
}

int nvmlEventSetWait(NvmlEventSetHandle set, void* event, unsigned int timeout_ms) {
  ENTER(call);
  if (set == NULL || event == NULL) return nvml_invalid_argument;
  NvmlEvent full;
  const int code = wait_event(call.state, set, timeout_ms, &full);
  if (code == nvml_success) memcpy(event, &full, nvml_event_v1_size);
  return code;
}
