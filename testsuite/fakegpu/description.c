// testsuite/fakegpu/description.c - reads models/*.yaml and makes one node's machine of it.
#include "description.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

typedef struct {
  const char* path;
  yaml_document_t document;
  char* error;
  size_t error_size;
} Reader;

// One key of a mapping, and how its value gets into the struct at `base`.
typedef bool (*ReadValue)(Reader* reader, yaml_node_t* node, void* target);
typedef struct {
  const char* key;
  ReadValue read;
  size_t offset;
  bool required;
} Key;

static bool fail(Reader* reader, const yaml_node_t* node, const char* what, const char* detail) {
  snprintf(reader->error, reader->error_size, "%s:%zu: %s%s%s", reader->path,
           node->start_mark.line + 1, what, detail[0] ? ": " : "", detail);
  return false;
}

static const char* scalar(const yaml_node_t* node) {
  return node->type == YAML_SCALAR_NODE ? (const char*)node->data.scalar.value : "";
}

static bool read_number(Reader* reader, yaml_node_t* node, void* target) {
  const char* text = scalar(node);
  char* end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 0);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
    return fail(reader, node, "a number is wanted here", text);
  }
  *(uint64_t*)target = value;
  return true;
}

static bool read_bool(Reader* reader, yaml_node_t* node, void* target) {
  const char* text = scalar(node);
  const bool yes = strcmp(text, "true") == 0;
  if (!yes && strcmp(text, "false") != 0) {
    return fail(reader, node, "true or false is wanted here", text);
  }
  *(uint64_t*)target = yes;
  return true;
}

static bool copy_text(Reader* reader, yaml_node_t* node, char* target, size_t size) {
  const char* text = scalar(node);
  if (text[0] == '\0' || strlen(text) >= size) {
    return fail(reader, node, "a text of 1 to some 90 characters is wanted here", text);
  }
  strcpy(target, text);
  return true;
}

static bool read_text(Reader* reader, yaml_node_t* node, void* target) {
  return copy_text(reader, node, target, fake_text_size);
}

static bool read_long_text(Reader* reader, yaml_node_t* node, void* target) {
  return copy_text(reader, node, target, sizeof((FakeDescription*)NULL)->hwloc);
}

// "7.0" into two numbers that stand side by side.
static bool read_capability(Reader* reader, yaml_node_t* node, void* target) {
  unsigned int major = 0, minor = 0;
  char rest = 0;
  if (sscanf(scalar(node), "%u.%u%c", &major, &minor, &rest) != 2) {
    return fail(reader, node, "a compute capability such as 7.0 is wanted here", scalar(node));
  }
  uint64_t* pair = target;
  pair[0] = major;
  pair[1] = minor;
  return true;
}

bool fake_pci_parse(const char* text, FakePci* pci) {
  unsigned int function = 0;
  char rest = 0;
  if (sscanf(text, "%8x:%2x:%2x.%1x%c", &pci->domain, &pci->bus, &pci->device, &function, &rest) ==
      4) {
    return true;
  }
  pci->domain = 0;
  return sscanf(text, "%2x:%2x.%1x%c", &pci->bus, &pci->device, &function, &rest) == 3;
}

static bool read_pci(Reader* reader, yaml_node_t* node, void* target) {
  if (fake_pci_parse(scalar(node), target)) return true;
  return fail(reader, node, "a PCI address such as 0000:06:00.0 is wanted here", scalar(node));
}

// "0-19,40-59" into a bit set.
static bool read_cpus(Reader* reader, yaml_node_t* node, void* target) {
  uint64_t* set = target;
  const char* at = scalar(node);
  do {
    unsigned int first = 0, last = 0;
    int length = 0;
    if (sscanf(at, "%u%n", &first, &length) != 1) break;
    at += length;
    last = first;
    if (*at == '-') {
      if (sscanf(at, "-%u%n", &last, &length) != 1) break;
      at += length;
    }
    if (first > last || last >= fake_cpu_max) break;
    for (unsigned int cpu = first; cpu <= last; ++cpu) set[cpu / 64] |= 1ull << cpu % 64;
    if (*at == '\0') return true;
  } while (*at++ == ',');
  return fail(reader, node, "CPUs such as 0-19,40-59, each below 1024, are wanted here",
              scalar(node));
}

