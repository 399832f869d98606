// commands/session.cpp - finds the controller, keeps a session with it.
#include "commands/session.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "commands/exit_code.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/names.h"
#include "common/units.h"

namespace asio = boost::asio;

namespace rota::commands {
namespace {

/// Below five seconds by what the start and end of the program take.
constexpr Duration connect_limit = std::chrono::milliseconds(4500);
constexpr Duration pause_first = std::chrono::milliseconds(20);
constexpr Duration pause_max = std::chrono::seconds(1);

/// The uid behind controller.user: only it may read our credentials.
Result<std::uint32_t> uid_of(const std::string& user) {
  if (user == "root") return 0;  // no user database needed
  if (auto number = number_parse(user, UINT32_MAX - 1); number)
    return static_cast<std::uint32_t>(*number);
  ROTA_TRY(const auto uid, uid_of_user(user));
  if (uid) return *uid;
  return Error{Errc::config_invalid,
               format("controller.user: this host has no user {}", quoted(user))};
}

Result<Config> configuration() {
  auto config = config_default();
  // "Not found" is about jobs and nodes in a command's exit code.
  if (!config && config.error().code == Errc::not_found)
    return Error{Errc::config_invalid, config.error().detail};
  return config;
}

/// `error` after a request was sent and no answer came.
Error answer_unknown(const Error& error) {
  return {error.code,
          format("{}; the request was sent, but it is not known whether it was carried out",
                 error.detail.empty() ? text_of(error.code) : std::string_view(error.detail))};
}

}  // namespace

Result<net::ConnectOptions> controller_options(const Program& program) {
  ROTA_TRY(const auto config, configuration());
  ROTA_TRY(const auto uid, uid_of(config.controller_user));
  net::ConnectOptions options;
  options.address = config.controller_address;
  options.munge_socket = config.munge_socket;
  options.peer_uid = uid;
  options.limit = connect_limit;
  options.hang_exit_code = exit_code_of(Errc::auth_failed);
  options.program = program.name();
  return options;
}

net::ConnectOptions node_options(const net::ConnectOptions& controller, const std::string& node,
                                 const std::string& address, std::uint32_t uid) {
  net::ConnectOptions options = controller;
  options.address = address;
  options.peer_uid = uid;
  options.daemon = "rgpud";
  options.hang_exit_code = 0;  // may be tried again
  options.address_source = format("node.address in rota.yaml on node {}", node);
  return options;
}

awaitable<void> pause(Duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(duration);
  co_await timer.async_wait(asio::use_awaitable);
}

awaitable<Result<std::shared_ptr<net::Connection>>> reconnect(net::ConnectOptions options,
                                                              MonoTime deadline) {
  auto executor = co_await asio::this_coro::executor;
  options.hang_exit_code = 0;  // a munged that hangs now may answer before the deadline
  Duration wait = pause_first;
  for (;;) {
    options.limit = std::clamp<Duration>(deadline - mono_now(), pause_max, connect_limit);
    auto connection = co_await net::connect(executor, options);
    if (connection || mono_now() + wait > deadline) co_return connection;
    co_await pause(wait);
    wait = std::min(wait * 2, pause_max);
  }
}

awaitable<Result<proto::Frame>> exchange(net::ConnectOptions options, std::uint16_t type,
                                         std::string body) {
  auto executor = co_await asio::this_coro::executor;
  auto connection = co_await net::connect(executor, options);
  if (!connection) co_return connection.error();
  const MonoTime deadline = mono_now() + patience;
  for (;;) {
    (*connection)->send_frame(type, 1, 0, body);
    auto frame = co_await (*connection)->read(deadline - mono_now());
    if (frame) co_return frame;
    if (frame.error().code == Errc::timed_out) co_return answer_unknown(frame.error());
    // However the session ended, also in the middle of a frame: the answer is on record.
    connection = co_await reconnect(options, deadline);
    if (!connection) co_return answer_unknown(connection.error());
  }
}

awaitable<Result<void>> exchange_stream(net::ConnectOptions options, std::uint16_t type,
                                        std::string body, TakeFrame take) {
  auto executor = co_await asio::this_coro::executor;
  auto connection = co_await net::connect(executor, std::move(options));
  if (!connection) co_return connection.error();
  (*connection)->send_frame(type, 1, 0, std::move(body));
  for (;;) {
    auto frame = co_await (*connection)->read(patience);
    if (!frame) co_return frame.error();
    ROTA_CO_CHECK(take(*frame));
    if ((frame->flags & proto::frame_more) == 0) co_return Result<void>();
  }
}

Result<void> run_loop(awaitable<void> work) {
  asio::io_context loop(1);
  std::exception_ptr thrown;
  const auto ended = [&](std::exception_ptr exception) {
    thrown = exception;
    loop.stop();
  };
  asio::co_spawn(loop, std::move(work), ended);
  try {
    loop.run();
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    return Error{Errc::internal, exception.what()};
  }
  return {};
}

}  // namespace rota::commands
