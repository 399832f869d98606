// testsuite/fakegpu/rota_fakegpu.cpp - rota-fakegpu: changes what the simulated GPUs do.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/format.h"
#include "common/result.h"
#include "common/units.h"
#include "inject.h"
#include "mig_state.h"

namespace rota::fakegpu {
namespace {

constexpr std::string_view usage_text =
    "Usage: rota-fakegpu [--state FILE] COMMAND\n"
    "Changes what the simulated GPUs of one node do, for every process that looks at them.\n"
    "\n"
    "  show                                what each GPU does now\n"
    "  high GPU                            the most memory in use at once so far, in bytes\n"
    "  set GPU KEY=VALUE...                utilization, memory-utilization (percent), memory-used\n"
    "                                      (beside the processes'; 4GiB), temperature, power "
    "(mW),\n"
    "                                      fabric (up or down: the NVSwitches), clock-reasons\n"
    "                                      (NVML's bits), recovery-action (field 230), sram\n"
    "                                      (exceeded or good), mig (on or off, as if the GPU had\n"
    "                                      been reset), mig-latency (ms)\n"
    "  layout                              what MIG has made of each GPU\n"
    "  create-instance GPU PROFILE [START] a MIG instance that nobody asked for; its UUID\n"
    "  destroy-instance GPU ID             of a GPU instance and what is in it\n"
    "  add-process GPU PID SIZE [graphics|mps|ID] a process that holds SIZE of the GPU's memory, "
    "or "
    "of\n"
    "                                      the memory of the MIG instance ID\n"
    "  remove-process GPU PID\n"
    "  load GPU PID PERCENT                so much of the GPU's time is that process's\n"
    "  xid GPU NUMBER [pid=PID] [instance=ID]\n"
    "                                      an Xid, told to who waits for events; prints the line\n"
    "                                      that the kernel logs with it\n"
    "  ecc GPU corrected|uncorrected COUNT [sram]\n"
    "                                      so many more errors of the memory\n"
    "  remap GPU pending|failed|none       rows to remap, or on older GPUs pages to retire\n"
    "  link GPU N up|down                  an NVLink\n"
    "  reset GPU                           fails while a process has it; the MIG mode asked for\n"
    "                                      comes into force, no instance is left\n"
    "  lose GPU | restore GPU              the GPU has fallen off the bus, or is back\n"
    "  hang CALL [GPU]                     the NVML function does not come back ('*': none does)\n"
    "  fail CALL CODE [GPU]                the NVML function returns CODE\n"
    "  clear                               no call hangs or fails any more\n"
    "\n"
    "GPU is an index, a UUID or 'all'. The state is FILE, else $ROTA_FAKEGPU_STATE; it is made "
    "from\n"
    "the description $ROTA_FAKEGPU (with $ROTA_FAKEGPU_NODE and $ROTA_FAKEGPU_COUNT) if need be.\n";

}  // namespace

Error usage_error(std::string detail) { return Error{Errc::usage, std::move(detail)}; }

Result<std::vector<std::uint32_t>> gpus_named(const Node& node, const std::string& name) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < node.machine.device_count; ++i) {
    if (name == "all" || name == std::to_string(i) || name == node.machine.devices[i].uuid) {
      found.push_back(i);
    }
  }
  if (found.empty()) {
    return usage_error(format("no GPU '{}'; this node has {}, named by index, UUID or 'all'", name,
                              node.machine.device_count));
  }
  return found;
}

