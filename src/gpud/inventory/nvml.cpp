// gpud/inventory/nvml.cpp - loads libnvidia-ml at run time and asks it; the only caller of dlopen.
#include "gpud/inventory/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "gpud/inventory/nvml_abi.h"
#include "gpud/inventory/nvml_mig.h"

namespace rota::gpud {
namespace {

/// What this driver has: every function is looked up by itself, and one that is missing is null.
struct Functions {
  const char* (*error_string)(int) = nullptr;
#define MEMBER(name, arguments) int(*name) arguments = nullptr;
  ROTA_NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};

Functions resolve(void* library) {
  Functions functions;
  functions.error_string =
      reinterpret_cast<const char* (*)(int)>(dlsym(library, "nvmlErrorString"));
#define LOOK_UP(name, arguments) \
  functions.name = reinterpret_cast<int(*) arguments>(dlsym(library, #name));
  ROTA_NVML_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  return functions;
}

/// A PCI address without its spelling: NVML writes four or eight digits of domain.
struct PciAddress {
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int device = 0;
  friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

std::string bus_id(const PciAddress& pci) {
  return format("{:08X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device);
}

struct Device {
  NvmlHandle handle = nullptr;
  PciAddress pci;
  Gpu gpu;
};

/// One end of a GPU's NVLinks: how many lead to each GPU of the node, and how many to switches.
struct LinkEnds {
  std::vector<std::int32_t> to_gpu;
  std::int32_t to_switches = 0;
};

/// A call that an older driver does not have, by its symbol or by its answer.
bool is_missing(int code) { return code == nvml_function_not_found || code == nvml_not_supported; }

std::optional<int> first_number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  int value = -1;
  if (!(stream >> value) || value < 0) return std::nullopt;
  return value;
}

/// The N of a nodeN entry in /sys/devices/system/cpu/cpuX.
std::optional<int> numa_node_of_cpu(const std::string& sysfs, unsigned int cpu) {
  std::error_code ignored;
  const std::filesystem::path folder = format("{}/devices/system/cpu/cpu{}", sysfs, cpu);
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    int node = 0;
    if (!name.starts_with("node")) continue;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + 4, end, node);
    if (error == std::errc() && rest == end) return node;
  }
  return std::nullopt;
}

std::optional<unsigned int> lowest_bit(std::span<const unsigned long> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0) return static_cast<unsigned int>(i * 64 + std::countr_zero(words[i]));
  }
  return std::nullopt;
}

}  // namespace

struct Nvml::State {
  std::string library;
  std::string sysfs;
  void* loaded = nullptr;
  Functions nvml;
  std::atomic<const char*> calling = nullptr;
  std::optional<NvmlMig> mig;

  std::mutex mutex;  // guards what follows; never held during a call
  std::map<std::string, NvmlHandle> handles;
  std::map<std::string, unsigned long long> loads_seen_us;  // the latest load of each GPU
  std::vector<std::string> order;

  template <class Function, class... Arguments>
  int call(const char* name, Function* function, Arguments... arguments) {
    if (function == nullptr) return nvml_function_not_found;
    calling = name;
    const int code = function(arguments...);
    calling = nullptr;
    return code;
  }

  std::string text_of(int code) const {
    const char* text = nvml.error_string != nullptr ? nvml.error_string(code) : nullptr;
    return text != nullptr ? format("{} (NVML {})", text, code) : format("NVML error {}", code);
  }

  Error error(const char* call_name, int code) const {
    const Errc kind = code == nvml_driver_not_loaded ? Errc::not_found
                      : code == nvml_no_permission   ? Errc::denied
                      : is_missing(code)             ? Errc::unsupported
                                                     : Errc::io_failed;
    return Error{kind, format("{}: {}: {}", library, call_name, text_of(code))};
  }

  int initialise();
  template <class Function>
  std::string text(const char* name, Function* function, NvmlHandle device);
  Result<unsigned int> count();
  Result<Device> describe(unsigned int index);
  int pci_of(NvmlHandle device, PciAddress& pci);
  int remote_pci_of(NvmlHandle device, unsigned int link, PciAddress& pci);
  int memory_total(NvmlHandle device, std::uint64_t& bytes);
  std::int32_t numa_node_of(const Device& device);
  LinkEnds link_ends(const Device& device, const std::vector<Device>& all);
  bool joined_by_switches(const Device& a, const Device& b);
  std::int32_t ancestor_level(const Device& a, const Device& b);
  void connect(std::vector<Device>& devices);
  Result<NvmlHandle> handle_of(const std::string& uuid);
  int memory_used(NvmlHandle device, std::uint64_t& bytes);
  int utilization_of(NvmlHandle device, std::optional<std::uint32_t>& percent);
  std::optional<std::vector<ProcessLoad>> loads_of(const std::string& uuid, NvmlHandle device);
  template <class Function>
  int list_processes(const char* name, Function* function, NvmlHandle device,
                     std::map<std::uint32_t, std::uint64_t>& found);
  int processes_of(NvmlHandle device, std::map<std::uint32_t, std::uint64_t>& found);
};

