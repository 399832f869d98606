// commands/forward.cpp - local connections as calls of one session with the job's node.
#include "commands/forward.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <csignal>
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
#include "net/port_calls.h"
#include "net/wakeup.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace rota::commands {
namespace {

/// At once; the others are refused until one ends.
constexpr std::size_t streams_max = 256;
/// A ticket is asked for anew when it is older than this.
constexpr Duration ticket_fresh_for = std::chrono::seconds(8);

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
      if (calls_ && calls_->size() >= streams_max) {
        program_.say(format("{} connections are open; one more is refused", calls_->size()));
        continue;
      }
      boost::system::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      auto local = std::make_shared<tcp::socket>(std::move(socket));
      asio::co_spawn(
          executor_, [self = shared_from_this(), local, port] { return self->serve(local, port); },
          net::log_end("forward"));
    }
  }

  /// The session with the node, and a ticket that is still good.
  awaitable<Result<void>> connect() {
    const bool is_open = calls_ && calls_->is_open();
    if (is_open && mono_now() - ticket_time_ < ticket_fresh_for) co_return Result<void>();
    ROTA_CO_TRY(auto where, co_await find_task(controller_, options_.job, options_.task));
    ticket_ = where.ticket;
    ticket_time_ = mono_now();
    if (calls_ && calls_->is_open()) co_return Result<void>();
    net::ConnectOptions node = node_options(controller_, where.node, where.address, where.node_uid);
    ROTA_CO_TRY(auto connection, co_await net::connect(executor_, std::move(node)));
    calls_ = std::make_shared<net::PortCalls>(executor_, std::move(connection));
    calls_->start();
    co_return Result<void>();
  }

  awaitable<void> serve(std::shared_ptr<tcp::socket> local, std::uint16_t port) {
    auto connected = co_await connect();
    if (connected) {
      const auto calls = calls_;
      net::PortCalls::OnTrouble say = [this](const std::string& why) { program_.say(why); };
      connected = co_await calls->open(ticket_, options_.task, port, std::move(*local), say);
    }
    if (connected) co_return;
    const Error& error = connected.error();
    program_.say(error.detail.empty() ? error.message() : error.detail);
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
  std::shared_ptr<net::PortCalls> calls_;
  proto::Ticket ticket_;
  MonoTime ticket_time_;
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
