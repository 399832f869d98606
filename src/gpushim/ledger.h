// gpushim/ledger.h - what this process has taken of its share: pointer or handle to bytes and GPU.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum LedgerKind {
  ledger_memory = 1,  // a pointer
  ledger_array,
  ledger_mipmap,
  ledger_physical,  // a handle of cuMemCreate
  ledger_mapping,   // the address it is mapped at
  ledger_pool,      // which GPU a pool lies on; no bytes
  ledger_context
};

typedef struct {
  uint64_t key;
  uint32_t kind;  // 0: a free place
  uint32_t gpu;
  uint64_t bytes;
  uint64_t owner;  // the context that takes it along, or the physical memory behind a mapping
} LedgerEntry;

/// Remembers it. False: there is no memory for it; then it stays charged to the end.
bool ledger_put(const LedgerEntry* entry);
/// Finds it, or finds and removes it.
bool ledger_find(enum LedgerKind kind, uint64_t key, LedgerEntry* entry);
bool ledger_take(enum LedgerKind kind, uint64_t key, LedgerEntry* entry);
/// Removes one that `owner` owns, of the three kinds that die with a context.
bool ledger_take_owned(uint64_t owner, LedgerEntry* entry);
/// The mapping that `address` lies in.
bool ledger_find_mapping(uint64_t address, LedgerEntry* entry);