// NVML's function by name, through the book-keeping of call().
#define CALL(name, ...) call(#name, nvml.name __VA_OPT__(, ) __VA_ARGS__)

// ---- opening ----

int Nvml::State::initialise() {
  const int code = CALL(nvmlInit_v2);
  return code == nvml_function_not_found ? CALL(nvmlInit) : code;
}

Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& library, const std::string& sysfs) {
  if (library.empty()) return Error{Errc::invalid_argument, "node.nvml names no library"};
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string why = dlerror();
    // The loader has no code for "not there", only this sentence about the library itself.
    const bool absent = why.starts_with(library + ": cannot open shared object file: No such file");
    return Error{absent ? Errc::not_found : Errc::io_failed, why};
  }
  auto state = std::make_unique<State>();
  state->library = library;
  state->sysfs = sysfs;
  state->loaded = handle;
  state->nvml = resolve(handle);
  state->mig.emplace(handle, state->calling, [known = state.get()](const char* name, int code) {
    return known->error(name, code);
  });
  if (state->nvml.nvmlInit_v2 == nullptr && state->nvml.nvmlInit == nullptr) {
    dlclose(handle);
    return Error{Errc::io_failed, library + " is not NVML: it has no nvmlInit"};
  }
  // From here on the library stays: the driver may have started threads in it.
  if (const int code = state->initialise(); code != nvml_success) {
    return state->error("nvmlInit", code);
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(state)));
}

Nvml::Nvml(std::unique_ptr<State> state) : state_(std::move(state)) {}

Nvml::~Nvml() {
  if (state_->nvml.nvmlShutdown != nullptr) state_->nvml.nvmlShutdown();
}

std::string Nvml::current_call() const {
  const char* name = state_->calling;
  return name != nullptr ? name : "";
}

void* Nvml::function(const char* name) const { return dlsym(state_->loaded, name); }

Result<NvmlDevice*> Nvml::handle(const std::string& uuid) const { return state_->handle_of(uuid); }

void Nvml::set_handle(const std::string& uuid, NvmlDevice* device) {
  const std::lock_guard lock(state_->mutex);
  state_->handles[uuid] = device;
}

Error Nvml::failure(const char* call, int code) const { return state_->error(call, code); }

std::string Nvml::driver_version() const {
  std::array<char, nvml_version_size> buffer{};
  State& s = *state_;
  const int code = s.call("nvmlSystemGetDriverVersion", s.nvml.nvmlSystemGetDriverVersion,
                          buffer.data(), static_cast<unsigned int>(buffer.size()));
  buffer.back() = '\0';
  return code == nvml_success ? buffer.data() : "";
}

// ---- what a device is ----

template <class Function>
std::string Nvml::State::text(const char* name, Function* function, NvmlHandle device) {
  std::array<char, nvml_name_size> buffer{};
  const int code =
      call(name, function, device, buffer.data(), static_cast<unsigned int>(buffer.size()));
  buffer.back() = '\0';
  return code == nvml_success ? buffer.data() : "";
}

Result<unsigned int> Nvml::State::count() {
  unsigned int count = 0;
  int code = CALL(nvmlDeviceGetCount_v2, &count);
  if (code == nvml_function_not_found) code = CALL(nvmlDeviceGetCount, &count);
  if (code != nvml_success) return error("nvmlDeviceGetCount", code);
  return count;
}

int Nvml::State::pci_of(NvmlHandle device, PciAddress& pci) {
  NvmlPciInfo info{};
  int code = CALL(nvmlDeviceGetPciInfo_v3, device, &info);
  if (code == nvml_success) pci = {info.domain, info.bus, info.device};
  if (code != nvml_function_not_found) return code;
  NvmlPciInfoLegacy legacy{};
  code = CALL(nvmlDeviceGetPciInfo_v2, device, &legacy);
  if (code == nvml_function_not_found) code = CALL(nvmlDeviceGetPciInfo, device, &legacy);
  if (code == nvml_success) pci = {legacy.domain, legacy.bus, legacy.device};
  return code;
}

