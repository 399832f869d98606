// gpud/launch/devices.h - which GPUs' device files a run may open: the kernel's part of it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rota::gpud {

/// Of the files that NVIDIA's driver makes: /dev/nvidiaN is 195:N. Every user of a GPU also needs
/// the control file and some the one for mode setting; they give no access to a GPU by themselves.
inline constexpr std::uint32_t nvidia_major = 195;
inline constexpr std::uint32_t nvidia_control_minor = 255;
inline constexpr std::uint32_t nvidia_modeset_minor = 254;

/// cgroup v2: from now on nobody in the directory, or below it, opens or makes a file of another
/// GPU than those with these minors. Everything that is no GPU is left to others. 0 or errno.
int close_devices_v2(const std::string& directory, const std::vector<std::uint32_t>& open_minors);
/// Whether this process may do that on this kernel: 0 or errno.
int try_devices_v2();

/// cgroup v1: nobody in the directory opens or makes a file of the GPUs with these minors. 0 or
/// errno.
int close_devices_v1(const std::string& directory, const std::vector<std::uint32_t>& shut_minors);

}  // namespace rota::gpud
