// testsuite/fakegpu/cuda_copy.c - copies and fills of the fake CUDA driver: real, in the host's
// memory.
#include <string.h>

#include "cuda_core.h"

static void* host(CudaPtr pointer) { return (void*)(uintptr_t)pointer; }

static int copy(void* to, const void* from, size_t bytes) {
  CUDA_ENTER_CONTEXT(context);
  if (bytes > 0 && (to == NULL || from == NULL)) return cuda_invalid_value;
  memmove(to, from, bytes);
  return cuda_success;
}

CUDA(cuMemcpyHtoD_v2, CudaPtr to, const void* from, size_t bytes) {
  return copy(host(to), from, bytes);
}
CUDA(cuMemcpyDtoH_v2, void* to, CudaPtr from, size_t bytes) { return copy(to, host(from), bytes); }
CUDA(cuMemcpyDtoD_v2, CudaPtr to, CudaPtr from, size_t bytes) {
  return copy(host(to), host(from), bytes);
}
CUDA(cuMemcpy, CudaPtr to, CudaPtr from, size_t bytes) { return copy(host(to), host(from), bytes); }
CUDA(cuMemcpyHtoDAsync_v2, CudaPtr to, const void* from, size_t bytes, CudaStream stream) {
  (void)stream;
  return copy(host(to), from, bytes);
}
CUDA(cuMemcpyDtoHAsync_v2, void* to, CudaPtr from, size_t bytes, CudaStream stream) {
  (void)stream;
  return copy(to, host(from), bytes);
}
CUDA(cuMemcpyDtoDAsync_v2, CudaPtr to, CudaPtr from, size_t bytes, CudaStream stream) {
  (void)stream;
  return copy(host(to), host(from), bytes);
}
CUDA(cuMemcpyAsync, CudaPtr to, CudaPtr from, size_t bytes, CudaStream stream) {
  (void)stream;
  return copy(host(to), host(from), bytes);
}
CUDA(cuMemcpyPeer, CudaPtr to, CudaContext to_context, CudaPtr from, CudaContext from_context,
     size_t bytes) {
  (void)to_context;
  (void)from_context;
  return copy(host(to), host(from), bytes);
}
CUDA_ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
CUDA_ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
CUDA_ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
CUDA_ALIAS(cuMemcpy_ptds, cuMemcpy);
CUDA_ALIAS(cuMemcpyPeer_ptds, cuMemcpyPeer);
CUDA_ALIAS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
CUDA_ALIAS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
CUDA_ALIAS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);
CUDA_ALIAS(cuMemcpyAsync_ptsz, cuMemcpyAsync);

// One end of a copy: its first byte, and how far it is to the next row and the next plane.
typedef struct {
  unsigned char* first;
  size_t pitch;
  size_t height;
} End;

static int find_end(int type, void* at_host, CudaPtr device, CudaArray array, size_t pitch,
                    size_t height, End* end) {
  end->pitch = pitch;
  end->height = height;
  switch (type) {
    case cuda_memory_host:
      end->first = at_host;
      break;
    case cuda_memory_device:
    case cuda_memory_unified:
      end->first = host(device);
      break;
    case cuda_memory_array:
      end->first = array != NULL ? cuda_array_data(array, &end->pitch, &end->height) : NULL;
      break;
    default:
      return cuda_invalid_value;
  }
  return end->first != NULL ? cuda_success : cuda_invalid_value;
}

static int copy_3d(const CudaCopy3d* what) {
  CUDA_ENTER_CONTEXT(context);
  if (what == NULL) return cuda_invalid_value;
  End from, to;
  int code = find_end(what->src_type, (void*)(uintptr_t)what->src_host, what->src_device,
                      what->src_array, what->src_pitch, what->src_height, &from);
  if (code != cuda_success) return code;
  code = find_end(what->dst_type, what->dst_host, what->dst_device, what->dst_array,
                  what->dst_pitch, what->dst_height, &to);
  if (code != cuda_success) return code;
  // A pitch of 0 is the width: rows without a gap.
  if (from.pitch == 0) from.pitch = what->width;
  if (to.pitch == 0) to.pitch = what->width;
  if (what->height > 1 && (from.pitch < what->width || to.pitch < what->width)) {
    return cuda_invalid_value;
  }
  for (size_t z = 0; z < what->depth; ++z) {
    for (size_t y = 0; y < what->height; ++y) {
      memmove(to.first + ((what->dst_z + z) * to.height + what->dst_y + y) * to.pitch + what->dst_x,
              from.first + ((what->src_z + z) * from.height + what->src_y + y) * from.pitch +
                  what->src_x,
              what->width);
    }
  }
  return cuda_success;
}

