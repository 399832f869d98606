// gpud/mps/place.h - the directory of one MPS daemon, and the process that lives there.
//
// SPOOL/mps/3fa94c20.1001/daemon  whose it is, for us only; written before the daemon is started
// SPOOL/mps/3fa94c20.1001/pipe/   its sockets and its pid file: the user's, closed to all others
// SPOOL/mps/3fa94c20.1001/log/    its log files: the same
//
// What lies in pipe/ and log/ the user may have written: it is believed as far as it can only harm
// that user.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

/// What we know of a daemon after a restart.
struct MpsRecord {
  std::string gpu;  // UUID
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t pid = 0;          // 0: it was about to be started
  std::uint64_t start_time = 0;  // of that process, in the kernel's ticks

  friend bool operator==(const MpsRecord&, const MpsRecord&) = default;
  static auto fields(auto& m) { return std::tie(m.gpu, m.uid, m.gid, m.pid, m.start_time); }
};

/// A process by its descriptor: its number may be another's by now, this is not.
struct MpsProcess {
  Fd pidfd;
  pid_t pid = 0;
  std::uint64_t start_time = 0;

  bool is_alive() const;
  void send(int signal) const;
};

class MpsPlace {
 public:
  explicit MpsPlace(std::string directory) : directory_(std::move(directory)) {}
  /// For the user's daemon on a GPU: as short as it can be, for the sockets' sake. `gpus` are the
  /// UUIDs of all GPUs of the node.
  static std::string name_for(const std::string& gpu, std::uint32_t uid,
                              const std::vector<std::string>& gpus);

  const std::string& directory() const { return directory_; }
  std::string pipe_directory() const { return directory_ + "/pipe"; }
  std::string log_directory() const { return directory_ + "/log"; }

  /// Makes what is missing, the inner ones for the user. Fails also where the path is too long.
  Result<void> make(std::uint32_t uid, std::uint32_t gid) const;
  /// All of it; what the user has put there beside plain files is left, with a word in the log.
  void remove() const;

  Result<MpsRecord> load() const;
  Result<void> save(const MpsRecord& record) const;

  /// The daemon that says it lives here and is the user's; none if it does not live.
  std::optional<MpsProcess> find(std::uint32_t uid) const;
  /// What an earlier one has left must not be taken for the next one.
  void forget_pid() const;

 private:
  std::string directory_;
};

}  // namespace rota::gpud
