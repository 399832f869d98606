// testsuite/unit/gpushim/shim_user.c - a program that uses a GPU as it is told: a line in, a line
// out.
//
// It knows nothing of Rota: it opens libcuda.so.1 and libnvidia-ml.so.1 by name, as any program
// does, and finds functions with dlsym or, after "lookup", through cuGetProcAddress. Sizes are in
// MiB.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*AnyCall)();
typedef unsigned long long Ptr;
static const size_t mib = 1 << 20;
enum { held_max = 4096 };
static Ptr held[held_max];
static unsigned int held_count;
static void* library;
static void* nvml;
static int by_lookup;
static void* stream;

static AnyCall call(const char* symbol, const char* name) {
  if (library == NULL) library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  if (!by_lookup) return (AnyCall)dlsym(library, symbol);
  void* function = NULL;
  int status = 0;
  int (*lookup)(const char*, void**, int, uint64_t, int*) =
      (int (*)(const char*, void**, int, uint64_t, int*))dlsym(library, "cuGetProcAddress_v2");
  lookup(name, &function, 12020, 0, &status);
  return (AnyCall)function;
}
#define CALL(name) call(#name, #name)
#define CALL2(name) call(#name "_v2", #name)

static void* nvml_device(unsigned int index) {
  if (nvml == NULL) nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  void* device = NULL;
  const int code = ((AnyCall)dlsym(nvml, "nvmlInit_v2"))();
  if (code != 0) printf("nvmlInit %d ", code);
  ((AnyCall)dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2"))(index, &device);
  return device;
}

static void answer_code(int code, Ptr pointer) {
  if (code == 0) held[held_count++ % held_max] = pointer;
  printf("%d\n", code);
}

static int map_new(size_t bytes, Ptr* pointer) {
  const int prop[8] = {1, 0, 1, 0, 0, 0, 0, 0}, access[3] = {1, 0, 3};
  unsigned long long handle = 0;
  int code = CALL(cuMemCreate)(&handle, bytes, prop, 0ull);
  if (code != 0) return code;
  CALL(cuMemAddressReserve)(pointer, bytes, (size_t)0, 0ull, 0ull);
  code = CALL(cuMemMap)(*pointer, bytes, (size_t)0, handle, 0ull);
  CALL(cuMemSetAccess)(*pointer, bytes, access, (size_t)1);
  CALL(cuMemRelease)(handle);  // as ggml and NCCL do: the mapping keeps it
  return code;
}

static int from_pool(size_t bytes, Ptr* pointer) {
  static void* pool;
  const int props[22] = {1, 0, 1, 0};
  if (pool == NULL) CALL(cuMemPoolCreate)(&pool, props);
  return CALL(cuMemAllocFromPoolAsync)(pointer, bytes, pool, stream);
}

static int new_array(size_t bytes, Ptr* pointer) {
  struct {
    size_t width, height;
    int format;
    unsigned int channels;
  } desc = {1 << 20, bytes >> 20, 1, 1};
  void* array = NULL;
  const int code = CALL2(cuArrayCreate)(&array, &desc);
  *pointer = (uintptr_t)array;
  return code;
}

static void allocate(const char* how, size_t bytes) {
  Ptr pointer = 0;
  size_t pitch = 0;
  int code = -1;
  if (strcmp(how, "alloc") == 0) code = CALL2(cuMemAlloc)(&pointer, bytes);
  if (strcmp(how, "managed") == 0) code = CALL(cuMemAllocManaged)(&pointer, bytes, 1u);
  if (strcmp(how, "async") == 0) code = CALL(cuMemAllocAsync)(&pointer, bytes, stream);
  if (strcmp(how, "pool") == 0) code = from_pool(bytes, &pointer);
  if (strcmp(how, "map") == 0) code = map_new(bytes, &pointer);
  if (strcmp(how, "array") == 0) code = new_array(bytes, &pointer);
  // A row of 100 bytes takes 512.
  if (strcmp(how, "pitch") == 0) {
    code = CALL2(cuMemAllocPitch)(&pointer, &pitch, (size_t)100, bytes / 512, 4u);
  }
  answer_code(code, pointer);
}

static void show_memory(void) {
  size_t left = 0, total = 0;
  const int code = CALL2(cuMemGetInfo)(&left, &total);
  if (code != 0) {
    printf("%d\n", code);
  } else {
    printf("%zu of %zu\n", left / mib, total / mib);
  }
}

static void show_nvml(unsigned int index) {
  unsigned long long v1[3] = {0}, v2[5] = {0x02000028};
  void* device = nvml_device(index);
  const int code = ((AnyCall)dlsym(nvml, "nvmlDeviceGetMemoryInfo"))(device, v1);
  const int code2 = ((AnyCall)dlsym(nvml, "nvmlDeviceGetMemoryInfo_v2"))(device, v2);
  if (code != 0 || code2 != 0) {
    printf("%d %d\n", code, code2);
  } else {
    printf("%llu of %llu, %llu of %llu\n", v1[1] / mib, v1[0] / mib, v2[3] / mib, v2[1] / mib);
  }
}

static void show_processes(unsigned int index) {
  unsigned char list[64 * 32];
  unsigned int count = 64;
  void* device = nvml_device(index);
  const int code =
      ((AnyCall)dlsym(nvml, "nvmlDeviceGetComputeRunningProcesses_v3"))(device, &count, list);
  printf("%d %u\n", code, count);
}

// Takes and frees at random for `rounds` rounds, up to eight pieces at once; counts how often it
// could.
typedef struct {
  unsigned int rounds, most;
  void* context;
  uint64_t seed;
  unsigned int taken, refused, odd;
} Struggle;

static void* struggle(void* argument) {
  Struggle* s = argument;
  Ptr pieces[8] = {0};
  AnyCall take = CALL2(cuMemAlloc), give = CALL2(cuMemFree);
  CALL(cuCtxSetCurrent)(s->context);
  for (unsigned int i = 0; i < s->rounds; ++i) {
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 7;
    s->seed ^= s->seed << 17;
    Ptr* piece = &pieces[s->seed % 8];
    if (*piece != 0) {
      if (give(*piece) != 0) ++s->odd;
      *piece = 0;
      continue;
    }
    const int code = take(piece, (size_t)(1 + (s->seed >> 8) % s->most) * mib);
    if (code == 0) ++s->taken;
    if (code == 2) ++s->refused;
    if (code != 0 && code != 2) ++s->odd;
  }
  for (int i = 0; i < 8; ++i) {
    if (pieces[i] != 0 && give(pieces[i]) != 0) ++s->odd;
  }
  return NULL;
}

// `count` threads at once.
static void struggle_in_threads(unsigned int count, unsigned int rounds, unsigned int most) {
  pthread_t threads[16];
  Struggle all[16] = {0}, sum = {0};
  for (unsigned int i = 0; i < count; ++i) {
    all[i] = (Struggle){.rounds = rounds, .most = most};
    all[i].seed = ((uint64_t)getpid() + i) * 0x9E3779B97F4A7C15ull;
    CALL(cuCtxGetCurrent)(&all[i].context);
    pthread_create(&threads[i], NULL, struggle, &all[i]);
  }
  for (unsigned int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    sum.taken += all[i].taken;
    sum.refused += all[i].refused;
    sum.odd += all[i].odd;
  }
  printf("%u %u %u\n", sum.taken, sum.refused, sum.odd);
}

static void obey(char* line, char** arguments) {
  char how[64] = "";
  unsigned int n = 0, m = 0;
  sscanf(line, "%63s %u %u", how, &n, &m);
  if (strcmp(how, "init") == 0) {
    printf("%d\n", CALL(cuInit)(0));
  } else if (strcmp(how, "lookup") == 0) {
    by_lookup = 1;
    puts("ok");
  } else if (strcmp(how, "retain") == 0) {
    void* context = NULL;
    const int code = CALL(cuDevicePrimaryCtxRetain)(&context, n);
    if (code == 0) CALL(cuCtxSetCurrent)(context);
    printf("%d\n", code);
  } else if (strcmp(how, "release") == 0) {
    printf("%d\n", CALL2(cuDevicePrimaryCtxRelease)(n));
  } else if (strcmp(how, "context") == 0) {
    void* context = NULL;
    printf("%d\n", CALL2(cuCtxCreate)(&context, 0u, n));
  } else if (strcmp(how, "destroy") == 0) {
    void* context = NULL;
    CALL(cuCtxGetCurrent)(&context);
    printf("%d\n", CALL2(cuCtxDestroy)(context));
  } else if (strcmp(how, "capture") == 0) {
    CALL(cuStreamCreate)(&stream, 0u);
    printf("%d\n", CALL2(cuStreamBeginCapture)(stream, 0));
  } else if (strcmp(how, "free") == 0) {
    printf("%d\n", CALL2(cuMemFree)(held[n]));
  } else if (strcmp(how, "free-async") == 0) {
    printf("%d\n", CALL(cuMemFreeAsync)(held[n], stream));
  } else if (strcmp(how, "free-array") == 0) {
    printf("%d\n", CALL(cuArrayDestroy)((void*)(uintptr_t)held[n]));
  } else if (strcmp(how, "unmap") == 0) {
    printf("%d\n", CALL(cuMemUnmap)(held[n], m * mib));
  } else if (strcmp(how, "keep") == 0) {  // the default pool keeps what is freed
    void* pool = NULL;
    const uint64_t all = ~0ull;
    CALL(cuDeviceGetDefaultMemPool)(&pool, 0);
    printf("%d\n", CALL(cuMemPoolSetAttribute)(pool, 4, &all));
  } else if (strcmp(how, "memory") == 0) {
    show_memory();
  } else if (strcmp(how, "attribute") == 0) {
    int value = 0;
    const int code = CALL(cuDeviceGetAttribute)(&value, n, 0);
    printf("%d %d\n", code, value);
  } else if (strcmp(how, "total") == 0) {
    size_t bytes = 0;
    const int code = CALL2(cuDeviceTotalMem)(&bytes, n);
    printf("%d %zu\n", code, bytes);
  } else if (strcmp(how, "nvml") == 0) {
    show_nvml(n);
  } else if (strcmp(how, "processes") == 0) {
    show_processes(n);
  } else if (strcmp(how, "struggle") == 0) {
    struggle_in_threads(1, n, m);
  } else if (strcmp(how, "crowd") == 0) {
    struggle_in_threads(8, n, m);
  } else if (strcmp(how, "exec") == 0) {
    execv("/proc/self/exe", arguments);
  } else if (strcmp(how, "fork") == 0) {  // the child talks on, until it is told to exit
    const pid_t child = fork();
    if (child == 0) {
      puts("child");
    } else {
      waitpid(child, NULL, 0);
      puts("parent");
    }
  } else if (strcmp(how, "exit") == 0) {
    _exit(0);
  } else {
    allocate(how, n * mib);
  }
}

int main(int argc, char** argv) {
  char line[256];
  (void)argc;
  // Unbuffered input: a child and its parent read the same pipe in turn, line by line.
  setvbuf(stdin, NULL, _IONBF, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  while (fgets(line, sizeof line, stdin) != NULL) obey(line, argv);
  return 0;
}
