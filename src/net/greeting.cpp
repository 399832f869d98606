// net/greeting.cpp - hello, credential, answer, first frame: each step may refuse.
#include "net/greeting.h"

#include "net/munge.h"
#include "proto/codec.h"

namespace rota::net {
namespace {

Error while_waiting(Error error, std::string_view what) {
  if (error.code == Errc::timed_out) return Error{Errc::timed_out, std::string(what)};
  return error;
}

awaitable<Result<std::string>> receive_hello(Guest& guest) {
  for (;;) {
    const auto bytes = guest.stream->received();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto credential = decode_hello(text);
    if (!credential) co_return std::move(credential).error();
    if (*credential) {
      guest.stream->consume(bytes.size());
      co_return **std::move(credential);
    }
    auto more = co_await guest.stream->receive(guest.deadline);
    if (!more) co_return while_waiting(more.error(), "no whole hello came in time");
  }
}

/// What went wrong, for the peer: our own trouble stays here.
Error for_the_peer(const Error& why) {
  if (why.code == Errc::io_failed || why.code == Errc::internal)
    return Error{Errc::auth_failed, "the other side cannot reach its own munged"};
  return why;
}

/// Tells the peer why, if it speaks our protocol, and waits until it has had the time to read it.
awaitable<void> refuse(Guest& guest, const Error& why) {
  const bool spoke = why.code != Errc::peer_lost && why.code != Errc::timed_out;
  if (!guest.stream->is_open() || !spoke) {
    guest.stream->end(why);
    co_return;
  }
  guest.stream->send(encode_refusal(for_the_peer(why)));
  guest.stream->end_gently(why, guest.deadline - std::chrono::steady_clock::now());
  guest.stage = Guest::Stage::stranger;
  co_await guest.stream->ended();
}

struct Claim {
  ClientSecret secret;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

awaitable<Result<Claim>> read_claim(GreetingDesk& desk, Guest& guest, std::string credential) {
  auto call = [socket = desk.munge_socket, credential = std::move(credential)] {
    return munge_decode(socket, credential);
  };
  Errand<Credential> errand(desk.errands, std::move(call));
  auto read = co_await errand.result(guest.deadline);
  if (!read) co_return while_waiting(read.error(), "munged did not answer in time");
  auto secret = decode_client_secret(read->payload);
  wipe(read->payload);
  if (!secret) co_return std::move(secret).error();
  Claim claim;
  claim.secret = *std::move(secret);
  claim.uid = read->uid;
  claim.gid = read->gid;
  co_return claim;
}

awaitable<Result<SessionKeys>> answer_claim(GreetingDesk& desk, Guest& guest, Claim& claim) {
  ServerSecret secret = make_server_secret(claim.secret);
  auto call = [socket = desk.munge_socket, payload = proto::encode(secret), uid = claim.uid] {
    return munge_encode(socket, payload, uid);
  };
  Errand<std::string> errand(desk.errands, std::move(call));
  auto credential = co_await errand.result(guest.deadline);
  if (!credential) co_return while_waiting(credential.error(), "munged did not answer in time");
  const SessionKeys keys = derive_keys(claim.secret, secret);
  wipe(secret.key_half);
  wipe(claim.secret.key_half);
  guest.stream->send(encode_welcome(*credential));
  co_return keys;
}

/// Whoever replays a credential gets as far as this, and no further: without the key there is no
/// frame.
awaitable<Result<void>> await_proof(Session& session, Guest& guest) {
  auto first = co_await session.read_until(guest.deadline);
  if (!first) {
    Error why = while_waiting(first.error(), "no sealed frame came in time after the handshake");
    co_return why;
  }
  session.unread(*std::move(first));
  co_return Result<void>();
}

awaitable<Result<std::shared_ptr<Session>>> try_to_greet(GreetingDesk& desk, Guest& guest) {
  ROTA_CO_TRY(auto credential, co_await receive_hello(guest));
  auto place = desk.take_place();
  if (place == nullptr) co_return Error{Errc::busy, "all sessions are taken; try again later"};
  guest.stream->hold(std::move(place));
  guest.stage = Guest::Stage::with_munge;
  ROTA_CO_TRY(auto claim, co_await read_claim(desk, guest, std::move(credential)));
  ROTA_CO_TRY(const auto keys, co_await answer_claim(desk, guest, claim));
  guest.stage = Guest::Stage::welcomed;
  if (!guest.stream->is_open()) co_return guest.stream->reason();

  Peer peer;
  peer.uid = claim.uid;
  peer.gid = claim.gid;
  peer.address = guest.address;
  auto session = std::make_shared<Session>(guest.stream, std::move(peer), keys, Role::server);
  ROTA_CO_CHECK(co_await await_proof(*session, guest));
  session->report_to(desk.log);
  co_return session;
}

}  // namespace

awaitable<Result<std::shared_ptr<Session>>> greet(GreetingDesk& desk, Guest& guest) {
  auto session = co_await try_to_greet(desk, guest);
  if (session) co_return std::move(session);
  const Error why = session.error();
  desk.on_refusal(guest, why);
  co_await refuse(guest, why);
  co_return why;
}

}  // namespace rota::net
