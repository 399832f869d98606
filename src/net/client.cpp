// net/client.cpp - look-up, connect and the calling side of the handshake, all within one limit.
#include "net/client.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>

#include "common/format.h"
#include "common/units.h"
#include "net/address.h"
#include "net/errand.h"
#include "net/handshake.h"
#include "net/hang_guard.h"
#include "net/munge.h"
#include "net/session.h"
#include "net/stream.h"

namespace rota::net {
namespace asio = boost::asio;
using asio::ip::tcp;
namespace {

/// One connect() under way: everything that its steps share.
struct Call {
  Call(const asio::any_io_executor& on, ConnectOptions wanted)
      : executor(on),
        options(std::move(wanted)),
        deadline(deadline_after(options.limit)),
        errands(executor, 2) {}

  asio::any_io_executor executor;
  ConnectOptions options;
  Deadline deadline;
  ErrandPool errands;
  ClientSecret secret = make_client_secret();

  /// "127.0.0.1:7117: Connection refused; is rctld running there? check ..."
  Error unreachable(std::string_view what) const {
    return Error{Errc::unreachable, format("{}: {}; is {} running there? check {}", options.address,
                                           what, options.daemon, options.address_source)};
  }
  Error no_answer(std::string_view what) const {
    return unreachable(format("{} within {}", what, duration_format(options.limit)));
  }
  Error failed_auth(std::string_view what) const {
    return Error{Errc::auth_failed, format("{}: {}", options.address, what)};
  }
};

awaitable<Result<Endpoints>> find_endpoints(Call& call) {
  ROTA_CO_TRY(const auto target, parse_host_port(call.options.address));
  if (target.port == 0)
    co_return Error{Errc::invalid_argument,
                    format("address '{}': port 0 is nobody's", call.options.address)};
  Endpoints endpoints = literal_endpoints(target);
  if (!endpoints.empty()) co_return endpoints;
  auto ask = [target] { return look_up(target); };
  Errand<Endpoints> errand(call.errands, std::move(ask));
  auto found = co_await errand.result(call.deadline);
  if (found) co_return *std::move(found);
  if (found.error().code == Errc::timed_out)
    co_return call.no_answer("the name could not be looked up");
  co_return call.unreachable(found.error().detail);
}

/// A connect that may outlive our patience.
struct Attempt {
  explicit Attempt(const asio::any_io_executor& executor) : socket(executor), done(executor) {}
  tcp::socket socket;
  boost::system::error_code error;
  Wakeup done;
};

awaitable<Result<tcp::socket>> dial_one(Call& call, Endpoint endpoint, Deadline deadline) {
  const auto attempt = std::make_shared<Attempt>(call.executor);
  auto on_connect = [attempt](boost::system::error_code error) {
    attempt->error = error;
    attempt->done.notify();
  };
  attempt->socket.async_connect(endpoint, std::move(on_connect));
  const bool finished = co_await attempt->done.wait(deadline);
  if (finished && !attempt->error) co_return std::move(attempt->socket);
  boost::system::error_code ignored;
  attempt->socket.close(ignored);
  if (!finished) co_return Error{Errc::timed_out, "no answer"};
  co_return Error{Errc::unreachable, attempt->error.message()};
}

/// Each address gets its part of the time that is left.
awaitable<Result<std::shared_ptr<Stream>>> dial(Call& call, Endpoints endpoints) {
  std::string failures;
  bool timed_out = false;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const auto now = std::chrono::steady_clock::now();
    const auto part = (call.deadline - now) / static_cast<std::int64_t>(endpoints.size() - i);
    auto socket = co_await dial_one(call, endpoints[i], now + part);
    if (socket) co_return std::make_shared<Stream>(*std::move(socket));
    timed_out = timed_out || socket.error().code == Errc::timed_out;
    const std::string where = text_of(endpoints[i]);
    const std::string failure = where == call.options.address
                                    ? socket.error().detail
                                    : format("{} ({})", socket.error().detail, where);
    failures += (failures.empty() ? "" : ", ") + failure;
  }
  if (timed_out) co_return call.no_answer(failures);
  co_return call.unreachable(failures);
}

Error broken_off(const Call& call, const Error& error) {
  if (error.code == Errc::timed_out) return call.no_answer("no answer to the handshake");
  if (error.code == Errc::peer_lost)
    return call.unreachable(format("closed during the handshake ({})", error.detail));
  return Error{error.code,
               format("{}: {}; is it {} that listens there? check {}", call.options.address,
                      error.detail, call.options.daemon, call.options.address_source)};
}

awaitable<Result<Answer>> receive_answer(Call& call, Stream& stream) {
  for (;;) {
    const auto bytes = stream.received();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto answer = decode_answer(text);
    if (!answer) co_return broken_off(call, answer.error());
    if (*answer) {
      stream.consume(bytes.size());
      co_return **std::move(answer);
    }
    auto more = co_await stream.receive(call.deadline);
    if (!more) co_return broken_off(call, more.error());
  }
}

Error munged_hangs(const Call& call) {
  const std::string& socket = call.options.munge_socket;
  return call.failed_auth(format("munged at {} did not answer within {}; is munged running?",
                                 socket.empty() ? "its default socket" : socket,
                                 duration_format(call.options.limit)));
}

Error munge_failed(const Call& call, const Error& error) {
  if (error.code == Errc::timed_out) return munged_hangs(call);
  return call.failed_auth(error.detail);
}

/// One question to munged: on a thread of its own, or for a command on this one.
template <class T>
class MungeQuestion {
 public:
  MungeQuestion(Call& call, std::function<Result<T>()> ask) : call_(call) {
    if (call.options.hang_exit_code == 0)
      errand_.emplace(call.errands, std::move(ask));
    else
      ask_ = std::move(ask);
  }
  awaitable<Result<T>> answer() {
    if (!errand_) {
      auto said = ask_here();
      if (!said) co_return munge_failed(call_, said.error());
      co_return *std::move(said);
    }
    auto said = co_await errand_->result(call_.deadline);
    if (!said) co_return munge_failed(call_, said.error());
    co_return *std::move(said);
  }

