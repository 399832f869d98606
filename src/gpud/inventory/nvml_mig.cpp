// gpud/inventory/nvml_mig.cpp - profiles by index, instances by id, and codes that mean "done".
#include "gpud/inventory/nvml_mig.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/format.h"

namespace rota::gpud {
namespace {

/// The most instances that a call may list; a GPU has some tens of slices at the most.
constexpr std::size_t instances_max = 128;

std::string plain_name(std::string name) {
  constexpr std::string_view prefix = "MIG ";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

template <std::size_t size>
std::string text_of(const char (&buffer)[size]) {
  return std::string(buffer, std::find(buffer, buffer + size, '\0'));
}

}  // namespace

struct NvmlMig::ProfileInfo {
  unsigned int index = 0;
  std::uint32_t id = 0;
  std::uint32_t compute_slices = 0;
  std::uint32_t count_max = 0;
  std::uint64_t memory_mib = 0;
  std::string name;  // "": the driver does not tell
};

#define CALL(name, ...) call(#name, nvml_.name __VA_OPT__(, ) __VA_ARGS__)

NvmlMig::NvmlMig(void* library, std::atomic<const char*>& calling, ErrorOf error_of)
    : calling_(calling), error_of_(std::move(error_of)) {
#define LOOK_UP(name, arguments) \
  nvml_.name = reinterpret_cast<int(*) arguments>(dlsym(library, #name));
  ROTA_NVML_MIG_FUNCTIONS(LOOK_UP)
  LOOK_UP(nvmlDeviceGetUUID, (NvmlHandle device, char* text, unsigned int size))
  LOOK_UP(nvmlDeviceGetFieldValues, (NvmlHandle device, int count, NvmlFieldValue* values))
#undef LOOK_UP
}

template <class Function, class... Arguments>
int NvmlMig::call(const char* name, Function* function, Arguments... arguments) {
  if (function == nullptr) return nvml_function_not_found;
  calling_ = name;
  const int code = function(arguments...);
  calling_ = nullptr;
  return code;
}

// ---- how a GPU can be cut ----

/// The newest form that the driver has: it alone knows how profiles are called.
int NvmlMig::profile_info(NvmlHandle device, unsigned int index, ProfileInfo& info) {
  NvmlGpuInstanceProfileV3 third{};
  third.version = nvml_profile_v3_version;
  int code = CALL(nvmlDeviceGetGpuInstanceProfileInfoV, device, index, static_cast<void*>(&third));
  if (code == nvml_success) {
    info = {index,
            third.id,
            third.slice_count,
            third.instance_count,
            third.memory_mib,
            plain_name(text_of(third.name))};
    return code;
  }
  NvmlGpuInstanceProfileV2 second{};
  second.version = nvml_profile_v2_version;
  if (code == nvml_argument_version_mismatch)
    code = CALL(nvmlDeviceGetGpuInstanceProfileInfoV, device, index, static_cast<void*>(&second));
  if (code == nvml_success) {
    info = {index,
            second.id,
            second.slice_count,
            second.instance_count,
            second.memory_mib,
            plain_name(text_of(second.name))};
    return code;
  }
  if (code != nvml_function_not_found && code != nvml_argument_version_mismatch) return code;
  NvmlGpuInstanceProfile first{};
  code = CALL(nvmlDeviceGetGpuInstanceProfileInfo, device, index, &first);
  if (code == nvml_success)
    info = {index, first.id, first.slice_count, first.instance_count, first.memory_mib, ""};
  return code;
}

std::vector<NvmlMig::ProfileInfo> NvmlMig::profile_infos(NvmlHandle device) {
  std::vector<ProfileInfo> infos;
  for (unsigned int index = 0; index < nvml_profile_index_limit; ++index) {
    ProfileInfo info;
    const int code = profile_info(device, index, info);
    if (code == nvml_invalid_argument || code == nvml_function_not_found) break;
    if (code == nvml_success) infos.push_back(std::move(info));
  }
  return infos;
}

int NvmlMig::starts_of(NvmlHandle device, std::uint32_t profile_id, MigProfile& profile) {
  std::array<NvmlPlacement, instances_max> places{};
  unsigned int count = places.size();
  const int code = CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, profile_id,
                        places.data(), &count);
  if (code != nvml_success) return code;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, places.size()); ++i) {
    const NvmlPlacement& place = places[i];
    if (place.size == 0 || place.size > slices_max || place.start > slices_max - place.size)
      continue;
    profile.size = place.size;
    profile.starts.push_back(place.start);
  }
  std::ranges::sort(profile.starts);
  return code;
}

std::string mig_profile_name(std::uint32_t compute_slices, std::uint64_t memory_mib,
                             std::uint64_t gpu_memory_bytes, unsigned int index) {
  // As the driver's own tool did it before it had names: eighths of the memory, rounded up, in
  // whole gigabytes of a GPU whose own size is rounded up.
  const double gpu_gib = std::ceil(static_cast<double>(gpu_memory_bytes) / (1u << 30));
  const double part = static_cast<double>(memory_mib << 20) /
                      static_cast<double>(std::max<std::uint64_t>(gpu_memory_bytes, 1));
  const auto size = std::llround(std::ceil(part * 8) / 8 * gpu_gib);
  const bool media = index == nvml_profile_1_slice_rev1 || index == nvml_profile_2_slice_rev1;
  return format("{}g.{}gb{}", compute_slices, size, media ? "+me" : "");
}

/// Drivers before r535 do not say; then its generation does.
bool NvmlMig::changes_without_reset(NvmlHandle device, unsigned int architecture) {
  NvmlFieldValue field{};
  field.field = nvml_field_mig_without_reset;
  const bool told = CALL(nvmlDeviceGetFieldValues, device, 1, &field) == nvml_success &&
                    field.result == nvml_success;
  return told ? field.value.as_uint != 0 : architecture >= nvml_arch_hopper;
}

MigGeometry NvmlMig::geometry(NvmlHandle device, unsigned int architecture,
                              std::uint64_t memory_bytes) {
  MigGeometry geometry;
  unsigned int current = 0, pending = 0;
  if (CALL(nvmlDeviceGetMigMode, device, &current, &pending) != nvml_success) return geometry;
  geometry.is_on = current == nvml_mig_on;
  geometry.switches = changes_without_reset(device, architecture);
  for (const ProfileInfo& info : profile_infos(device)) {
    MigProfile profile;
    if (starts_of(device, info.id, profile) != nvml_success || profile.starts.empty()) continue;
    profile.id = info.id;
    profile.compute_slices = info.compute_slices;
    profile.count_max = info.count_max;
    profile.memory_bytes = info.memory_mib << 20;
    profile.name = !info.name.empty() ? info.name
                                      : mig_profile_name(info.compute_slices, info.memory_mib,
                                                         memory_bytes, info.index);
    geometry.profiles.push_back(std::move(profile));
  }
  std::ranges::sort(geometry.profiles, [](const MigProfile& a, const MigProfile& b) {
    return std::tie(a.size, a.compute_slices, a.name) < std::tie(b.size, b.compute_slices, b.name);
  });
  return geometry;
}

// ---- what there is ----

int NvmlMig::computes_of(NvmlGpuInstance instance, std::vector<MigCompute>& computes) {
  for (unsigned int index = 0; index < nvml_profile_index_limit; ++index) {
    NvmlComputeInstanceProfile profile{};
    const unsigned int engine = nvml_compute_engine_shared;
    int code =
        CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo, instance, index, engine, &profile);
    if (code == nvml_invalid_argument) break;
    if (code == nvml_not_supported) continue;
    if (code != nvml_success) return code;
    std::array<NvmlComputeInstance, instances_max> found{};
    unsigned int count = 0;
    code = CALL(nvmlGpuInstanceGetComputeInstances, instance, profile.id, found.data(), &count);
    if (code != nvml_success) return code;
    for (unsigned int i = 0; i < std::min<unsigned int>(count, instances_max); ++i) {
      NvmlComputeInstanceInfo info{};
      code = CALL(nvmlComputeInstanceGetInfo_v2, found[i], &info);
      if (code == nvml_not_found) continue;
      if (code != nvml_success) return code;
      std::array<char, nvml_uuid_size> uuid{};
      code = CALL(nvmlDeviceGetUUID, info.device, uuid.data(),
                  static_cast<unsigned int>(uuid.size() - 1));
      if (code != nvml_success) return code;
      computes.push_back({info.id, uuid.data()});
    }
  }
  return nvml_success;
}

