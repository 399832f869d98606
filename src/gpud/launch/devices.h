// gpud/launch/devices.h - which GPUs' device files a run may open: the kernel's part of it.
#pragma once
#include <cstdint>
#include <string>

#include "gpud/launch/order.h"

namespace rota::gpud {

/// Of the files that NVIDIA's driver makes: /dev/nvidiaN is 195:N. Every user of a GPU also needs
/// the control file and some the one for mode setting; they give no access to a GPU by themselves.
inline constexpr std::uint32_t nvidia_major = 195;
inline constexpr std::uint32_t nvidia_control_minor = 255;
inline constexpr std::uint32_t nvidia_modeset_minor = 254;

/// cgroup v2: from now on nobody in the directory, or below it, opens or makes a file of another
/// GPU or MIG instance than the gate's. Everything that is neither is left to others. 0 or errno.
int close_devices_v2(const std::string& directory, const DeviceGate& gate);
/// Whether this process may do that on this kernel: 0 or errno.
int try_devices_v2();

/// cgroup v1: nobody in the directory opens or makes a file that the gate names as shut. 0 or
/// errno.
int close_devices_v1(const std::string& directory, const DeviceGate& gate);

}  // namespace rota::gpud