int Nvml::State::remote_pci_of(NvmlHandle device, unsigned int link, PciAddress& pci) {
  NvmlPciInfo info{};
  int code = CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link, &info);
  if (code == nvml_success) pci = {info.domain, info.bus, info.device};
  if (code != nvml_function_not_found) return code;
  NvmlPciInfoLegacy legacy{};
  code = CALL(nvmlDeviceGetNvLinkRemotePciInfo, device, link, &legacy);
  if (code == nvml_success) pci = {legacy.domain, legacy.bus, legacy.device};
  return code;
}

// The first memory call's total: the number that older tools show and that shares are cut from.
int Nvml::State::memory_total(NvmlHandle device, std::uint64_t& bytes) {
  NvmlMemory memory{};
  int code = CALL(nvmlDeviceGetMemoryInfo, device, &memory);
  bytes = memory.total;
  if (!is_missing(code)) return code;
  NvmlMemoryV2 newer{};
  newer.version = nvml_memory_v2_version;
  code = CALL(nvmlDeviceGetMemoryInfo_v2, device, &newer);
  bytes = newer.total - std::min(newer.reserved, newer.total);
  return code;
}

// The node whose memory is near. Not nvmlDeviceGetNumaNodeId: where that works (Grace) it names the
// GPU's own memory, a node without CPUs.
std::int32_t Nvml::State::numa_node_of(const Device& device) {
  std::array<unsigned long, 16> set{};
  const auto words = static_cast<unsigned int>(set.size());
  const unsigned int scope = nvml_affinity_numa_node;
  if (CALL(nvmlDeviceGetMemoryAffinity, device.handle, words, set.data(), scope) == nvml_success) {
    if (const auto node = lowest_bit(set)) return static_cast<std::int32_t>(*node);
  }
  const auto folder = format("{}/bus/pci/devices/{:04x}:{:02x}:{:02x}.0", sysfs, device.pci.domain,
                             device.pci.bus, device.pci.device);
  if (const auto node = first_number_in(folder + "/numa_node")) return *node;
  set.fill(0);
  if (CALL(nvmlDeviceGetCpuAffinity, device.handle, words, set.data()) != nvml_success) return -1;
  const auto cpu = lowest_bit(set);
  return cpu ? numa_node_of_cpu(sysfs, *cpu).value_or(-1) : -1;
}

Result<Device> Nvml::State::describe(unsigned int index) {
  Device device;
  int code = CALL(nvmlDeviceGetHandleByIndex_v2, index, &device.handle);
  if (code == nvml_function_not_found) {
    code = CALL(nvmlDeviceGetHandleByIndex, index, &device.handle);
  }
  if (code != nvml_success) return error("nvmlDeviceGetHandleByIndex", code);
  device.gpu.index = index;
  device.gpu.uuid = text("nvmlDeviceGetUUID", nvml.nvmlDeviceGetUUID, device.handle);
  if (device.gpu.uuid.empty()) {
    return Error{Errc::io_failed, format("{}: the driver gives no UUID", library)};
  }
  device.gpu.model = text("nvmlDeviceGetName", nvml.nvmlDeviceGetName, device.handle);
  if (code = memory_total(device.handle, device.gpu.memory_bytes); code != nvml_success) {
    return error("nvmlDeviceGetMemoryInfo", code);
  }
  if (code = pci_of(device.handle, device.pci); code != nvml_success) {
    return error("nvmlDeviceGetPciInfo", code);
  }
  device.gpu.pci_bus_id = bus_id(device.pci);
  // Without a minor number (some virtual GPUs) the index is the best guess.
  device.gpu.minor = index;
  if (CALL(nvmlDeviceGetMinorNumber, device.handle, &device.gpu.minor) != nvml_success) {
    device.gpu.minor = index;
  }
  device.gpu.numa_node = numa_node_of(device);
  unsigned int architecture = 0;
  CALL(nvmlDeviceGetArchitecture, device.handle, &architecture);
  device.gpu.mig = mig->geometry(device.handle, architecture, device.gpu.memory_bytes);
  return device;
}

// ---- how devices are connected ----

