// testsuite/fakegpu/mig_state.c - the rules of MIG: interval by interval, number by number.
#include "mig_state.h"

#include <stdio.h>
#include <string.h>

#include "gpud/inventory/nvml_mig_abi.h"

bool fake_mig_can(const FakeDevice* device) { return device->gpu.mig.slices > 0; }

static bool is_idle(const FakeMigGpu* on) {
  fake_state_reap(on->state, on->gpu);
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    if (on->gpu->processes[i].pid != 0) return false;
  }
  return true;
}

static bool has_instances(const FakeMigGpu* on) {
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    if (on->gpu->mig.instances[i].serial != 0) return true;
  }
  return false;
}

int fake_mig_set_mode(FakeMigGpu on, uint32_t mode, int* activation) {
  FakeMigState* mig = &on.gpu->mig;
  if (!fake_mig_can(on.device)) return nvml_not_supported;
  if (mode > nvml_mig_on) return nvml_invalid_argument;
  *activation = nvml_success;
  mig->pending = mode;
  if (mig->mode == mode) return nvml_success;
  if (!is_idle(&on) || has_instances(&on)) {
    *activation = nvml_in_use;
  } else if (on.device->gpu.architecture < nvml_arch_hopper) {
    *activation = nvml_reset_required;
  } else {
    mig->mode = mode;
  }
  return nvml_success;
}

int fake_mig_reset(FakeMigGpu on) {
  if (!is_idle(&on)) return nvml_in_use;
  const uint32_t pending = on.gpu->mig.pending, latency = on.gpu->mig.latency_ms;
  memset(&on.gpu->mig, 0, sizeof on.gpu->mig);
  on.gpu->mig.mode = on.gpu->mig.pending = pending;
  on.gpu->mig.latency_ms = latency;
  return nvml_success;
}

const FakeMigProfile* fake_mig_profile_of(const FakeMigGpu* on, const FakeGpuInstance* instance) {
  return &on->device->gpu.mig.profiles[instance->profile];
}

const FakeMigProfile* fake_mig_profile_by_id(const FakeDevice* device, uint64_t id) {
  const FakeMig* mig = &device->gpu.mig;
  for (unsigned int i = 0; i < mig->profile_count; ++i) {
    if (mig->profiles[i].id == id) return &mig->profiles[i];
  }
  return NULL;
}

const FakeMigProfile* fake_mig_profile_by_index(const FakeDevice* device, uint64_t index) {
  const FakeMig* mig = &device->gpu.mig;
  for (unsigned int i = 0; i < mig->profile_count; ++i) {
    if (mig->profiles[i].index == index) return &mig->profiles[i];
  }
  return NULL;
}

// ---- where instances lie ----

static uint32_t mask_of(uint64_t start, uint64_t size) {
  return (uint32_t)(((1ull << size) - 1) << start);
}

static uint32_t mask_taken(const FakeMigGpu* on) {
  uint32_t taken = 0;
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    const FakeGpuInstance* instance = &on->gpu->mig.instances[i];
    if (instance->serial != 0) taken |= mask_of(instance->start, instance->size);
  }
  return taken;
}

static uint32_t count_of(const FakeMigGpu* on, const FakeMigProfile* profile) {
  uint32_t count = 0;
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    const FakeGpuInstance* instance = &on->gpu->mig.instances[i];
    count += instance->serial != 0 && fake_mig_profile_of(on, instance) == profile;
  }
  return count;
}

// Places of one profile either are the same or do not touch, so taking them in any order counts
// right.
uint32_t fake_mig_room(const FakeMigGpu* on, const FakeMigProfile* profile) {
  const uint32_t taken = mask_taken(on);
  const uint32_t left = (uint32_t)profile->max - count_of(on, profile);
  uint32_t room = 0;
  for (unsigned int i = 0; i < profile->start_count; ++i) {
    room += (taken & mask_of(profile->starts[i], profile->size)) == 0;
  }
  return room < left ? room : left;
}

// The driver's numbers: the whole is 0, halves 1 and 2, quarters 3 to 6, eighths 7 to 14. On some
// boards the two halves count the other way round.
static uint32_t number_of(const FakeMig* mig, uint64_t start, uint64_t size) {
  const uint32_t parts = (uint32_t)(mig->slices / size);
  uint32_t at = (uint32_t)(start / size);
  if (mig->halves_swapped) at ^= parts / 2;
  return parts - 1 + at;
}