static bool read_mapping(Reader* reader, yaml_node_t* node, const Key* keys, size_t key_count,
                         void* base) {
  if (node->type != YAML_MAPPING_NODE) return fail(reader, node, "a mapping is wanted here", "");
  uint64_t seen = 0;
  for (yaml_node_pair_t* pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
       ++pair) {
    yaml_node_t* name = yaml_document_get_node(&reader->document, pair->key);
    yaml_node_t* value = yaml_document_get_node(&reader->document, pair->value);
    size_t i = 0;
    while (i < key_count && strcmp(keys[i].key, scalar(name)) != 0) ++i;
    if (i == key_count) return fail(reader, name, "unknown key", scalar(name));
    if (seen & 1ull << i) return fail(reader, name, "key stands here twice", scalar(name));
    seen |= 1ull << i;
    if (!keys[i].read(reader, value, (char*)base + keys[i].offset)) return false;
  }
  for (size_t i = 0; i < key_count; ++i) {
    if (keys[i].required && !(seen & 1ull << i)) {
      return fail(reader, node, "key is missing", keys[i].key);
    }
  }
  return true;
}

// Walks a sequence of at most `max` items; `size` bytes per item at `target`.
static bool read_sequence(Reader* reader, yaml_node_t* node, ReadValue read, void* target,
                          size_t size, unsigned int max, unsigned int* count) {
  if (node->type != YAML_SEQUENCE_NODE) return fail(reader, node, "a list is wanted here", "");
  *count = 0;
  for (yaml_node_item_t* item = node->data.sequence.items.start;
       item < node->data.sequence.items.top; ++item) {
    yaml_node_t* value = yaml_document_get_node(&reader->document, *item);
    if (*count == max) return fail(reader, value, "the list is too long", "");
    if (!read(reader, value, (char*)target + size * (*count)++)) return false;
  }
  return true;
}

#define KEY(name, read, type, field, required) \
  { name, read, offsetof(type, field), required }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool read_slice(Reader* reader, yaml_node_t* node, void* target) {
  uint64_t value = 0;
  if (!read_number(reader, node, &value)) return false;
  if (value >= fake_mig_slice_max) return fail(reader, node, "a GPU has at most 16 slices", "");
  *(unsigned int*)target = (unsigned int)value;
  return true;
}

static bool read_starts(Reader* reader, yaml_node_t* node, void* target) {
  FakeMigProfile* profile = target;
  return read_sequence(reader, node, read_slice, profile->starts, sizeof profile->starts[0],
                       fake_mig_slice_max, &profile->start_count);
}

static const Key mig_profile_keys[] = {
    KEY("name", read_text, FakeMigProfile, name, true),
    KEY("index", read_number, FakeMigProfile, index, true),
    KEY("id", read_number, FakeMigProfile, id, true),
    KEY("compute", read_number, FakeMigProfile, compute, true),
    KEY("size", read_number, FakeMigProfile, size, true),
    {"starts", read_starts, 0, true},
    KEY("max", read_number, FakeMigProfile, max, true),
    KEY("multiprocessors", read_number, FakeMigProfile, multiprocessors, true),
    KEY("memory_mib", read_number, FakeMigProfile, memory_mib, true),
};

static bool read_mig_profile(Reader* reader, yaml_node_t* node, void* target) {
  return read_mapping(reader, node, mig_profile_keys, COUNT(mig_profile_keys), target);
}

static bool read_mig_profiles(Reader* reader, yaml_node_t* node, void* target) {
  FakeMig* mig = target;
  return read_sequence(reader, node, read_mig_profile, mig->profiles, sizeof mig->profiles[0],
                       fake_mig_profile_max, &mig->profile_count);
}

