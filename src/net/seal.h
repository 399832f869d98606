// net/seal.h - the one door to OpenSSL: frames are sealed and opened, keys derived, tickets signed.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

extern "C" {
struct evp_cipher_ctx_st;
}

namespace rota::net {

inline constexpr std::size_t seal_tag_size = 16;

/// What one direction of a session is sealed with. Wiped when it goes.
struct DirectionKey {
  static constexpr std::size_t key_size = 32;  // AES-256
  static constexpr std::size_t salt_size = 4;  // first bytes of every nonce
  std::array<unsigned char, key_size> key{};
  std::array<unsigned char, salt_size> salt{};

  DirectionKey() = default;
  DirectionKey(const DirectionKey&) = default;
  DirectionKey& operator=(const DirectionKey&) = default;
  ~DirectionKey();
};

struct FreeCipherContext {
  void operator()(evp_cipher_ctx_st* context) const;
};
using CipherContext = std::unique_ptr<evp_cipher_ctx_st, FreeCipherContext>;

/// AES-256-GCM for the frames that we send. A sequence number is used once: asserted.
class Sealer {
 public:
  explicit Sealer(const DirectionKey& key);
  /// Encrypts `body` where it lies and writes the tag over `header` and body.
  void seal(std::uint64_t sequence, std::span<const unsigned char> header,
            std::span<unsigned char> body, std::span<unsigned char, seal_tag_size> tag);

 private:
  CipherContext context_;
  std::array<unsigned char, DirectionKey::salt_size> salt_;
  std::uint64_t sequence_next_ = 0;
};

/// AES-256-GCM for the frames that we get.
class Opener {
 public:
  explicit Opener(const DirectionKey& key);
  /// Decrypts `body` where it lies. False: header, body, tag or sequence are not what was sealed,
  /// and what now stands in `body` means nothing.
  [[nodiscard]] bool open(std::uint64_t sequence, std::span<const unsigned char> header,
                          std::span<unsigned char> body,
                          std::span<const unsigned char, seal_tag_size> tag);

 private:
  CipherContext context_;
  std::array<unsigned char, DirectionKey::salt_size> salt_;
};

/// RFC 2104 and RFC 5869 with SHA-256. `size` is at most 255 * 32.
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info,
                        std::size_t size);

/// From the operating system.
std::string random_bytes(std::size_t size);
/// In a time that tells nothing about where they differ.
bool same_secret(std::string_view a, std::string_view b);
/// Overwrites a secret that is no longer needed.
void wipe(std::string& secret);

}  // namespace rota::net
