// net/handshake.cpp - encoding, checking and deriving; every length is looked at before it is used.
#include "net/handshake.h"

#include <algorithm>
#include <cstring>

#include "common/format.h"
#include "proto/codec.h"

namespace rota::net {
namespace {

constexpr std::string_view magic = "ROTA";

template <class Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}
template <class Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// Another machine's bytes for a log line: at most a few, nothing that moves a cursor.
std::string printable(std::string_view bytes, std::size_t size_max) {
  std::string text(bytes.substr(0, size_max));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '.';
  return text;
}

Error bad_secret(std::string_view what) {
  return Error{Errc::malformed, format("credential without a Rota handshake in it: {}", what)};
}

bool has_secret_size(const std::string& text) { return text.size() == secret_size; }

Result<std::optional<std::string>> rest_of(std::string_view received, std::size_t head,
                                           std::uint32_t length) {
  if (received.size() < head + length) return std::optional<std::string>();
  if (received.size() > head + length)
    return Error{Errc::malformed, "bytes after the handshake where an answer was due first"};
  return std::optional<std::string>(std::string(received.substr(head)));
}

Errc refusal_code(std::uint16_t code) {
  const auto known = static_cast<Errc>(code);
  const bool expected = known == Errc::busy || known == Errc::protocol_mismatch ||
                        known == Errc::malformed || known == Errc::timed_out;
  return expected ? known : Errc::auth_failed;
}

DirectionKey direction_key(const ClientSecret& client, const ServerSecret& server,
                           std::string_view info) {
  std::string secret = client.key_half + server.key_half;
  std::string bytes = hkdf_sha256(secret, client.nonce + server.nonce, info,
                                  DirectionKey::key_size + DirectionKey::salt_size);
  DirectionKey key;
  std::memcpy(key.key.data(), bytes.data(), key.key.size());
  std::memcpy(key.salt.data(), bytes.data() + key.key.size(), key.salt.size());
  wipe(secret);
  wipe(bytes);
  return key;
}

}  // namespace

ClientSecret make_client_secret() {
  ClientSecret secret;
  secret.nonce = random_bytes(secret_size);
  secret.key_half = random_bytes(secret_size);
  return secret;
}

ServerSecret make_server_secret(const ClientSecret& client) {
  ServerSecret secret;
  secret.client_nonce = client.nonce;
  secret.nonce = random_bytes(secret_size);
  secret.key_half = random_bytes(secret_size);
  return secret;
}

Result<ClientSecret> decode_client_secret(std::string_view payload) {
  ROTA_TRY(auto secret, proto::decode<ClientSecret>(payload));
  if (secret.label != client_label) return bad_secret("made for another purpose");
  if (!has_secret_size(secret.nonce) || !has_secret_size(secret.key_half))
    return bad_secret("nonce or key half of the wrong size");
  return secret;
}

Result<ServerSecret> decode_server_secret(std::string_view payload, const ClientSecret& asked) {
  ROTA_TRY(auto secret, proto::decode<ServerSecret>(payload));
  if (secret.label != server_label) return bad_secret("made for another purpose");
  if (!has_secret_size(secret.nonce) || !has_secret_size(secret.key_half))
    return bad_secret("nonce or key half of the wrong size");
  if (!same_secret(secret.client_nonce, asked.nonce))
    return Error{Errc::auth_failed, "the answer belongs to another session's question"};
  return secret;
}

std::string encode_hello(std::string_view credential) {
  std::string bytes(magic);
  put(bytes, protocol_version);
  put(bytes, std::uint16_t{0});
  put(bytes, static_cast<std::uint32_t>(credential.size()));
  bytes += credential;
  return bytes;
}

Result<std::optional<std::string>> decode_hello(std::string_view received) {
  const std::size_t seen = std::min(received.size(), magic.size());
  if (received.substr(0, seen) != magic.substr(0, seen))
    return Error{Errc::malformed,
                 format("not Rota's protocol: it begins with '{}'", printable(received, 16))};
  if (received.size() < hello_head_size) return std::optional<std::string>();
  const auto version = get<std::uint16_t>(received, 4);
  if (version != protocol_version)
    return Error{Errc::protocol_mismatch, format("version {} of the protocol; this side speaks {}",
                                                 version, protocol_version)};
  const auto length = get<std::uint32_t>(received, 8);
  if (length == 0 || length > credential_size_max)
    return Error{Errc::malformed, format("credential of {} bytes, 1 to {} are allowed", length,
                                         credential_size_max)};
  return rest_of(received, hello_head_size, length);
}

std::string encode_welcome(std::string_view credential) {
  std::string bytes;
  put(bytes, AnswerStatus::welcome);
  put(bytes, static_cast<std::uint32_t>(credential.size()));
  bytes += credential;
  return bytes;
}

std::string encode_refusal(const Error& why) {
  Refusal refusal;
  refusal.code = static_cast<std::uint16_t>(why.code);
  refusal.text = why.detail.substr(0, refusal_size_max / 2);
  const std::string body = proto::encode(refusal);
  std::string bytes;
  put(bytes, AnswerStatus::refused);
  put(bytes, static_cast<std::uint32_t>(body.size()));
  bytes += body;
  return bytes;
}

Result<std::optional<Answer>> decode_answer(std::string_view received) {
  if (received.empty()) return std::optional<Answer>();
  Answer answer;
  answer.status = get<AnswerStatus>(received, 0);
  if (answer.status != AnswerStatus::welcome && answer.status != AnswerStatus::refused)
    return Error{Errc::protocol_mismatch,
                 format("not Rota's protocol: it answers '{}'", printable(received, 16))};
  if (received.size() < answer_head_size) return std::optional<Answer>();
  const bool welcome = answer.status == AnswerStatus::welcome;
  const auto length = get<std::uint32_t>(received, 1);
  const std::uint32_t length_max = welcome ? credential_size_max : refusal_size_max;
  if (length == 0 || length > length_max)
    return Error{Errc::malformed,
                 format("answer of {} bytes, 1 to {} are allowed", length, length_max)};
  ROTA_TRY(auto body, rest_of(received, answer_head_size, length));
  if (!body) return std::optional<Answer>();
  if (welcome) {
    answer.credential = *std::move(body);
    return std::optional<Answer>(std::move(answer));
  }
  ROTA_TRY(answer.refusal, proto::decode<Refusal>(*body));
  answer.refusal.code = static_cast<std::uint16_t>(refusal_code(answer.refusal.code));
  answer.refusal.text = printable(answer.refusal.text, refusal_size_max);
  return std::optional<Answer>(std::move(answer));
}

SessionKeys derive_keys(const ClientSecret& client, const ServerSecret& server) {
  SessionKeys keys;
  keys.client_to_server = direction_key(client, server, "rota client to server");
  keys.server_to_client = direction_key(client, server, "rota server to client");
  return keys;
}

}  // namespace rota::net
