// ctld/serve.cpp - one session, from its first frame to its end.
#include <boost/asio/co_spawn.hpp>

#include "common/clock.h"
#include "common/log.h"
#include "ctld/controller.h"
#include "ctld/rpc/rpc.h"
#include "net/log_end.h"

namespace rota::ctld {
namespace {

/// A command that says nothing for this long is gone; nodes and watchers may be silent.
constexpr auto idle_limit = std::chrono::minutes(10);

net::awaitable<void> read_frames(Controller& controller, rpc::Session& session) {
  for (;;) {
    const auto frame = co_await session.connection->read(idle_limit);
    if (!frame) {
      const bool may_be_silent = session.node || session.watches;
      if (frame.error().code == Errc::timed_out && may_be_silent) continue;
      if (frame.error().code != Errc::peer_lost)
        log::info("session with {} (uid {}) ends: {}", session.connection->peer().address,
                  session.connection->peer().uid, frame.error().message());
      co_return;
    }
    if (const auto done = rpc::dispatch(controller, session, *frame); !done) {
      log::warning("session with {} (uid {}) refused: {}", session.connection->peer().address,
                   session.connection->peer().uid, done.error().message());
      co_return;
    }
  }
}

net::awaitable<void> serve_session(Controller& controller,
                                   std::shared_ptr<net::Connection> connection) {
  rpc::Session session;
  session.connection = connection;
  session.caller = co_await controller.caller_of(connection->peer());
  co_await read_frames(controller, session);
  controller.watchers().remove(connection.get());
  if (session.node && controller.links().detach(*session.node, connection.get())) {
    log::warning("node {} has left", controller.engine().nodes().at(*session.node).identity.name);
    controller.engine().node_left(*session.node, "its connection was lost", now());
    controller.wake();
  }
  co_await connection->close_gently(std::chrono::seconds(5));
}

}  // namespace

void serve(Controller& controller, std::shared_ptr<net::Connection> connection) {
  boost::asio::co_spawn(controller.executor(), serve_session(controller, std::move(connection)),
                        net::log_end("session"));
}

}  // namespace rota::ctld
