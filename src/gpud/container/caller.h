// gpud/container/caller.h - who is at the door of a run's container: its first process, or anybody.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "gpud/container/order.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

/// A process that cannot be mistaken for a later one of the same number while this is looked at.
class Caller {
 public:
  explicit Caller(pid_t pid);

  pid_t pid() const { return pid_; }
  /// Whatever was read of it in /proc since this was made was its own.
  bool is_alive() const;
  /// The first of a process namespace below ours, as only an engine makes them where the user
  /// namespace is ours.
  bool is_first() const;

 private:
  pid_t pid_;
  Fd process_;
};

/// Which process the engine says the container's first one is; none: `trouble` says why.
std::optional<pid_t> first_process(const ContainerOrder& order, std::string& trouble);

/// The last number of "NSpid:" in what /proc/PID/status says, if it has more than one.
std::optional<pid_t> innermost_pid(const std::string& status);
/// The number behind the first "Pid" of what dockerd tells of a container.
std::optional<pid_t> docker_pid(const std::string& body);

}  // namespace rota::gpud
