// gpushim/ledger.c - a hash table in shards, each with a lock of its own; empty in a fork.
#include "gpushim/ledger.h"

#include <errno.h>
#include <sys/mman.h>

#include "gpushim/share.h"

enum { shard_count = 64, capacity_first = 128 };

// Open addressing, linear; a removed entry is closed up, so there are no tombstones.
typedef struct {
  uint32_t lock;
  uint32_t used;
  uint64_t capacity;  // a power of two, or 0
  LedgerEntry* entries;
} __attribute__((aligned(64))) Shard;
static_assert(sizeof(Shard) * shard_count <= share_ledger_size, "the shards lie in share_local()");

static uint64_t hash(uint32_t kind, uint64_t key) {
  uint64_t h = (key ^ (uint64_t)kind << 56) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 29;
}

static Shard* shard_at(unsigned int index) { return (Shard*)share_local() + index; }
static Shard* shard_of(uint64_t h) { return shard_at((unsigned int)(h >> 58)); }

static LedgerEntry* look(Shard* shard, uint32_t kind, uint64_t key, uint64_t h) {  // locked
  if (shard->capacity == 0) return NULL;
  for (uint64_t i = h & (shard->capacity - 1);; i = (i + 1) & (shard->capacity - 1)) {
    LedgerEntry* entry = &shard->entries[i];
    if (entry->kind == 0) return NULL;
    if (entry->kind == kind && entry->key == key) return entry;
  }
}

static void place(LedgerEntry* entries, uint64_t capacity, const LedgerEntry* entry) {
  uint64_t i = hash(entry->kind, entry->key) & (capacity - 1);
  while (entries[i].kind != 0) i = (i + 1) & (capacity - 1);
  entries[i] = *entry;
}

static bool grow(Shard* shard) {  // locked
  const int saved = errno;
  const uint64_t capacity = shard->capacity == 0 ? capacity_first : shard->capacity * 2;
  LedgerEntry* entries = mmap(NULL, capacity * sizeof *entries, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (entries == MAP_FAILED) {
    errno = saved;
    return false;
  }
  for (uint64_t i = 0; i < shard->capacity; ++i) {
    if (shard->entries[i].kind != 0) place(entries, capacity, &shard->entries[i]);
  }
  if (shard->entries != NULL) munmap(shard->entries, shard->capacity * sizeof *entries);
  shard->entries = entries;
  shard->capacity = capacity;
  errno = saved;
  return true;
}

static void remove_entry(Shard* shard, LedgerEntry* entry) {  // locked
  const uint64_t mask = shard->capacity - 1;
  uint64_t hole = (uint64_t)(entry - shard->entries);
  for (uint64_t i = (hole + 1) & mask; shard->entries[i].kind != 0; i = (i + 1) & mask) {
    const uint64_t home = hash(shard->entries[i].kind, shard->entries[i].key) & mask;
    // It may move into the hole unless its home lies behind the hole.
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    shard->entries[hole] = shard->entries[i];
    hole = i;
  }
  shard->entries[hole].kind = 0;
  --shard->used;
}

bool ledger_put(const LedgerEntry* entry) {
  const uint64_t h = hash(entry->kind, entry->key);
  Shard* shard = shard_of(h);
  share_lock(&shard->lock);
  LedgerEntry* known = look(shard, entry->kind, entry->key, h);
  bool good = true;
  if (known != NULL) {
    *known = *entry;
  } else {
    // At most three quarters full, so that a search always ends at a free place.
    good = (shard->used + 1) * 4 <= shard->capacity * 3 || grow(shard);
    if (good) {
      place(shard->entries, shard->capacity, entry);
      ++shard->used;
    }
  }
  share_unlock(&shard->lock);
  return good;
}

static bool get(enum LedgerKind kind, uint64_t key, LedgerEntry* entry, bool take) {
  const uint64_t h = hash(kind, key);
  Shard* shard = shard_of(h);
  share_lock(&shard->lock);
  LedgerEntry* found = look(shard, kind, key, h);
  if (found != NULL) {
    *entry = *found;
    if (take) remove_entry(shard, found);
  }
  share_unlock(&shard->lock);
  return found != NULL;
}

bool ledger_find(enum LedgerKind kind, uint64_t key, LedgerEntry* entry) {
  return get(kind, key, entry, false);
}
bool ledger_take(enum LedgerKind kind, uint64_t key, LedgerEntry* entry) {
  return get(kind, key, entry, true);
}

bool ledger_take_owned(uint64_t owner, LedgerEntry* entry) {
  for (unsigned int s = 0; s < shard_count; ++s) {
    Shard* shard = shard_at(s);
    share_lock(&shard->lock);
    for (uint64_t i = 0; i < shard->capacity; ++i) {
      LedgerEntry* at = &shard->entries[i];
      if (at->kind < ledger_memory || at->kind > ledger_mipmap || at->owner != owner) continue;
      *entry = *at;
      remove_entry(shard, at);
      share_unlock(&shard->lock);
      return true;
    }
    share_unlock(&shard->lock);
  }
  return false;
}

bool ledger_find_mapping(uint64_t address, LedgerEntry* entry) {
  for (unsigned int s = 0; s < shard_count; ++s) {
    Shard* shard = shard_at(s);
    share_lock(&shard->lock);
    for (uint64_t i = 0; i < shard->capacity; ++i) {
      const LedgerEntry* at = &shard->entries[i];
      if (at->kind != ledger_mapping || address < at->key || address >= at->key + at->bytes) {
        continue;
      }
      *entry = *at;
      share_unlock(&shard->lock);
      return true;
    }
    share_unlock(&shard->lock);
  }
  return false;
}
