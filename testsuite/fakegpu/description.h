// testsuite/fakegpu/description.h - the simulated machine: what models/*.yaml says, as values.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { fake_gpu_max = 64, fake_switch_max = 16, fake_link_max = 36, fake_cpu_max = 1024 };
enum { fake_text_size = 96, fake_cpu_words = fake_cpu_max / 64 };
enum { fake_mig_profile_max = 18, fake_mig_slice_max = 16 };

typedef struct {
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
} FakePci;

/// A kind of MIG instance.
typedef struct {
  char name[fake_text_size];  // "3g.20gb"
  uint64_t index;             // by which its info is asked for
  uint64_t id;                // by which everything else names it
  uint64_t compute;           // slices of compute
  uint64_t size;              // slices of memory
  unsigned int start_count;
  unsigned int starts[fake_mig_slice_max];  // in the order in which the driver itself takes them
  uint64_t max;                             // instances on one GPU
  uint64_t multiprocessors;
  uint64_t memory_mib;
} FakeMigProfile;

/// How a GPU can be cut. No slices: it cannot.
typedef struct {
  uint64_t slices;          // of memory
  uint64_t halves_swapped;  // numbers of instances: the upper half of the board comes first
  unsigned int profile_count;
  FakeMigProfile profiles[fake_mig_profile_max];
} FakeMig;

/// What a GPU is.
typedef struct {
  char name[fake_text_size];
  uint64_t brand;
  uint64_t architecture;
  uint64_t compute_major;
  uint64_t compute_minor;
  uint64_t memory_mib;  // all of it
  uint64_t reserved_mib;
  uint64_t v1_hides_reserved;  // drivers before r510: the first memory call leaves reserved out
  uint64_t pci_device_id;
  uint64_t pci_subsystem_id;
  uint64_t power_limit_mw;
  uint64_t power_idle_mw;
  uint64_t temperature_idle;
  uint64_t multiprocessors;
  uint64_t context_mib;  // what a CUDA context takes of the memory
  FakeMig mig;
} FakeModel;

typedef struct {
  FakeModel gpu;
  char uuid[48];
  char serial[16];
  FakePci pci;
  uint64_t minor;
  uint64_t numa_node;
  uint64_t cpus[fake_cpu_words];
} FakeDevice;

typedef struct {
  char driver_version[fake_text_size];
  char nvml_version[fake_text_size];
  uint64_t driver_branch;  // 535 of "535.183.01": decides which functions exist
  uint64_t cuda_version;
  uint64_t process_stride;  // bytes of an entry of the _v3 process lists: 16, 24 or 32
  char hwloc[256];          // for HWLOC_SYNTHETIC; kept for those who start a node

  FakeModel gpu;  // of every device that names no other

  unsigned int device_count;
  FakeDevice devices[fake_gpu_max];
  unsigned int ancestors[fake_gpu_max][fake_gpu_max];
  unsigned int nvlinks[fake_gpu_max][fake_gpu_max];
  uint64_t links_to_switches;
  unsigned int switch_count;
  FakePci switches[fake_switch_max];
} FakeDescription;

/// Reads the YAML file `path`. False, with one line in `error`, if it is not a description.
bool fake_description_load(const char* path, FakeDescription* description, char* error,
                           size_t error_size);

/// Makes it the machine of node `node`: GPU identities that are the same after every restart and
/// differ between nodes. `count` GPUs unless it is NULL or empty: the first ones, or all of them
/// again in further PCI domains until there are enough.
bool fake_description_settle(FakeDescription* description, const char* node, const char* count,
                             char* error, size_t error_size);

/// Both, as the environment says: $ROTA_FAKEGPU, $ROTA_FAKEGPU_NODE (this host's name),
/// $ROTA_FAKEGPU_COUNT.
bool fake_description_from_environment(FakeDescription* description, char* error,
                                       size_t error_size);

/// "0000:06:00.0", "00000000:06:00.0" or "06:00.0", in either case.
bool fake_pci_parse(const char* text, FakePci* pci);

#ifdef __cplusplus
}
#endif