static const Key mig_keys[] = {
    KEY("slices", read_number, FakeMig, slices, true),
    KEY("halves_swapped", read_bool, FakeMig, halves_swapped, false),
    {"profiles", read_mig_profiles, 0, true},
};

static bool read_mig(Reader* reader, yaml_node_t* node, void* target) {
  FakeMig* mig = target;
  if (!read_mapping(reader, node, mig_keys, COUNT(mig_keys), mig)) return false;
  if (mig->slices == 0 || mig->slices > fake_mig_slice_max) {
    return fail(reader, node, "slices must be from 1 to 16", "");
  }
  for (unsigned int i = 0; i < mig->profile_count; ++i) {
    const FakeMigProfile* profile = &mig->profiles[i];
    bool fits = profile->size > 0 && profile->compute > 0;
    for (unsigned int j = 0; j < profile->start_count; ++j) {
      fits = fits && profile->starts[j] + profile->size <= mig->slices;
    }
    if (!fits) return fail(reader, node, "a profile does not fit the slices", profile->name);
  }
  return true;
}

static const Key gpu_keys[] = {
    KEY("name", read_text, FakeModel, name, true),
    KEY("brand", read_number, FakeModel, brand, true),
    KEY("architecture", read_number, FakeModel, architecture, true),
    KEY("compute_capability", read_capability, FakeModel, compute_major, true),
    KEY("memory_mib", read_number, FakeModel, memory_mib, true),
    KEY("reserved_mib", read_number, FakeModel, reserved_mib, false),
    KEY("v1_hides_reserved", read_bool, FakeModel, v1_hides_reserved, false),
    KEY("pci_device_id", read_number, FakeModel, pci_device_id, true),
    KEY("pci_subsystem_id", read_number, FakeModel, pci_subsystem_id, true),
    KEY("power_limit_mw", read_number, FakeModel, power_limit_mw, true),
    KEY("power_idle_mw", read_number, FakeModel, power_idle_mw, true),
    KEY("temperature_idle", read_number, FakeModel, temperature_idle, true),
    KEY("multiprocessors", read_number, FakeModel, multiprocessors, false),
    KEY("context_mib", read_number, FakeModel, context_mib, false),
    KEY("mig", read_mig, FakeModel, mig, false),
};

static bool read_gpu(Reader* reader, yaml_node_t* node, void* target) {
  FakeModel* model = target;
  model->multiprocessors = 80;
  model->context_mib = 305;
  if (!read_mapping(reader, node, gpu_keys, COUNT(gpu_keys), model)) return false;
  if (model->reserved_mib < model->memory_mib && model->memory_mib <= 1ull << 32) return true;
  return fail(reader, node, "memory_mib must be more than reserved_mib, and below 4 PiB", "");
}

static const Key device_keys[] = {
    KEY("gpu", read_gpu, FakeDevice, gpu, false),
    KEY("pci", read_pci, FakeDevice, pci, true),
    KEY("minor", read_number, FakeDevice, minor, false),
    KEY("numa", read_number, FakeDevice, numa_node, true),
    KEY("cpus", read_cpus, FakeDevice, cpus, true),
};

static bool read_device(Reader* reader, yaml_node_t* node, void* target) {
  return read_mapping(reader, node, device_keys, COUNT(device_keys), target);
}

static bool read_devices(Reader* reader, yaml_node_t* node, void* base) {
  FakeDescription* description = base;
  // A device that names no minor number has its position for one.
  for (unsigned int i = 0; i < fake_gpu_max; ++i) description->devices[i].minor = i;
  if (!read_sequence(reader, node, read_device, description->devices, sizeof(FakeDevice),
                     fake_gpu_max, &description->device_count)) {
    return false;
  }
  return description->device_count > 0 || fail(reader, node, "at least one device is wanted", "");
}

