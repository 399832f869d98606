// net/port_calls.cpp - local sockets to frames and back, under credit.
#include "net/port_calls.h"

#include <poll.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <deque>
#include <optional>
#include <utility>

#include "net/client.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace asio = boost::asio;

namespace rota::net {
namespace {

using proto::ExecStream;

constexpr std::uint64_t output_window = 1 << 20;
constexpr std::size_t block_bytes = 64 << 10;
constexpr std::size_t backlog_max = 1 << 20;
/// For the node to start what connects inside the job; that gives up by itself after ten seconds.
constexpr Duration open_limit = std::chrono::seconds(30);

/// Closed in both directions: what the job still has to say is for nobody.
bool is_gone(PortCalls::Socket& socket) {
  pollfd look{.fd = socket.native_handle(), .events = 0, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

/// One local connection and the call that it is.
struct PortCalls::Stream {
  explicit Stream(Socket local)
      : socket(std::move(local)),
        changed(socket.get_executor(), asio::steady_timer::time_point::max()),
        opened(socket.get_executor()) {}

  Socket socket;
  std::uint32_t call = 0;         // 0: the node has said its last word
  std::uint64_t credit = 0;       // for what we send
  std::uint64_t owed = 0;         // taken by the local side, for which no credit went back yet
  std::deque<std::string> queue;  // frames whose data go to the local side
  bool is_writing = false;
  bool is_over = false;
  asio::steady_timer changed;  // never expires: cancelled to wake who watches
  Wakeup opened;
  std::optional<Result<void>> outcome;  // of opening it
  OnTrouble on_trouble;

  void settle(Result<void> how) {
    if (outcome) return;
    outcome.emplace(std::move(how));
    opened.notify();
  }
  void close() {
    if (std::exchange(is_over, true)) return;
    boost::system::error_code ignored;
    socket.close(ignored);
    changed.cancel();
    settle(Error{Errc::peer_lost, "the session with the node has ended"});
  }
};

PortCalls::PortCalls(const asio::any_io_executor& executor, std::shared_ptr<Connection> connection)
    : executor_(executor), connection_(std::move(connection)) {}

void PortCalls::start() {
  // The node keeps a session only once something was said on it.
  connection_->send(proto::PingRequest{1}, 0);
  asio::co_spawn(
      executor_, [self = shared_from_this()] { return self->read_frames(); }, log_end("ports"));
}

void PortCalls::close() {
  if (connection_) connection_->close("no longer needed");
}

awaitable<Result<void>> PortCalls::open(proto::Ticket ticket, std::uint32_t task,
                                        std::uint16_t port, Socket local, OnTrouble on_trouble) {
  const auto stream = std::make_shared<Stream>(std::move(local));
  if (!connection_) co_return Error{Errc::peer_lost, "the session with the node has ended"};
  stream->on_trouble = std::move(on_trouble);
  stream->call = ++calls_;
  streams_[stream->call] = stream;
  proto::ExecStart start;
  start.ticket = std::move(ticket);
  start.kind = proto::ExecKind::connect;
  start.task = task;
  start.input = true;
  start.credit = output_window;
  start.port = port;
  connection_->send(start, stream->call);
  const Deadline deadline = deadline_after(open_limit);
  while (!stream->outcome) {
    if (co_await stream->opened.wait(deadline) || stream->outcome) continue;
    hang_up(stream);
    co_return Error{Errc::timed_out, "the node does not answer"};
  }
  if (!*stream->outcome) co_return stream->outcome->error();
  asio::co_spawn(
      executor_, [self = shared_from_this(), stream] { return self->send_local(stream); },
      log_end("ports"));
  co_return Result<void>();
}

/// From the local side to the job, as there is credit; the end of it too.
awaitable<void> PortCalls::send_local(StreamPtr stream) {
  const auto block = std::make_unique<char[]>(block_bytes);
  while (!stream->is_over && connection_ && stream->call != 0) {
    if (stream->credit == 0) {
      co_await stream->changed.async_wait(no_throw);
      continue;
    }
    const std::size_t room = std::min<std::uint64_t>(block_bytes, stream->credit);
    auto [error, size] =
        co_await stream->socket.async_read_some(asio::buffer(block.get(), room), no_throw);
    if (stream->is_over || !connection_ || stream->call == 0) co_return;
    if (error && is_gone(stream->socket)) co_return hang_up(stream);
    proto::ExecDataView view;
    view.data = {block.get(), error ? 0 : size};
    connection_->send(view, stream->call);
    if (error) co_return;
    stream->credit -= size;
    const auto connection = connection_;
    co_await connection->backlog_below(backlog_max);
  }
}

/// What the node sends, sorted by its call.
awaitable<void> PortCalls::read_frames() {
  const auto connection = connection_;
  for (;;) {
    auto frame = co_await connection->read(std::chrono::minutes(1));
    if (!frame && frame.error().code == Errc::timed_out) continue;
    if (!frame) break;
    const auto found = streams_.find(frame->call);
    if (found == streams_.end()) continue;
    const StreamPtr stream = found->second;
    take(stream, *std::move(frame));
    if (stream->is_over) streams_.erase(stream->call);
  }
  connection_.reset();
  for (const auto& [call, stream] : std::exchange(streams_, {})) stream->close();
}

void PortCalls::take(const StreamPtr& stream, proto::Frame frame) {
  if (frame.type == proto::ExecStarted::number) {
    const auto started = proto::decode<proto::ExecStarted>(frame.body);
    if (started) stream->credit = started->credit;
    stream->settle({});
  } else if (frame.type == proto::ExecControl::number) {
    const auto control = proto::decode<proto::ExecControl>(frame.body);
    if (control) stream->credit += control->credit;
  } else if (frame.type == proto::ExecData::number) {
    const auto data = proto::decode<proto::ExecDataView>(frame.body);
    if (!data || data->stream != ExecStream::output) return;
    stream->queue.push_back(std::move(frame.body));
    if (!std::exchange(stream->is_writing, true))
      asio::co_spawn(
          executor_, [self = shared_from_this(), stream] { return self->write_local(stream); },
          log_end("ports"));
  } else {
    last_frame(stream, frame);
  }
  stream->changed.cancel();
}

void PortCalls::last_frame(const StreamPtr& stream, const proto::Frame& frame) {
  const auto end = reply_from<proto::ExecEnd>(frame);
  const bool was_open = stream->outcome.has_value();
  if (!end)
    stream->settle(end.error());
  else
    stream->settle(
        Error{Errc::unreachable, end->detail.empty() ? "the job closed it" : end->detail});
  if (was_open && stream->on_trouble) {
    if (!end)
      stream->on_trouble(end.error().message());
    else if (!end->detail.empty())
      stream->on_trouble(end->detail);
  }
  if (!stream->is_writing) return stream->close();
  streams_.erase(stream->call);  // write_local() closes it behind the last byte
  stream->call = 0;
}

/// What came from the job to the local side; credit goes back as it is taken.
awaitable<void> PortCalls::write_local(StreamPtr stream) {
  while (!stream->queue.empty() && !stream->is_over) {
    const std::string body = std::move(stream->queue.front());
    stream->queue.pop_front();
    const auto data = proto::decode<proto::ExecDataView>(body);
    boost::system::error_code ignored;
    if (!data || data->data.empty()) {  // it has said all that it has to say
      stream->socket.shutdown(Socket::shutdown_send, ignored);
      continue;
    }
    auto [error, size] =
        co_await asio::async_write(stream->socket, asio::buffer(data->data), no_throw);
    if (error) {  // nobody takes it any more
      hang_up(stream);
      break;
    }
    stream->owed += size;
    if (stream->owed < output_window / 4 || !connection_ || stream->call == 0) continue;
    proto::ExecControl control;
    control.credit = std::exchange(stream->owed, 0);
    connection_->send(control, stream->call);
  }
  stream->is_writing = false;
  if (stream->call == 0) stream->close();
}

/// On the job's side too.
void PortCalls::hang_up(const StreamPtr& stream) {
  if (connection_ && stream->call != 0) {
    proto::ExecControl control;
    control.signal = SIGHUP;
    connection_->send(control, stream->call);
    streams_.erase(stream->call);
    stream->call = 0;
  }
  stream->close();
}

}  // namespace rota::net
