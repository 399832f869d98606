// gpushim/share.c - joins the job's share and counts in it without locks.
#include "gpushim/share.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "gpushim/glibc.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

// All that a fork must not inherit: the kernel empties these pages in the child.
typedef struct {
  uint32_t joined;
  uint32_t lock;
  uint32_t slot;
  int connection;
  const RotaRules* rules;
  RotaCounts* counts;
  char others[share_local_size] __attribute__((aligned(64)));
} Local;

static Local* local;
// Before the page is there nothing is joined; so no call asks for NULL first.
static uint32_t no_page;
static uint32_t* joined_flag = &no_page;
static uint32_t making_lock;

void share_lock(uint32_t* lock) {
  for (unsigned int spins = 1; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0; ++spins) {
    if (spins % 256 == 0) sched_yield();
  }
}

void share_unlock(uint32_t* lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

bool share_joined(void) { return __atomic_load_n(joined_flag, __ATOMIC_ACQUIRE) != 0; }

void* share_local(void) { return local->others; }

// A child has its parent's connection too: the daemon must see the parent's exec in spite of it.
static void close_in_child(void) {
  making_lock = 0;
  if (local == NULL) return;
  memset(local, 0, sizeof *local);  // for kernels before 4.14
}

static int inherited = -1;
static void note_before_fork(void) {
  inherited = local != NULL && local->joined ? local->connection : -1;
}
static void after_fork_in_child(void) {
  if (inherited >= 0) close(inherited);
  inherited = -1;
  close_in_child();
}

static bool make_local(void) {
  share_lock(&making_lock);
  if (local == NULL) {
    void* page =
        mmap(NULL, sizeof(Local), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
      madvise(page, sizeof(Local), MADV_WIPEONFORK);
      pthread_atfork(note_before_fork, NULL, after_fork_in_child);
      local = page;
      joined_flag = &local->joined;
    }
  }
  share_unlock(&making_lock);
  return local != NULL;
}

// The socket lies where the real library was found: no variable of the user's says where.
static bool socket_address(void* library, struct sockaddr_un* address) {
  struct link_map* map = NULL;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map->l_name == NULL) return false;
  const char* end = strrchr(map->l_name, '/');
  const size_t folder = end != NULL ? (size_t)(end - map->l_name) + 1 : 0;
  if (folder + sizeof rota_share_socket > sizeof address->sun_path) return false;
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, map->l_name, folder);
  memcpy(address->sun_path + folder, rota_share_socket, sizeof rota_share_socket);
  return true;
}

static bool receive(int fd, RotaWelcome* welcome, int files[2]) {
  union {
    struct cmsghdr head;
    char space[CMSG_SPACE(2 * sizeof(int))];
  } control;
  struct iovec part = {welcome, sizeof *welcome};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size;
  do {
    size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size != (ssize_t)sizeof *welcome || welcome->magic != rota_region_magic ||
      welcome->version != rota_region_version) {
    return false;
  }
  const struct cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (welcome->status != rota_share_welcome || head == NULL || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
    return false;
  }
  memcpy(files, CMSG_DATA(head), 2 * sizeof(int));
  return true;
}

static bool map_region(const RotaWelcome* welcome, const int files[2], uint32_t kind) {
  const int counting = kind == rota_share_holder ? PROT_READ | PROT_WRITE : PROT_READ;
  const RotaRules* rules = mmap(NULL, sizeof *rules, PROT_READ, MAP_SHARED, files[0], 0);
  RotaCounts* counts = mmap(NULL, sizeof *counts, counting, MAP_SHARED, files[1], 0);
  const bool good = rules != MAP_FAILED && counts != MAP_FAILED &&
                    rules->magic == rota_region_magic && rules->version == rota_region_version &&
                    rules->gpu_count <= rota_region_gpu_max && welcome->slot < rota_region_slot_max;
  if (!good) {
    if (rules != MAP_FAILED) munmap((void*)(uintptr_t)rules, sizeof *rules);
    if (counts != MAP_FAILED) munmap(counts, sizeof *counts);
    return false;
  }
  local->rules = rules;
  local->counts = counts;
  local->slot = welcome->slot;
  return true;
}

// One attempt. The connection stays open to the process's end or exec, which is what it is for.
static bool try_join(const struct sockaddr_un* address, uint32_t kind) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const struct timeval patience = {.tv_sec = 10};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const RotaHello hello = {rota_region_magic, rota_region_version, kind};
  RotaWelcome welcome = {0};
  int files[2] = {-1, -1};
  bool good = connect(fd, (const struct sockaddr*)address, sizeof *address) == 0 &&
              send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello &&
              receive(fd, &welcome, files);
  if (good) {
    good = map_region(&welcome, files, kind);
    close(files[0]);
    close(files[1]);
  }
  if (!good) {
    close(fd);
    return false;
  }
  local->connection = fd;
  return true;
}