LinkEnds Nvml::State::link_ends(const Device& device, const std::vector<Device>& all) {
  LinkEnds ends{.to_gpu = std::vector<std::int32_t>(all.size(), 0)};
  for (unsigned int link = 0; link < nvml_link_count_limit; ++link) {
    unsigned int active = 0;
    if (CALL(nvmlDeviceGetNvLinkState, device.handle, link, &active) != nvml_success) break;
    if (active == 0) continue;
    PciAddress pci;
    const bool addressed = remote_pci_of(device.handle, link, pci) == nvml_success;
    const auto peer = std::ranges::find(all, pci, &Device::pci);
    if (addressed && peer != all.end()) {
      ++ends.to_gpu[static_cast<std::size_t>(peer - all.begin())];
      continue;
    }
    // In a virtual machine the switches may have no address: what is no GPU of ours, and not known
    // to be something else, is taken for a switch.
    unsigned int type = nvml_link_to_unknown;
    CALL(nvmlDeviceGetNvLinkRemoteDeviceType, device.handle, link, &type);
    if (type == nvml_link_to_switch || type == nvml_link_to_unknown) ++ends.to_switches;
  }
  return ends;
}

// Switches join all GPUs, if the fabric is up; only a driver that can say so is asked.
bool Nvml::State::joined_by_switches(const Device& a, const Device& b) {
  unsigned int status = nvml_p2p_ok;
  const unsigned int capability = nvml_p2p_nvlink;
  const int code = CALL(nvmlDeviceGetP2PStatus, a.handle, b.handle, capability, &status);
  return code != nvml_success || status == nvml_p2p_ok;
}

std::int32_t Nvml::State::ancestor_level(const Device& a, const Device& b) {
  unsigned int level = 0;
  if (CALL(nvmlDeviceGetTopologyCommonAncestor, a.handle, b.handle, &level) == nvml_success) {
    return static_cast<std::int32_t>(level);
  }
  const bool same_node = a.gpu.numa_node >= 0 && a.gpu.numa_node == b.gpu.numa_node;
  return same_node ? nvml_topology_numa_node : nvml_topology_system;
}

void Nvml::State::connect(std::vector<Device>& devices) {
  std::vector<LinkEnds> ends;
  for (const Device& device : devices) ends.push_back(link_ends(device, devices));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].gpu.links.assign(devices.size(), 0);
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (i == j) continue;
      const std::int32_t switched = std::min(ends[i].to_switches, ends[j].to_switches);
      std::int32_t& distance = devices[i].gpu.links[j];
      if (ends[i].to_gpu[j] > 0) {
        distance = ends[i].to_gpu[j];
      } else if (switched > 0 && joined_by_switches(devices[i], devices[j])) {
        distance = switched;
      } else {
        distance = -ancestor_level(devices[i], devices[j]);
      }
    }
  }
}

Result<std::vector<Gpu>> Nvml::gpus() {
  ROTA_TRY(const unsigned int count, state_->count());
  std::vector<Device> devices;
  for (unsigned int index = 0; index < count; ++index) {
    auto device = state_->describe(index);
    if (device) {
      devices.push_back(*std::move(device));
    } else {
      log::warning("GPU {} is left out: {}", index, device.error().message());
    }
  }
  state_->connect(devices);
  std::vector<Gpu> gpus;
  const std::lock_guard lock(state_->mutex);
  state_->handles.clear();
  state_->order.clear();
  for (Device& device : devices) {
    state_->handles[device.gpu.uuid] = device.handle;
    state_->order.push_back(device.gpu.uuid);
    gpus.push_back(std::move(device.gpu));
  }
  return gpus;
}

// ---- what a device does ----

std::size_t process_stride(std::span<const std::uint8_t> buffer, std::size_t count) {
  if (count == 0) return 0;
  std::size_t written = buffer.size();
  while (written > 0 && buffer[written - 1] == process_sentinel) --written;
  for (const std::size_t stride :
       {sizeof(NvmlProcessV1), sizeof(NvmlProcessV2), sizeof(NvmlProcessV3Long)}) {
    if (written <= count * stride && written > (count - 1) * stride) return stride;
  }
  return 0;
}