Result<void> NvmlMig::add_instances(NvmlHandle device, const ProfileInfo& info, MigSeen& seen) {
  std::array<NvmlGpuInstance, instances_max> found{};
  unsigned int count = 0;
  int code = CALL(nvmlDeviceGetGpuInstances, device, info.id, found.data(), &count);
  if (code != nvml_success) return error_of_("nvmlDeviceGetGpuInstances", code);
  for (unsigned int i = 0; i < std::min<unsigned int>(count, instances_max); ++i) {
    NvmlGpuInstanceInfo about{};
    code = CALL(nvmlGpuInstanceGetInfo, found[i], &about);
    if (code == nvml_not_found) continue;
    if (code != nvml_success) return error_of_("nvmlGpuInstanceGetInfo", code);
    MigInstance instance{
        about.id, about.profile_id, about.placement.start, about.placement.size, {}};
    code = computes_of(found[i], instance.computes);
    if (code == nvml_not_found) continue;
    if (code != nvml_success) return error_of_("nvmlGpuInstanceGetComputeInstances", code);
    seen.instances.push_back(std::move(instance));
  }
  return {};
}

Result<MigSeen> NvmlMig::seen(NvmlHandle device) {
  MigSeen seen;
  unsigned int current = 0, pending = 0;
  const int code = CALL(nvmlDeviceGetMigMode, device, &current, &pending);
  if (code == nvml_not_supported || code == nvml_function_not_found) return seen;
  if (code != nvml_success) return error_of_("nvmlDeviceGetMigMode", code);
  seen.is_on = current == nvml_mig_on;
  if (!seen.is_on) return seen;
  for (const ProfileInfo& info : profile_infos(device))
    ROTA_CHECK(add_instances(device, info, seen));
  std::ranges::sort(seen.instances, {}, &MigInstance::start);
  return seen;
}

