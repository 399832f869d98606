// testsuite/fakegpu/inject.cpp - faults by name, as a driver would notice and tell them.
#include "inject.h"

#include <cstdio>

#include "common/format.h"
#include "common/units.h"
#include "gpud/inventory/nvml_abi.h"
#include "mig_state.h"

namespace rota::fakegpu {
namespace {

void add_event(Node& node, std::uint32_t gpu, std::uint64_t type, std::uint64_t data,
               std::uint32_t instance = nvml_no_instance) {
  fake_state_add_event(node.state,
                       {.type = type, .data = data, .gpu = gpu, .gpu_instance = instance});
}

bool has_processes(Node& node, FakeGpuState& gpu) {
  fake_state_reap(node.state, &gpu);
  for (const FakeProcess& process : gpu.processes)
    if (process.pid != 0) return true;
  return false;
}

}  // namespace

/// Prints the line that the kernel's log would have.
Result<void> inject_xid(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  ROTA_TRY(const std::uint64_t xid, number_parse(arguments[1], 10'000));
  std::uint64_t pid = 0;
  std::uint64_t instance = nvml_no_instance;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with("pid=")) {
      ROTA_TRY(pid, number_parse(word.substr(4), 4'194'304));
    } else if (word.starts_with("instance=")) {
      ROTA_TRY(instance, number_parse(word.substr(9), 1'000));
    } else {
      return usage_error(format("unknown word '{}': pid=PID or instance=ID", word));
    }
  }
  for (const std::uint32_t gpu : gpus) {
    add_event(node, gpu, nvml_event_xid, xid, static_cast<std::uint32_t>(instance));
    const FakePci& pci = node.machine.devices[gpu].pci;
    const std::string who = pid == 0 ? "'<unknown>', name=<unknown>" : format("{}, name=job", pid);
    std::puts(format("NVRM: Xid (PCI:{:04x}:{:02x}:{:02x}): {}, pid={}, injected", pci.domain,
                     pci.bus, pci.device, xid, who)
                  .c_str());
  }
  return {};
}

Result<void> inject_ecc(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  const bool uncorrected = arguments[1] == "uncorrected";
  if (!uncorrected && arguments[1] != "corrected")
    return usage_error(format("unknown kind '{}': corrected or uncorrected", arguments[1]));
  ROTA_TRY(const std::uint64_t count, number_parse(arguments[2], 1'000'000));
  if (arguments.size() > 3 && arguments[3] != "sram")
    return usage_error(format("unknown place '{}': sram, or nothing for DRAM", arguments[3]));
  for (const std::uint32_t gpu : gpus) {
    FakeHealth& health = node.state->gpus[gpu].health;
    auto& errors = (arguments.size() > 3 ? health.sram_errors : health.dram_errors)[uncorrected];
    errors[nvml_ecc_volatile] += count;
    errors[nvml_ecc_aggregate] += count;
    if (count > 0)
      add_event(node, gpu, uncorrected ? nvml_event_double_bit : nvml_event_single_bit, 0);
  }
  return {};
}

/// On Ampere and newer rows are remapped, on older GPUs pages are retired.
Result<void> inject_remap(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  const std::string& what = arguments[1];
  if (what != "pending" && what != "failed" && what != "none")
    return usage_error(format("unknown state '{}': pending, failed or none", what));
  for (const std::uint32_t gpu : gpus) {
    FakeHealth& health = node.state->gpus[gpu].health;
    const bool remaps = node.machine.devices[gpu].gpu.architecture >= nvml_arch_ampere;
    if (!remaps && what == "failed") return usage_error("this GPU retires pages; that cannot fail");
    (remaps ? health.remap_pending : health.retirement_pending) = what == "pending" ? 1 : 0;
    health.remap_failed = what == "failed" ? 1 : 0;
  }
  return {};
}

Result<void> set_link(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  ROTA_TRY(const std::uint64_t link, number_parse(arguments[1], fake_link_max - 1));
  if (arguments[2] != "up" && arguments[2] != "down")
    return usage_error(format("a link is up or down, not '{}'", arguments[2]));
  for (const std::uint32_t gpu : gpus) {
    std::uint64_t& down = node.state->gpus[gpu].health.links_down;
    down = arguments[2] == "down" ? down | 1ull << link : down & ~(1ull << link);
  }
  return {};
}

/// As the driver's own: not while a process has the GPU open, and not when it does not answer.
Result<void> reset(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  for (const std::uint32_t gpu : gpus) {
    if (node.state->gpus[gpu].lost != 0)
      return Error{Errc::io_failed, format("GPU {} is lost", gpu)};
    if (has_processes(node, node.state->gpus[gpu]))
      return Error{Errc::busy, format("GPU {} is in use by another client", gpu)};
  }
  for (const std::uint32_t gpu : gpus) {
    FakeHealth& health = node.state->gpus[gpu].health;
    const bool remaps = node.machine.devices[gpu].gpu.architecture >= nvml_arch_ampere;
    if (health.remap_pending != 0) ++health.rows_remapped[nvml_ecc_uncorrected];
    if (health.retirement_pending != 0 && !remaps) ++health.pages_retired[nvml_ecc_uncorrected];
    for (auto* errors : {&health.dram_errors, &health.sram_errors})
      for (auto& kind : *errors) kind[nvml_ecc_volatile] = 0;
    health.remap_pending = health.retirement_pending = 0;
    health.recovery_action = 0;
    health.clock_reasons = 0;
    health.links_down = 0;
    ++health.reset_count;
    const FakeMigGpu on{&node.machine.devices[gpu], node.state, &node.state->gpus[gpu]};
    if (const int code = fake_mig_reset(on); code != 0)
      return Error{Errc::busy, format("GPU {} is in use: the driver says {}", gpu, code)};
  }
  return {};
}

void replace_gpu(Node& node, std::uint32_t gpu, const FakeGpuState& changed) {
  const std::uint32_t action = changed.health.recovery_action;
  if (action != node.state->gpus[gpu].health.recovery_action)
    add_event(node, gpu, nvml_event_recovery_action, action);
  node.state->gpus[gpu] = changed;
}

Result<bool> set_health(FakeHealth& health, const std::string& key, const std::string& value) {
  if (key == "clock-reasons") {
    ROTA_TRY(health.clock_reasons, number_parse(value, UINT32_MAX));
  } else if (key == "recovery-action") {
    ROTA_TRY(const std::uint64_t action, number_parse(value, 100));
    health.recovery_action = static_cast<std::uint32_t>(action);
  } else if (key == "sram" && (value == "exceeded" || value == "good")) {
    health.sram_exceeded = value == "exceeded" ? 1 : 0;
  } else {
    return false;
  }
  return true;
}

std::string health_text(const FakeHealth& health) {
  std::string text;
  const auto add = [&text](bool is, const std::string& what) {
    if (is) text += " " + what;
  };
  const auto& dram = health.dram_errors[nvml_ecc_uncorrected];
  const auto& sram = health.sram_errors[nvml_ecc_uncorrected];
  const std::uint64_t errors = dram[nvml_ecc_volatile] + sram[nvml_ecc_volatile];
  add(errors != 0, format("ecc-uncorrected={}", errors));
  add(health.remap_pending != 0, "remap=pending");
  add(health.remap_failed != 0, "remap=failed");
  add(health.retirement_pending != 0, "retirement=pending");
  add(health.sram_exceeded != 0, "sram=exceeded");
  add(health.clock_reasons != 0, format("clock-reasons={}", health.clock_reasons));
  add(health.links_down != 0, format("links-down={:#x}", health.links_down));
  add(health.recovery_action != 0, format("recovery-action={}", health.recovery_action));
  add(health.reset_count != 0, format("resets={}", health.reset_count));
  return text;
}

}  // namespace rota::fakegpu
