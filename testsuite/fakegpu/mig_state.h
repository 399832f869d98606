// testsuite/fakegpu/mig_state.h - what MIG does to a simulated GPU: its mode, and what lies where.
//
// Shared by both libraries and the tool. Every function wants the state locked, and those that may
// fail return NVML's codes.
#pragma once
#include "description.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { fake_mig_uuid_size = 48, fake_mig_anywhere = -1 };

/// One GPU under the lock.
typedef struct {
  const FakeDevice* device;
  FakeState* state;
  FakeGpuState* gpu;
} FakeMigGpu;

bool fake_mig_can(const FakeDevice* device);
/// `activation`: what became of it, beside what the call itself returns. Ampere waits for a reset;
/// later GPUs only have to be idle.
int fake_mig_set_mode(FakeMigGpu on, uint32_t mode, int* activation);
/// The pending mode becomes the present one, and all instances are gone.
int fake_mig_reset(FakeMigGpu on);

const FakeMigProfile* fake_mig_profile_of(const FakeMigGpu* on, const FakeGpuInstance* instance);
const FakeMigProfile* fake_mig_profile_by_id(const FakeDevice* device, uint64_t id);
const FakeMigProfile* fake_mig_profile_by_index(const FakeDevice* device, uint64_t index);
/// How many more there could be now.
uint32_t fake_mig_room(const FakeMigGpu* on, const FakeMigProfile* profile);

/// At `start`, or where the driver likes it.
int fake_mig_create(FakeMigGpu on, const FakeMigProfile* profile, int start,
                    FakeGpuInstance** made);
int fake_mig_destroy(FakeMigGpu on, FakeGpuInstance* instance);
FakeGpuInstance* fake_mig_find(const FakeMigGpu* on, uint32_t serial);
FakeGpuInstance* fake_mig_by_id(const FakeMigGpu* on, uint32_t id);

/// Slices of the compute profile of an index; 0: there is none in this instance.
uint32_t fake_mig_compute_slices(const FakeMigGpu* on, const FakeGpuInstance* instance,
                                 uint32_t index);
uint32_t fake_mig_compute_room(const FakeMigGpu* on, const FakeGpuInstance* instance,
                               uint32_t index);
int fake_mig_create_compute(FakeMigGpu on, FakeGpuInstance* instance, uint32_t index,
                            FakeComputeInstance** made);
int fake_mig_destroy_compute(FakeMigGpu on, FakeGpuInstance* instance,
                             FakeComputeInstance* compute);
/// MIG devices that a GPU may have at once.
uint32_t fake_mig_device_max(const FakeDevice* device);
/// Multiprocessors of a compute instance.
uint32_t fake_mig_multiprocessors(const FakeMigProfile* profile,
                                  const FakeComputeInstance* compute);

/// "MIG-…": the same every time for the same board and the same numbers.
void fake_mig_uuid(const FakeDevice* device, const FakeGpuInstance* instance,
                   const FakeComputeInstance* compute, char text[fake_mig_uuid_size]);
/// The instances of a UUID on this GPU; false: there are none.
bool fake_mig_by_uuid(const FakeMigGpu* on, const char* uuid, FakeGpuInstance** instance,
                      FakeComputeInstance** compute);
/// Memory that the processes of an instance hold.
uint64_t fake_mig_memory_used(const FakeGpuState* gpu, const FakeGpuInstance* instance);

#ifdef __cplusplus
}
#endif
