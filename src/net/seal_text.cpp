// net/seal_text.cpp - a key for each text, so that no nonce is ever used twice: the salt is random.
#include "net/seal_text.h"

#include <cstring>

#include "common/assert.h"
#include "net/seal.h"

namespace rota::net {
namespace {

// The version, the salt and the tag stand before the text.
constexpr char version = 1;
constexpr std::size_t salt_size = 32;
constexpr std::size_t head_size = 1 + salt_size + seal_tag_size;

DirectionKey key_for(std::string_view key, std::string_view salt) {
  ROTA_ASSERT(key.size() == text_key_size);
  std::string bytes =
      hkdf_sha256(key, salt, "rota sealed text", DirectionKey::key_size + DirectionKey::salt_size);
  DirectionKey direction;
  std::memcpy(direction.key.data(), bytes.data(), DirectionKey::key_size);
  std::memcpy(direction.salt.data(), bytes.data() + DirectionKey::key_size,
              DirectionKey::salt_size);
  wipe(bytes);
  return direction;
}

std::span<unsigned char> bytes_of(std::string& text) {
  return {reinterpret_cast<unsigned char*>(text.data()), text.size()};
}

/// What is authenticated besides the text. The version stands in it, so that it is never empty.
std::string header_of(std::string_view bound) { return version + std::string(bound); }

}  // namespace

std::string seal_text(std::string_view key, std::string_view text, std::string_view bound) {
  const std::string salt = random_bytes(salt_size);
  std::string body(text);
  std::string header = header_of(bound);
  std::array<unsigned char, seal_tag_size> tag;
  Sealer(key_for(key, salt)).seal(0, bytes_of(header), bytes_of(body), tag);
  return version + salt + std::string(reinterpret_cast<const char*>(tag.data()), tag.size()) + body;
}

Result<std::string> open_text(std::string_view key, std::string_view sealed,
                              std::string_view bound) {
  const Error refused{Errc::invalid_argument,
                      "it was sealed with another key or for something else, or was changed"};
  if (sealed.size() < head_size || sealed.front() != version) return refused;
  const std::string_view salt = sealed.substr(1, salt_size);
  std::array<unsigned char, seal_tag_size> tag;
  std::memcpy(tag.data(), sealed.data() + 1 + salt_size, tag.size());
  std::string body(sealed.substr(head_size));
  std::string header = header_of(bound);
  if (!Opener(key_for(key, salt)).open(0, bytes_of(header), bytes_of(body), tag)) return refused;
  return body;
}

}  // namespace rota::net
