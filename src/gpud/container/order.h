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
inline constexpr const char* box_pid = "pid";          // podman: of the container's first process
inline constexpr const char* box_rc = "rc";  // enroot: what it runs instead of the image's own

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
  // enroot: what unpacks the image to `root`, a directory of the owner's, if that is not there yet.
  std::vector<std::string> create_words;
  std::string root;
  bool is_fresh = false;                     // and what is there is not wanted
  std::vector<std::string> own_directories;  // of the owner's, made before
  // enroot: names of the submitter's variables; the image's and enroot's own win over them.
  std::vector<std::string> weak_names;
  // What becomes of its files at the end.
  std::string keep;          // docker, podman: an image of this name; enroot: `root` stays
  std::string keep_request;  // docker: what the image says of itself
  std::vector<std::string> keep_words;  // podman
  std::string save;                     // they are saved to this file, as the owner
  std::vector<std::string>
      save_words;  // podman: an archive on its output; enroot: the file is where a word is ""
  std::int64_t save_limit_ms = 0;
  // docker, podman: an archive of the owner's that becomes the image, for this run.
  std::string file;
  std::string import_name;
  std::vector<std::string> import_words;  // podman
  std::vector<std::string> unimport_words;

  bool empty() const { return kind == ContainerKind::none; }
  friend bool operator==(const ContainerOrder&, const ContainerOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.name, m.directory, m.pause_program, m.socket, m.request,
                    m.start_words, m.remove_words, m.environment, m.mounts, m.workdirs,
                    m.entry_words, m.passwd_line, m.group_line, m.digest, m.start_limit_ms,
                    m.create_words, m.root, m.is_fresh, m.own_directories, m.weak_names, m.keep,
                    m.keep_request, m.keep_words, m.save, m.save_words, m.save_limit_ms, m.file,
                    m.import_name, m.import_words, m.unimport_words);
  }
};

}  // namespace rota::gpud