static int legal_start(const FakeMigGpu* on, const FakeMigProfile* profile, int start,
                       unsigned int* found) {
  const uint32_t taken = mask_taken(on);
  bool known = false;
  for (unsigned int i = 0; i < profile->start_count; ++i) {
    if (start != fake_mig_anywhere && profile->starts[i] != (unsigned int)start) continue;
    known = true;
    if (taken & mask_of(profile->starts[i], profile->size)) continue;
    *found = profile->starts[i];
    return nvml_success;
  }
  return known ? nvml_insufficient_resources : nvml_invalid_argument;
}

int fake_mig_create(FakeMigGpu on, const FakeMigProfile* profile, int start,
                    FakeGpuInstance** made) {
  const FakeMig* mig = &on.device->gpu.mig;
  unsigned int at = 0;
  if (on.gpu->mig.mode == 0) return nvml_not_supported;
  if (count_of(&on, profile) >= profile->max) return nvml_insufficient_resources;
  const int code = legal_start(&on, profile, start, &at);
  if (code != nvml_success) return code;
  FakeGpuInstance* place = on.gpu->mig.instances;
  while (place < on.gpu->mig.instances + fake_gpu_instance_max && place->serial != 0) ++place;
  if (place == on.gpu->mig.instances + fake_gpu_instance_max) return nvml_insufficient_resources;
  *place = (FakeGpuInstance){.serial = ++on.state->mig_serials,
                             .id = number_of(mig, at, profile->size),
                             .profile = (uint32_t)(profile - mig->profiles),
                             .start = at,
                             .size = (uint32_t)profile->size};
  *made = place;
  return nvml_success;
}

static bool is_held(const FakeMigGpu* on, const FakeGpuInstance* instance,
                    const FakeComputeInstance* compute) {
  fake_state_reap(on->state, on->gpu);
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    const FakeProcess* process = &on->gpu->processes[i];
    if (process->pid == 0 || process->gpu_instance != instance->id + 1) continue;
    if (compute == NULL || process->compute_instance == compute->id + 1) return true;
  }
  return false;
}

int fake_mig_destroy(FakeMigGpu on, FakeGpuInstance* instance) {
  for (unsigned int i = 0; i < fake_compute_instance_max; ++i) {
    if (instance->computes[i].serial != 0) return nvml_in_use;
  }
  if (is_held(&on, instance, NULL)) return nvml_in_use;
  *instance = (FakeGpuInstance){0};
  return nvml_success;
}

FakeGpuInstance* fake_mig_find(const FakeMigGpu* on, uint32_t serial) {
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    FakeGpuInstance* instance = &on->gpu->mig.instances[i];
    if (instance->serial != 0 && instance->serial == serial) return instance;
  }
  return NULL;
}

FakeGpuInstance* fake_mig_by_id(const FakeMigGpu* on, uint32_t id) {
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    FakeGpuInstance* instance = &on->gpu->mig.instances[i];
    if (instance->serial != 0 && instance->id == id) return instance;
  }
  return NULL;
}

// ---- compute instances ----

uint32_t fake_mig_compute_slices(const FakeMigGpu* on, const FakeGpuInstance* instance,
                                 uint32_t index) {
  static const uint32_t slices[] = {1, 2, 3, 4, 7, 8, 6};
  const uint32_t wanted = index < sizeof slices / sizeof slices[0] ? slices[index] : 0;
  return wanted <= fake_mig_profile_of(on, instance)->compute ? wanted : 0;
}

static uint32_t compute_taken(const FakeGpuInstance* instance) {
  uint32_t taken = 0;
  for (unsigned int i = 0; i < fake_compute_instance_max; ++i) {
    const FakeComputeInstance* compute = &instance->computes[i];
    if (compute->serial != 0) taken |= mask_of(compute->start, compute->size);
  }
  return taken;
}

// The first free run of slices, or -1.
static int compute_start(uint32_t taken, uint64_t all, uint32_t size) {
  for (uint32_t start = 0; start + size <= all; ++start) {
    if ((taken & mask_of(start, size)) == 0) return (int)start;
  }
  return -1;
}

uint32_t fake_mig_compute_room(const FakeMigGpu* on, const FakeGpuInstance* instance,
                               uint32_t index) {
  const uint32_t size = fake_mig_compute_slices(on, instance, index);
  const uint64_t all = fake_mig_profile_of(on, instance)->compute;
  uint32_t taken = compute_taken(instance), room = 0;
  for (int start; size > 0 && (start = compute_start(taken, all, size)) >= 0; ++room) {
    taken |= mask_of((uint64_t)start, size);
  }
  return room;
}

