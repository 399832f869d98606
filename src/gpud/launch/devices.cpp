// gpud/launch/devices.cpp - a small BPF program, or lines for devices.deny. Linked into rstepd, so
// without libfmt.
#include "gpud/launch/devices.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

using Program = std::vector<bpf_insn>;

enum Register : std::uint8_t { result = 0, context = 1, type = 2, major = 3, minor = 4 };

bpf_insn load(Register to, std::size_t offset) {
  return {.code = BPF_LDX | BPF_MEM | BPF_W,
          .dst_reg = to,
          .src_reg = context,
          .off = static_cast<std::int16_t>(offset),
          .imm = 0};
}
bpf_insn jump_if(std::uint8_t test, Register value, std::uint32_t number, std::size_t over) {
  return {.code = static_cast<std::uint8_t>(BPF_JMP | test | BPF_K),
          .dst_reg = value,
          .src_reg = 0,
          .off = static_cast<std::int16_t>(over),
          .imm = static_cast<std::int32_t>(number)};
}
bpf_insn with_number(std::uint8_t operation, Register value, std::int32_t number) {
  return {.code = static_cast<std::uint8_t>(BPF_ALU64 | operation | BPF_K),
          .dst_reg = value,
          .src_reg = 0,
          .off = 0,
          .imm = number};
}
constexpr bpf_insn end{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};

/// Where a jump leads, filled in when the program is complete.
enum class Label { caps, refuse, allow };

/// Instructions and their jumps, all of them forward.
class Writer {
 public:
  void add(bpf_insn instruction) { program_.push_back(instruction); }
  void jump(std::uint8_t test, Register value, std::uint32_t number, Label to) {
    jumps_.push_back({program_.size(), to});
    add(jump_if(test, value, number, 0));
  }
  void jump(Label to) {
    jumps_.push_back({program_.size(), to});
    add({.code = BPF_JMP | BPF_JA, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0});
  }
  void place(Label label) { places_[static_cast<std::size_t>(label)] = program_.size(); }
  Program finish() {
    for (const auto& [at, to] : jumps_) {
      const std::size_t over = places_[static_cast<std::size_t>(to)] - at - 1;
      program_[at].off = static_cast<std::int16_t>(over);
    }
    return std::move(program_);
  }

 private:
  Program program_;
  std::vector<std::pair<std::size_t, Label>> jumps_;
  std::array<std::size_t, 3> places_{};
};

/// Let through (1) unless it is a GPU or a MIG instance of somebody else's (0).
Program program_for(const DeviceGate& gate) {
  Writer write;
  write.add(load(type, offsetof(bpf_cgroup_dev_ctx, access_type)));  // access << 16 | type
  write.add(load(major, offsetof(bpf_cgroup_dev_ctx, major)));
  write.add(load(minor, offsetof(bpf_cgroup_dev_ctx, minor)));
  write.add(with_number(BPF_AND, type, 0xFFFF));
  write.jump(BPF_JNE, type, BPF_DEVCG_DEV_CHAR, Label::allow);
  write.jump(BPF_JNE, major, nvidia_major, Label::caps);
  for (const std::uint32_t open : gate.open) write.jump(BPF_JEQ, minor, open, Label::allow);
  for (const std::uint32_t open : {nvidia_control_minor, nvidia_modeset_minor})
    write.jump(BPF_JEQ, minor, open, Label::allow);
  write.jump(Label::refuse);
  write.place(Label::caps);
  if (gate.caps_major == 0) {
    write.jump(Label::allow);
  } else {
    write.jump(BPF_JNE, major, gate.caps_major, Label::allow);
    for (const std::uint32_t open : gate.caps_open) write.jump(BPF_JEQ, minor, open, Label::allow);
  }
  write.place(Label::refuse);
  write.add(with_number(BPF_MOV, result, 0));
  write.add(end);
  write.place(Label::allow);
  write.add(with_number(BPF_MOV, result, 1));
  write.add(end);
  return write.finish();
}

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

/// The program in the kernel; -1 and errno when it does not take it.
Fd load_program(const Program& program) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<std::uint64_t>(program.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
  attributes.license = reinterpret_cast<std::uint64_t>("Apache-2.0");
  return Fd(bpf(BPF_PROG_LOAD, attributes));
}

}  // namespace

int close_devices_v2(const std::string& directory, const DeviceGate& gate) {
  const Fd cgroup(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup) return errno;
  const Fd program = load_program(program_for(gate));
  if (!program) return errno;
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.target_fd = static_cast<std::uint32_t>(cgroup.get());
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;  // a container's own program holds beside it
  return bpf(BPF_PROG_ATTACH, attributes) == 0 ? 0 : errno;
}

int try_devices_v2() { return load_program(program_for({})) ? 0 : errno; }

int close_devices_v1(const std::string& directory, const DeviceGate& gate) {
  const auto close_all = [&directory](std::uint32_t of, const std::vector<std::uint32_t>& shut) {
    for (const std::uint32_t each : shut)
      if (const int error =
              file_write(directory + "/devices.deny",
                         "c " + std::to_string(of) + ":" + std::to_string(each) + " rwm"))
        return error;
    return 0;
  };
  if (const int error = close_all(nvidia_major, gate.shut)) return error;
  return close_all(gate.caps_major, gate.caps_shut);
}

}  // namespace rota::gpud