namespace {

Result<void> show(Node& node, const Arguments&) {
  for (std::uint32_t i = 0; i < node.machine.device_count; ++i) {
    FakeGpuState& gpu = node.state->gpus[i];
    fake_state_reap(node.state, &gpu);
    std::string line = format("{} {} utilization={}% memory-used={} temperature={} power={}mW{}", i,
                              node.machine.devices[i].uuid, gpu.utilization_gpu,
                              size_format(fake_state_memory_used(&gpu)), gpu.temperature,
                              gpu.power_mw, gpu.lost != 0 ? " lost" : "");
    line += health_text(gpu.health);
    for (const FakeProcess& process : gpu.processes) {
      if (process.pid == 0) continue;
      line += format(" {}={}{}", process.pid, size_format(process.memory_bytes),
                     process.kind == fake_graphics ? "(graphics)"
                     : process.kind == fake_mps    ? "(mps)"
                                                   : "");
    }
    std::puts(line.c_str());
  }
  for (const FakeLimit& limit : node.state->limits) {
    if (limit.hard_bytes == 0) continue;
    std::puts(format("limit of GPU {}: {} to {} for {}", limit.gpu, limit.soft_bytes,
                     limit.hard_bytes, limit.cgroup)
                  .c_str());
  }
  for (const FakeFault& fault : node.state->faults) {
    if (fault.kind == fake_fault_none) continue;
    const std::string where = fault.gpu < 0 ? "" : format(" of GPU {}", fault.gpu);
    const std::string how =
        fault.kind == fake_fault_hang ? "hangs" : format("returns {}", fault.code);
    std::puts(format("{}{} {}", fault.call, where, how).c_str());
  }
  return {};
}

Result<void> high(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  for (const std::uint32_t gpu : gpus) {
    std::puts(format("{}", node.state->gpus[gpu].memory_high_bytes).c_str());
  }
  return {};
}

Result<void> set_one(FakeGpuState& gpu, const std::string& key, const std::string& value) {
  if (key == "utilization" || key == "memory-utilization") {
    ROTA_TRY(const std::uint64_t percent, number_parse(value, 100));
    (key == "utilization" ? gpu.utilization_gpu : gpu.utilization_memory) =
        static_cast<std::uint32_t>(percent);
  } else if (key == "memory-used") {
    ROTA_TRY(gpu.memory_used_bytes, size_parse(value));
  } else if (key == "temperature") {
    ROTA_TRY(const std::uint64_t celsius, number_parse(value, 200));
    gpu.temperature = static_cast<std::uint32_t>(celsius);
  } else if (key == "power") {
    ROTA_TRY(const std::uint64_t milliwatts, number_parse(value, 10'000'000));
    fake_state_set_power(&gpu, static_cast<std::uint32_t>(milliwatts));
  } else if (key == "mig" && (value == "on" || value == "off")) {
    gpu.mig = FakeMigState{};
    gpu.mig.mode = gpu.mig.pending = value == "on" ? 1 : 0;
  } else if (key == "mig-latency") {
    ROTA_TRY(const std::uint64_t milliseconds, number_parse(value, 60'000));
    gpu.mig.latency_ms = static_cast<std::uint32_t>(milliseconds);
  } else if (key == "fabric" && (value == "up" || value == "down")) {
    gpu.fabric_down = value == "down" ? 1 : 0;
  } else {
    ROTA_TRY(const bool known, set_health(gpu.health, key, value));
    if (!known) return usage_error(format("unknown key '{}'", key));
  }
  return {};
}

Result<void> set(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  // On copies first: a command with a mistake at its end changes nothing.
  std::vector<FakeGpuState> changed;
  for (const std::uint32_t gpu : gpus) changed.push_back(node.state->gpus[gpu]);
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    if (equals == std::string::npos) {
      return usage_error(format("'{}' is not KEY=VALUE", arguments[i]));
    }
    const std::string key = arguments[i].substr(0, equals), value = arguments[i].substr(equals + 1);
    for (FakeGpuState& gpu : changed) ROTA_CHECK(set_one(gpu, key, value));
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) replace_gpu(node, gpus[i], changed[i]);
  return {};
}

Result<void> place_process(FakeGpuState& gpu, const FakeProcess& process) {
  FakeProcess* place = nullptr;
  for (FakeProcess& known : gpu.processes) {
    if (known.pid == process.pid && known.kind == process.kind) {
      known = process;
      return {};
    }
    if (known.pid == 0 && place == nullptr) place = &known;
  }
  if (place == nullptr) {
    return Error{Errc::too_large, format("a GPU has at most {} processes", int{fake_process_max})};
  }
  *place = process;
  return {};
}

Result<std::uint32_t> pid_parse(const std::string& text) {
  ROTA_TRY(const std::uint64_t pid, number_parse(text, 0x7FFFFFFF));
  if (pid == 0) return usage_error("there is no process 0");
  return static_cast<std::uint32_t>(pid);
}

Result<void> add_process(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  FakeProcess process{};
  ROTA_TRY(process.pid, pid_parse(arguments[1]));
  ROTA_TRY(process.memory_bytes, size_parse(arguments[2]));
  process.kind = fake_compute;
  if (arguments.size() > 3 && arguments[3] == "graphics") {
    process.kind = fake_graphics;
  } else if (arguments.size() > 3 && arguments[3] == "mps") {
    process.kind = fake_mps;
  } else if (arguments.size() > 3) {
    ROTA_TRY(const std::uint64_t instance, number_parse(arguments[3], 255));
    process.gpu_instance = static_cast<std::uint32_t>(instance) + 1;
    process.compute_instance = 1;
  }
  for (const std::uint32_t gpu : gpus) ROTA_CHECK(place_process(node.state->gpus[gpu], process));
  return {};
}

Result<void> remove_process(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  ROTA_TRY(const std::uint32_t pid, pid_parse(arguments[1]));
  for (const std::uint32_t gpu : gpus) {
    for (FakeProcess& process : node.state->gpus[gpu].processes) {
      if (process.pid == pid) process = FakeProcess{};
    }
  }
  return {};
}

FakeMigGpu mig_gpu(Node& node, std::uint32_t gpu) {
  return {&node.machine.devices[gpu], node.state, &node.state->gpus[gpu]};
}

Result<void> refused(int code, const char* what) {
  if (code == 0) return {};
  return Error{Errc::io_failed, format("{}: the driver would return {}", what, code)};
}

Result<void> layout(Node& node, const Arguments&) {
  for (std::uint32_t i = 0; i < node.machine.device_count; ++i) {
    const FakeMigGpu on = mig_gpu(node, i);
    if (!fake_mig_can(on.device)) continue;
    const FakeMigState& mig = on.gpu->mig;
    std::puts(format("{} mig={}{}", i, mig.mode != 0 ? "on" : "off",
                     mig.pending != mig.mode ? " pending" : "")
                  .c_str());
    for (const FakeGpuInstance& instance : mig.instances) {
      if (instance.serial == 0) continue;
      std::string line =
          format("  {} {} {}:{}", instance.id, fake_mig_profile_of(&on, &instance)->name,
                 instance.start, instance.size);
      for (const FakeComputeInstance& compute : instance.computes) {
        if (compute.serial == 0) continue;
        std::array<char, fake_mig_uuid_size> uuid{};
        fake_mig_uuid(on.device, &instance, &compute, uuid.data());
        line += format(" {}", uuid.data());
      }
      std::puts(line.c_str());
    }
  }
  return {};
}

/// With one compute instance that has all of it, as the index of its size says.
Result<void> create_on(const FakeMigGpu& on, const std::string& name, int start) {
  const FakeMig& mig = on.device->gpu.mig;
  const auto* const end = mig.profiles + mig.profile_count;
  const auto* const profile = std::find_if(
      mig.profiles, end, [&](const FakeMigProfile& each) { return name == each.name; });
  if (profile == end) return usage_error(format("this GPU has no profile '{}'", name));
  FakeGpuInstance* instance = nullptr;
  ROTA_CHECK(refused(fake_mig_create(on, profile, start, &instance), "create-instance"));
  FakeComputeInstance* compute = nullptr;
  std::uint32_t index = 0;
  while (fake_mig_compute_slices(&on, instance, index) != profile->compute && index < 8) ++index;
  ROTA_CHECK(refused(fake_mig_create_compute(on, instance, index, &compute), "create-instance"));
  std::array<char, fake_mig_uuid_size> uuid{};
  fake_mig_uuid(on.device, instance, compute, uuid.data());
  std::puts(uuid.data());
  return {};
}

Result<void> create_instance(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  int start = fake_mig_anywhere;
  if (arguments.size() > 2) {
    ROTA_TRY(const std::uint64_t slice, number_parse(arguments[2], fake_mig_slice_max));
    start = static_cast<int>(slice);
  }
  for (const std::uint32_t gpu : gpus) {
    ROTA_CHECK(create_on(mig_gpu(node, gpu), arguments[1], start));
  }
  return {};
}

Result<void> destroy_instance(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  ROTA_TRY(const std::uint64_t id, number_parse(arguments[1], 255));
  for (const std::uint32_t gpu : gpus) {
    const FakeMigGpu on = mig_gpu(node, gpu);
    FakeGpuInstance* instance = fake_mig_by_id(&on, static_cast<std::uint32_t>(id));
    if (instance == nullptr) return usage_error(format("GPU {} has no instance {}", gpu, id));
    for (FakeComputeInstance& compute : instance->computes) {
      if (compute.serial == 0) continue;
      ROTA_CHECK(refused(fake_mig_destroy_compute(on, instance, &compute), "destroy-instance"));
    }
    ROTA_CHECK(refused(fake_mig_destroy(on, instance), "destroy-instance"));
  }
  return {};
}

Result<void> set_load(Node& node, const Arguments& arguments) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  ROTA_TRY(const std::uint32_t pid, pid_parse(arguments[1]));
  ROTA_TRY(const std::uint64_t percent, number_parse(arguments[2], 100));
  for (const std::uint32_t gpu : gpus) {
    auto& processes = node.state->gpus[gpu].processes;
    const auto process = std::ranges::find(processes, pid, &FakeProcess::pid);
    if (process == std::end(processes))
      return usage_error(format("GPU {} has no process {}", gpu, pid));
    process->load = static_cast<std::uint32_t>(percent);
  }
  return {};
}

Result<void> set_lost(Node& node, const Arguments& arguments, std::uint32_t lost) {
  ROTA_TRY(const auto gpus, gpus_named(node, arguments[0]));
  for (const std::uint32_t gpu : gpus) node.state->gpus[gpu].lost = lost;
  return {};
}
Result<void> lose(Node& node, const Arguments& arguments) { return set_lost(node, arguments, 1); }
Result<void> restore(Node& node, const Arguments& arguments) {
  return set_lost(node, arguments, 0);
}

Result<void> add_fault(Node& node, const std::string& call, std::uint32_t kind, std::int32_t code,
                       const std::string& where) {
  FakeFault fault{};
  if (call.size() >= sizeof fault.call) return usage_error(format("'{}' is no NVML call", call));
  std::memcpy(fault.call, call.c_str(), call.size() + 1);
  fault.kind = kind;
  fault.code = code;
  std::vector<std::int32_t> gpus = {-1};
  if (where != "all") {
    ROTA_TRY(const auto named, gpus_named(node, where));
    gpus.assign(named.begin(), named.end());
  }
  std::vector<FakeFault*> places;
  for (FakeFault& place : node.state->faults) {
    if (place.kind == fake_fault_none) places.push_back(&place);
  }
  if (places.size() < gpus.size()) {
    return Error{Errc::too_large, format("at most {} faults at once", int{fake_fault_max})};
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    fault.gpu = gpus[i];
    *places[i] = fault;
  }
  return {};
}

Result<void> hang(Node& node, const Arguments& arguments) {
  return add_fault(node, arguments[0], fake_fault_hang, 0,
                   arguments.size() > 1 ? arguments[1] : "all");
}

Result<void> fail(Node& node, const Arguments& arguments) {
  ROTA_TRY(const std::uint64_t code, number_parse(arguments[1], 999));
  return add_fault(node, arguments[0], fake_fault_fail, static_cast<std::int32_t>(code),
                   arguments.size() > 2 ? arguments[2] : "all");
}

Result<void> clear(Node& node, const Arguments&) {
  for (FakeFault& fault : node.state->faults) fault = FakeFault{};
  return {};
}

struct Command {
  std::string_view name;
  std::size_t arguments_min;
  std::size_t arguments_max;
  Result<void> (*run)(Node& node, const Arguments& arguments);
};

// A new kind of trouble is a function above and a line here.
constexpr std::array commands = {
    Command{"show", 0, 0, show},
    Command{"high", 1, 1, high},
    Command{"set", 2, 100, set},
    Command{"add-process", 3, 4, add_process},
    Command{"remove-process", 2, 2, remove_process},
    Command{"layout", 0, 0, layout},
    Command{"create-instance", 2, 3, create_instance},
    Command{"destroy-instance", 2, 2, destroy_instance},
    Command{"load", 3, 3, set_load},
    Command{"xid", 2, 4, inject_xid},
    Command{"ecc", 3, 4, inject_ecc},
    Command{"remap", 2, 2, inject_remap},
    Command{"link", 3, 3, set_link},
    Command{"reset", 1, 1, reset},
    Command{"lose", 1, 1, lose},
    Command{"restore", 1, 1, restore},
    Command{"hang", 1, 2, hang},
    Command{"fail", 2, 3, fail},
    Command{"clear", 0, 0, clear},
};

Result<void> open_node(Node& node, const char* path) {
  std::array<char, 512> error{};
  if (path == nullptr || *path == '\0') {
    return usage_error("no state: give --state FILE or set ROTA_FAKEGPU_STATE");
  }
  if (!fake_description_from_environment(&node.machine, error.data(), error.size())) {
    return Error{Errc::config_invalid, error.data()};
  }
  node.state = fake_state_open(path, &node.machine, error.data(), error.size());
  if (node.state == nullptr) return Error{Errc::io_failed, error.data()};
  return {};
}

Result<void> run(Arguments arguments) {
  const char* path = std::getenv("ROTA_FAKEGPU_STATE");
  std::string given;
  if (arguments.size() >= 2 && arguments[0] == "--state") {
    given = arguments[1];
    path = given.c_str();
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.empty()) return usage_error("no command; see rota-fakegpu --help");
  const auto command = std::ranges::find(commands, std::string_view(arguments[0]), &Command::name);
  if (command == commands.end()) {
    return usage_error(format("no command '{}'; see rota-fakegpu --help", arguments[0]));
  }
  arguments.erase(arguments.begin());
  if (arguments.size() < command->arguments_min || arguments.size() > command->arguments_max) {
    return usage_error(
        format("wrong number of arguments for '{}'; see rota-fakegpu --help", command->name));
  }
  const auto node = std::make_unique<Node>();
  ROTA_CHECK(open_node(*node, path));
  fake_state_lock(node->state);
  auto result = command->run(*node, arguments);
  if (result) fake_state_changed(node->state);
  fake_state_unlock(node->state);
  return result;
}

}  // namespace
}  // namespace rota::fakegpu

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::fputs(std::string(rota::fakegpu::usage_text).c_str(), stdout);
    return 0;
  }
  const auto result = rota::fakegpu::run(arguments);
  if (result) return 0;
  std::fprintf(stderr, "rota-fakegpu: %s\n", result.error().message().c_str());
  return result.error().code == rota::Errc::usage ? 2 : 1;
}
