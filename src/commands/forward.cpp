// commands/forward.cpp - local connections as calls of one session with the job's node.
#include "commands/forward.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "commands/output.h"
#include "commands/watch.h"
#include "common/clock.h"
#include "common/format.h"
#include "common/units.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace rota::commands {
namespace {

using proto::ExecStream;

constexpr std::uint64_t output_window = 1 << 20;
constexpr std::size_t block_bytes = 64 << 10;
constexpr std::size_t backlog_max = 1 << 20;
/// At once; the others are refused until one ends.
constexpr std::size_t streams_max = 256;
/// A ticket is asked for anew when it is older than this.
constexpr Duration ticket_fresh_for = std::chrono::seconds(8);

/// One local connection and the call that it is.
struct Stream {
  explicit Stream(tcp::socket local)
      : socket(std::move(local)),
        changed(socket.get_executor(), asio::steady_timer::time_point::max()) {}

  tcp::socket socket;
  std::uint32_t call = 0;
  std::uint64_t credit = 0;       // for what we send
  std::deque<std::string> queue;  // frames whose data go to the local side
  bool is_writing = false;
  bool is_over = false;
  asio::steady_timer changed;  // never expires: cancelled to wake who watches

  void close() {
    if (std::exchange(is_over, true)) return;
    boost::system::error_code ignored;
    socket.close(ignored);
    changed.cancel();
  }
};
using StreamPtr = std::shared_ptr<Stream>;

class Forwarder : public std::enable_shared_from_this<Forwarder> {
 public:
  Forwarder(const asio::any_io_executor& executor, net::ConnectOptions controller,
            ForwardOptions options, const Program& program)
      : executor_(executor),
        controller_(std::move(controller)),
        options_(std::move(options)),
        program_(program),
        signals_(executor, SIGINT, SIGTERM, SIGHUP),
        over_(executor) {}

  awaitable<Result<int>> run() {
    // Whether the job is there and ours is said before anybody connects.
    ROTA_CO_CHECK(co_await connect());
    for (const ForwardPort& port : options_.ports) ROTA_CO_CHECK(listen(port));
    spawn(&Forwarder::heed_signals);
    spawn(&Forwarder::watch_job);
    const net::Deadline never = net::deadline_after(Duration::max());
    while (!outcome_) co_await over_.wait(never);
    co_return *outcome_;
  }

 private:
  using Part = awaitable<void> (Forwarder::*)();
  void spawn(Part part) {
    asio::co_spawn(
        executor_, [self = shared_from_this(), part] { return (self.get()->*part)(); },
        net::log_end("forward"));
  }
  void end(int code) {
    if (!outcome_) outcome_ = code;
    over_.notify();
  }

  Result<void> listen(const ForwardPort& port) {
    boost::system::error_code error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error)
      return Error{Errc::usage, format("--address: '{}' is no IP address", options_.address)};
    const tcp::endpoint place(address, port.here);
    auto acceptor = std::make_shared<tcp::acceptor>(executor_);
    acceptor->open(place.protocol(), error);
    if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor->bind(place, error);
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Error{Errc::io_failed, format("cannot listen on {} port {}: {}", options_.address,
                                           port.here, error.message())};
    ROTA_CHECK(print(format("Forwarding from {}:{} to port {} of job {}\n", options_.address,
                            acceptor->local_endpoint().port(), port.there, options_.job.value)));
    asio::co_spawn(
        executor_,
        [self = shared_from_this(), acceptor, port] { return self->accept(acceptor, port.there); },
        net::log_end("forward"));
    return {};
  }