// ---- changes ----

Result<bool> NvmlMig::set_mode(NvmlHandle device, bool on) {
  const unsigned int wanted = on ? nvml_mig_on : nvml_mig_off;
  int activation = nvml_success;
  const int code = CALL(nvmlDeviceSetMigMode, device, wanted, &activation);
  if (code == nvml_in_use || (code == nvml_success && activation == nvml_in_use)) return false;
  if (code != nvml_success) return error_of_("nvmlDeviceSetMigMode", code);
  if (activation != nvml_success) return error_of_("nvmlDeviceSetMigMode", activation);
  unsigned int current = 0, pending = 0;
  const int read = CALL(nvmlDeviceGetMigMode, device, &current, &pending);
  if (read != nvml_success) return error_of_("nvmlDeviceGetMigMode", read);
  if (current != wanted) return error_of_("nvmlDeviceSetMigMode", nvml_reset_required);
  return true;
}

Result<std::uint32_t> NvmlMig::create(NvmlHandle device, std::uint32_t profile_id,
                                      std::uint32_t start, std::uint32_t size) {
  const NvmlPlacement place{start, size};
  NvmlGpuInstance made = nullptr;
  const NvmlPlacement* where = &place;
  int code = CALL(nvmlDeviceCreateGpuInstanceWithPlacement, device, profile_id, where, &made);
  if (code != nvml_success) return error_of_("nvmlDeviceCreateGpuInstanceWithPlacement", code);
  NvmlGpuInstanceInfo info{};
  code = CALL(nvmlGpuInstanceGetInfo, made, &info);
  if (code != nvml_success) return error_of_("nvmlGpuInstanceGetInfo", code);
  return info.id;
}

Result<void> NvmlMig::create_compute(NvmlHandle device, std::uint32_t instance) {
  NvmlGpuInstance handle = nullptr;
  int code = CALL(nvmlDeviceGetGpuInstanceById, device, instance, &handle);
  if (code != nvml_success) return error_of_("nvmlDeviceGetGpuInstanceById", code);
  // The largest there is has all slices.
  std::optional<NvmlComputeInstanceProfile> largest;
  for (unsigned int index = 0; index < nvml_profile_index_limit; ++index) {
    NvmlComputeInstanceProfile profile{};
    const unsigned int engine = nvml_compute_engine_shared;
    code = CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo, handle, index, engine, &profile);
    if (code == nvml_invalid_argument) break;
    if (code == nvml_success && (!largest || profile.slice_count > largest->slice_count))
      largest = profile;
  }
  if (!largest) return error_of_("nvmlGpuInstanceGetComputeInstanceProfileInfo", code);
  NvmlComputeInstance made = nullptr;
  code = CALL(nvmlGpuInstanceCreateComputeInstance, handle, largest->id, &made);
  if (code != nvml_success) return error_of_("nvmlGpuInstanceCreateComputeInstance", code);
  return {};
}

Result<bool> NvmlMig::destroyed(const char* name, int code) const {
  if (code == nvml_success || code == nvml_not_found) return true;
  if (code == nvml_in_use) return false;
  return error_of_(name, code);
}

Result<bool> NvmlMig::destroy_compute(NvmlHandle device, std::uint32_t instance,
                                      std::uint32_t compute) {
  NvmlGpuInstance handle = nullptr;
  int code = CALL(nvmlDeviceGetGpuInstanceById, device, instance, &handle);
  if (code != nvml_success) return destroyed("nvmlDeviceGetGpuInstanceById", code);
  NvmlComputeInstance inner = nullptr;
  code = CALL(nvmlGpuInstanceGetComputeInstanceById, handle, compute, &inner);
  if (code != nvml_success) return destroyed("nvmlGpuInstanceGetComputeInstanceById", code);
  return destroyed("nvmlComputeInstanceDestroy", CALL(nvmlComputeInstanceDestroy, inner));
}

Result<bool> NvmlMig::destroy(NvmlHandle device, std::uint32_t instance) {
  NvmlGpuInstance handle = nullptr;
  const int code = CALL(nvmlDeviceGetGpuInstanceById, device, instance, &handle);
  if (code != nvml_success) return destroyed("nvmlDeviceGetGpuInstanceById", code);
  return destroyed("nvmlGpuInstanceDestroy", CALL(nvmlGpuInstanceDestroy, handle));
}

}  // namespace rota::gpud
