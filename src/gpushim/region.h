// gpushim/region.h - the memory that a job's processes and the node's daemon share about the job's
// GPUs, and how a process comes by it.
//
// Two files without a name, one pair per job and node: the rules, which only the daemon writes, and
// the counts, of which every process writes its own slot. Nothing in them needs a lock or repair:
// when a process dies, the daemon sets its slot to zero. Plain C, for the shim; every shared number
// is read and written with the __atomic functions.
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { rota_region_magic = 0x52475055, rota_region_version = 1 };
enum { rota_region_gpu_max = 16, rota_region_slot_max = 1024 };
#define rota_region_no_limit 0xFFFFFFFFFFFFFFFFull

typedef struct {
  uint8_t uuid[16];
  uint64_t limit_bytes;    // of all processes together; rota_region_no_limit: the GPU is whole
  uint64_t context_bytes;  // what a context is thought to take
  uint64_t stray_bytes;    // held by processes of the job that have no slot
  uint64_t ceiling_bytes;  // what may be held at the moment; 0: the limit
  uint64_t reserved[2];
} RotaRegionGpu;
static_assert(sizeof(RotaRegionGpu) == 64, "one line of the cache");

// Written by the daemon only; read by the job.
typedef struct {
  uint32_t magic;
  uint32_t version;
  uint32_t gpu_count;
  uint32_t slot_high;  // slots from here on have never been used
  uint64_t reserved[6];
  RotaRegionGpu gpus[rota_region_gpu_max];
  uint32_t pids[rota_region_slot_max];  // 0: the slot is free
  // What the driver said a process holds beyond its own count when it was last asked: contexts that
  // are larger than thought, a pool's reserve, memory of graphs. Added to the count, so that what a
  // process frees is there for the next at once.
  uint64_t excess[rota_region_gpu_max][rota_region_slot_max];
} RotaRules;
static_assert(offsetof(RotaRules, gpus) == 64, "the header is one line of the cache");

typedef struct {
  uint64_t bytes[rota_region_gpu_max];
} RotaSlot;
static_assert(sizeof(RotaSlot) == 128, "no two slots in one line of the cache");

typedef struct {
  RotaSlot slots[rota_region_slot_max];
} RotaCounts;

// The job's directory holds the real driver libraries under these names, and the socket.
#define rota_share_real_cuda "librota_real_cuda.so"
#define rota_share_real_nvml "librota_real_nvml.so"
#define rota_share_socket "share.sock"

// One packet each way on a SOCK_SEQPACKET connection, which the process then keeps open: it says
// who it is, and gets the rules' and the counts' descriptors and, if it holds memory, a slot.
enum { rota_share_holder = 1, rota_share_watcher = 2 };
enum { rota_share_welcome = 0, rota_share_full = 1, rota_share_refused = 2 };

typedef struct {
  uint32_t magic;
  uint32_t version;
  uint32_t kind;
} RotaHello;
static_assert(sizeof(RotaHello) == 12, "layout of the wire");

typedef struct {
  uint32_t magic;
  uint32_t version;
  uint32_t status;
  uint32_t slot;
} RotaWelcome;
static_assert(sizeof(RotaWelcome) == 16, "layout of the wire");

#ifdef __cplusplus
}
#endif