 private:
  Result<T> ask_here() {
    const HangGuard guard(call_.deadline,
                          format("{}: {}", call_.options.program, munged_hangs(call_).message()),
                          call_.options.hang_exit_code);
    return ask_();
  }

  Call& call_;
  std::optional<Errand<T>> errand_;
  std::function<Result<T>()> ask_;
};

/// Who answered, by MUNGE's word, and the keys that only he and we have.
awaitable<Result<SessionKeys>> check_answer(Call& call, std::string credential, Peer& peer) {
  auto decode = [socket = call.options.munge_socket, credential = std::move(credential)] {
    return munge_decode(socket, credential);
  };
  MungeQuestion<Credential> question(call, std::move(decode));
  auto read = co_await question.answer();
  if (!read) co_return std::move(read).error();
  if (read->uid != call.options.peer_uid)
    co_return call.failed_auth(
        format("answered by uid {}, but {} runs as uid {}: somebody else listens there, or "
               "controller.user in rota.yaml is wrong",
               read->uid, call.options.daemon, call.options.peer_uid));
  auto secret = decode_server_secret(read->payload, call.secret);
  wipe(read->payload);
  if (!secret) co_return call.failed_auth(secret.error().detail);
  peer.uid = read->uid;
  peer.gid = read->gid;
  const SessionKeys keys = derive_keys(call.secret, *secret);
  wipe(secret->key_half);
  wipe(call.secret.key_half);
  co_return keys;
}

/// A refusal is not signed by anybody, so it is quoted, not believed.
Error refused(const Call& call, const Refusal& refusal) {
  return Error{static_cast<Errc>(refusal.code),
               format("{} refused: {}", call.options.address, refusal.text)};
}

awaitable<Result<std::shared_ptr<Connection>>> shake_hands(Call& call, std::string hello,
                                                           std::shared_ptr<Stream> stream) {
  stream->send(hello);
  ROTA_CO_TRY(auto answer, co_await receive_answer(call, *stream));
  if (answer.status == AnswerStatus::refused) co_return refused(call, answer.refusal);
  Peer peer;
  peer.address = call.options.address;
  ROTA_CO_TRY(const auto keys, co_await check_answer(call, std::move(answer.credential), peer));
  co_return std::make_shared<Session>(std::move(stream), std::move(peer), keys, Role::client);
}

awaitable<Result<std::shared_ptr<Connection>>> carry_out(std::shared_ptr<Call> call) {
  auto encode = [socket = call->options.munge_socket, payload = proto::encode(call->secret),
                 uid = call->options.peer_uid] { return munge_encode(socket, payload, uid); };
  MungeQuestion<std::string> question(*call, std::move(encode));
  // Found out in parallel, but dialled only with the credential in hand: a listener under siege
  // drops those first who connect and say nothing.
  ROTA_CO_TRY(auto endpoints, co_await find_endpoints(*call));
  ROTA_CO_TRY(const auto credential, co_await question.answer());
  ROTA_CO_TRY(const auto stream, co_await dial(*call, std::move(endpoints)));
  std::string hello = encode_hello(credential);
  auto session = co_await shake_hands(*call, std::move(hello), stream);
  if (!session) stream->end(session.error());
  co_return session;
}

}  // namespace

awaitable<Result<std::shared_ptr<Connection>>> connect(asio::any_io_executor executor,
                                                       ConnectOptions options) {
  return carry_out(std::make_shared<Call>(executor, std::move(options)));
}

}  // namespace rota::net