static int copy_2d(const CudaCopy2d* what) {
  if (what == NULL) return cuda_invalid_value;
  const CudaCopy3d three = {.src_x = what->src_x,
                            .src_y = what->src_y,
                            .src_type = what->src_type,
                            .src_host = what->src_host,
                            .src_device = what->src_device,
                            .src_array = what->src_array,
                            .src_pitch = what->src_pitch,
                            .dst_x = what->dst_x,
                            .dst_y = what->dst_y,
                            .dst_type = what->dst_type,
                            .dst_host = what->dst_host,
                            .dst_device = what->dst_device,
                            .dst_array = what->dst_array,
                            .dst_pitch = what->dst_pitch,
                            .width = what->width,
                            .height = what->height,
                            .depth = 1};
  return copy_3d(&three);
}

CUDA(cuMemcpy2D_v2, const CudaCopy2d* what) { return copy_2d(what); }
CUDA(cuMemcpy2DUnaligned_v2, const CudaCopy2d* what) { return copy_2d(what); }
CUDA(cuMemcpy2DAsync_v2, const CudaCopy2d* what, CudaStream stream) {
  (void)stream;
  return copy_2d(what);
}
CUDA(cuMemcpy3D_v2, const CudaCopy3d* what) { return copy_3d(what); }
CUDA(cuMemcpy3DAsync_v2, const CudaCopy3d* what, CudaStream stream) {
  (void)stream;
  return copy_3d(what);
}
CUDA_ALIAS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
CUDA_ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2);
CUDA_ALIAS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);
CUDA_ALIAS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);
CUDA_ALIAS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

static int fill(CudaPtr to, size_t pitch, unsigned int value, size_t size, size_t width,
                size_t height) {
  CUDA_ENTER_CONTEXT(context);
  if (to == 0 && width > 0 && height > 0) return cuda_invalid_value;
  for (size_t y = 0; y < height; ++y) {
    unsigned char* row = (unsigned char*)host(to) + y * pitch;
    if (size == 1) {
      memset(row, (int)value, width);
    } else {
      for (size_t x = 0; x < width; ++x) memcpy(row + x * size, &value, size);
    }
  }
  return cuda_success;
}

CUDA(cuMemsetD8_v2, CudaPtr to, unsigned char value, size_t count) {
  return fill(to, 0, value, 1, count, 1);
}
CUDA(cuMemsetD16_v2, CudaPtr to, unsigned short value, size_t count) {
  return fill(to, 0, value, 2, count, 1);
}
CUDA(cuMemsetD32_v2, CudaPtr to, unsigned int value, size_t count) {
  return fill(to, 0, value, 4, count, 1);
}
CUDA(cuMemsetD8Async, CudaPtr to, unsigned char value, size_t count, CudaStream stream) {
  (void)stream;
  return fill(to, 0, value, 1, count, 1);
}
CUDA(cuMemsetD16Async, CudaPtr to, unsigned short value, size_t count, CudaStream stream) {
  (void)stream;
  return fill(to, 0, value, 2, count, 1);
}
CUDA(cuMemsetD32Async, CudaPtr to, unsigned int value, size_t count, CudaStream stream) {
  (void)stream;
  return fill(to, 0, value, 4, count, 1);
}
CUDA(cuMemsetD2D8_v2, CudaPtr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill(to, pitch, value, 1, width, height);
}
CUDA(cuMemsetD2D8Async, CudaPtr to, size_t pitch, unsigned char value, size_t width, size_t height,
     CudaStream stream) {
  (void)stream;
  return fill(to, pitch, value, 1, width, height);
}
CUDA(cuMemsetD2D32_v2, CudaPtr to, size_t pitch, unsigned int value, size_t width, size_t height) {
  return fill(to, pitch, value, 4, width, height);
}
CUDA_ALIAS(cuMemsetD8_v2_ptds, cuMemsetD8_v2);
CUDA_ALIAS(cuMemsetD16_v2_ptds, cuMemsetD16_v2);
CUDA_ALIAS(cuMemsetD32_v2_ptds, cuMemsetD32_v2);
CUDA_ALIAS(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2);
CUDA_ALIAS(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2);
CUDA_ALIAS(cuMemsetD8Async_ptsz, cuMemsetD8Async);
CUDA_ALIAS(cuMemsetD16Async_ptsz, cuMemsetD16Async);
CUDA_ALIAS(cuMemsetD32Async_ptsz, cuMemsetD32Async);
CUDA_ALIAS(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async);
