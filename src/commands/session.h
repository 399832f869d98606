// commands/session.h - a command's session with the controller, run to its end on this thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "commands/program.h"
#include "common/result.h"
#include "common/time.h"
#include "net/client.h"

namespace rota::commands {

using net::awaitable;

/// The longest that a command waits for an answer, and for the controller to come back after the
/// session was lost in the middle of a request.
inline constexpr Duration patience = std::chrono::seconds(30);

/// Where the controller is and as whom it runs, by the configuration. Should munged hang while the
/// first session is opened, `program` says so and the process ends; later sessions wait on a
/// thread.
Result<net::ConnectOptions> controller_options(const Program& program);

/// The same for the rgpud that the controller named.
net::ConnectOptions node_options(const net::ConnectOptions& controller, const std::string& node,
                                 const std::string& address, std::uint32_t uid);

/// A new session after one was lost: tries until `deadline`, with short pauses.
awaitable<Result<std::shared_ptr<net::Connection>>> reconnect(net::ConnectOptions options,
                                                              MonoTime deadline);

/// Comes back after `duration`.
awaitable<void> pause(Duration duration);

/// Runs `work` on an event loop of its own until it ends. An exception that a library threw is an
/// error like any other.
Result<void> run_loop(awaitable<void> work);

namespace detail {
template <class T>
awaitable<void> keep_outcome(awaitable<Result<T>> work, std::optional<Result<T>>& outcome) {
  outcome.emplace(co_await std::move(work));
}
}  // namespace detail

template <class T>
Result<T> run_to_end(awaitable<Result<T>> work) {
  std::optional<Result<T>> outcome;
  ROTA_CHECK(run_loop(detail::keep_outcome(std::move(work), outcome)));
  if (!outcome) return Error{Errc::internal, "the session ended without an outcome"};
  return *std::move(outcome);
}

/// One question with a request id, asked until it is answered: when the session breaks after it was
/// sent, the same request goes out on a new one, and the controller answers from its record. The
/// first connection is tried once.
awaitable<Result<proto::Frame>> exchange(net::ConnectOptions options, std::uint16_t type,
                                         std::string body);

/// One question with an answer in several frames, each handed to `take`.
using TakeFrame = std::function<Result<void>(const proto::Frame&)>;
awaitable<Result<void>> exchange_stream(net::ConnectOptions options, std::uint16_t type,
                                        std::string body, TakeFrame take);

/// The same as plain calls that come back with the answer.
template <class Reply, class Request>
Result<Reply> ask(const net::ConnectOptions& options, const Request& request) {
  ROTA_TRY(const auto frame,
           run_to_end(exchange(options, Request::number, proto::encode(request))));
  return net::reply_from<Reply>(frame);
}
template <class Reply, class Request, class Take>
Result<void> ask_stream(const net::ConnectOptions& options, const Request& request, Take take) {
  TakeFrame take_frame = [&take](const proto::Frame& frame) -> Result<void> {
    ROTA_TRY(auto reply, net::reply_from<Reply>(frame));
    take(std::move(reply));
    return {};
  };
  return run_to_end(
      exchange_stream(options, Request::number, proto::encode(request), std::move(take_frame)));
}

}  // namespace rota::commands
