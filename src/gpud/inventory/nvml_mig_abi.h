// gpud/inventory/nvml_mig_abi.h - the part of NVML's binary interface that cuts GPUs (MIG).
//
// The head of nvml_abi.h holds here too. A profile has an index, by which its
// info is asked for, and an id, by which everything else names it: the two are never the same by
// more than chance.
#pragma once
#include <assert.h>
#include <stddef.h>

#include "gpud/inventory/nvml_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// nvmlDeviceSetMigMode
enum { nvml_mig_off = 0, nvml_mig_on = 1 };

// Indexes of profiles; drivers know more of them from year to year, so they are counted up until
// the driver says INVALID_ARGUMENT. These two have a name of their own, for drivers that tell none.
enum {
  nvml_profile_1_slice_rev1 = 7,
  nvml_profile_2_slice_rev1 = 8,
  nvml_profile_index_limit = 64
};
// The only kind of engine that compute instances are made with.
enum { nvml_compute_engine_shared = 0 };

typedef struct NvmlGpuInstanceBody* NvmlGpuInstance;
typedef struct NvmlComputeInstanceBody* NvmlComputeInstance;

// Slices of memory for a GPU instance, of compute for a compute instance.
typedef struct {
  unsigned int start;
  unsigned int size;
} NvmlPlacement;
static_assert(sizeof(NvmlPlacement) == 8, "layout of nvmlGpuInstancePlacement_t");

typedef struct {
  unsigned int id;
  unsigned int is_p2p_supported;
  unsigned int slice_count;
  unsigned int instance_count;
  unsigned int multiprocessor_count;
  unsigned int copy_engine_count;
  unsigned int decoder_count;
  unsigned int encoder_count;
  unsigned int jpeg_count;
  unsigned int ofa_count;
  unsigned long long memory_mib;
} NvmlGpuInstanceProfile;
static_assert(sizeof(NvmlGpuInstanceProfile) == 48 &&
                  offsetof(NvmlGpuInstanceProfile, memory_mib) == 40,
              "layout of nvmlGpuInstanceProfileInfo_t");

// The forms with a name, both of nvmlDeviceGetGpuInstanceProfileInfoV: the caller says which.
typedef struct {
  unsigned int version;  // nvml_profile_v2_version
  unsigned int id;
  unsigned int is_p2p_supported;
  unsigned int slice_count;
  unsigned int instance_count;
  unsigned int multiprocessor_count;
  unsigned int copy_engine_count;
  unsigned int decoder_count;
  unsigned int encoder_count;
  unsigned int jpeg_count;
  unsigned int ofa_count;
  unsigned long long memory_mib;
  char name[96];
} NvmlGpuInstanceProfileV2;
static_assert(sizeof(NvmlGpuInstanceProfileV2) == 152 &&
                  offsetof(NvmlGpuInstanceProfileV2, memory_mib) == 48 &&
                  offsetof(NvmlGpuInstanceProfileV2, name) == 56,
              "layout of nvmlGpuInstanceProfileInfo_v2_t");
typedef struct {
  unsigned int version;  // nvml_profile_v3_version
  unsigned int id;
  unsigned int slice_count;
  unsigned int instance_count;
  unsigned int multiprocessor_count;
  unsigned int copy_engine_count;
  unsigned int decoder_count;
  unsigned int encoder_count;
  unsigned int jpeg_count;
  unsigned int ofa_count;
  unsigned long long memory_mib;
  char name[96];
  unsigned int capabilities;
} NvmlGpuInstanceProfileV3;
static_assert(sizeof(NvmlGpuInstanceProfileV3) == 152 &&
                  offsetof(NvmlGpuInstanceProfileV3, memory_mib) == 40 &&
                  offsetof(NvmlGpuInstanceProfileV3, name) == 48 &&
                  offsetof(NvmlGpuInstanceProfileV3, capabilities) == 144,
              "layout of nvmlGpuInstanceProfileInfo_v3_t");
enum { nvml_profile_v2_version = 0x02000098, nvml_profile_v3_version = 0x03000098 };
static_assert(nvml_profile_v2_version == (sizeof(NvmlGpuInstanceProfileV2) | 2 << 24) &&
                  nvml_profile_v3_version == (sizeof(NvmlGpuInstanceProfileV3) | 3 << 24),
              "size | version << 24");

typedef struct {
  NvmlHandle device;
  unsigned int id;
  unsigned int profile_id;
  NvmlPlacement placement;
} NvmlGpuInstanceInfo;
static_assert(sizeof(NvmlGpuInstanceInfo) == 24 && offsetof(NvmlGpuInstanceInfo, id) == 8 &&
                  offsetof(NvmlGpuInstanceInfo, profile_id) == 12 &&
                  offsetof(NvmlGpuInstanceInfo, placement) == 16,
              "layout of nvmlGpuInstanceInfo_t");

typedef struct {
  unsigned int id;
  unsigned int slice_count;
  unsigned int instance_count;
  unsigned int multiprocessor_count;
  unsigned int shared_copy_engine_count;
  unsigned int shared_decoder_count;
  unsigned int shared_encoder_count;
  unsigned int shared_jpeg_count;
  unsigned int shared_ofa_count;
} NvmlComputeInstanceProfile;
static_assert(sizeof(NvmlComputeInstanceProfile) == 36,
              "layout of nvmlComputeInstanceProfileInfo_t");