  awaitable<void> accept(std::shared_ptr<tcp::acceptor> acceptor, std::uint16_t port) {
    for (;;) {
      auto [error, socket] = co_await acceptor->async_accept(net::no_throw);
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // out of descriptors: some may come free
        co_await pause(std::chrono::milliseconds(100));
        continue;
      }
      if (streams_.size() >= streams_max) {
        program_.say(format("{} connections are open; one more is refused", streams_.size()));
        continue;
      }
      boost::system::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      auto stream = std::make_shared<Stream>(std::move(socket));
      asio::co_spawn(
          executor_,
          [self = shared_from_this(), stream, port] { return self->serve(stream, port); },
          net::log_end("forward"));
    }
  }

  /// The session with the node, and a ticket that is still good.
  awaitable<Result<void>> connect() {
    if (connection_ && connection_->is_open() && mono_now() - ticket_time_ < ticket_fresh_for)
      co_return Result<void>();
    ROTA_CO_TRY(auto where, co_await find_task(controller_, options_.job, options_.task));
    ticket_ = where.ticket;
    ticket_time_ = mono_now();
    if (connection_ && connection_->is_open()) co_return Result<void>();
    net::ConnectOptions node = node_options(controller_, where.node, where.address, where.node_uid);
    ROTA_CO_TRY(auto connection, co_await net::connect(executor_, std::move(node)));
    connection_ = std::move(connection);
    // The node keeps a session only once something was said on it.
    connection_->send(proto::PingRequest{1}, 0);
    spawn(&Forwarder::read_frames);
    co_return Result<void>();
  }

  awaitable<void> serve(StreamPtr stream, std::uint16_t port) {
    auto connected = co_await connect();
    if (!connected) {
      program_.say(connected.error().message());
      stream->close();
      co_return;
    }
    stream->call = ++calls_;
    streams_[stream->call] = stream;
    proto::ExecStart start;
    start.ticket = ticket_;
    start.kind = proto::ExecKind::connect;
    start.task = options_.task;
    start.input = true;
    start.credit = output_window;
    start.port = port;
    connection_->send(start, stream->call);
    co_await send_local(stream);
  }

  /// From the local side to the job, as there is credit; the end of it too.
  awaitable<void> send_local(StreamPtr stream) {
    const auto block = std::make_unique<char[]>(block_bytes);
    while (!stream->is_over && connection_) {
      if (stream->credit == 0) {
        co_await stream->changed.async_wait(net::no_throw);
        continue;
      }
      const std::size_t room = std::min<std::uint64_t>(block_bytes, stream->credit);
      auto [error, size] =
          co_await stream->socket.async_read_some(asio::buffer(block.get(), room), net::no_throw);
      if (stream->is_over || !connection_) co_return;
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
  awaitable<void> read_frames() {
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
    if (connection_ == connection) connection_.reset();
    for (const auto& [call, stream] : std::exchange(streams_, {})) stream->close();
  }

  void take(const StreamPtr& stream, proto::Frame frame) {
    if (frame.type == proto::ExecStarted::number) {
      const auto started = proto::decode<proto::ExecStarted>(frame.body);
      if (started) stream->credit = started->credit;
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
            net::log_end("forward"));
    } else {
      last_frame(stream, frame);
    }
    stream->changed.cancel();
  }

  void last_frame(const StreamPtr& stream, const proto::Frame& frame) {
    const auto end = net::reply_from<proto::ExecEnd>(frame);
    if (!end)
      program_.say(end.error().message());
    else if (!end->detail.empty())
      program_.say(end->detail);
    if (stream->queue.empty()) return stream->close();
    streams_.erase(stream->call);  // write_local() closes it behind the last byte
    stream->call = 0;
  }

  /// What came from the job to the local side; credit goes back as it is taken.
  awaitable<void> write_local(StreamPtr stream) {
    std::uint64_t owed = 0;
    while (!stream->queue.empty() && !stream->is_over) {
      const std::string body = std::move(stream->queue.front());
      stream->queue.pop_front();
      const auto data = proto::decode<proto::ExecDataView>(body);
      boost::system::error_code ignored;
      if (!data || data->data.empty()) {  // it has said all that it has to say
        stream->socket.shutdown(tcp::socket::shutdown_send, ignored);
        continue;
      }
      auto [error, size] =
          co_await asio::async_write(stream->socket, asio::buffer(data->data), net::no_throw);
      if (error) {  // nobody takes it any more: hang up on the job's side too
        proto::ExecControl control;
        control.signal = SIGHUP;
        if (connection_ && stream->call != 0) connection_->send(control, stream->call);
        stream->close();
        break;
      }
      owed += size;
      if (owed < output_window / 4 || !connection_ || stream->call == 0) continue;
      proto::ExecControl control;
      control.credit = std::exchange(owed, 0);
      connection_->send(control, stream->call);
    }
    stream->is_writing = false;
    if (stream->call == 0) stream->close();
  }

  awaitable<void> heed_signals() {
    auto [error, signal] = co_await signals_.async_wait(net::no_throw);
    if (!error) end(128 + signal);
  }

  awaitable<void> watch_job() {
    const auto ended = [](const JobView& job) { return is_final(job.state); };
    auto job = co_await wait_for_job(controller_, options_.job, std::chrono::minutes(10), ended);
    if (!job) {
      program_.say(job.error().message());
      co_return end(exit_code_of(job.error().code));
    }
    program_.say(format("job {} has ended: {}", job->id.value, name_of(job->state)));
    end(exit_error);
  }

  asio::any_io_executor executor_;
  net::ConnectOptions controller_;
  ForwardOptions options_;
  const Program& program_;
  asio::signal_set signals_;
  net::Wakeup over_;
  std::optional<int> outcome_;
  std::shared_ptr<net::Connection> connection_;
  proto::Ticket ticket_;
  MonoTime ticket_time_;
  std::uint32_t calls_ = 0;
  std::map<std::uint32_t, StreamPtr> streams_;
};

Result<std::uint16_t> port_from(std::string_view text, std::string_view whole, bool may_be_any) {
  const auto number = number_parse(text, 65535);
  if (!number || (*number == 0 && !may_be_any))
    return Error{Errc::usage, format("'{}' is no pair of ports: write 8888:80, or 80", whole)};
  return static_cast<std::uint16_t>(*number);
}

}  // namespace

Result<ForwardPort> forward_port_from(std::string_view text) {
  const std::size_t colon = text.find(':');
  ForwardPort port;
  if (colon == std::string_view::npos) {
    ROTA_TRY(port.there, port_from(text, text, false));
    port.here = port.there;
    return port;
  }
  ROTA_TRY(port.here, port_from(text.substr(0, colon), text, true));
  ROTA_TRY(port.there, port_from(text.substr(colon + 1), text, false));
  return port;
}

awaitable<Result<int>> forward_ports(net::ConnectOptions controller, ForwardOptions options,
                                     const Program& program) {
  const auto executor = co_await asio::this_coro::executor;
  const auto forwarder =
      std::make_shared<Forwarder>(executor, std::move(controller), std::move(options), program);
  co_return co_await forwarder->run();
}

}  // namespace rota::commands
