// gpud/meeting_ports.h - a TCP port at which the processes of a job or a step find each other
// (MASTER_PORT).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "common/result.h"
#include "model/ids.h"

namespace rota::gpud {

/// Ports below those that the kernel hands out, so that no outgoing connection takes one between
/// our look and the job's. Nobody listens on one when it is given, and no two runs or steps of this
/// node have the same. They are not kept open: then the job could not open them.
class MeetingPorts {
 public:
  /// Whether nobody has this port.
  using IsFree = std::function<bool(std::uint16_t port)>;
  explicit MeetingPorts(IsFree is_free = is_unused);

  /// The port with which every node of this run begins to look, without asking anybody.
  static std::uint16_t first_choice(RunId run);

  /// The first that is free, beginning with the run's first choice.
  Result<std::uint16_t> take(RunId run);
  /// The first choice, for a run whose other nodes have no way to hear of another. An error when it
  /// is not free: the next start of the job has another.
  Result<std::uint16_t> take_first_choice(RunId run);
  /// A run that was here before us has it.
  void adopt(std::uint16_t port);
  void release(std::uint16_t port);

  /// By trying it, on all addresses of IPv4 and IPv6.
  static bool is_unused(std::uint16_t port);

 private:
  IsFree is_free_;
  std::map<std::uint16_t, int> taken_;
};

}  // namespace rota::gpud
