// testsuite/fakegpu/health.h - what can be wrong with a simulated GPU, and what it has to tell.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t dram_errors[2][2];  // [corrected, uncorrected][volatile, aggregate], as NVML counts them
  uint64_t sram_errors[2][2];
  uint32_t sram_exceeded;
  uint32_t rows_remapped[2];  // by kind of error; Ampere and newer
  uint32_t remap_pending;
  uint32_t remap_failed;
  uint32_t pages_retired[2];  // older than Ampere
  uint32_t retirement_pending;
  uint32_t recovery_action;
  uint64_t clock_reasons;
  uint64_t links_down;  // one bit per link
  uint32_t reset_count;
} FakeHealth;

// Something that a driver tells to who has registered for it.
enum { fake_event_max = 256 };
typedef struct {
  uint64_t type;
  uint64_t data;
  uint32_t gpu;
  uint32_t gpu_instance;
} FakeEvent;

// A ring: event number n, counted from 1, lies in place n % fake_event_max.
typedef struct {
  uint64_t last;
  FakeEvent ring[fake_event_max];
} FakeEvents;

#ifdef __cplusplus
}
#endif
