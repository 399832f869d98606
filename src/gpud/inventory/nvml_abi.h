// gpud/inventory/nvml_abi.h - NVML's binary interface, as much of it as Rota calls.
//
// Our own words for facts that NVIDIA's public API reference states: names, argument types, numbers
// and layouts (x86-64 and aarch64, both LP64). Plain C, because the fake library of the testsuite
// is C: it defines what is declared here and gpud/inventory/nvml.cpp looks the same names up, so
// the two cannot drift apart. A name without a suffix is always the oldest form of a function.
#pragma once
#include <assert.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// What every function but nvmlErrorString returns (as an int).
enum NvmlReturn {
  nvml_success = 0,
  nvml_uninitialized = 1,
  nvml_invalid_argument = 2,
  nvml_not_supported = 3,
  nvml_no_permission = 4,
  nvml_not_found = 6,
  nvml_insufficient_size = 7,
  nvml_driver_not_loaded = 9,
  nvml_timeout = 10,
  nvml_library_not_found = 12,
  nvml_function_not_found = 13,
  nvml_corrupted_inforom = 14,
  nvml_gpu_is_lost = 15,
  nvml_reset_required = 16,
  nvml_operating_system = 17,
  nvml_lib_rm_version_mismatch = 18,
  nvml_in_use = 19,
  nvml_memory = 20,
  nvml_no_data = 21,
  nvml_insufficient_resources = 23,
  nvml_argument_version_mismatch = 25,
  nvml_deprecated = 26,
  nvml_not_ready = 27,
  nvml_gpu_not_found = 28,
  nvml_invalid_state = 29,
  nvml_unknown = 999
};

// A device. Only the library knows what is behind it.
typedef struct NvmlDevice* NvmlHandle;

// Sizes of text buffers that always suffice.
enum { nvml_version_size = 80, nvml_name_size = 96, nvml_uuid_size = 96, nvml_serial_size = 30 };

// nvmlDeviceGetArchitecture
enum {
  nvml_arch_volta = 5,
  nvml_arch_turing = 6,
  nvml_arch_ampere = 7,
  nvml_arch_ada = 8,
  nvml_arch_hopper = 9,
  nvml_arch_blackwell = 10
};

// nvmlDeviceGetTopologyCommonAncestor: what two devices share at best.
enum {
  nvml_topology_board = 0,
  nvml_topology_switch = 10,
  nvml_topology_switches = 20,
  nvml_topology_host_bridge = 30,
  nvml_topology_numa_node = 40,
  nvml_topology_system = 50
};

// nvmlDeviceGetNvLinkRemoteDeviceType
enum {
  nvml_link_to_gpu = 0,
  nvml_link_to_npu = 1,
  nvml_link_to_switch = 2,
  nvml_link_to_unknown = 255
};
// The most links a device may have; generations had 6, 12, 18 and 36. Ask until the call says no.
enum { nvml_link_count_limit = 64 };

// nvmlDeviceGetP2PStatus: which capability is asked for, and the answer when it is there.
enum { nvml_p2p_read = 0, nvml_p2p_write = 1, nvml_p2p_nvlink = 2, nvml_p2p_unknown = 5 };
enum { nvml_p2p_ok = 0, nvml_p2p_not_supported = 5 };

// Scopes of nvmlDeviceGetMemoryAffinity and nvmlDeviceGetCpuAffinityWithinScope.
enum { nvml_affinity_numa_node = 0, nvml_affinity_socket = 1 };

// Values where the driver has none.
#define nvml_memory_unknown 0xFFFFFFFFFFFFFFFFull
#define nvml_no_instance 0xFFFFFFFFu

// nvmlDeviceGetPciInfo_v3 and nvmlDeviceGetNvLinkRemotePciInfo_v2.
typedef struct {
  char bus_id_legacy[16];  // "0000:06:00.0"
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;  // device << 16 | vendor
  unsigned int pci_subsystem_id;
  char bus_id[32];  // "00000000:06:00.0"
} NvmlPciInfo;
static_assert(sizeof(NvmlPciInfo) == 68, "layout of nvmlPciInfo_t");
static_assert(offsetof(NvmlPciInfo, domain) == 16 && offsetof(NvmlPciInfo, bus) == 20 &&
                  offsetof(NvmlPciInfo, device) == 24 &&
                  offsetof(NvmlPciInfo, pci_device_id) == 28 &&
                  offsetof(NvmlPciInfo, pci_subsystem_id) == 32 &&
                  offsetof(NvmlPciInfo, bus_id) == 36,
              "layout of nvmlPciInfo_t");

