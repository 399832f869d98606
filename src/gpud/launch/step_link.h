// gpud/launch/step_link.h - rstepd's line to rgpud, which may be restarted at any time.
#pragma once
#include <optional>
#include <string>

#include "common/time.h"
#include "gpud/launch/file.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// Where rgpud waits for the rstepds of an earlier rgpud, under its spool directory.
inline constexpr const char* step_socket_name = "steps.sock";

/// Packets to and from rgpud. When rgpud goes away, it is called again every now and then until it
/// is back; what was said meanwhile is on record, and the first packet says who calls.
class StepLink {
 public:
  StepLink(RunId run, std::string spool_dir, Fd socket);

  bool is_open() const { return static_cast<bool>(socket_); }
  int fd() const { return socket_.get(); }
  Fd take() { return std::move(socket_); }
  /// When to call reconnect() next; none while the line is open.
  std::optional<MonoTime> retry_at() const { return retry_at_; }

  /// False when the line is (now) closed.
  bool send(const StepReport& report);
  /// The next command, if one is there, and the open file that came with it.
  std::optional<StepCommand> receive(Fd& file);
  /// True when rgpud is back; the caller then repeats what rgpud may have missed.
  bool reconnect(MonoTime now);

 private:
  void lost(MonoTime now);

  RunId run_;
  std::string spool_dir_;
  Fd socket_;
  std::optional<MonoTime> retry_at_;
};

/// Connects to `name` in `directory`, however long that path is. -1 and errno on failure.
int connect_in(const std::string& directory, const char* name);

}  // namespace rota::gpud
