// net/url_token.cpp - the token's encoding and an HMAC-SHA256 over it, in the letters of addresses.
#include "net/url_token.h"

#include <array>

#include "common/format.h"
#include "net/seal.h"
#include "proto/codec.h"

namespace rota::net {
namespace {

/// RFC 4648's alphabet for addresses; no padding.
constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The same key may sign other things one day.
constexpr std::string_view purpose = "rota url token 1";

std::string in_letters(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text += letters[bits >> (count - 6) & 63];
  }
  if (count > 0) text += letters[bits << (6 - count) & 63];
  return text;
}

/// Only what in_letters() writes: each token has one spelling.
Result<std::string> from_letters(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const std::size_t value = letters.find(letter);
    if (value == std::string_view::npos) return Error{Errc::auth_failed, "this is no token"};
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  if (in_letters(bytes) != text) return Error{Errc::auth_failed, "this is no token"};
  return bytes;
}

std::string signature_of(std::string_view body, const std::string& key) {
  return hmac_sha256(key, format("{}:{}", purpose, body));
}

struct Parts {
  std::string body;
  std::string signature;
};
Result<Parts> parts_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (text.size() > url_token_bytes_max || dot == std::string_view::npos)
    return Error{Errc::auth_failed, "this is no token"};
  ROTA_TRY(auto body, from_letters(text.substr(0, dot)));
  ROTA_TRY(auto signature, from_letters(text.substr(dot + 1)));
  return Parts{std::move(body), std::move(signature)};
}

Result<UrlToken> token_from(const std::string& body) {
  auto token = proto::decode<UrlToken>(body);
  if (!token) return Error{Errc::auth_failed, "this is no token"};
  return token;
}

}  // namespace

std::string seal_token(const UrlToken& token, const std::string& key) {
  const std::string body = proto::encode(token);
  return format("{}.{}", in_letters(body), in_letters(signature_of(body, key)));
}

Result<UrlToken> read_token(std::string_view text) {
  ROTA_TRY(const Parts parts, parts_of(text));
  return token_from(parts.body);
}

Result<UrlToken> open_token(std::string_view text, const std::string& key, WallTime now) {
  ROTA_TRY(const Parts parts, parts_of(text));
  if (key.empty() || !same_secret(parts.signature, signature_of(parts.body, key)))
    return Error{Errc::auth_failed, "the token was not made by this controller"};
  ROTA_TRY(auto token, token_from(parts.body));
  if (token.expires <= now) return Error{Errc::auth_failed, "the token has expired"};
  return token;
}

}  // namespace rota::net
