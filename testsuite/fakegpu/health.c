// testsuite/fakegpu/health.c - the fake NVML's answers to: is a device well?
#include <string.h>
#include <time.h>

#include "core.h"

// Of every model: what differs between boards does not matter to who compares.
enum { shutdown_celsius = 95, slowdown_celsius = 90, memory_celsius = 95, gpu_celsius = 87 };
enum { all_clock_reasons = 0x1FF };

static FakeHealth health_of(const Call* call) {
  fake_state_lock(call->state);
  const FakeHealth health = call->gpu->health;
  fake_state_unlock(call->state);
  return health;
}

static bool remaps_rows(const Call* call) {
  return call->device->gpu.architecture >= nvml_arch_ampere;
}

int nvmlDeviceGetEccMode(NvmlHandle device, unsigned int* current, unsigned int* pending) {
  ENTER_DEVICE(call, device);
  if (current == NULL || pending == NULL) return nvml_invalid_argument;
  *current = *pending = 1;
  return nvml_success;
}

int nvmlDeviceGetTotalEccErrors(NvmlHandle device, unsigned int kind, unsigned int counter,
                                unsigned long long* count) {
  ENTER_DEVICE(call, device);
  if (kind > 1 || counter > 1 || count == NULL) return nvml_invalid_argument;
  const FakeHealth health = health_of(&call);
  *count = health.dram_errors[kind][counter] + health.sram_errors[kind][counter];
  return nvml_success;
}

int nvmlDeviceGetMemoryErrorCounter(NvmlHandle device, unsigned int kind, unsigned int counter,
                                    unsigned int location, unsigned long long* count) {
  ENTER_DEVICE(call, device);
  if (kind > 1 || counter > 1 || location > nvml_memory_sram || count == NULL) {
    return nvml_invalid_argument;
  }
  const FakeHealth health = health_of(&call);
  // Newer GPUs count their SRAM as one, older ones where it is: ours is then the L2 cache.
  const unsigned int sram = remaps_rows(&call) ? nvml_memory_sram : nvml_memory_l2;
  if (location != sram && location != nvml_memory_dram) return nvml_not_supported;
  *count = location == sram ? health.sram_errors[kind][counter] : health.dram_errors[kind][counter];
  return nvml_success;
}

int nvmlDeviceGetSramEccErrorStatus(NvmlHandle device, NvmlSramStatus* status) {
  ENTER_DEVICE(call, device);
  SINCE(call, 535);
  if (status == NULL) return nvml_invalid_argument;
  if (status->version != nvml_sram_status_version) return nvml_argument_version_mismatch;
  if (!remaps_rows(&call)) return nvml_not_supported;
  const FakeHealth health = health_of(&call);
  memset(status, 0, sizeof *status);
  status->version = nvml_sram_status_version;
  status->aggregate_sec_ded = health.sram_errors[nvml_ecc_uncorrected][nvml_ecc_aggregate];
  status->aggregate_corrected = health.sram_errors[nvml_ecc_corrected][nvml_ecc_aggregate];
  status->volatile_sec_ded = health.sram_errors[nvml_ecc_uncorrected][nvml_ecc_volatile];
  status->volatile_corrected = health.sram_errors[nvml_ecc_corrected][nvml_ecc_volatile];
  status->aggregate_buckets[0] = status->aggregate_sec_ded;
  status->threshold_exceeded = health.sram_exceeded;
  return nvml_success;
}

int nvmlDeviceGetRemappedRows(NvmlHandle device, unsigned int* corrected, unsigned int* uncorrected,
                              unsigned int* pending, unsigned int* failed) {
  ENTER_DEVICE(call, device);
  if (corrected == NULL || uncorrected == NULL || pending == NULL || failed == NULL) {
    return nvml_invalid_argument;
  }
  if (!remaps_rows(&call)) return nvml_not_supported;
  const FakeHealth health = health_of(&call);
  *corrected = health.rows_remapped[nvml_ecc_corrected];
  *uncorrected = health.rows_remapped[nvml_ecc_uncorrected];
  *pending = health.remap_pending;
  *failed = health.remap_failed;
  return nvml_success;
}

// Causes: 0 several corrected errors, 1 an uncorrected one.
static int list_pages(const Call* call, unsigned int cause, unsigned int* count,
                      unsigned long long* addresses, unsigned long long* timestamps) {
  if (cause > 1 || count == NULL || (*count > 0 && addresses == NULL)) return nvml_invalid_argument;
  if (remaps_rows(call)) return nvml_not_supported;
  const unsigned int needed = health_of(call).pages_retired[cause];
  const unsigned int room = *count;
  *count = needed;
  if (needed > room) return nvml_insufficient_size;
  for (unsigned int i = 0; i < needed; ++i) {
    addresses[i] = 0x10000ull * (i + 1);
    if (timestamps != NULL) timestamps[i] = 0;
  }
  return nvml_success;
}