typedef struct {
  NvmlHandle device;  // the MIG device: its UUID is the one that programs are given
  NvmlGpuInstance gpu_instance;
  unsigned int id;
  unsigned int profile_id;
  NvmlPlacement placement;
} NvmlComputeInstanceInfo;
static_assert(sizeof(NvmlComputeInstanceInfo) == 32 &&
                  offsetof(NvmlComputeInstanceInfo, id) == 16 &&
                  offsetof(NvmlComputeInstanceInfo, profile_id) == 20 &&
                  offsetof(NvmlComputeInstanceInfo, placement) == 24,
              "layout of nvmlComputeInstanceInfo_t");

typedef struct {
  unsigned int multiprocessor_count;
  unsigned int shared_copy_engine_count;
  unsigned int shared_decoder_count;
  unsigned int shared_encoder_count;
  unsigned int shared_jpeg_count;
  unsigned int shared_ofa_count;
  unsigned int gpu_instance_slice_count;
  unsigned int compute_instance_slice_count;
  unsigned long long memory_mib;
} NvmlMigAttributes;
static_assert(sizeof(NvmlMigAttributes) == 40 && offsetof(NvmlMigAttributes, memory_mib) == 32,
              "layout of nvmlDeviceAttributes_t");

// F(name, arguments), as ROTA_NVML_FUNCTIONS.
#define ROTA_NVML_MIG_FUNCTIONS(F)                                                                \
  F(nvmlDeviceGetMigMode, (NvmlHandle device, unsigned int* current, unsigned int* pending))      \
  F(nvmlDeviceSetMigMode, (NvmlHandle device, unsigned int mode, int* activation))                \
  F(nvmlDeviceGetGpuInstanceProfileInfo,                                                          \
    (NvmlHandle device, unsigned int index, NvmlGpuInstanceProfile* info))                        \
  F(nvmlDeviceGetGpuInstanceProfileInfoV, (NvmlHandle device, unsigned int index, void* info))    \
  F(nvmlDeviceGetGpuInstancePossiblePlacements_v2,                                                \
    (NvmlHandle device, unsigned int id, NvmlPlacement* placements, unsigned int* count))         \
  F(nvmlDeviceGetGpuInstanceRemainingCapacity,                                                    \
    (NvmlHandle device, unsigned int id, unsigned int* count))                                    \
  F(nvmlDeviceCreateGpuInstance, (NvmlHandle device, unsigned int id, NvmlGpuInstance* instance)) \
  F(nvmlDeviceCreateGpuInstanceWithPlacement,                                                     \
    (NvmlHandle device, unsigned int id, const NvmlPlacement* placement,                          \
     NvmlGpuInstance* instance))                                                                  \
  F(nvmlGpuInstanceDestroy, (NvmlGpuInstance instance))                                           \
  F(nvmlDeviceGetGpuInstances,                                                                    \
    (NvmlHandle device, unsigned int id, NvmlGpuInstance* instances, unsigned int* count))        \
  F(nvmlDeviceGetGpuInstanceById,                                                                 \
    (NvmlHandle device, unsigned int instance_id, NvmlGpuInstance* instance))                     \
  F(nvmlGpuInstanceGetInfo, (NvmlGpuInstance instance, NvmlGpuInstanceInfo * info))               \
  F(nvmlGpuInstanceGetComputeInstanceProfileInfo,                                                 \
    (NvmlGpuInstance instance, unsigned int index, unsigned int engine,                           \
     NvmlComputeInstanceProfile* info))                                                           \
  F(nvmlGpuInstanceGetComputeInstanceRemainingCapacity,                                           \
    (NvmlGpuInstance instance, unsigned int id, unsigned int* count))                             \
  F(nvmlGpuInstanceCreateComputeInstance,                                                         \
    (NvmlGpuInstance instance, unsigned int id, NvmlComputeInstance* compute))                    \
  F(nvmlComputeInstanceDestroy, (NvmlComputeInstance compute))                                    \
  F(nvmlGpuInstanceGetComputeInstances, (NvmlGpuInstance instance, unsigned int id,               \
                                         NvmlComputeInstance* computes, unsigned int* count))     \
  F(nvmlGpuInstanceGetComputeInstanceById,                                                        \
    (NvmlGpuInstance instance, unsigned int compute_id, NvmlComputeInstance* compute))            \
  F(nvmlComputeInstanceGetInfo_v2, (NvmlComputeInstance compute, NvmlComputeInstanceInfo * info)) \
  F(nvmlDeviceGetMaxMigDeviceCount, (NvmlHandle device, unsigned int* count))                     \
  F(nvmlDeviceGetMigDeviceHandleByIndex,                                                          \
    (NvmlHandle device, unsigned int index, NvmlHandle* mig_device))                              \
  F(nvmlDeviceIsMigDeviceHandle, (NvmlHandle device, unsigned int* is_mig))                       \
  F(nvmlDeviceGetGpuInstanceId, (NvmlHandle device, unsigned int* id))                            \
  F(nvmlDeviceGetComputeInstanceId, (NvmlHandle device, unsigned int* id))                        \
  F(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (NvmlHandle mig_device, NvmlHandle * device))   \
  F(nvmlDeviceGetAttributes_v2, (NvmlHandle device, NvmlMigAttributes * attributes))

#ifdef __cplusplus
}
#endif
