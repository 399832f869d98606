// gpud/inventory/nvml_health.cpp - asks each thing by itself: drivers differ in what they tell.
#include "gpud/inventory/nvml_health.h"

#include <chrono>
#include <map>
#include <utility>

#include "common/log.h"
#include "gpud/inventory/nvml_abi.h"

namespace rota::gpud {
namespace {

constexpr std::uint64_t throttled_bits =
    nvml_clocks_hw_slowdown | nvml_clocks_hw_thermal | nvml_clocks_power_brake;

/// What this driver has of the functions that are asked here.
struct Functions {
#define MEMBER(name, arguments) int(*name) arguments = nullptr;
  ROTA_NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};

Functions resolve(const Nvml& nvml) {
  Functions functions;
#define LOOK_UP(name, arguments) \
  functions.name = reinterpret_cast<int(*) arguments>(nvml.function(#name));
  ROTA_NVML_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  return functions;
}

template <class Function, class... Arguments>
int ask(Function* function, Arguments... arguments) {
  return function == nullptr ? static_cast<int>(nvml_function_not_found) : function(arguments...);
}

}  // namespace

bool is_throttled(const GpuVitals& vitals) { return (vitals.clock_reasons & throttled_bits) != 0; }

struct NvmlHealth::State {
  std::shared_ptr<Nvml> nvml;
  Functions of;
  int (*get_mig_mode)(NvmlHandle, unsigned int*, unsigned int*) = nullptr;
  NvmlEventSetHandle events = nullptr;
  std::map<NvmlHandle, std::string> registered;

  std::uint64_t clock_reasons(NvmlHandle device) const {
    unsigned long long reasons = 0;
    int code = ask(of.nvmlDeviceGetCurrentClocksEventReasons, device, &reasons);
    if (code != nvml_success)
      code = ask(of.nvmlDeviceGetCurrentClocksThrottleReasons, device, &reasons);
    return code == nvml_success ? reasons : 0;
  }

  std::uint64_t links_up(NvmlHandle device) const {
    std::uint64_t up = 0;
    for (unsigned int link = 0; link < nvml_link_count_limit; ++link) {
      unsigned int active = 0;
      if (ask(of.nvmlDeviceGetNvLinkState, device, link, &active) != nvml_success) break;
      if (active != 0) up |= std::uint64_t{1} << link;
    }
    return up;
  }

  std::uint32_t recovery_action(NvmlHandle device) const {
    NvmlFieldValue field{};
    field.field = nvml_field_recovery_action;
    const bool told = ask(of.nvmlDeviceGetFieldValues, device, 1, &field) == nvml_success &&
                      field.result == nvml_success;
    return told ? field.value.as_uint : 0;
  }

  void read_memory(NvmlHandle device, GpuVitals& vitals) const {
    unsigned long long errors = 0;
    const unsigned int kind = nvml_ecc_uncorrected, counter = nvml_ecc_volatile;
    if (ask(of.nvmlDeviceGetTotalEccErrors, device, kind, counter, &errors) == nvml_success)
      vitals.ecc_uncorrected = errors;
    unsigned int corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (ask(of.nvmlDeviceGetRemappedRows, device, &corrected, &uncorrected, &pending, &failed) ==
        nvml_success) {
      vitals.remap_pending = pending != 0;
      vitals.remap_failed = failed != 0;
    }
    unsigned int retired = 0;
    if (ask(of.nvmlDeviceGetRetiredPagesPendingStatus, device, &retired) == nvml_success)
      vitals.retire_pending = retired != 0;
    NvmlSramStatus sram{};
    sram.version = nvml_sram_status_version;
    if (ask(of.nvmlDeviceGetSramEccErrorStatus, device, &sram) == nvml_success)
      vitals.sram_exceeded = sram.threshold_exceeded != 0;
  }

  void forget_events() {
    if (events != nullptr) ask(of.nvmlEventSetFree, events);
    events = nullptr;
    registered.clear();
  }
};

NvmlHealth::NvmlHealth(std::shared_ptr<Nvml> nvml) : state_(std::make_unique<State>()) {
  state_->of = resolve(*nvml);
  state_->get_mig_mode =
      reinterpret_cast<decltype(state_->get_mig_mode)>(nvml->function("nvmlDeviceGetMigMode"));
  state_->nvml = std::move(nvml);
}

NvmlHealth::~NvmlHealth() { state_->forget_events(); }

Result<GpuVitals> NvmlHealth::vitals(const std::string& uuid) const {
  const State& s = *state_;
  GpuVitals vitals;
  auto handle = s.nvml->handle(uuid);
  if (!handle && handle.error().code == Errc::not_found) {
    vitals.lost = true;
    return vitals;
  }
  ROTA_TRY(const NvmlHandle device, std::move(handle));
  // A plain question first, whose answer is also of use: it tells whether the GPU answers at all.
  const unsigned int sensor = 0;
  const int code = ask(s.of.nvmlDeviceGetTemperature, device, sensor, &vitals.temperature);
  vitals.lost = code == nvml_gpu_is_lost || code == nvml_gpu_not_found;
  vitals.reset_required = code == nvml_reset_required;
  if (vitals.lost || vitals.reset_required) return vitals;
  if (code != nvml_success && code != nvml_not_supported && code != nvml_function_not_found)
    return s.nvml->failure("nvmlDeviceGetTemperature", code);
  const unsigned int threshold = nvml_threshold_slowdown;
  unsigned int slowdown = 0;
  if (ask(s.of.nvmlDeviceGetTemperatureThreshold, device, threshold, &slowdown) == nvml_success)
    vitals.temperature_slowdown = slowdown;
  s.read_memory(device, vitals);
  vitals.clock_reasons = s.clock_reasons(device);
  vitals.links_up = s.links_up(device);
  vitals.recovery_action = s.recovery_action(device);
  unsigned int mode = 0, pending = 0;
  vitals.in_mig_mode = ask(s.get_mig_mode, device, &mode, &pending) == nvml_success && mode != 0;
  return vitals;
}

Result<void> NvmlHealth::find_again(const std::string& uuid) {
  NvmlHandle device = nullptr;
  const int code = ask(state_->of.nvmlDeviceGetHandleByUUID, uuid.c_str(), &device);
  if (code != nvml_success) return state_->nvml->failure("nvmlDeviceGetHandleByUUID", code);
  state_->nvml->set_handle(uuid, device);
  return {};
}

Result<void> NvmlHealth::register_events(const std::vector<std::string>& uuids) {
  State& s = *state_;
  s.forget_events();
  if (const int code = ask(s.of.nvmlEventSetCreate, &s.events); code != nvml_success) {
    s.events = nullptr;
    return s.nvml->failure("nvmlEventSetCreate", code);
  }
  for (const std::string& uuid : uuids) {
    const auto device = s.nvml->handle(uuid);
    if (!device) continue;  // its vitals tell
    unsigned long long types = 0;
    int code = ask(s.of.nvmlDeviceGetSupportedEventTypes, *device, &types);
    types &= nvml_event_xid | nvml_event_recovery_action;
    if (code == nvml_success && types != 0)
      code = ask(s.of.nvmlDeviceRegisterEvents, *device, types, s.events);
    if (code == nvml_success && types != 0)
      s.registered[*device] = uuid;
    else
      log::warning("{} tells no Xids: {}", uuid,
                   s.nvml->failure("nvmlDeviceRegisterEvents", code).message());
  }
  return {};
}

Result<std::optional<GpuEvent>> NvmlHealth::next_event(Duration limit) {
  State& s = *state_;
  NvmlEvent event{};
  event.gpu_instance = nvml_no_instance;
  const auto milliseconds = static_cast<unsigned int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(limit).count());
  int code = ask(s.of.nvmlEventSetWait_v2, s.events, &event, milliseconds);
  if (code == nvml_function_not_found)
    code = ask(s.of.nvmlEventSetWait, s.events, static_cast<void*>(&event), milliseconds);
  if (code == nvml_timeout) return std::optional<GpuEvent>();
  if (code != nvml_success) return s.nvml->failure("nvmlEventSetWait", code);
  const auto known = s.registered.find(event.device);
  if (known == s.registered.end()) return std::optional<GpuEvent>();
  const bool is_xid = event.type == nvml_event_xid;
  return std::optional(GpuEvent{known->second, is_xid ? static_cast<std::uint32_t>(event.data) : 0,
                                event.gpu_instance});
}

}  // namespace rota::gpud