static bool read_cell(Reader* reader, yaml_node_t* node, void* target) {
  uint64_t value = 0;
  if (!read_number(reader, node, &value)) return false;
  if (value > 50) return fail(reader, node, "a number of at most 50 is wanted here", scalar(node));
  *(unsigned int*)target = (unsigned int)value;
  return true;
}

static bool read_row(Reader* reader, yaml_node_t* node, void* target) {
  unsigned int columns = 0;
  return read_sequence(reader, node, read_cell, target, sizeof(unsigned int), fake_gpu_max,
                       &columns);
}

static bool read_matrix(Reader* reader, yaml_node_t* node, void* target) {
  unsigned int rows = 0;
  return read_sequence(reader, node, read_row, target, sizeof(unsigned int[fake_gpu_max]),
                       fake_gpu_max, &rows);
}

static bool read_switches(Reader* reader, yaml_node_t* node, void* base) {
  FakeDescription* description = base;
  return read_sequence(reader, node, read_pci, description->switches, sizeof(FakePci),
                       fake_switch_max, &description->switch_count);
}

static const Key top_keys[] = {
    KEY("driver_version", read_text, FakeDescription, driver_version, true),
    KEY("nvml_version", read_text, FakeDescription, nvml_version, true),
    KEY("cuda_version", read_number, FakeDescription, cuda_version, true),
    KEY("process_stride", read_number, FakeDescription, process_stride, false),
    KEY("hwloc", read_long_text, FakeDescription, hwloc, false),
    KEY("gpu", read_gpu, FakeDescription, gpu, true),
    {"devices", read_devices, 0, true},
    KEY("ancestors", read_matrix, FakeDescription, ancestors, true),
    KEY("nvlinks", read_matrix, FakeDescription, nvlinks, false),
    KEY("links_to_switches", read_number, FakeDescription, links_to_switches, false),
    {"nvswitches", read_switches, 0, false},
};

// What no single key can check.
static bool check(Reader* reader, yaml_node_t* root, const FakeDescription* d) {
  const uint64_t stride = d->process_stride;
  if (stride != 16 && stride != 24 && stride != 32) {
    return fail(reader, root, "process_stride must be 16, 24 or 32", "");
  }
  if (d->links_to_switches > fake_link_max || (d->links_to_switches > 0) != (d->switch_count > 0)) {
    return fail(reader, root, "links_to_switches (at most 36) and nvswitches go together", "");
  }
  for (unsigned int i = 0; i < d->device_count; ++i) {
    unsigned int links = 0;
    for (unsigned int j = 0; j < d->device_count; ++j) {
      links += d->nvlinks[i][j];
      if (d->nvlinks[i][j] != d->nvlinks[j][i] || d->ancestors[i][j] != d->ancestors[j][i]) {
        return fail(reader, root, "ancestors and nvlinks must say the same in both directions", "");
      }
    }
    if (links > fake_link_max || d->nvlinks[i][i] != 0) {
      return fail(reader, root, "a device has at most 36 links, and none to itself", "");
    }
    if (d->devices[i].numa_node >= 64) return fail(reader, root, "numa must be below 64", "");
  }
  return true;
}

static bool load_document(Reader* reader, FILE* file) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) return false;
  yaml_parser_set_input_file(&parser, file);
  const bool loaded = yaml_parser_load(&parser, &reader->document);
  if (!loaded) {
    snprintf(reader->error, reader->error_size, "%s:%zu: %s", reader->path,
             parser.problem_mark.line + 1, parser.problem ? parser.problem : "not YAML");
  }
  yaml_parser_delete(&parser);
  return loaded;
}

