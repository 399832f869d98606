// gpushim/share.h - this process's part of its job's share of the GPUs: joining it, taking and
// giving back.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gpushim/region.h"

/// Joins the job's share, once per process; a fork joins anew. False, after the time a daemon needs
/// to restart, when there is nobody to join: the caller must then refuse its service.
/// `library` is the real library, which lies beside the socket. errno is kept.
bool share_join(void* library, uint32_t kind);
/// Joined, in this process. The quick question of every call.
bool share_joined(void);

/// What is remembered per process and must be empty in a fork: zero at first, 64-byte aligned.
enum { share_local_size = 8192, share_ledger_size = 4096 };
void* share_local(void);  // the ledger first, then the CUDA part's own

/// Place of a GPU among those of the job; -1: it is not one of them.
int share_gpu(const uint8_t uuid[16]);
const RotaRegionGpu* share_rules_of(unsigned int gpu);
/// Takes bytes of the job's share, or says no. Never more than the limit is taken, by whomever.
bool share_reserve(unsigned int gpu, uint64_t bytes);
void share_release(unsigned int gpu, uint64_t bytes);
/// What all processes of the job use; and what is left of the limit.
uint64_t share_used(unsigned int gpu);
uint64_t share_free(unsigned int gpu);
bool share_has_pid(uint32_t pid);

/// A lock that is held for some nanoseconds and lies in share_local().
void share_lock(uint32_t* lock);
void share_unlock(uint32_t* lock);