// A daemon that is being restarted is back within this time. The user may shorten it, which only
// makes the refusal come sooner.
static unsigned int patience_milliseconds(void) {
  enum { longest = 30000 };
  const char* text = getenv("ROTA_GPU_JOIN_MS");
  const long wanted = text != NULL && *text != '\0' ? strtol(text, NULL, 10) : longest;
  return wanted >= 0 && wanted < longest ? (unsigned int)wanted : longest;
}

static bool join_in_time(const struct sockaddr_un* address, uint32_t kind) {
  enum { step = 100 };
  const struct timespec pause = {.tv_nsec = step * 1000000L};
  const unsigned int patience = patience_milliseconds();
  for (unsigned int waited = 0;; waited += step) {
    if (try_join(address, kind)) return true;
    if (waited >= patience) return false;
    nanosleep(&pause, NULL);
  }
}

bool share_join(void* library, uint32_t kind) {
  if (share_joined()) return true;
  const int saved = errno;
  struct sockaddr_un address;
  bool joined = false;
  if (library != NULL && make_local() && socket_address(library, &address)) {
    share_lock(&local->lock);
    joined = local->joined != 0 || join_in_time(&address, kind);
    if (joined) __atomic_store_n(&local->joined, 1, __ATOMIC_RELEASE);
    share_unlock(&local->lock);
  }
  errno = saved;
  return joined;
}

int share_gpu(const uint8_t uuid[16]) {
  for (unsigned int i = 0; i < local->rules->gpu_count; ++i) {
    if (memcmp(local->rules->gpus[i].uuid, uuid, 16) == 0) return (int)i;
  }
  return -1;
}

const RotaRegionGpu* share_rules_of(unsigned int gpu) { return &local->rules->gpus[gpu]; }

uint64_t share_used(unsigned int gpu) {
  const RotaRules* rules = local->rules;
  const uint32_t high = __atomic_load_n(&rules->slot_high, __ATOMIC_ACQUIRE);
  uint64_t used = __atomic_load_n(&rules->gpus[gpu].stray_bytes, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < high && i < rota_region_slot_max; ++i) {
    used += __atomic_load_n(&local->counts->slots[i].bytes[gpu], __ATOMIC_SEQ_CST) +
            __atomic_load_n(&rules->excess[gpu][i], __ATOMIC_RELAXED);
  }
  return used;
}

// Its limit, or less while others need what is above the job's request.
static uint64_t ceiling_of(unsigned int gpu) {
  const RotaRegionGpu* rules = &local->rules->gpus[gpu];
  const uint64_t limit = __atomic_load_n(&rules->limit_bytes, __ATOMIC_RELAXED);
  const uint64_t ceiling = __atomic_load_n(&rules->ceiling_bytes, __ATOMIC_ACQUIRE);
  return ceiling != 0 && ceiling < limit ? ceiling : limit;
}

// The adds of all processes have one order. Whoever commits has added before it summed, so the last
// of any two has seen the other's bytes: together they never pass the limit. Two that meet at the
// limit may both back out; so each looks again before it gives up.
bool share_reserve(unsigned int gpu, uint64_t bytes) {
  enum { attempts = 4 };
  const uint64_t limit = ceiling_of(gpu);
  if (bytes > limit) return false;
  uint64_t* own = &local->counts->slots[local->slot].bytes[gpu];
  for (unsigned int attempt = 0; attempt < attempts; ++attempt) {
    // Some microseconds, and not the same ones as the others.
    for (unsigned int i = 0; i < attempt * 400 * (1 + local->slot % 7); ++i) {
      __asm__ volatile("" ::: "memory");
    }
    __atomic_fetch_add(own, bytes, __ATOMIC_SEQ_CST);
    if (limit == rota_region_no_limit || share_used(gpu) <= limit) return true;
    __atomic_fetch_sub(own, bytes, __ATOMIC_SEQ_CST);
  }
  return false;
}

void share_release(unsigned int gpu, uint64_t bytes) {
  __atomic_fetch_sub(&local->counts->slots[local->slot].bytes[gpu], bytes, __ATOMIC_SEQ_CST);
}

uint64_t share_free(unsigned int gpu) {
  const uint64_t limit = ceiling_of(gpu), used = share_used(gpu);
  return used < limit ? limit - used : 0;
}

bool share_has_pid(uint32_t pid) {
  const uint32_t high = __atomic_load_n(&local->rules->slot_high, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < high && i < rota_region_slot_max; ++i) {
    if (__atomic_load_n(&local->rules->pids[i], __ATOMIC_RELAXED) == pid) return true;
  }
  return false;
}
