// gpud/inventory/nvml_mig.h - the part of NVML's door that cuts GPUs.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "common/result.h"
#include "gpud/inventory/nvml_mig_abi.h"
#include "gpud/mig/instances.h"
#include "model/mig.h"

namespace rota::gpud {

/// MIG's functions of one opened library. Owned by Nvml, which knows the handles and whose
/// book-keeping of the call under way is shared.
class NvmlMig {
 public:
  using ErrorOf = std::function<Error(const char* call, int code)>;
  NvmlMig(void* library, std::atomic<const char*>& calling, ErrorOf error_of);

  /// How the GPU can be cut; no profiles where it cannot be, or where the driver does not tell as
  /// long as MIG mode is off. `blocked` is left to who knows whose instances there are.
  /// `memory_bytes` is the GPU's own, for naming profiles that the driver does not name.
  MigGeometry geometry(NvmlHandle device, unsigned int architecture, std::uint64_t memory_bytes);

  Result<MigSeen> seen(NvmlHandle device);
  /// False: it is in use, and was left as it is.
  Result<bool> set_mode(NvmlHandle device, bool on);
  /// The new GPU instance's id.
  Result<std::uint32_t> create(NvmlHandle device, std::uint32_t profile_id, std::uint32_t start,
                               std::uint32_t size);
  /// One compute instance with all slices of the GPU instance.
  Result<void> create_compute(NvmlHandle device, std::uint32_t instance);
  /// True: it is gone, or was before. False: in use.
  Result<bool> destroy_compute(NvmlHandle device, std::uint32_t instance, std::uint32_t compute);
  Result<bool> destroy(NvmlHandle device, std::uint32_t instance);

 private:
  struct Functions {
#define ROTA_MEMBER(name, arguments) int(*name) arguments = nullptr;
    ROTA_NVML_MIG_FUNCTIONS(ROTA_MEMBER)
#undef ROTA_MEMBER
    int (*nvmlDeviceGetUUID)(NvmlHandle device, char* text, unsigned int size) = nullptr;
    int (*nvmlDeviceGetFieldValues)(NvmlHandle device, int count, NvmlFieldValue* values) = nullptr;
  };
  struct ProfileInfo;

  template <class Function, class... Arguments>
  int call(const char* name, Function* function, Arguments... arguments);
  int profile_info(NvmlHandle device, unsigned int index, ProfileInfo& info);
  std::vector<ProfileInfo> profile_infos(NvmlHandle device);
  bool changes_without_reset(NvmlHandle device, unsigned int architecture);
  int starts_of(NvmlHandle device, std::uint32_t profile_id, MigProfile& profile);
  int computes_of(NvmlGpuInstance instance, std::vector<MigCompute>& computes);
  Result<void> add_instances(NvmlHandle device, const ProfileInfo& info, MigSeen& seen);
  Result<bool> destroyed(const char* name, int code) const;

  Functions nvml_;
  std::atomic<const char*>& calling_;
  ErrorOf error_of_;
};

/// A profile's name by the numbers alone, for drivers before r510: "3g.20gb", "1g.5gb+me".
std::string mig_profile_name(std::uint32_t compute_slices, std::uint64_t memory_mib,
                             std::uint64_t gpu_memory_bytes, unsigned int index);

}  // namespace rota::gpud
