// model/container.h - the image that a job runs in, and what it sees of the host from there.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"

namespace rota {

/// A file or directory of the node's that the container sees.
struct ContainerMount {
  std::string source;  // absolute
  std::string target;  // absolute, in the container
  bool read_only = false;

  friend bool operator==(const ContainerMount&, const ContainerMount&) = default;
  static auto fields(auto& m) { return std::tie(m.source, m.target, m.read_only); }
};

/// A volume that the site has given a name, as a job wants to see it.
struct DataMount {
  std::string name;    // in the node's configuration
  std::string target;  // absolute, in the container; "": where the site says
  bool read_only = false;

  friend bool operator==(const DataMount&, const DataMount&) = default;
  static auto fields(auto& m) { return std::tie(m.name, m.target, m.read_only); }
};

/// When the registry is asked for an image.
enum class PullPolicy : std::uint8_t {
  missing = 0,  // when the node does not have it
  always = 1,   // at every start: a tag may have moved
  never = 2,    // the node has it, or the job cannot run there
};

/// How a job wants its container. Its image stands in JobSpec, which people and the scheduler see;
/// without one, nothing of this means anything.
struct ContainerSpec {
  std::string runtime;  // one of container_runtimes; "": as its queue or node says
  std::vector<ContainerMount> mounts;
  std::vector<std::string> environment;  // NAME=value that win over the image's
  std::string workdir;                   // "": as the image says
  PullPolicy pull = PullPolicy::missing;
  bool entrypoint = false;      // the command is what the image's entry point is given
  bool read_only = false;       // its root
  std::uint64_t shm_bytes = 0;  // of /dev/shm; 0: as the node says
  std::string name;             // its files are kept under it for the owner's next job; "": not
  std::string save;             // the file that its files are saved to at the end; "": not
  std::vector<DataMount> data;

  friend bool operator==(const ContainerSpec&, const ContainerSpec&) = default;
  static auto fields(auto& m) {
    return std::tie(m.runtime, m.mounts, m.environment, m.workdir, m.pull, m.entrypoint,
                    m.read_only, m.shm_bytes, m.name, m.save, m.data);
  }
};

struct ContainerBounds {
  static constexpr std::size_t image_bytes_max = 512;
  static constexpr std::size_t mounts_max = 64;
  static constexpr std::size_t name_bytes_max = 64;
  static constexpr std::string_view own_images = "rota-own-";  // names of images that we make
  static constexpr std::uint64_t shm_bytes_max = std::uint64_t{1} << 43;
};

/// What runs containers, by name: docker, podman, enroot. `none` is a plain process.
bool is_container_runtime(std::string_view name);

/// Whether it can name an image, and nothing else: it must never be taken for an option.
Result<void> validate_image(std::string_view image);
/// "docker://nvcr.io#nvidia/pytorch:24.01" as people write it for enroot -> "nvcr.io/nvidia/...".
std::string image_name(std::string_view text);
/// "/data:/mnt:ro": the source, the place in the container (default: the same), and "ro" or "rw".
Result<ContainerMount> mount_parse(std::string_view text);
Result<void> validate(const ContainerMount& mount);
/// "NAME" or "NAME:create" of --container-name -> the name, and whether what was kept under it is
/// not to be used. pyxis's other words, auto, exec and no_exec, change nothing here.
struct KeptName {
  std::string name;
  bool fresh = false;
};
Result<KeptName> kept_name(std::string_view text);
Result<void> validate(const ContainerSpec& container);

}  // namespace rota
