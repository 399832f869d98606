// gpud/link.h - the one session with the controller: dialled again and again, kept alive by
// heartbeats.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "common/result.h"
#include "common/time.h"
#include "net/connection.h"
#include "proto/messages.h"

namespace rota::gpud {

/// How long to wait before the next attempt: 0.1 s that double up to a bound, and of that a random
/// part, so that ten thousand nodes do not come back at the same moment.
class BackOff {
 public:
  BackOff(Duration longest, std::uint32_t seed) : longest_(longest), random_(seed) {}
  Duration next();
  void reset() { attempts_ = 0; }

 private:
  Duration longest_;
  int attempts_ = 0;
  std::minstd_rand random_;
};

class Link {
 public:
  using Dial = std::function<net::awaitable<Result<std::shared_ptr<net::Connection>>>()>;
  /// What the rest of rgpud does with the session.
  struct Events {
    std::function<void(std::shared_ptr<net::Connection>)> connected;  // says hello
    std::function<void(const proto::NodeWelcome&)> welcomed;
    std::function<Result<void>(const proto::Frame&)> received;
    std::function<void()> disconnected;
    /// The controller has answered what was sent at this time: until then, at least, it knew us.
    std::function<void(MonoTime)> in_contact;
    std::function<proto::Heartbeat()> heartbeat;
  };
  Link(boost::asio::any_io_executor executor, Dial dial, Events events, BackOff back_off);

  void start();
  /// Ends the session and dials no more.
  void stop();

 private:
  net::awaitable<void> run();
  net::awaitable<bool> serve(std::shared_ptr<net::Connection> connection);
  net::awaitable<Result<proto::NodeWelcome>> greet(std::shared_ptr<net::Connection> connection);
  net::awaitable<Error> keep(std::shared_ptr<net::Connection> connection, NodeSettings settings);
  Result<void> take(const proto::Frame& frame);
  net::awaitable<void> pause();
  void failed(const Error& error);

  boost::asio::any_io_executor executor_;
  Dial dial_;
  Events events_;
  BackOff back_off_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<net::Connection> connection_;
  std::uint32_t beat_call_ = 0;  // of the newest heartbeat
  MonoTime beat_sent_;
  std::string last_failure_;
  bool stopped_ = false;
};

}  // namespace rota::gpud
