// testsuite/unit/fakegpu/description_test.c - what a description may say, and what is said against
// it.
#include "description.h"

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

static const char good[] =
    "driver_version: 535.183.01\n"
    "nvml_version: 12.535.183.01\n"
    "cuda_version: 12020\n"
    "gpu: {name: X, brand: 2, architecture: 5, compute_capability: 7.0, memory_mib: 100,\n"
    "      pci_device_id: 1, pci_subsystem_id: 2, power_limit_mw: 3, power_idle_mw: 1,\n"
    "      temperature_idle: 30}\n"
    "devices:\n"
    "  - {pci: \"0000:06:00.0\", numa: 0, cpus: \"0-3,8\"}\n"
    "  - {pci: \"0001:07:00.0\", numa: 1, cpus: \"4\", minor: 7}\n"
    "ancestors: [[0, 50], [50, 0]]\n";

static char path[] = "/tmp/rota-description-XXXXXX";
static FakeDescription description;
static char said[512];

static bool load(const char* text) {
  FILE* file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
  said[0] = '\0';
  return fake_description_load(path, &description, said, sizeof said);
}

// The good description with `from` replaced by `to` must be refused with `error` at `line`.
static void refused(const char* from, const char* to, int line, const char* error) {
  char text[4096], wanted[512];
  const char* at = strstr(good, from);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
  snprintf(wanted, sizeof wanted, "%s:%d: %s", path, line, error);
  const bool loaded = load(text);
  OK(!loaded, error);
  IS_TEXT(said, wanted, "  and where");
}

static void test_good(void) {
  OK(load(good), "a small description");
  IS_TEXT(said, "", "  without complaint");
  IS_NUMBER(description.device_count, 2, "two devices");
  IS_NUMBER(description.devices[0].cpus[0], 0x10F, "CPUs 0-3 and 8");
  IS_NUMBER(description.devices[0].minor, 0, "a minor number by position");
  IS_NUMBER(description.devices[1].minor, 7, "and one by name");
  IS_NUMBER(description.devices[1].pci.domain, 1, "a PCI domain");
  IS_NUMBER(description.driver_branch, 535, "the driver's branch");
  IS_NUMBER(description.process_stride, 24, "the usual stride");
}

static void test_refused(void) {
  refused("brand: 2", "brand: two", 4, "a number is wanted here: two");
  refused("brand: 2", "brnad: 2", 4, "unknown key: brnad");
  refused("brand: 2, ", "", 4, "key is missing: brand");
  refused("brand: 2", "brand: 2, brand: 3", 4, "key stands here twice: brand");
  refused("7.0", "seven", 4, "a compute capability such as 7.0 is wanted here: seven");
  refused("\"0-3,8\"", "\"3-0\"", 8,
          "CPUs such as 0-19,40-59, each below 1024, are wanted here: 3-0");
  refused("\"0-3,8\"", "\"0-9999\"", 8,
          "CPUs such as 0-19,40-59, each below 1024, are wanted here: 0-9999");
  refused("0000:06:00.0", "0000-06", 8,
          "a PCI address such as 0000:06:00.0 is wanted here: 0000-06");
  refused("[50, 0]", "[40, 0]", 1, "ancestors and nvlinks must say the same in both directions");
  refused("cuda_version: 12020", "cuda_version: 12020\nprocess_stride: 20", 1,
          "process_stride must be 16, 24 or 32");
  refused("cuda_version: 12020", "cuda_version: 12020\nlinks_to_switches: 4", 1,
          "links_to_switches (at most 36) and nvswitches go together");
  refused("memory_mib: 100", "memory_mib: 100, reserved_mib: 100", 4,
          "memory_mib must be more than reserved_mib, and below 4 PiB");
  refused("brand: 2", "brand: 2, mig: {slices: 17, profiles: []}", 4,
          "slices must be from 1 to 16");
  refused("brand: 2",
          "brand: 2, mig: {slices: 4, profiles: [{name: 2g, index: 1, id: 5, compute: 2, size: 2,"
          " starts: [3], max: 1, multiprocessors: 2, memory_mib: 9}]}",
          4, "a profile does not fit the slices: 2g");
  refused("gpu: {name: X", "gpu: [{name: X", 7, "did not find expected ',' or ']'");
  OK(!load(""), "an empty file");
  OK(strstr(said, "the file is empty") != NULL, "  and why");
  OK(!fake_description_load("/nonexistent", &description, said, sizeof said), "no file");
  IS_TEXT(said, "/nonexistent: No such file or directory", "  and why");
}

static void test_models(void) {
  static const struct {
    const char* name;
    unsigned int gpus;
    unsigned int memory_mib;
  } models[] = {{"a10", 4, 23028},
                {"a30", 4, 24576},
                {"dgx-a100-40gb", 8, 40960},
                {"dgx-a100-80gb", 8, 81920},
                {"dgx1-v100-32gb", 8, 32768},
                {"hgx-b200", 8, 183359},
                {"hgx-h100-80gb", 8, 81559},
                {"hgx-h200", 8, 143771},
                {"mixed-v100-a10", 6, 32768},
                {"rtx-pro-6000", 4, 97887}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
    char model[1024];
    snprintf(model, sizeof model, "%s/%s.yaml", TEST_FAKEGPU_MODELS, models[i].name);
    OK(fake_description_load(model, &description, said, sizeof said), models[i].name);
    IS_NUMBER(description.device_count, models[i].gpus, "  has its GPUs");
    IS_NUMBER(description.gpu.memory_mib, models[i].memory_mib, "  of its size");
  }
}

static void test_mixed(void) {
  char model[1024];
  snprintf(model, sizeof model, "%s/mixed-v100-a10.yaml", TEST_FAKEGPU_MODELS);
  OK(fake_description_load(model, &description, said, sizeof said), "a node with two models");
  IS_TEXT(description.devices[2].gpu.name, "NVIDIA A10", "a GPU of its own kind");
  IS_NUMBER(description.devices[2].gpu.context_mib, 305, "  with what it does not say");
  IS_TEXT(description.devices[5].gpu.name, "Tesla V100-PCIE-32GB", "and one like all");
}

static void test_settle(void) {
  char first[48];
  load(good);
  OK(fake_description_settle(&description, "n1", NULL, said, sizeof said), "node n1");
  strcpy(first, description.devices[0].uuid);
  OK(strcmp(first, description.devices[1].uuid) != 0, "two GPUs, two UUIDs");
  OK(fake_description_settle(&description, "n2", "", said, sizeof said), "node n2");
  OK(strcmp(first, description.devices[0].uuid) != 0, "another node, another UUID");
  OK(fake_description_settle(&description, "n1", "1", said, sizeof said), "n1 again, one GPU");
  IS_TEXT(description.devices[0].uuid, first, "the same UUID");
  IS_NUMBER(description.device_count, 1, "one GPU");
  OK(!fake_description_settle(&description, "n1", "many", said, sizeof said), "'many' GPUs");
  IS_TEXT(said, "ROTA_FAKEGPU_COUNT=many: a number from 0 to 64 is wanted", "  and why");
}

int main(void) {
  const int fd = mkstemp(path);
  if (fd < 0) return 1;
  close(fd);
  test_good();
  test_refused();
  test_models();
  test_mixed();
  test_settle();
  unlink(path);
  return tap_done();
}
