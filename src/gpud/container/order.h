// gpud/container/order.h - how rstepd makes a run's container, spelled out by rgpud.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "model/container.h"

namespace rota::gpud {

/// Of the directory of a run's container, which lies beside its script and is named after the run.
inline constexpr const char* container_suffix = ".box";
/// Where that directory is seen in the container, and what is in it.
inline constexpr const char* box_place = "/run/.rota";
inline constexpr const char* box_door = "door";
inline constexpr const char* box_pause = "pause";
inline constexpr const char* box_script = "script";
inline constexpr const char* box_secrets = "secrets";  // a directory: the files of secrets

/// What starts a container: a program, or requests to a daemon.
enum class ContainerKind : std::uint8_t {
  none = 0,    // the run has no container
  docker = 1,  // requests to dockerd
  podman = 2,  // a program, run as root
  enroot = 3,  // a program, run as the owner
};

struct ContainerOrder {
  ContainerKind kind = ContainerKind::none;
  std::string name;                      // of the container: node, job and restart are in it
  std::string directory;                 // the run's own: door, pause and script
  std::string pause_program;             // ours, on the node
  std::string socket;                    // docker: dockerd's
  std::string request;                   // docker: the body of the request that makes the container
  std::vector<std::string> start_words;  // podman, enroot: the program and its arguments
  std::vector<std::string> remove_words;  // podman: what ends and removes it, whatever it does
  std::vector<std::string> environment;   // of those programs
  std::vector<ContainerMount> mounts;
  std::vector<std::string> workdirs;     // the first that is there
  std::vector<std::string> entry_words;  // before the job's own: the image's entry point
  std::string passwd_line;               // for the owner, if the image does not know the number
  std::string group_line;
  std::string digest;                     // which image the name meant
  std::int64_t start_limit_ms = 300'000;  // then the start has failed

  bool empty() const { return kind == ContainerKind::none; }
  friend bool operator==(const ContainerOrder&, const ContainerOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.name, m.directory, m.pause_program, m.socket, m.request,
                    m.start_words, m.remove_words, m.environment, m.mounts, m.workdirs,
                    m.entry_words, m.passwd_line, m.group_line, m.digest, m.start_limit_ms);
  }
};

}  // namespace rota::gpud
