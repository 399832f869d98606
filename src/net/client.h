// net/client.h - the calling side: connect, prove who we are, ask and be answered.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "common/result.h"
#include "common/time.h"
#include "net/connection.h"
#include "proto/messages.h"

namespace rota::net {

struct ConnectOptions {
  std::string address;         // host:port
  std::string munge_socket;    // "": libmunge's default
  std::uint32_t peer_uid = 0;  // the only uid that may read our credential and answer it
  Duration limit = std::chrono::seconds(5);  // for name look-up, connect and handshake together
  // For the error's words only: who should be there, and where its address came from.
  std::string daemon = "rctld";
  std::string address_source = "controller.address in rota.yaml or $ROTA_CONTROLLER";
  // Not 0: this is a command that does nothing else meanwhile. MUNGE is then asked on this very
  // thread, which saves starting one, a fifth of what a short command costs. Should munged hang,
  // the process says so on standard error at the limit and ends with this exit code
  // (net/hang_guard.h).
  int hang_exit_code = 0;
  std::string program = "rota";  // the first word of that last line
};

/// A session with the daemon at `address`. The error says which address was tried, what failed and
/// what to check. The listener takes the session for good only with its first frame, which proves
/// that we hold the key: send it soon.
awaitable<Result<std::shared_ptr<Connection>>> connect(boost::asio::any_io_executor executor,
                                                       ConnectOptions options);

/// Turns an answer's frame into the reply, or into the error that it carries.
template <class Reply>
Result<Reply> reply_from(const proto::Frame& frame) {
  if (frame.type == proto::ErrorReply::number) {
    ROTA_TRY(auto error, proto::decode<proto::ErrorReply>(frame.body));
    return Error{static_cast<Errc>(error.code), std::move(error.detail)};
  }
  if (frame.type != Reply::number)
    return Error{Errc::protocol_mismatch, "the answer is of another type than the question"};
  return proto::decode<Reply>(frame.body);
}

/// One question, one answer, for sessions that have one call under way at a time.
template <class Reply, class Request>
awaitable<Result<Reply>> call(std::shared_ptr<Connection> connection, Request request,
                              Duration limit) {
  connection->send(request, 1);
  auto frame = co_await connection->read(limit);
  if (!frame) co_return frame.error();
  co_return reply_from<Reply>(*frame);
}

}  // namespace rota::net