template <class Function>
int Nvml::State::list_processes(const char* name, Function* function, NvmlHandle device,
                                std::map<std::uint32_t, std::uint64_t>& found) {
  // Processes come and go between two calls: there is always room for some more than were there.
  unsigned int room = 32;
  for (int attempt = 0; attempt < 5; ++attempt) {
    // Twice the longest form known: a longer one yet shows up as such, and overwrites nothing.
    std::vector<std::uint8_t> buffer(room * 2 * sizeof(NvmlProcessV3Long), process_sentinel);
    unsigned int count = room;
    const int code = call(name, function, device, &count, static_cast<void*>(buffer.data()));
    if (code == nvml_insufficient_size) {
      room = std::min(count, 65'536u) + 16;
      continue;
    }
    if (code != nvml_success || count == 0) return code;
    const std::size_t stride = count <= room ? process_stride(buffer, count) : 0;
    if (stride == 0) return nvml_unknown;
    for (std::size_t i = 0; i < count; ++i) {
      NvmlProcessV1 entry;  // how every form begins
      std::memcpy(&entry, buffer.data() + i * stride, sizeof entry);
      const bool known = entry.used_gpu_memory != nvml_memory_unknown;
      std::uint64_t& bytes = found[entry.pid];
      bytes = std::max<std::uint64_t>(bytes, known ? entry.used_gpu_memory : 0);
    }
    return nvml_success;
  }
  return nvml_insufficient_size;
}

#define LIST(name) list_processes(#name, nvml.name, device, found)

int Nvml::State::processes_of(NvmlHandle device, std::map<std::uint32_t, std::uint64_t>& found) {
  int code = LIST(nvmlDeviceGetComputeRunningProcesses_v3);
  if (is_missing(code)) code = LIST(nvmlDeviceGetComputeRunningProcesses_v2);
  if (is_missing(code)) code = LIST(nvmlDeviceGetComputeRunningProcesses);
  if (code != nvml_success) return code;
  // Clients of MPS have a list of their own. Older drivers lack it, and one in MIG mode may.
  code = LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3);
  if (is_missing(code)) code = LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2);
  if (is_missing(code)) code = LIST(nvmlDeviceGetMPSComputeRunningProcesses);
  if (code != nvml_success && !is_missing(code)) return code;
  // A compute-only driver may not list graphics at all.
  code = LIST(nvmlDeviceGetGraphicsRunningProcesses_v3);
  if (is_missing(code)) code = LIST(nvmlDeviceGetGraphicsRunningProcesses_v2);
  if (is_missing(code)) code = LIST(nvmlDeviceGetGraphicsRunningProcesses);
  return is_missing(code) ? nvml_success : code;
}

Result<NvmlHandle> Nvml::State::handle_of(const std::string& uuid) {
  const std::lock_guard lock(mutex);
  const auto found = handles.find(uuid);
  if (found == handles.end()) return Error{Errc::not_found, "no GPU " + uuid};
  return found->second;
}

int Nvml::State::memory_used(NvmlHandle device, std::uint64_t& bytes) {
  NvmlMemoryV2 memory{};
  memory.version = nvml_memory_v2_version;
  int code = CALL(nvmlDeviceGetMemoryInfo_v2, device, &memory);
  bytes = memory.used;
  if (!is_missing(code)) return code;
  NvmlMemory older{};
  code = CALL(nvmlDeviceGetMemoryInfo, device, &older);
  bytes = older.used;
  return code;
}

/// In MIG mode there is no utilisation: that is no failure.
int Nvml::State::utilization_of(NvmlHandle device, std::optional<std::uint32_t>& percent) {
  NvmlUtilization utilization{};
  const int code = CALL(nvmlDeviceGetUtilizationRates, device, &utilization);
  if (code == nvml_success) percent = std::min(utilization.gpu, 100u);
  return is_missing(code) ? nvml_success : code;
}

Result<GpuUsage> Nvml::usage(const std::string& uuid) const {
  ROTA_TRY(GpuSample now, sample(uuid, false));
  return usage_from(std::move(now));
}

Result<std::vector<GpuUsage>> Nvml::usage() const {
  std::vector<std::string> order;
  {
    const std::lock_guard lock(state_->mutex);
    order = state_->order;
  }
  std::vector<GpuUsage> all;
  std::optional<Error> failure;
  for (const std::string& uuid : order) {
    auto usage = this->usage(uuid);
    if (usage) {
      all.push_back(*std::move(usage));
    } else {
      failure = std::move(usage).error();
    }
  }
  if (all.empty() && failure) return *std::move(failure);
  return all;
}

Result<std::vector<GpuProcess>> Nvml::processes(const std::string& uuid) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  std::map<std::uint32_t, std::uint64_t> found;
  const int code = state_->processes_of(device, found);
  if (code != nvml_success) return state_->error("nvmlDeviceGetComputeRunningProcesses", code);
  std::vector<GpuProcess> processes;
  for (const auto& [pid, bytes] : found) processes.push_back({pid, bytes});
  return processes;
}

