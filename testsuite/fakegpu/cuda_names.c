// testsuite/fakegpu/cuda_names.c - every name the CUDA driver exports, as functions and as a table.
#include "cuda_names.h"

#include "gpushim/cuda_abi.h"

// Weak: what another file defines wins. The rest is there, as in a real driver, and not supported;
// programs refuse a library that lacks a name which they never call.
#define CUDA_SYMBOL(symbol, name, version, per_thread)           \
  __attribute__((weak, visibility("default"))) int symbol(void); \
  int symbol(void) { return cuda_operation_not_supported; }
#include "cuda_graphics_symbols.def"
#include "cuda_symbols.def"
#undef CUDA_SYMBOL

#define CUDA_SYMBOL(symbol, name, version, per_thread) {#name, version, per_thread, (void*)symbol},
const CudaSymbol cuda_symbols[] = {
#include "cuda_graphics_symbols.def"
#include "cuda_symbols.def"
};
const size_t cuda_symbol_count = sizeof cuda_symbols / sizeof cuda_symbols[0];