bool fake_description_load(const char* path, FakeDescription* description, char* error,
                           size_t error_size) {
  Reader reader = {.path = path, .error = error, .error_size = error_size};
  memset(description, 0, sizeof *description);
  description->process_stride = 24;
  FILE* file = fopen(path, "re");
  if (file == NULL) {
    snprintf(error, error_size, "%s: %s", path, strerror(errno));
    return false;
  }
  const bool loaded = load_document(&reader, file);
  fclose(file);
  if (!loaded) return false;

  yaml_node_t* root = yaml_document_get_root_node(&reader.document);
  bool good = false;
  if (root == NULL) {
    snprintf(error, error_size, "%s: the file is empty", path);
  } else {
    good = read_mapping(&reader, root, top_keys, COUNT(top_keys), description) &&
           check(&reader, root, description);
  }
  yaml_document_delete(&reader.document);
  for (unsigned int i = 0; i < description->device_count; ++i) {
    FakeModel* model = &description->devices[i].gpu;
    if (model->name[0] == '\0') *model = description->gpu;
  }
  description->driver_branch = strtoull(description->driver_version, NULL, 10);
  return good;
}

// FNV-1a, then splitmix64's finish: spreads "node1, 0" and "node1, 1" over all 64 bits.
static uint64_t hash(const char* text, uint64_t salt) {
  uint64_t h = 0xCBF29CE484222325ull ^ salt * 0x9E3779B97F4A7C15ull;
  for (; *text != '\0'; ++text) h = (h ^ (unsigned char)*text) * 0x100000001B3ull;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ h >> 27) * 0x94D049BB133111EBull;
  return h ^ h >> 31;
}

static void name_device(FakeDevice* device, const char* node, unsigned int index) {
  const uint64_t high = hash(node, 2 * index + 1), low = hash(node, 2 * index + 2);
  snprintf(device->uuid, sizeof device->uuid, "GPU-%08x-%04x-%04x-%04x-%012llx",
           (unsigned int)(high >> 32), (unsigned int)(high >> 16 & 0xFFFF),
           (unsigned int)(high & 0xFFFF), (unsigned int)(low >> 48),
           (unsigned long long)(low & 0xFFFFFFFFFFFFull));
  snprintf(device->serial, sizeof device->serial, "%013llu",
           (unsigned long long)(hash(device->uuid, 0) % 10000000000000ull));
}

static void set_count(FakeDescription* d, unsigned int count) {
  const unsigned int described = d->device_count;
  for (unsigned int i = described; i < count; ++i) {
    d->devices[i] = d->devices[i % described];
    d->devices[i].pci.domain += i / described;
    d->devices[i].minor = i;
  }
  for (unsigned int i = 0; i < count; ++i) {
    for (unsigned int j = 0; j < count; ++j) {
      if (i < described && j < described) continue;
      const bool together = i / described == j / described;
      d->ancestors[i][j] = together ? d->ancestors[i % described][j % described] : 50;
      d->nvlinks[i][j] = together ? d->nvlinks[i % described][j % described] : 0;
    }
  }
  d->device_count = count;
}

bool fake_description_settle(FakeDescription* description, const char* node, const char* count,
                             char* error, size_t error_size) {
  if (count != NULL && count[0] != '\0') {
    char* end = NULL;
    const unsigned long wanted = strtoul(count, &end, 10);
    if (count[0] < '0' || count[0] > '9' || *end != '\0' || wanted > fake_gpu_max) {
      snprintf(error, error_size, "ROTA_FAKEGPU_COUNT=%s: a number from 0 to %d is wanted", count,
               fake_gpu_max);
      return false;
    }
    set_count(description, (unsigned int)wanted);
  }
  for (unsigned int i = 0; i < description->device_count; ++i) {
    name_device(&description->devices[i], node, i);
  }
  return true;
}

bool fake_description_from_environment(FakeDescription* description, char* error,
                                       size_t error_size) {
  const char* path = getenv("ROTA_FAKEGPU");
  if (path == NULL || path[0] == '\0') {
    snprintf(error, error_size, "ROTA_FAKEGPU does not name a description");
    return false;
  }
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  const char* node = getenv("ROTA_FAKEGPU_NODE");
  return fake_description_load(path, description, error, error_size) &&
         fake_description_settle(description, node != NULL && node[0] != '\0' ? node : host,
                                 getenv("ROTA_FAKEGPU_COUNT"), error, error_size);
}
