// net/port_calls.h - connections into jobs, all as calls of one session with the jobs' node.
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/connection.h"
#include "proto/messages.h"

namespace rota::net {

/// Carries bytes between local sockets and ports of jobs, no faster than either side takes them;
/// what was closed in one direction stays open in the other. All calls from the executor's thread.
class PortCalls : public std::enable_shared_from_this<PortCalls> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  /// Told when an open one ends otherwise than by one of its two sides.
  using OnTrouble = std::function<void(const std::string& why)>;

  PortCalls(const boost::asio::any_io_executor& executor, std::shared_ptr<Connection> connection);
  /// Reads the session's frames until it ends. To be called once.
  void start();

  bool is_open() const { return connection_ != nullptr; }
  std::size_t size() const { return streams_.size(); }
  void close();

  /// Joins `local` and the port. Comes back when the job's side is connected, or says why it is
  /// not; then `local` is closed.
  awaitable<Result<void>> open(proto::Ticket ticket, std::uint32_t task, std::uint16_t port,
                               Socket local, OnTrouble on_trouble);

 private:
  struct Stream;
  using StreamPtr = std::shared_ptr<Stream>;

  awaitable<void> read_frames();
  void take(const StreamPtr& stream, proto::Frame frame);
  void last_frame(const StreamPtr& stream, const proto::Frame& frame);
  awaitable<void> send_local(StreamPtr stream);
  awaitable<void> write_local(StreamPtr stream);
  void hang_up(const StreamPtr& stream);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Connection> connection_;
  std::uint32_t calls_ = 0;
  std::map<std::uint32_t, StreamPtr> streams_;
};

}  // namespace rota::net
