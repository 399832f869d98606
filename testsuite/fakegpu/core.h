// testsuite/fakegpu/core.h - what every function of the fake NVML starts with.
#pragma once
#include "description.h"
#include "gpud/inventory/nvml_abi.h"
#include "state.h"

// Everything is hidden but NVML's own names.
#define EXPORT __attribute__((visibility("default")))
#define DECLARE(name, arguments) EXPORT int name arguments;
ROTA_NVML_FUNCTIONS(DECLARE)
#undef DECLARE

struct NvmlDevice {
  unsigned int index;
};

typedef struct {
  const FakeDescription* machine;
  FakeState* state;
  // Of a call with a device:
  unsigned int index;
  const FakeDevice* device;
  FakeGpuState* gpu;
} Call;

/// The code to return at once, or success and `call` filled in. Here calls hang or fail that
/// rota-fakegpu made hang or fail.
int enter(const char* name, Call* call);
/// The same for a call with a device, which may be no device of ours or one that is lost.
int enter_device(const char* name, NvmlHandle device, Call* call);
/// The device of an index, as a handle.
NvmlHandle handle_of(unsigned int index);

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
/// A function that drivers older than `branch` do not have.
#define SINCE(call, branch) \
  if ((call).machine->driver_branch < (branch)) return nvml_function_not_found
