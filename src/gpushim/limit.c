// gpushim/limit.c - rota-gpulimit: the driver's own limit on what a cgroup may hold of a GPU.
//
// usage: rota-gpulimit NVML can
//        rota-gpulimit NVML set CGROUP UUID=SOFT:HARD...
//        rota-gpulimit NVML clear CGROUP UUID...
// NVML is the driver's library, CGROUP a directory of the cgroup v2 tree; bytes. "set" reads back
// what it has set: only that proves that this driver and this kernel do it. Says "ok", or one
// sentence. A program of its own, because any call may hang on a sick GPU: after 10 seconds it
// is over.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpud/inventory/nvml_abi.h"

enum { branch_min = 615, patience_seconds = 10 };

typedef struct {
  int (*init)(void);
  int (*version)(char*, unsigned int);
  int (*find)(const char*, NvmlHandle*);
  int (*set)(NvmlHandle, NvmlMemoryLimits*);
  int (*get)(NvmlHandle, NvmlMemoryLimitsNow*);
} Nvml;

static int give_up(const char* what, int code) {
  if (code != 0)
    printf("%s: NVML error %d\n", what, code);
  else
    puts(what);
  return 1;
}

static bool open_nvml(const char* name, Nvml* nvml) {
  void* library = dlopen(name, RTLD_NOW);
  if (library == NULL) return false;
  nvml->init = (int (*)(void))dlsym(library, "nvmlInit_v2");
  nvml->version = (int (*)(char*, unsigned int))dlsym(library, "nvmlSystemGetDriverVersion");
  nvml->find = (int (*)(const char*, NvmlHandle*))dlsym(library, "nvmlDeviceGetHandleByUUID");
  nvml->set =
      (int (*)(NvmlHandle, NvmlMemoryLimits*))dlsym(library, "nvmlDeviceSetMemoryLimits_v1");
  nvml->get =
      (int (*)(NvmlHandle, NvmlMemoryLimitsNow*))dlsym(library, "nvmlDeviceGetMemoryLimits_v1");
  return nvml->init != NULL && nvml->version != NULL && nvml->find != NULL;
}

static int check(const Nvml* nvml) {
  char version[nvml_version_size] = "";
  const int code = nvml->init();
  if (code != nvml_success) return give_up("NVML does not start", code);
  if (nvml->set == NULL || nvml->get == NULL ||
      nvml->version(version, sizeof version) != nvml_success || atoi(version) < branch_min)
    return give_up("the driver has no limits of its own", 0);
  return 0;
}

// The UUID of "UUID=SOFT:HARD"; false: it is none.
static bool uuid_of(const char* word, char uuid[nvml_uuid_size]) {
  const size_t length = strcspn(word, "=");
  if (length >= nvml_uuid_size || word[length] == '\0') return false;
  memcpy(uuid, word, length);
  uuid[length] = '\0';
  return true;
}

// "UUID=SOFT:HARD"
static int set_one(const Nvml* nvml, const char* cgroup, const char* word) {
  char uuid[nvml_uuid_size];
  NvmlHandle device = NULL;
  char* end = NULL;
  if (!uuid_of(word, uuid)) return give_up("not UUID=SOFT:HARD", 0);
  NvmlMemoryLimits limits = {.cgroup = cgroup,
                             .soft_bytes = strtoull(strchr(word, '=') + 1, &end, 10)};
  if (*end != ':') return give_up("not UUID=SOFT:HARD", 0);
  limits.hard_bytes = strtoull(end + 1, NULL, 10);
  int code = nvml->find(uuid, &device);
  if (code != nvml_success) return give_up(uuid, code);
  code = nvml->set(device, &limits);
  if (code != nvml_success) return give_up("the driver does not take the limit", code);
  NvmlMemoryLimitsNow now = {.cgroup = cgroup};
  code = nvml->get(device, &now);
  if (code != nvml_success) return give_up("the driver does not say the limit again", code);
  if (now.soft_bytes != limits.soft_bytes || now.hard_bytes != limits.hard_bytes)
    return give_up("the driver says another limit than was set", 0);
  return 0;
}

// The soft one to nothing: what it reserves would stay reserved when the cgroup is gone.
static int clear_one(const Nvml* nvml, const char* cgroup, const char* uuid) {
  NvmlHandle device = NULL;
  int code = nvml->find(uuid, &device);
  if (code != nvml_success) return give_up(uuid, code);
  NvmlMemoryLimits none = {.cgroup = cgroup, .soft_bytes = 0, .hard_bytes = nvml_memory_unknown};
  code = nvml->set(device, &none);
  return code == nvml_success ? 0 : give_up("the driver does not take the limit back", code);
}

// What was set of them is taken back: another has to do it all.
static void undo(const Nvml* nvml, const char* cgroup, char** first, char** last) {
  char uuid[nvml_uuid_size];
  NvmlHandle device = NULL;
  NvmlMemoryLimits none = {.cgroup = cgroup, .soft_bytes = 0, .hard_bytes = nvml_memory_unknown};
  for (; first <= last; ++first)
    if (uuid_of(*first, uuid) && nvml->find(uuid, &device) == nvml_success)
      nvml->set(device, &none);
}

int main(int argc, char** argv) {
  Nvml nvml;
  if (argc < 3) return puts("usage: rota-gpulimit NVML can|set|clear [CGROUP GPU...]"), 2;
  alarm(patience_seconds);
  if (!open_nvml(argv[1], &nvml)) return puts("there is no NVML"), 1;
  if (check(&nvml) != 0) return 1;
  if (strcmp(argv[2], "can") == 0) return puts("ok"), 0;
  const bool sets = strcmp(argv[2], "set") == 0;
  if (argc < 5 || (!sets && strcmp(argv[2], "clear") != 0)) return puts("set or clear?"), 2;
  int result = 0;
  for (char** word = argv + 4; *word != NULL; ++word) {
    const int code = sets ? set_one(&nvml, argv[3], *word) : clear_one(&nvml, argv[3], *word);
    if (code != 0) result = code;
    if (code == 0 || !sets) continue;
    undo(&nvml, argv[3], argv + 4, word);
    break;
  }
  if (result == 0) puts("ok");
  return result;
}
