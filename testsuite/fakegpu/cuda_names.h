// testsuite/fakegpu/cuda_names.h - the table of all that the fake CUDA driver exports.
#pragma once
#include <stddef.h>

typedef struct {
  const char* name;  // as cuGetProcAddress is asked for it
  int version;       // of CUDA, that it came with
  int per_thread;
  void* address;
} CudaSymbol;

extern const CudaSymbol cuda_symbols[];
extern const size_t cuda_symbol_count;