uint32_t fake_mig_device_max(const FakeDevice* device) {
  uint32_t most = 0;
  for (unsigned int i = 0; i < device->gpu.mig.profile_count; ++i) {
    const uint32_t count = (uint32_t)device->gpu.mig.profiles[i].max;
    if (count > most) most = count;
  }
  return most;
}

static FakeComputeInstance* in_slot(const FakeMigGpu* on, uint32_t slot) {
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    for (unsigned int j = 0; j < fake_compute_instance_max; ++j) {
      FakeComputeInstance* compute = &on->gpu->mig.instances[i].computes[j];
      if (compute->serial != 0 && compute->slot == slot) return compute;
    }
  }
  return NULL;
}

int fake_mig_create_compute(FakeMigGpu on, FakeGpuInstance* instance, uint32_t index,
                            FakeComputeInstance** made) {
  const uint32_t size = fake_mig_compute_slices(&on, instance, index);
  if (size == 0) return nvml_invalid_argument;
  const int start =
      compute_start(compute_taken(instance), fake_mig_profile_of(&on, instance)->compute, size);
  uint32_t slot = 0, place = 0;
  while (slot < fake_mig_device_max(on.device) && in_slot(&on, slot) != NULL) ++slot;
  while (place < fake_compute_instance_max && instance->computes[place].serial != 0) ++place;
  if (start < 0 || slot == fake_mig_device_max(on.device) || place == fake_compute_instance_max) {
    return nvml_insufficient_resources;
  }
  instance->computes[place] = (FakeComputeInstance){.serial = ++on.state->mig_serials,
                                                    .id = place,
                                                    .profile = index,
                                                    .start = (uint32_t)start,
                                                    .size = size,
                                                    .slot = slot};
  *made = &instance->computes[place];
  return nvml_success;
}

int fake_mig_destroy_compute(FakeMigGpu on, FakeGpuInstance* instance,
                             FakeComputeInstance* compute) {
  if (is_held(&on, instance, compute)) return nvml_in_use;
  *compute = (FakeComputeInstance){0};
  return nvml_success;
}

uint32_t fake_mig_multiprocessors(const FakeMigProfile* profile,
                                  const FakeComputeInstance* compute) {
  return (uint32_t)(profile->multiprocessors * compute->size / profile->compute);
}

// ---- names ----

// A board's own digits with the two numbers mixed in: not NVIDIA's way, but as lasting.
void fake_mig_uuid(const FakeDevice* device, const FakeGpuInstance* instance,
                   const FakeComputeInstance* compute, char text[fake_mig_uuid_size]) {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  unsigned long long e = 0;
  sscanf(device->uuid, "GPU-%8x-%4x-%4x-%4x-%12llx", &a, &b, &c, &d, &e);
  const unsigned int number = instance->id * 16 + compute->id + 1;
  snprintf(text, fake_mig_uuid_size, "MIG-%08x-%04x-%04x-%04x-%012llx", a ^ (number * 0x9E3779B1u),
           b, (c ^ number) & 0xFFFF, d, (e + number * 0x10001ull) & 0xFFFFFFFFFFFFull);
}

bool fake_mig_by_uuid(const FakeMigGpu* on, const char* uuid, FakeGpuInstance** instance,
                      FakeComputeInstance** compute) {
  char own[fake_mig_uuid_size];
  for (unsigned int i = 0; i < fake_gpu_instance_max; ++i) {
    *instance = &on->gpu->mig.instances[i];
    for (unsigned int j = 0; j < fake_compute_instance_max; ++j) {
      *compute = &(*instance)->computes[j];
      if ((*compute)->serial == 0) continue;
      fake_mig_uuid(on->device, *instance, *compute, own);
      if (strcmp(own, uuid) == 0) return true;
    }
  }
  return false;
}

uint64_t fake_mig_memory_used(const FakeGpuState* gpu, const FakeGpuInstance* instance) {
  uint64_t used = 0;
  for (unsigned int i = 0; i < fake_process_max; ++i) {
    const FakeProcess* process = &gpu->processes[i];
    if (process->pid != 0 && process->gpu_instance == instance->id + 1) {
      used += process->memory_bytes;
    }
  }
  return used;
}
