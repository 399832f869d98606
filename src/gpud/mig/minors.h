// gpud/mig/minors.h - which device files open which MIG instances.
//
// The driver has one file under /dev/nvidia-caps per GPU instance and per compute instance that
// could ever be; a process needs both of its own, beside the file of the GPU.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::gpud {

class MigMinors {
 public:
  /// Of this host; empty where the driver has no such files.
  static MigMinors load(const std::string& minors_path = "/proc/driver/nvidia-caps/mig-minors",
                        const std::string& devices_path = "/proc/devices");
  /// From the two files' text. Lines that mean nothing are passed over.
  MigMinors() = default;
  MigMinors(std::string_view minors, std::string_view devices);

  /// Of the files; 0: there are none.
  std::uint32_t major() const { return major_; }
  /// Of the two files of an instance on the GPU with this minor.
  std::optional<std::uint32_t> of_instance(std::uint32_t gpu_minor, std::uint32_t instance) const;
  std::optional<std::uint32_t> of_compute(std::uint32_t gpu_minor, std::uint32_t instance,
                                          std::uint32_t compute) const;
  /// Of all files that concern these GPUs or all of them (who may cut, who may watch), ascending.
  std::vector<std::uint32_t> all(const std::vector<std::uint32_t>& gpu_minors) const;

 private:
  struct Line {
    std::optional<std::uint32_t> gpu;  // none: of all GPUs
    std::optional<std::uint32_t> instance;
    std::optional<std::uint32_t> compute;
    std::uint32_t minor = 0;
  };
  std::uint32_t major_ = 0;
  std::vector<Line> lines_;
};

}  // namespace rota::gpud
