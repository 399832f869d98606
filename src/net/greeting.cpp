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

/// Who speaks, by MUNGE's word, and our answer to him.
struct Claim {
  ClientSecret secret;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  ServerSecret answer;
  std::string answer_credential;
};

/// Blocks: both questions to munged in one errand, because waking a thread costs as much as one.
Result<Claim> ask_munge(const std::string& socket, const std::string& credential) {
  ROTA_TRY(auto read, munge_decode(socket, credential));
  auto secret = decode_client_secret(read.payload);
  wipe(read.payload);
  if (!secret) return std::move(secret).error();
  Claim claim;
  claim.secret = *std::move(secret);
  claim.uid = read.uid;
  claim.gid = read.gid;
  claim.answer = make_server_secret(claim.secret);
  std::string payload = proto::encode(claim.answer);
  auto encoded = munge_encode(socket, payload, claim.uid);
  wipe(payload);
  if (!encoded) return std::move(encoded).error();
  claim.answer_credential = *std::move(encoded);
  return claim;
}

awaitable<Result<Claim>> settle_claim(GreetingDesk& desk, Guest& guest, std::string credential) {
  auto call = [socket = desk.munge_socket, credential = std::move(credential)] {
    return ask_munge(socket, credential);
  };
  Errand<Claim> errand(desk.errands, std::move(call));
  auto claim = co_await errand.result(guest.deadline);
  if (!claim) co_return while_waiting(claim.error(), "munged did not answer in time");
  co_return *std::move(claim);
}

SessionKeys welcome(Guest& guest, Claim& claim) {
  const SessionKeys keys = derive_keys(claim.secret, claim.answer);
  wipe(claim.secret.key_half);
  wipe(claim.answer.key_half);
  guest.stream->send(encode_welcome(claim.answer_credential));
  return keys;
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
  ROTA_CO_TRY(auto claim, co_await settle_claim(desk, guest, std::move(credential)));
  const SessionKeys keys = welcome(guest, claim);
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
