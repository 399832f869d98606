// net/greeting.h - the listener's side of one handshake, up to the first sealed frame.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "net/errand.h"
#include "net/refusal_log.h"
#include "net/session.h"
#include "net/stream.h"

namespace rota::net {

/// One connection whose handshake is under way.
struct Guest {
  /// Who goes first when there are too many: a stranger that has shown nothing; then one that MUNGE
  /// has vouched for and that owes its first frame. One whose credential is with munged stays: it
  /// is soon done.
  enum class Stage { stranger, with_munge, welcomed };

  std::shared_ptr<Stream> stream;
  std::string address;  // for the log
  Deadline deadline;
  Stage stage = Stage::stranger;
};

/// What handshakes need of their listener. All outlive them.
struct GreetingDesk {
  ErrandPool& errands;
  const std::string& munge_socket;
  std::shared_ptr<RefusalLog> log;
  /// A place among the sessions, held as long as the result is; null when all are taken.
  std::function<std::shared_ptr<void>()> take_place;
  /// Called as soon as it is clear, before the peer is told.
  std::function<void(const Guest&, const Error&)> on_refusal;
};

/// A session whose client holds the key: its first frame has come, and its seal is good. On failure
/// the peer has been told why where that can help it, and the socket is closed.
awaitable<Result<std::shared_ptr<Session>>> greet(GreetingDesk& desk, Guest& guest);

}  // namespace rota::net
