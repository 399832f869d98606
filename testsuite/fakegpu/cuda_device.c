// testsuite/fakegpu/cuda_device.c - the fake CUDA driver's answers to: which devices are there, and
// what are they?
#include <stdio.h>
#include <string.h>

#include "cuda_core.h"

CUDA(cuDeviceGetCount, int* count) {
  CUDA_ENTER();
  if (count == NULL) return cuda_invalid_value;
  *count = (int)cuda_world()->visible_count;
  return cuda_success;
}

CUDA(cuDeviceGet, CudaDevice* device, int ordinal) {
  CUDA_ENTER();
  if (device == NULL) return cuda_invalid_value;
  if (!cuda_has_device(ordinal)) return cuda_invalid_device;
  *device = ordinal;
  return cuda_success;
}

CUDA(cuDeviceGetName, char* name, int size, CudaDevice device) {
  CUDA_ENTER();
  if (name == NULL || size <= 0) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  const CudaSeen* seen = cuda_instance(device);
  snprintf(name, (size_t)size, "%s%s%s", cuda_device(device)->gpu.name, seen != NULL ? " MIG " : "",
           seen != NULL ? cuda_profile(seen)->name : "");
  return cuda_success;
}

static int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static void uuid_bytes(const char* text, CudaUuid* uuid) {
  unsigned int count = 0;
  for (const char* at = text + 4; *at != '\0' && count < 32; ++at) {
    if (*at == '-') continue;
    unsigned char* byte = &uuid->bytes[count++ / 2];
    *byte = (unsigned char)(*byte << 4 | hex_digit(*at));
  }
}