// The form before: _v2, and up to pci_device_id the unsuffixed call.
typedef struct {
  char bus_id[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  unsigned int reserved[4];
} NvmlPciInfoLegacy;
static_assert(sizeof(NvmlPciInfoLegacy) == 52 && offsetof(NvmlPciInfoLegacy, domain) == 16 &&
                  offsetof(NvmlPciInfoLegacy, pci_subsystem_id) == 32,
              "layout of nvmlPciInfo_t before v3");

typedef struct {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} NvmlMemory;
static_assert(sizeof(NvmlMemory) == 24 && offsetof(NvmlMemory, free) == 8 &&
                  offsetof(NvmlMemory, used) == 16,
              "layout of nvmlMemory_t");

typedef struct {
  unsigned int version;  // nvml_memory_v2_version, set by the caller
  unsigned long long total;
  unsigned long long reserved;  // by the driver for itself; part of total, not of used
  unsigned long long free;
  unsigned long long used;
} NvmlMemoryV2;
static_assert(sizeof(NvmlMemoryV2) == 40 && offsetof(NvmlMemoryV2, total) == 8 &&
                  offsetof(NvmlMemoryV2, reserved) == 16 && offsetof(NvmlMemoryV2, free) == 24 &&
                  offsetof(NvmlMemoryV2, used) == 32,
              "layout of nvmlMemory_v2_t");
enum { nvml_memory_v2_version = 0x02000028 };
static_assert(nvml_memory_v2_version == (sizeof(NvmlMemoryV2) | 2 << 24), "size | version << 24");

typedef struct {
  unsigned int gpu;  // percent of the last sample period with a kernel running
  unsigned int memory;
} NvmlUtilization;
static_assert(sizeof(NvmlUtilization) == 8, "layout of nvmlUtilization_t");

// Entries of the process lists. The unsuffixed calls write the short one and _v2 the middle one;
// what _v3 writes depends on the driver: the reader has to find out (nvml.h, process_stride).
typedef struct {
  unsigned int pid;
  unsigned long long used_gpu_memory;
} NvmlProcessV1;
static_assert(sizeof(NvmlProcessV1) == 16 && offsetof(NvmlProcessV1, used_gpu_memory) == 8,
              "layout of nvmlProcessInfo_v1_t");
typedef struct {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance;
  unsigned int compute_instance;
} NvmlProcessV2;
static_assert(sizeof(NvmlProcessV2) == 24 && offsetof(NvmlProcessV2, used_gpu_memory) == 8 &&
                  offsetof(NvmlProcessV2, gpu_instance) == 16 &&
                  offsetof(NvmlProcessV2, compute_instance) == 20,
              "layout of nvmlProcessInfo_v2_t");
typedef struct {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance;
  unsigned int compute_instance;
  unsigned long long used_protected_memory;
} NvmlProcessV3Long;
static_assert(sizeof(NvmlProcessV3Long) == 32 &&
                  offsetof(NvmlProcessV3Long, used_protected_memory) == 24,
              "layout of the longer process entry of some 535 drivers");

// nvmlDeviceGetProcessUtilization: what one process did in the driver's last sample period.
typedef struct {
  unsigned int pid;
  unsigned long long time_us;
  unsigned int sm;  // percent, as the next three
  unsigned int memory;
  unsigned int encoder;
  unsigned int decoder;
} NvmlProcessLoad;
static_assert(sizeof(NvmlProcessLoad) == 32 && offsetof(NvmlProcessLoad, time_us) == 8 &&
                  offsetof(NvmlProcessLoad, sm) == 16 && offsetof(NvmlProcessLoad, memory) == 20 &&
                  offsetof(NvmlProcessLoad, decoder) == 28,
              "layout of nvmlProcessUtilizationSample_t");

// nvmlDeviceSetMemoryLimits_v1: no version word. No limit is soft 0 and hard nvml_memory_unknown.
typedef struct {
  const char* cgroup;  // the directory of a cgroup v2
  unsigned long long soft_bytes;
  unsigned long long hard_bytes;
} NvmlMemoryLimits;
static_assert(sizeof(NvmlMemoryLimits) == 24 && offsetof(NvmlMemoryLimits, soft_bytes) == 8 &&
                  offsetof(NvmlMemoryLimits, hard_bytes) == 16,
              "layout of the argument of nvmlDeviceSetMemoryLimits_v1");
typedef struct {
  const char* cgroup;
  unsigned long long soft_bytes;
  unsigned long long hard_bytes;
  unsigned long long used_bytes;
} NvmlMemoryLimitsNow;
static_assert(sizeof(NvmlMemoryLimitsNow) == 32 && offsetof(NvmlMemoryLimitsNow, used_bytes) == 24,
              "layout of the argument of nvmlDeviceGetMemoryLimits_v1");

// nvmlEventSet*: a set of GPUs and what shall be told of them.
typedef struct NvmlEventSet* NvmlEventSetHandle;
enum {
  nvml_event_single_bit = 0x1,
  nvml_event_double_bit = 0x2,
  nvml_event_xid = 0x8,
  nvml_event_recovery_action = 0x8000
};
typedef struct {
  NvmlHandle device;
  unsigned long long type;
  unsigned long long data;        // the Xid
  unsigned int gpu_instance;      // nvml_no_instance: all of the GPU
  unsigned int compute_instance;  // the same
} NvmlEvent;
static_assert(sizeof(NvmlEvent) == 32 && offsetof(NvmlEvent, type) == 8 &&
                  offsetof(NvmlEvent, data) == 16 && offsetof(NvmlEvent, gpu_instance) == 24 &&
                  offsetof(NvmlEvent, compute_instance) == 28,
              "layout of nvmlEventData_t");
// The unsuffixed wait writes the same without the instances.
enum { nvml_event_v1_size = 24 };

// Errors of memory: kind, since when, where.
enum { nvml_ecc_corrected = 0, nvml_ecc_uncorrected = 1 };
enum { nvml_ecc_volatile = 0, nvml_ecc_aggregate = 1 };
enum { nvml_memory_l2 = 1, nvml_memory_dram = 2, nvml_memory_registers = 3, nvml_memory_sram = 7 };

// nvmlDeviceGetSramEccErrorStatus (r535)
typedef struct {
  unsigned int version;  // nvml_sram_status_version, set by the caller
  unsigned long long aggregate_parity;
  unsigned long long aggregate_sec_ded;
  unsigned long long aggregate_corrected;
  unsigned long long volatile_parity;
  unsigned long long volatile_sec_ded;
  unsigned long long volatile_corrected;
  unsigned long long aggregate_buckets[5];  // L2, SM, PCIe, micro-controllers, other
  unsigned int threshold_exceeded;
} NvmlSramStatus;
enum { nvml_sram_status_version = 0x01000068 };
static_assert(sizeof(NvmlSramStatus) == 104 && offsetof(NvmlSramStatus, threshold_exceeded) == 96,
              "layout of nvmlEccSramErrorStatus_v1_t");

// nvmlDeviceGetFieldValues: fields, the types of their values, an entry.
enum {
  nvml_field_memory_temperature = 82,
  nvml_field_energy = 83,
  nvml_field_remap_pending = 144,
  nvml_field_remap_failed = 145,
  nvml_field_nvlink_state = 165,  // of the link `scope`
  nvml_field_mig_without_reset = 184,
  nvml_field_mig_query_without_mode = 199,
  nvml_field_recovery_action = 230
};
enum { nvml_value_double = 0, nvml_value_uint = 1, nvml_value_ulong = 2, nvml_value_ull = 3 };
typedef struct {
  unsigned int field;
  unsigned int scope;
  long long timestamp_us;
  long long latency_us;
  unsigned int value_type;
  unsigned int result;
  union {
    double as_double;
    unsigned int as_uint;
    unsigned long as_ulong;
    unsigned long long as_ull;
  } value;
} NvmlFieldValue;
static_assert(sizeof(NvmlFieldValue) == 40 && offsetof(NvmlFieldValue, timestamp_us) == 8 &&
                  offsetof(NvmlFieldValue, value_type) == 24 &&
                  offsetof(NvmlFieldValue, result) == 28 && offsetof(NvmlFieldValue, value) == 32,
              "layout of nvmlFieldValue_t");

// nvmlDeviceGetTemperatureThreshold
enum {
  nvml_threshold_shutdown = 0,
  nvml_threshold_slowdown = 1,
  nvml_threshold_memory_max = 2,
  nvml_threshold_gpu_max = 3
};

// Why clocks are not at their highest.
enum {
  nvml_clocks_idle = 0x1,
  nvml_clocks_power_cap = 0x4,
  nvml_clocks_hw_slowdown = 0x8,
  nvml_clocks_sw_thermal = 0x20,
  nvml_clocks_hw_thermal = 0x40,
  nvml_clocks_power_brake = 0x80
};

const char* nvmlErrorString(int result);

// Every other function, once: F(name, arguments).
#define ROTA_NVML_FUNCTIONS(F)                                                                     \
  F(nvmlInit, (void))                                                                              \
  F(nvmlInit_v2, (void))                                                                           \
  F(nvmlInitWithFlags, (unsigned int flags))                                                       \
  F(nvmlShutdown, (void))                                                                          \
  F(nvmlSystemGetDriverVersion, (char* text, unsigned int size))                                   \
  F(nvmlSystemGetNVMLVersion, (char* text, unsigned int size))                                     \
  F(nvmlSystemGetCudaDriverVersion, (int* version))                                                \
  F(nvmlSystemGetCudaDriverVersion_v2, (int* version))                                             \
  F(nvmlDeviceGetCount, (unsigned int* count))                                                     \
  F(nvmlDeviceGetCount_v2, (unsigned int* count))                                                  \
  F(nvmlDeviceGetHandleByIndex, (unsigned int index, NvmlHandle* device))                          \
  F(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, NvmlHandle* device))                       \
  F(nvmlDeviceGetHandleByUUID, (const char* uuid, NvmlHandle* device))                             \
  F(nvmlDeviceGetHandleBySerial, (const char* serial, NvmlHandle* device))                         \
  F(nvmlDeviceGetHandleByPciBusId, (const char* bus_id, NvmlHandle* device))                       \
  F(nvmlDeviceGetHandleByPciBusId_v2, (const char* bus_id, NvmlHandle* device))                    \
  F(nvmlDeviceGetName, (NvmlHandle device, char* text, unsigned int size))                         \
  F(nvmlDeviceGetUUID, (NvmlHandle device, char* text, unsigned int size))                         \
  F(nvmlDeviceGetSerial, (NvmlHandle device, char* text, unsigned int size))                       \
  F(nvmlDeviceGetIndex, (NvmlHandle device, unsigned int* index))                                  \
  F(nvmlDeviceGetMinorNumber, (NvmlHandle device, unsigned int* minor_number))                     \
  F(nvmlDeviceGetBrand, (NvmlHandle device, unsigned int* brand))                                  \
  F(nvmlDeviceGetArchitecture, (NvmlHandle device, unsigned int* architecture))                    \
  F(nvmlDeviceGetCudaComputeCapability, (NvmlHandle device, int* major_number, int* minor_number)) \
  F(nvmlDeviceGetPciInfo, (NvmlHandle device, NvmlPciInfoLegacy * pci))                            \
  F(nvmlDeviceGetPciInfo_v2, (NvmlHandle device, NvmlPciInfoLegacy * pci))                         \
  F(nvmlDeviceGetPciInfo_v3, (NvmlHandle device, NvmlPciInfo * pci))                               \
  F(nvmlDeviceGetCpuAffinity, (NvmlHandle device, unsigned int words, unsigned long* set))         \
  F(nvmlDeviceGetCpuAffinityWithinScope,                                                           \
    (NvmlHandle device, unsigned int words, unsigned long* set, unsigned int scope))               \
  F(nvmlDeviceGetMemoryAffinity,                                                                   \
    (NvmlHandle device, unsigned int words, unsigned long* set, unsigned int scope))               \
  F(nvmlDeviceGetNumaNodeId, (NvmlHandle device, unsigned int* node))                              \
  F(nvmlDeviceGetMemoryInfo, (NvmlHandle device, NvmlMemory * memory))                             \
  F(nvmlDeviceGetMemoryInfo_v2, (NvmlHandle device, NvmlMemoryV2 * memory))                        \
  F(nvmlDeviceSetMemoryLimits_v1, (NvmlHandle device, NvmlMemoryLimits * limits))                  \
  F(nvmlDeviceGetMemoryLimits_v1, (NvmlHandle device, NvmlMemoryLimitsNow * limits))               \
  F(nvmlDeviceGetUtilizationRates, (NvmlHandle device, NvmlUtilization * utilization))             \
  F(nvmlDeviceGetProcessUtilization, (NvmlHandle device, NvmlProcessLoad * loads,                  \
                                      unsigned int* count, unsigned long long since_us))           \
  F(nvmlDeviceGetComputeRunningProcesses, (NvmlHandle device, unsigned int* count, void* entries)) \
  F(nvmlDeviceGetComputeRunningProcesses_v2,                                                       \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetComputeRunningProcesses_v3,                                                       \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetGraphicsRunningProcesses,                                                         \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetGraphicsRunningProcesses_v2,                                                      \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetGraphicsRunningProcesses_v3,                                                      \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetMPSComputeRunningProcesses,                                                       \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetMPSComputeRunningProcesses_v2,                                                    \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetMPSComputeRunningProcesses_v3,                                                    \
    (NvmlHandle device, unsigned int* count, void* entries))                                       \
  F(nvmlDeviceGetNvLinkState, (NvmlHandle device, unsigned int link, unsigned int* active))        \
  F(nvmlDeviceGetNvLinkRemotePciInfo,                                                              \
    (NvmlHandle device, unsigned int link, NvmlPciInfoLegacy* pci))                                \
  F(nvmlDeviceGetNvLinkRemotePciInfo_v2, (NvmlHandle device, unsigned int link, NvmlPciInfo* pci)) \
  F(nvmlDeviceGetNvLinkRemoteDeviceType,                                                           \
    (NvmlHandle device, unsigned int link, unsigned int* type))                                    \
  F(nvmlDeviceGetTopologyCommonAncestor,                                                           \
    (NvmlHandle first, NvmlHandle second, unsigned int* level))                                    \
  F(nvmlDeviceGetP2PStatus,                                                                        \
    (NvmlHandle first, NvmlHandle second, unsigned int capability, unsigned int* status))          \
  F(nvmlDeviceGetTemperature, (NvmlHandle device, unsigned int sensor, unsigned int* celsius))     \
  F(nvmlDeviceGetPowerUsage, (NvmlHandle device, unsigned int* milliwatts))                        \
  F(nvmlDeviceGetEnforcedPowerLimit, (NvmlHandle device, unsigned int* milliwatts))                \
  F(nvmlDeviceGetTotalEnergyConsumption, (NvmlHandle device, unsigned long long* millijoules))     \
  F(nvmlDeviceGetPersistenceMode, (NvmlHandle device, unsigned int* mode))                         \
  F(nvmlDeviceSetPersistenceMode, (NvmlHandle device, unsigned int mode))                          \
  F(nvmlDeviceGetComputeMode, (NvmlHandle device, unsigned int* mode))                             \
  F(nvmlDeviceSetComputeMode, (NvmlHandle device, unsigned int mode))                              \
  F(nvmlEventSetCreate, (NvmlEventSetHandle * set))                                                \
  F(nvmlEventSetFree, (NvmlEventSetHandle set))                                                    \
  F(nvmlEventSetWait, (NvmlEventSetHandle set, void* event, unsigned int timeout_ms))              \
  F(nvmlEventSetWait_v2, (NvmlEventSetHandle set, NvmlEvent * event, unsigned int timeout_ms))     \
  F(nvmlDeviceGetSupportedEventTypes, (NvmlHandle device, unsigned long long* types))              \
  F(nvmlDeviceRegisterEvents,                                                                      \
    (NvmlHandle device, unsigned long long types, NvmlEventSetHandle set))                         \
  F(nvmlDeviceGetEccMode, (NvmlHandle device, unsigned int* current, unsigned int* pending))       \
  F(nvmlDeviceGetTotalEccErrors,                                                                   \
    (NvmlHandle device, unsigned int kind, unsigned int counter, unsigned long long* count))       \
  F(nvmlDeviceGetMemoryErrorCounter, (NvmlHandle device, unsigned int kind, unsigned int counter,  \
                                      unsigned int location, unsigned long long* count))           \
  F(nvmlDeviceGetSramEccErrorStatus, (NvmlHandle device, NvmlSramStatus * status))                 \
  F(nvmlDeviceGetRemappedRows,                                                                     \
    (NvmlHandle device, unsigned int* corrected, unsigned int* uncorrected, unsigned int* pending, \
     unsigned int* failed))                                                                        \
  F(nvmlDeviceGetRetiredPages,                                                                     \
    (NvmlHandle device, unsigned int cause, unsigned int* count, unsigned long long* addresses))   \
  F(nvmlDeviceGetRetiredPages_v2, (NvmlHandle device, unsigned int cause, unsigned int* count,     \
                                   unsigned long long* addresses, unsigned long long* timestamps)) \
  F(nvmlDeviceGetRetiredPagesPendingStatus, (NvmlHandle device, unsigned int* pending))            \
  F(nvmlDeviceGetFieldValues, (NvmlHandle device, int count, NvmlFieldValue* values))              \
  F(nvmlDeviceGetTemperatureThreshold,                                                             \
    (NvmlHandle device, unsigned int kind, unsigned int* celsius))                                 \
  F(nvmlDeviceGetCurrentClocksThrottleReasons, (NvmlHandle device, unsigned long long* reasons))   \
  F(nvmlDeviceGetSupportedClocksThrottleReasons, (NvmlHandle device, unsigned long long* reasons)) \
  F(nvmlDeviceGetCurrentClocksEventReasons, (NvmlHandle device, unsigned long long* reasons))      \
  F(nvmlDeviceGetSupportedClocksEventReasons, (NvmlHandle device, unsigned long long* reasons))

#ifdef __cplusplus
}
#endif