int nvmlDeviceGetRetiredPages(NvmlHandle device, unsigned int cause, unsigned int* count,
                              unsigned long long* addresses) {
  ENTER_DEVICE(call, device);
  return list_pages(&call, cause, count, addresses, NULL);
}

int nvmlDeviceGetRetiredPages_v2(NvmlHandle device, unsigned int cause, unsigned int* count,
                                 unsigned long long* addresses, unsigned long long* timestamps) {
  ENTER_DEVICE(call, device);
  return list_pages(&call, cause, count, addresses, timestamps);
}

int nvmlDeviceGetRetiredPagesPendingStatus(NvmlHandle device, unsigned int* pending) {
  ENTER_DEVICE(call, device);
  if (pending == NULL) return nvml_invalid_argument;
  if (remaps_rows(&call)) return nvml_not_supported;
  *pending = health_of(&call).retirement_pending;
  return nvml_success;
}

int nvmlDeviceGetTemperatureThreshold(NvmlHandle device, unsigned int kind, unsigned int* celsius) {
  ENTER_DEVICE(call, device);
  static const unsigned int thresholds[] = {shutdown_celsius, slowdown_celsius, memory_celsius,
                                            gpu_celsius};
  if (celsius == NULL || kind >= sizeof thresholds / sizeof *thresholds) {
    return nvml_invalid_argument;
  }
  *celsius = thresholds[kind];
  return nvml_success;
}

static int give_reasons(const Call* call, unsigned long long* reasons) {
  if (reasons == NULL) return nvml_invalid_argument;
  *reasons = health_of(call).clock_reasons;
  return nvml_success;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(NvmlHandle device, unsigned long long* reasons) {
  ENTER_DEVICE(call, device);
  return give_reasons(&call, reasons);
}

int nvmlDeviceGetCurrentClocksEventReasons(NvmlHandle device, unsigned long long* reasons) {
  ENTER_DEVICE(call, device);
  SINCE(call, 535);
  return give_reasons(&call, reasons);
}

static int give_known_reasons(unsigned long long* reasons) {
  if (reasons == NULL) return nvml_invalid_argument;
  *reasons = all_clock_reasons;
  return nvml_success;
}

int nvmlDeviceGetSupportedClocksThrottleReasons(NvmlHandle device, unsigned long long* reasons) {
  ENTER_DEVICE(call, device);
  return give_known_reasons(reasons);
}

int nvmlDeviceGetSupportedClocksEventReasons(NvmlHandle device, unsigned long long* reasons) {
  ENTER_DEVICE(call, device);
  SINCE(call, 535);
  return give_known_reasons(reasons);
}

static int give_uint(NvmlFieldValue* value, unsigned int number) {
  value->value_type = nvml_value_uint;
  value->value.as_uint = number;
  return nvml_success;
}

static int give_field(const Call* call, NvmlHandle device, NvmlFieldValue* value) {
  const FakeHealth health = health_of(call);
  const uint64_t branch = call->machine->driver_branch;
  unsigned int number = 0;
  switch (value->field) {
    case nvml_field_memory_temperature:
      fake_state_lock(call->state);
      number = call->gpu->temperature;
      fake_state_unlock(call->state);
      return remaps_rows(call) ? give_uint(value, number) : nvml_not_supported;
    case nvml_field_energy:
      value->value_type = nvml_value_ull;
      return nvmlDeviceGetTotalEnergyConsumption(device, &value->value.as_ull);
    case nvml_field_remap_pending:
    case nvml_field_remap_failed:
      if (!remaps_rows(call)) return nvml_not_supported;
      return give_uint(value, value->field == nvml_field_remap_pending ? health.remap_pending
                                                                       : health.remap_failed);
    case nvml_field_nvlink_state: {
      const int code = nvmlDeviceGetNvLinkState(device, value->scope, &number);
      return code == nvml_success ? give_uint(value, number) : code;
    }
    case nvml_field_recovery_action:
      return branch >= 565 ? give_uint(value, health.recovery_action) : nvml_not_supported;
    default: {
      unsigned long long answer = 0;
      const int code = fake_mig_field(call, value->field, &answer);
      return code == nvml_success ? give_uint(value, (unsigned int)answer) : code;
    }
  }
}

int nvmlDeviceGetFieldValues(NvmlHandle device, int count, NvmlFieldValue* values) {
  ENTER_DEVICE(call, device);
  if (count <= 0 || values == NULL) return nvml_invalid_argument;
  for (int i = 0; i < count; ++i) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    values[i].timestamp_us = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    values[i].latency_us = 0;
    values[i].result = (unsigned int)give_field(&call, device, &values[i]);
  }
  return nvml_success;
}
