// gpud/launch/devices.cpp - a small BPF program, or lines for devices.deny. Linked into rstepd, so
// without libfmt.
#include "gpud/launch/devices.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

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

/// Let through (1) unless it is a GPU of somebody else's (0).
Program program_for(const std::vector<std::uint32_t>& open_minors) {
  std::vector<std::uint32_t> minors = open_minors;
  minors.push_back(nvidia_control_minor);
  minors.push_back(nvidia_modeset_minor);
  Program program = {
      load(type, offsetof(bpf_cgroup_dev_ctx, access_type)),  // access << 16 | type
      load(major, offsetof(bpf_cgroup_dev_ctx, major)),
      load(minor, offsetof(bpf_cgroup_dev_ctx, minor)),
      with_number(BPF_AND, type, 0xFFFF),
  };
  // Behind the tests stand two instructions that refuse, then two that let through.
  const std::size_t refusal = minors.size();
  program.push_back(jump_if(BPF_JNE, type, BPF_DEVCG_DEV_CHAR, refusal + 3));
  program.push_back(jump_if(BPF_JNE, major, nvidia_major, refusal + 2));
  for (std::size_t i = 0; i < minors.size(); ++i)
    program.push_back(jump_if(BPF_JEQ, minor, minors[i], refusal - i - 1 + 2));
  program.push_back(with_number(BPF_MOV, result, 0));
  program.push_back(end);
  program.push_back(with_number(BPF_MOV, result, 1));
  program.push_back(end);
  return program;
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

int close_devices_v2(const std::string& directory, const std::vector<std::uint32_t>& open_minors) {
  const Fd cgroup(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup) return errno;
  const Fd program = load_program(program_for(open_minors));
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

int close_devices_v1(const std::string& directory, const std::vector<std::uint32_t>& shut_minors) {
  for (const std::uint32_t shut : shut_minors)
    if (const int error =
            file_write(directory + "/devices.deny",
                       "c " + std::to_string(nvidia_major) + ":" + std::to_string(shut) + " rwm"))
      return error;
  return 0;
}

}  // namespace rota::gpud