CUDA(cuDeviceGetUuid, CudaUuid* uuid, CudaDevice device) {
  CUDA_ENTER();
  if (uuid == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  uuid_bytes(cuda_device(device)->uuid, uuid);
  return cuda_success;
}
// The first form gives the GPU's, the second the instance's where it is one.
CUDA(cuDeviceGetUuid_v2, CudaUuid* uuid, CudaDevice device) {
  const int code = cuDeviceGetUuid(uuid, device);
  const CudaSeen* seen = code == cuda_success ? cuda_instance(device) : NULL;
  if (seen == NULL) return code;
  char text[fake_mig_uuid_size];
  fake_mig_uuid(cuda_device(device), &seen->instance, &seen->compute, text);
  uuid_bytes(text, uuid);
  return cuda_success;
}

CUDA(cuDeviceTotalMem_v2, size_t* bytes, CudaDevice device) {
  CUDA_ENTER();
  if (bytes == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  *bytes = cuda_capacity(device);
  return cuda_success;
}

CUDA(cuMemGetInfo_v2, size_t* free_bytes, size_t* total_bytes) {
  CUDA_ENTER_CONTEXT(context);
  if (free_bytes == NULL || total_bytes == NULL) return cuda_invalid_value;
  *total_bytes = cuda_capacity(context->device);
  *free_bytes = cuda_free_bytes(context->device);
  return cuda_success;
}

CUDA(cuDeviceComputeCapability, int* major, int* minor, CudaDevice device) {
  CUDA_ENTER();
  if (major == NULL || minor == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  *major = (int)cuda_device(device)->gpu.compute_major;
  *minor = (int)cuda_device(device)->gpu.compute_minor;
  return cuda_success;
}

CUDA(cuDeviceGetPCIBusId, char* text, int size, CudaDevice device) {
  CUDA_ENTER();
  if (text == NULL || size <= 0) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  const FakePci* pci = &cuda_device(device)->pci;
  snprintf(text, (size_t)size, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
  return cuda_success;
}

CUDA(cuDeviceGetByPCIBusId, CudaDevice* device, const char* text) {
  CUDA_ENTER();
  FakePci pci;
  if (device == NULL || text == NULL || !fake_pci_parse(text, &pci)) return cuda_invalid_value;
  for (CudaDevice i = 0; cuda_has_device(i); ++i) {
    const FakePci* own = &cuda_device(i)->pci;
    if (own->domain != pci.domain || own->bus != pci.bus || own->device != pci.device) continue;
    *device = i;
    return cuda_success;
  }
  return cuda_invalid_device;
}

CUDA(cuDeviceCanAccessPeer, int* can, CudaDevice device, CudaDevice peer) {
  CUDA_ENTER();
  if (can == NULL) return cuda_invalid_value;
  if (!cuda_has_device(device) || !cuda_has_device(peer)) return cuda_invalid_device;
  *can = device != peer;
  return cuda_success;
}

CUDA(cuCtxEnablePeerAccess, CudaContext peer, unsigned int flags) {
  CUDA_ENTER_CONTEXT(context);
  return peer == NULL || flags != 0 ? cuda_invalid_value : cuda_success;
}

typedef struct {
  int number;
  int value;
} Attribute;

// Numbers of the public enumeration; what is not here is 0, as for a thing the device cannot do.
static const Attribute attributes[] = {
    {1, 1024},         // threads of a block
    {2, 1024},         // its dimensions
    {3, 1024},         //
    {4, 64},           //
    {5, 0x7FFFFFFF},   // blocks of a grid
    {6, 65535},        //
    {7, 65535},        //
    {8, 49152},        // shared memory of a block
    {9, 65536},        // constant memory
    {10, 32},          // threads of a warp
    {11, 0x7FFFFFFF},  // largest pitch
    {12, 65536},       // registers of a block
    {13, 1530000},     // kHz
    {14, 512},         // alignment of textures
    {15, 1},           // copies while it computes
    {19, 1},           // maps host memory
    {21, 131072},      // textures
    {22, 131072},      //
    {23, 65536},       //
    {24, 16384},       //
    {25, 16384},       //
    {26, 16384},       //
    {31, 1},           // several kernels at once
    {32, 1},           // ECC
    {36, 877000},      // kHz of the memory
    {37, 4096},        // bits of the memory's bus
    {38, 6291456},     // L2 cache
    {39, 2048},        // threads of a multiprocessor
    {40, 6},           // copy engines
    {41, 1},           // one address space
    {51, 32},          // alignment of a texture's pitch
    {78, 1},           // priorities of streams
    {79, 1},           // caches
    {80, 1},           //
    {81, 98304},       // shared memory of a multiprocessor
    {82, 65536},       // its registers
    {83, 1},           // managed memory
    {88, 1},           // pageable memory
    {89, 1},           // managed memory from both sides
    {96, 1},           // host pointers as they are
    {97, 98304},       // shared memory of a block that asks for it
    {102, 1},          // virtual memory management
    {103, 1},          // handles as file descriptors
    {106, 32},         // blocks of a multiprocessor
    {115, 1},          // memory pools
    {119, 1},          // their handles
};

CUDA(cuDeviceGetAttribute, int* value, int attribute, CudaDevice device) {
  CUDA_ENTER();
  if (value == NULL || attribute < 1) return cuda_invalid_value;
  if (!cuda_has_device(device)) return cuda_invalid_device;
  const FakeModel* model = &cuda_device(device)->gpu;
  const FakePci* pci = &cuda_device(device)->pci;
  const CudaSeen* seen = cuda_instance(device);
  *value = 0;
  switch (attribute) {
    case 16:
      *value = (int)(seen != NULL ? fake_mig_multiprocessors(cuda_profile(seen), &seen->compute)
                     : cuda_world()->is_mps_client ? cuda_mps_multiprocessors(model)
                                                   : model->multiprocessors);
      break;
    case 20:
      *value = (int)cuda_gpu(device)->compute_mode;
      break;
    case 33:
      *value = (int)pci->bus;
      break;
    case 34:
      *value = (int)pci->device;
      break;
    case 50:
      *value = (int)pci->domain;
      break;
    case 75:
      *value = (int)model->compute_major;
      break;
    case 76:
      *value = (int)model->compute_minor;
      break;
    default:
      for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; ++i) {
        if (attributes[i].number == attribute) *value = attributes[i].value;
      }
  }
  return cuda_success;
}

// The old form of several at once.
CUDA(cuDeviceGetProperties, int* properties, CudaDevice device) {
  CUDA_ENTER();
  if (properties == NULL) return cuda_invalid_value;
  static const int numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    const int code = cuDeviceGetAttribute(&properties[i], numbers[i], device);
    if (code != cuda_success) return code;
  }
  return cuda_success;
}
