// net/listener.h - takes connections, does the handshake within bounds, hands over sessions.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "common/time.h"
#include "net/connection.h"

namespace rota::net {

struct ListenerOptions {
  std::string address;       // "0.0.0.0:7117", "[::]:7117", "127.0.0.1:0" (0: any free port)
  std::string munge_socket;  // "": libmunge's default
  std::uint64_t sessions_max = 16'000;
  std::uint64_t half_open_max = 512;  // handshakes under way; the oldest makes way for a new one
  Duration handshake_limit = std::chrono::seconds(5);
};

/// Accepts until stopped. Every refused handshake is logged once with its reason and the peer's
/// address; MUNGE is asked on a small thread pool, so a slow munged delays nobody's session.
class Listener {
 public:
  using OnSession = std::function<void(std::shared_ptr<Connection>)>;

  /// Binds and starts to accept; `on_session` is called on `executor` for each good handshake.
  static Result<std::unique_ptr<Listener>> start(boost::asio::any_io_executor executor,
                                                 ListenerOptions options, OnSession on_session);
  virtual ~Listener() = default;
  virtual std::uint16_t port() const = 0;
  virtual void stop() = 0;
};

}  // namespace rota::net
