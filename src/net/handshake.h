// net/handshake.h - the bytes of the handshake, their bounds, and the keys they give.
//
// Nothing here does I/O. doc/wire.md says the same in words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "common/result.h"
#include "net/seal.h"

namespace rota::net {

inline constexpr std::uint16_t protocol_version = 1;
inline constexpr std::size_t hello_head_size = 12;  // magic, version, reserved, length
inline constexpr std::size_t answer_head_size = 5;  // status, length
inline constexpr std::uint32_t credential_size_max = 16 << 10;
inline constexpr std::uint32_t refusal_size_max = 1 << 10;
inline constexpr std::size_t secret_size = 32;  // of a nonce, and of a key half

inline constexpr std::string_view client_label = "rota session client 1";
inline constexpr std::string_view server_label = "rota session server 1";

/// In the client's credential, readable by the server's uid only.
struct ClientSecret {
  std::string label{client_label};
  std::string nonce;
  std::string key_half;
  static auto fields(auto& m) { return std::tie(m.label, m.nonce, m.key_half); }
};

/// In the server's credential, readable by the client's uid only. The client's nonce ties it to the
/// question that it answers.
struct ServerSecret {
  std::string label{server_label};
  std::string client_nonce;
  std::string nonce;
  std::string key_half;
  static auto fields(auto& m) { return std::tie(m.label, m.client_nonce, m.nonce, m.key_half); }
};

/// Why there is no session. Sent in clear by whoever answers, so it is for people, not to be
/// trusted.
struct Refusal {
  std::uint16_t code = 0;  // Errc
  std::string text;
  static auto fields(auto& m) { return std::tie(m.code, m.text); }
};

ClientSecret make_client_secret();
ServerSecret make_server_secret(const ClientSecret& client);
/// What stands in a credential's payload, or why that cannot be part of a handshake.
Result<ClientSecret> decode_client_secret(std::string_view payload);
Result<ServerSecret> decode_server_secret(std::string_view payload, const ClientSecret& asked);

/// Client -> server.
std::string encode_hello(std::string_view credential);
/// The credential of a whole hello; nothing while it is still incomplete. Anything that cannot
/// become a hello is refused at its first wrong byte.
Result<std::optional<std::string>> decode_hello(std::string_view received);

/// Server -> client.
enum class AnswerStatus : std::uint8_t { welcome = 0, refused = 1 };
struct Answer {
  AnswerStatus status = AnswerStatus::refused;
  std::string credential;  // welcome
  Refusal refusal;         // refused
};
std::string encode_welcome(std::string_view credential);
std::string encode_refusal(const Error& why);
Result<std::optional<Answer>> decode_answer(std::string_view received);

struct SessionKeys {
  DirectionKey client_to_server;
  DirectionKey server_to_client;
};
SessionKeys derive_keys(const ClientSecret& client, const ServerSecret& server);

}  // namespace rota::net