// ---- MIG ----

Result<MigSeen> Nvml::mig(const std::string& uuid) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  return state_->mig->seen(device);
}

Result<bool> Nvml::mig_switch(const std::string& uuid, bool on) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  return state_->mig->set_mode(device, on);
}

Result<std::uint32_t> Nvml::mig_create(const std::string& uuid, std::uint32_t profile_id,
                                       std::uint32_t start, std::uint32_t size) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  return state_->mig->create(device, profile_id, start, size);
}

Result<void> Nvml::mig_create_compute(const std::string& uuid, std::uint32_t instance) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  return state_->mig->create_compute(device, instance);
}

Result<bool> Nvml::mig_destroy_compute(const std::string& uuid, std::uint32_t instance,
                                       std::uint32_t compute) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  return state_->mig->destroy_compute(device, instance, compute);
}

Result<bool> Nvml::mig_destroy(const std::string& uuid, std::uint32_t instance) const {
  ROTA_TRY(const NvmlHandle device, state_->handle_of(uuid));
  return state_->mig->destroy(device, instance);
}

// ---- samples ----

/// The driver keeps loads of the last seconds; each look takes those that are new since the last.
std::optional<std::vector<ProcessLoad>> Nvml::State::loads_of(const std::string& uuid,
                                                              NvmlHandle device) {
  unsigned long long since = 0;
  {
    const std::lock_guard lock(mutex);
    since = loads_seen_us[uuid];
  }
  std::vector<NvmlProcessLoad> buffer(64);
  unsigned int count = static_cast<unsigned int>(buffer.size());
  int code = CALL(nvmlDeviceGetProcessUtilization, device, buffer.data(), &count, since);
  if (code == nvml_insufficient_size) {
    buffer.resize(std::min(count, 65'536u) + 16);
    count = static_cast<unsigned int>(buffer.size());
    code = CALL(nvmlDeviceGetProcessUtilization, device, buffer.data(), &count, since);
  }
  if (code == nvml_not_found) return std::vector<ProcessLoad>{};  // nobody has done anything
  if (code != nvml_success || count > buffer.size()) return std::nullopt;
  struct Sum {
    std::uint64_t percent = 0;
    std::uint64_t count = 0;
  };
  std::map<std::uint32_t, Sum> by_pid;
  for (unsigned int i = 0; i < count; ++i) {
    Sum& sum = by_pid[buffer[i].pid];
    sum.percent += std::min(buffer[i].sm, 100u);
    ++sum.count;
    since = std::max(since, buffer[i].time_us);
  }
  std::vector<ProcessLoad> loads;
  for (const auto& [pid, sum] : by_pid)
    loads.push_back({pid, static_cast<std::uint32_t>((sum.percent + sum.count - 1) / sum.count)});
  const std::lock_guard lock(mutex);
  loads_seen_us[uuid] = since;
  return loads;
}

Result<GpuSample> Nvml::sample(const std::string& uuid, bool with_loads) const {
  State& s = *state_;
  ROTA_TRY(const NvmlHandle device, s.handle_of(uuid));
  GpuSample sample{.uuid = uuid, .at = mono_now()};
  int code = s.memory_used(device, sample.memory_used_bytes);
  if (code != nvml_success) return s.error("nvmlDeviceGetMemoryInfo", code);
  code = s.utilization_of(device, sample.utilization_percent);
  if (code != nvml_success) return s.error("nvmlDeviceGetUtilizationRates", code);
  std::map<std::uint32_t, std::uint64_t> found;
  code = s.processes_of(device, found);
  if (code != nvml_success && !is_missing(code))
    return s.error("nvmlDeviceGetComputeRunningProcesses", code);
  sample.processes_known = code == nvml_success;
  for (const auto& [pid, bytes] : found) sample.processes.push_back({pid, bytes});
  // Boards without a sensor say neither; that costs the numbers only.
  unsigned int milliwatts = 0;
  if (s.call("nvmlDeviceGetPowerUsage", s.nvml.nvmlDeviceGetPowerUsage, device, &milliwatts) ==
      nvml_success)
    sample.power_mw = milliwatts;
  unsigned long long millijoules = 0;
  if (s.call("nvmlDeviceGetTotalEnergyConsumption", s.nvml.nvmlDeviceGetTotalEnergyConsumption,
             device, &millijoules) == nvml_success)
    sample.energy_mj = millijoules;
  if (with_loads) sample.loads = s.loads_of(uuid, device);
  return sample;
}

}  // namespace rota::gpud
