// gpud/logs.cpp - tickets checked, packets of the log reader made into frames.
#include "gpud/logs.h"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>

#include "common/clock.h"
#include "common/format.h"
#include "common/version.h"
#include "gpud/launch/order.h"
#include "gpud/launch/secrets.h"
#include "net/log_end.h"
#include "net/ticket.h"
#include "net/wakeup.h"
#include "proto/views.h"

namespace rota::gpud {

using boost::asio::posix::stream_descriptor;

namespace {

constexpr std::size_t streams_max = 4096;
constexpr std::size_t streams_per_session_max = 8;
/// A slow reader costs at most this; the rest waits in the file.
constexpr std::size_t backlog_max = 1 << 20;
constexpr Duration idle_limit = std::chrono::minutes(5);
constexpr Duration open_limit = std::chrono::seconds(30);

void answer_error(net::Connection& connection, std::uint32_t call, const Error& error) {
  connection.send(proto::ErrorReply{static_cast<std::uint16_t>(error.code), error.detail}, call);
}

}  // namespace

/// The socket of one log reader.
class LogServer::Stream {
 public:
  Stream(boost::asio::any_io_executor executor, Fd socket) : socket_(executor, socket.release()) {}

  void run_ended() {
    if (socket_.is_open())
      static_cast<void>(
          ::send(socket_.native_handle(), &log_run_ended, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  /// The next packet, good until the next read(); "" when the reader has gone or the stream was
  /// closed.
  net::awaitable<std::string_view> read() {
    for (;;) {
      auto [error] = co_await socket_.async_wait(stream_descriptor::wait_read, net::no_throw);
      if (error || !socket_.is_open()) co_return std::string_view();
      if (buffer_.empty()) buffer_.resize(log_packet_bytes_max);  // one that waits needs none
      const ssize_t size =
          ::recv(socket_.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      // A reset only says that the reader went without hearing us out; what it sent is still there.
      if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET)) continue;
      co_return size <= 0 ? std::string_view()
                          : std::string_view(buffer_.data(), static_cast<std::size_t>(size));
    }
  }

 private:
  stream_descriptor socket_;
  std::string buffer_;
};

struct LogServer::Session {
  std::shared_ptr<net::Connection> connection;
  std::size_t opening = 0;
  std::vector<std::shared_ptr<Stream>> streams;
};

LogServer::LogServer(boost::asio::any_io_executor executor, Shell& shell, WallTime up_since)
    : executor_(executor), shell_(shell), up_since_(up_since), execs_(executor, shell) {}
LogServer::~LogServer() = default;

void LogServer::serve(std::shared_ptr<net::Connection> connection) {
  boost::asio::co_spawn(executor_, session(std::move(connection)), net::log_end("log session"));
}

void LogServer::run_ended(RunId run) {
  const auto [first, last] = following_.equal_range(run);
  for (auto at = first; at != last; ++at)
    if (const auto stream = at->second.lock()) stream->run_ended();
  following_.erase(first, last);
}

proto::PingReply LogServer::ping(const proto::PingRequest& request) const {
  proto::PingReply reply;
  reply.token = request.token;
  reply.version = version();
  reply.cluster_name = shell_.settings().cluster_name;
  reply.up_since = up_since_;
  reply.jobs_running = shell_.running_count();
  return reply;
}

net::awaitable<void> LogServer::session(std::shared_ptr<net::Connection> connection) {
  const auto self = std::make_shared<Session>();
  self->connection = connection;
  for (;;) {
    auto frame = co_await connection->read(idle_limit);
    if (!frame) {
      const bool is_busy =
          !self->streams.empty() || self->opening > 0 || execs_.is_busy(*connection);
      if (frame.error().code == Errc::timed_out && is_busy) continue;
      break;
    }
    if (const auto taken = take(self, *frame); !taken) break;
  }
  for (const auto& stream : self->streams) stream->close();
  execs_.closed(connection);
  connection->close("log session over");
}

Result<void> LogServer::take(const SessionPtr& session, const proto::Frame& frame) {
  if (frame.type == proto::PingRequest::number) {
    ROTA_TRY(const auto request, proto::decode<proto::PingRequest>(frame.body));
    session->connection->send(ping(request), frame.call);
  } else if (frame.type == proto::LogRead::number) {
    ROTA_TRY(auto request, proto::decode<proto::LogRead>(frame.body));
    boost::asio::co_spawn(executor_, stream(session, frame.call, std::move(request)),
                          net::log_end("log stream"));
  } else if (ExecServer::takes(frame.type)) {
    return execs_.take(session->connection, frame);
  } else {
    answer_error(
        *session->connection, frame.call,
        {Errc::unsupported, format("rgpud has no answer to a message of type {}", frame.type)});
  }
  return {};
}

Result<void> LogServer::check(const Session& session, const proto::LogRead& request) const {
  ROTA_CHECK(
      net::verify(request.ticket, shell_.ticket_key(), session.connection->peer().uid, wall_now()));
  if (request.ticket.purpose != "logs")
    return Error{Errc::denied,
                 format("the ticket is for '{}', not for logs", request.ticket.purpose)};
  if (session.streams.size() + session.opening >= streams_per_session_max)
    return Error{Errc::busy, format("{} files are being read in this session already",
                                    streams_per_session_max)};
  if (stream_count_ >= streams_max)
    return Error{Errc::busy, format("{} files are being read on this node already", streams_max)};
  return {};
}

net::awaitable<void> LogServer::stream(SessionPtr session, std::uint32_t call,
                                       proto::LogRead request) {
  auto socket = co_await open(session, request);
  if (!socket) {
    answer_error(*session->connection, call, socket.error());
    co_return;
  }
  const RunId run{request.ticket.job, request.ticket.restart, request.ticket.growth};
  const auto stream = std::make_shared<Stream>(executor_, *std::move(socket));
  session->streams.push_back(stream);
  ++stream_count_;
  if (request.follow && shell_.is_over(run))
    stream->run_ended();
  else if (request.follow)
    following_.emplace(run, stream);
  if (session->connection->is_open()) co_await relay(session, call, stream);
  stream->close();
  std::erase(session->streams, stream);
  forget(run, stream);
  --stream_count_;
}

/// The socket of a fresh log reader, once the ticket is good and the owner's groups are known.
net::awaitable<Result<Fd>> LogServer::open(SessionPtr session, const proto::LogRead& request) {
  ROTA_CO_CHECK(check(*session, request));
  LogOrder order;
  order.owner = request.ticket.owner;
  order.path = request.errors ? request.ticket.stderr_path : request.ticket.stdout_path;
  order.follow = request.follow;
  order.offset = request.offset;
  order.tail_lines = request.tail_lines;
  struct Opening {
    explicit Opening(const boost::asio::any_io_executor& executor) : done(executor) {}
    net::Wakeup done;
    Result<Fd> socket = Error{Errc::timed_out, "the owner's groups could not be looked up"};
  };
  const auto opening = std::make_shared<Opening>(executor_);
  // With the ticket it was checked that the controller wrote them.
  auto masks = net::open_masks(request.ticket, shell_.ticket_key());
  if (!masks) co_return std::move(masks).error();
  Fd hidden;
  if (!masks->masks.empty()) {
    auto file = memory_file(proto::encode(*masks));
    if (!file) co_return std::move(file).error();
    hidden = *std::move(file);
  }
  ++session->opening;
  shell_.steps().open_log(
      std::move(order),
      [opening](Result<Fd> socket) {
        opening->socket = std::move(socket);
        opening->done.notify();
      },
      std::move(hidden));
  const net::Deadline deadline = net::deadline_after(open_limit);
  co_await opening->done.wait(deadline);
  --session->opening;
  co_return std::move(opening->socket);
}

net::awaitable<void> LogServer::relay(SessionPtr session, std::uint32_t call,
                                      std::shared_ptr<Stream> stream) {
  net::Connection& connection = *session->connection;
  for (;;) {
    std::string_view packet = co_await stream->read();
    if (packet.empty()) {
      answer_error(connection, call, {Errc::io_failed, "the reader of the file has ended"});
      co_return;
    }
    const auto kind = static_cast<LogPacket>(packet.front());
    packet.remove_prefix(1);
    if (kind == LogPacket::error) {
      answer_error(connection, call, {Errc::io_failed, format("cannot read {}", packet)});
      co_return;
    }
    proto::LogChunkView chunk;
    chunk.data = packet;
    connection.send(chunk, call, kind == LogPacket::data ? proto::frame_more : 0);
    if (kind == LogPacket::end) co_return;
    co_await connection.backlog_below(backlog_max);
  }
}

void LogServer::forget(RunId run, const std::shared_ptr<Stream>& stream) {
  const auto [first, last] = following_.equal_range(run);
  for (auto at = first; at != last; ++at) {
    if (at->second.lock() != stream) continue;
    following_.erase(at);
    return;
  }
}

}  // namespace rota::gpud
