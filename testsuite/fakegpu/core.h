// testsuite/fakegpu/core.h - what every function of the fake NVML starts with.
#pragma once
#include "description.h"
#include "gpud/inventory/nvml_abi.h"
#include "gpud/inventory/nvml_mig_abi.h"
#include "mig_state.h"
#include "state.h"

// Everything is hidden but NVML's own names.
#define EXPORT __attribute__((visibility("default")))
#define DECLARE(name, arguments) EXPORT int name arguments;
ROTA_NVML_FUNCTIONS(DECLARE)
ROTA_NVML_MIG_FUNCTIONS(DECLARE)
#undef DECLARE

// What every handle points at: a GPU, or what MIG made of one.
typedef enum {
  fake_gpu_handle,
  fake_instance_handle,
  fake_compute_handle,
  fake_mig_handle
} FakeKind;
struct NvmlDevice {
  unsigned int index;
  FakeKind kind;
  uint32_t instance;  // serials, 0 where they mean nothing
  uint32_t compute;
  struct NvmlDevice* next;
};

typedef struct {
  const FakeDescription* machine;
  FakeState* state;
  // Of a call with a device:
  unsigned int index;
  const FakeDevice* device;
  FakeGpuState* gpu;
  // Of a call with something that MIG made, as it was when the call began:
  bool is_mig;
  FakeGpuInstance instance;
  FakeComputeInstance compute;
} Call;

/// The code to return at once, or success and `call` filled in. Here calls hang or fail that
/// rota-fakegpu made hang or fail.
int enter(const char* name, Call* call);
/// The same for a call with a device, which may be no device of ours or one that is lost.
int enter_device(const char* name, NvmlHandle device, Call* call);
/// The same for a call that takes a MIG device as well as a GPU.
int enter_any_device(const char* name, NvmlHandle device, Call* call);
/// The same for a call with an instance; NOT_FOUND: it is gone.
int enter_handle(const char* name, const void* handle, FakeKind kind, Call* call);
/// The device of an index, as a handle.
NvmlHandle handle_of(unsigned int index);
/// The handle of something that MIG made, the same one each time; NULL: no memory.
void* mig_handle_of(unsigned int index, FakeKind kind, uint32_t instance, uint32_t compute);
/// The GPU of a call, for mig_state.h.
FakeMigGpu mig_gpu(const Call* call);
/// Before instances are made or ended: whether the caller may, and as long as it takes.
int mig_change(const Call* call);
/// MIG's fields of nvmlDeviceGetFieldValues: 184, whether the mode changes without a reset, and
/// 199, whether profiles are told without it. NOT_SUPPORTED: another field, or an older driver.
int fake_mig_field(const Call* call, unsigned int field, unsigned long long* value);

/// Copies a text out as NVML does: a buffer that is too short is left alone.
int give_text(const char* from, char* text, unsigned int size);
/// A PCI address in the present struct (without the device ids), and the first `size` bytes of the
/// one before.
void give_pci(const FakePci* from, NvmlPciInfo* pci);
void give_legacy_pci(const NvmlPciInfo* from, NvmlPciInfoLegacy* pci, size_t size);

#define ENTER(call)                             \
  Call call = {0};                              \
  do {                                          \
    const int code_ = enter(__func__, &(call)); \
    if (code_ != nvml_success) return code_;    \
  } while (0)
#define ENTER_DEVICE(call, device)                             \
  Call call = {0};                                             \
  do {                                                         \
    const int code_ = enter_device(__func__, device, &(call)); \
    if (code_ != nvml_success) return code_;                   \
  } while (0)
#define ENTER_ANY_DEVICE(call, device)                             \
  Call call = {0};                                                 \
  do {                                                             \
    const int code_ = enter_any_device(__func__, device, &(call)); \
    if (code_ != nvml_success) return code_;                       \
  } while (0)
#define ENTER_HANDLE(call, handle, kind)                             \
  Call call = {0};                                                   \
  do {                                                               \
    const int code_ = enter_handle(__func__, handle, kind, &(call)); \
    if (code_ != nvml_success) return code_;                         \
  } while (0)
/// A function that drivers older than `branch` do not have.
#define SINCE(call, branch) \
  if ((call).machine->driver_branch < (branch)) return nvml_function_not_found
