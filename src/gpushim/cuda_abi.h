// gpushim/cuda_abi.h - the CUDA driver's binary interface, as much of it as Rota stands in front
// of.
//
// Our own words for facts that NVIDIA's public driver API reference states: names, argument types,
// numbers and layouts (x86-64 and aarch64, both LP64). Plain C, for the shim and for the fake
// library of the testsuite. A name without a suffix is always the oldest form of a function, which
// for memory means sizes of 32 bits.
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What every function returns (as an int).
enum CudaResult {
  cuda_success = 0,
  cuda_invalid_value = 1,
  cuda_out_of_memory = 2,
  cuda_not_initialized = 3,
  cuda_deinitialized = 4,
  cuda_no_device = 100,
  cuda_invalid_device = 101,
  cuda_invalid_image = 200,
  cuda_invalid_context = 201,
  cuda_invalid_handle = 400,
  cuda_not_found = 500,
  cuda_not_ready = 600,
  cuda_primary_context_active = 708,
  cuda_context_is_destroyed = 709,
  cuda_operation_not_supported = 801,
  cuda_system_not_ready = 802,
  cuda_stream_capture_unsupported = 900,
  cuda_unknown = 999
};

typedef int CudaDevice;              // an ordinal among the devices that this process sees
typedef unsigned long long CudaPtr;  // device memory; an address that the host can tell apart
typedef struct CudaContextBody* CudaContext;
typedef struct CudaStreamBody* CudaStream;
typedef struct CudaEventBody* CudaEvent;
typedef struct CudaModuleBody* CudaModule;
typedef struct CudaFunctionBody* CudaFunction;
typedef struct CudaArrayBody* CudaArray;
typedef struct CudaMipmapBody* CudaMipmap;
typedef struct CudaPoolBody* CudaPool;
typedef struct CudaGraphBody* CudaGraph;
typedef unsigned long long CudaAllocation;  // physical memory of cuMemCreate, not yet an address

typedef struct {
  unsigned char bytes[16];
} CudaUuid;
static_assert(sizeof(CudaUuid) == 16, "layout of CUuuid");

// cuGetProcAddress: flags, and what the second form says of a name.
enum { cuda_proc_per_thread_stream = 2 };
enum { cuda_proc_found = 0, cuda_proc_no_such_name = 1, cuda_proc_needs_newer = 2 };

// Where memory of cuMemCreate and of pools lies.
enum { cuda_location_device = 1, cuda_location_host = 2 };
typedef struct {
  int type;
  int id;  // a device's ordinal, for memory on a device
} CudaLocation;

// cuMemCreate
typedef struct {
  int type;  // 1: pinned
  int handle_types;
  CudaLocation location;
  void* win32_attributes;
  unsigned char flags[8];
} CudaAllocationProp;
static_assert(sizeof(CudaAllocationProp) == 32 && offsetof(CudaAllocationProp, location) == 8 &&
                  offsetof(CudaAllocationProp, win32_attributes) == 16,
              "layout of CUmemAllocationProp");

// cuMemSetAccess
typedef struct {
  CudaLocation location;
  int flags;  // 0 none, 1 read, 3 read and write
} CudaAccess;
static_assert(sizeof(CudaAccess) == 12, "layout of CUmemAccessDesc");

// cuMemPoolCreate
typedef struct {
  int type;
  int handle_types;
  CudaLocation location;
  void* win32_attributes;
  size_t size_max;
  unsigned char reserved[56];
} CudaPoolProps;
static_assert(sizeof(CudaPoolProps) == 88 && offsetof(CudaPoolProps, location) == 8 &&
                  offsetof(CudaPoolProps, size_max) == 24,
              "layout of CUmemPoolProps");

// cuMemPoolGetAttribute
enum {
  cuda_pool_release_threshold = 4,
  cuda_pool_reserved_now = 5,
  cuda_pool_reserved_high = 6,
  cuda_pool_used_now = 7,
  cuda_pool_used_high = 8
};

// Formats of an array's elements: bytes of one channel, 0 for one that is not known.
static inline size_t cuda_format_bytes(int format) {
  switch (format) {
    case 0x01:  // unsigned and signed bytes
    case 0x08:
      return 1;
    case 0x02:  // 16 bits: unsigned, signed, half
    case 0x09:
    case 0x10:
      return 2;
    case 0x03:  // 32 bits: unsigned, signed, float
    case 0x0a:
    case 0x20:
      return 4;
    default:
      return 0;
  }
}

// cuArrayCreate_v2
typedef struct {
  size_t width;
  size_t height;  // 0: one dimension
  int format;
  unsigned int channels;
} CudaArrayDesc;
static_assert(sizeof(CudaArrayDesc) == 24 && offsetof(CudaArrayDesc, format) == 16,
              "layout of CUDA_ARRAY_DESCRIPTOR_v2");

// cuArray3DCreate_v2, cuMipmappedArrayCreate
enum { cuda_array_sparse = 0x40, cuda_array_deferred = 0x80 };
typedef struct {
  size_t width;
  size_t height;
  size_t depth;
  int format;
  unsigned int channels;
  unsigned int flags;
} CudaArray3dDesc;
static_assert(sizeof(CudaArray3dDesc) == 40 && offsetof(CudaArray3dDesc, format) == 24 &&
                  offsetof(CudaArray3dDesc, flags) == 32,
              "layout of CUDA_ARRAY3D_DESCRIPTOR_v2");

// One end of a copy in two or three dimensions.
enum {
  cuda_memory_host = 1,
  cuda_memory_device = 2,
  cuda_memory_array = 3,
  cuda_memory_unified = 4
};

typedef struct {
  size_t src_x;  // bytes
  size_t src_y;
  int src_type;
  const void* src_host;
  CudaPtr src_device;
  CudaArray src_array;
  size_t src_pitch;
  size_t dst_x;
  size_t dst_y;
  int dst_type;
  void* dst_host;
  CudaPtr dst_device;
  CudaArray dst_array;
  size_t dst_pitch;
  size_t width;  // bytes
  size_t height;
} CudaCopy2d;
static_assert(sizeof(CudaCopy2d) == 128 && offsetof(CudaCopy2d, src_pitch) == 48 &&
                  offsetof(CudaCopy2d, dst_x) == 56 && offsetof(CudaCopy2d, width) == 112,
              "layout of CUDA_MEMCPY2D_v2");

typedef struct {
  size_t src_x;
  size_t src_y;
  size_t src_z;
  size_t src_lod;
  int src_type;
  const void* src_host;
  CudaPtr src_device;
  CudaArray src_array;
  void* reserved0;
  size_t src_pitch;
  size_t src_height;
  size_t dst_x;
  size_t dst_y;
  size_t dst_z;
  size_t dst_lod;
  int dst_type;
  void* dst_host;
  CudaPtr dst_device;
  CudaArray dst_array;
  void* reserved1;
  size_t dst_pitch;
  size_t dst_height;
  size_t width;
  size_t height;
  size_t depth;
} CudaCopy3d;
static_assert(sizeof(CudaCopy3d) == 200 && offsetof(CudaCopy3d, src_pitch) == 72 &&
                  offsetof(CudaCopy3d, dst_x) == 88 && offsetof(CudaCopy3d, width) == 176,
              "layout of CUDA_MEMCPY3D_v2");

// cuMemAllocManaged
enum { cuda_attach_global = 1, cuda_attach_host = 2, cuda_attach_single = 4 };
// cuStreamIsCapturing
enum { cuda_capture_none = 0, cuda_capture_active = 1 };

#ifdef __cplusplus
}
#endif
