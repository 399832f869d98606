// gpud/logs.h - commands that come to this node directly: rlogs reads a job's output, others want
// in.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/time.h"
#include "gpud/exec_server.h"
#include "gpud/shell.h"
#include "net/connection.h"

namespace rota::gpud {

/// Serves the sessions of rgpud's own listener. Files are read by a process of their owner's; here
/// their bytes are only passed on, as fast as the command takes them.
class LogServer {
 public:
  LogServer(boost::asio::any_io_executor executor, Shell& shell, WallTime up_since);
  ~LogServer();

  void serve(std::shared_ptr<net::Connection> connection);
  /// The run's output is complete: those who follow it get the rest and are done.
  void run_ended(RunId run);

 private:
  class Stream;
  struct Session;

  using SessionPtr = std::shared_ptr<Session>;
  net::awaitable<void> session(std::shared_ptr<net::Connection> connection);
  Result<void> take(const SessionPtr& session, const proto::Frame& frame);
  net::awaitable<void> stream(SessionPtr session, std::uint32_t call, proto::LogRead request);
  net::awaitable<Result<Fd>> open(SessionPtr session, const proto::LogRead& request);
  net::awaitable<void> relay(SessionPtr session, std::uint32_t call,
                             std::shared_ptr<Stream> stream);
  Result<void> check(const Session& session, const proto::LogRead& request) const;
  void forget(RunId run, const std::shared_ptr<Stream>& stream);
  proto::PingReply ping(const proto::PingRequest& request) const;

  boost::asio::any_io_executor executor_;
  Shell& shell_;
  WallTime up_since_;
  std::multimap<RunId, std::weak_ptr<Stream>> following_;
  std::size_t stream_count_ = 0;
  ExecServer execs_;
};

}  // namespace rota::gpud
