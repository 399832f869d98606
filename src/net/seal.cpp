// net/seal.cpp - AES-256-GCM, HMAC and HKDF over OpenSSL, started in microseconds.
//
// OpenSSL 3 builds its table of all algorithms at the first fetch: 1.2 ms and more, which is longer
// than a whole rsubmit may take. A copy of the built-in AES-256-GCM method and the plain SHA-256
// functions run the same assembler without that table. They count as deprecated, hence the macro;
// the EVP fetch stands below for an OpenSSL that has them no more.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "net/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "common/assert.h"

namespace rota::net {
namespace {

const EVP_CIPHER* aes_256_gcm() {
  static const EVP_CIPHER* const cipher = [] {
    // No configuration file is read: it could only add engines and cost time.
    ROTA_ASSERT(
        OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1);
#if OPENSSL_VERSION_MAJOR < 4
    return EVP_CIPHER_meth_dup(EVP_aes_256_gcm());
#else
    return EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
#endif
  }();
  ROTA_ASSERT(cipher != nullptr);
  return cipher;
}

CipherContext make_context(const DirectionKey& key, bool sealing) {
  CipherContext context(EVP_CIPHER_CTX_new());
  ROTA_ASSERT(context != nullptr);
  ROTA_ASSERT(EVP_CipherInit_ex(context.get(), aes_256_gcm(), nullptr, key.key.data(), nullptr,
                                sealing ? 1 : 0) == 1);
  return context;
}

constexpr std::size_t nonce_size = 12;

std::array<unsigned char, nonce_size> nonce_of(
    const std::array<unsigned char, DirectionKey::salt_size>& salt, std::uint64_t sequence) {
  std::array<unsigned char, nonce_size> nonce;
  std::memcpy(nonce.data(), salt.data(), salt.size());
  std::memcpy(nonce.data() + salt.size(), &sequence, sizeof sequence);
  return nonce;
}

/// Sets the nonce, then runs the header (authenticated only) and the body (in place) through.
void run(evp_cipher_ctx_st* context, const unsigned char* nonce,
         std::span<const unsigned char> header, std::span<unsigned char> body) {
  int written = 0;
  ROTA_ASSERT(EVP_CipherInit_ex(context, nullptr, nullptr, nullptr, nonce, -1) == 1);
  ROTA_ASSERT(EVP_CipherUpdate(context, nullptr, &written, header.data(),
                               static_cast<int>(header.size())) == 1);
  if (body.empty()) return;
  ROTA_ASSERT(EVP_CipherUpdate(context, body.data(), &written, body.data(),
                               static_cast<int>(body.size())) == 1);
}

constexpr std::size_t hash_size = SHA256_DIGEST_LENGTH;
constexpr std::size_t hash_block_size = SHA256_CBLOCK;

std::string sha256(std::string_view first, std::string_view second) {
  SHA256_CTX state;
  std::string hash(hash_size, '\0');
  ROTA_ASSERT(SHA256_Init(&state) == 1);
  ROTA_ASSERT(SHA256_Update(&state, first.data(), first.size()) == 1);
  ROTA_ASSERT(SHA256_Update(&state, second.data(), second.size()) == 1);
  ROTA_ASSERT(SHA256_Final(reinterpret_cast<unsigned char*>(hash.data()), &state) == 1);
  OPENSSL_cleanse(&state, sizeof state);
  return hash;
}

}  // namespace

DirectionKey::~DirectionKey() {
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(salt.data(), salt.size());
}

void FreeCipherContext::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);
}

Sealer::Sealer(const DirectionKey& key) : context_(make_context(key, true)), salt_(key.salt) {}

void Sealer::seal(std::uint64_t sequence, std::span<const unsigned char> header,
                  std::span<unsigned char> body, std::span<unsigned char, seal_tag_size> tag) {
  // A nonce that is used twice gives the key away.
  ROTA_ASSERT(sequence == sequence_next_);
  ++sequence_next_;
  int written = 0;
  run(context_.get(), nonce_of(salt_, sequence).data(), header, body);
  ROTA_ASSERT(EVP_CipherFinal_ex(context_.get(), tag.data(), &written) == 1);
  ROTA_ASSERT(
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, seal_tag_size, tag.data()) == 1);
}

Opener::Opener(const DirectionKey& key) : context_(make_context(key, false)), salt_(key.salt) {}

bool Opener::open(std::uint64_t sequence, std::span<const unsigned char> header,
                  std::span<unsigned char> body,
                  std::span<const unsigned char, seal_tag_size> tag) {
  run(context_.get(), nonce_of(salt_, sequence).data(), header, body);
  std::array<unsigned char, seal_tag_size> expected;
  std::memcpy(expected.data(), tag.data(), expected.size());
  ROTA_ASSERT(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, seal_tag_size,
                                  expected.data()) == 1);
  int written = 0;
  return EVP_CipherFinal_ex(context_.get(), expected.data(), &written) == 1;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string block = key.size() > hash_block_size ? sha256(key, "") : std::string(key);
  block.resize(hash_block_size, '\0');
  for (char& c : block) c = static_cast<char>(c ^ 0x36);
  const std::string inner = sha256(block, text);
  for (char& c : block) c = static_cast<char>(c ^ 0x36 ^ 0x5c);
  std::string mac = sha256(block, inner);
  wipe(block);
  return mac;
}

std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info,
                        std::size_t size) {
  ROTA_ASSERT(size <= 255 * hash_size);
  std::string extracted = hmac_sha256(salt, secret);
  std::string keys;
  std::string last;
  for (unsigned char round = 1; keys.size() < size; ++round) {
    last = hmac_sha256(extracted, last + std::string(info) + static_cast<char>(round));
    keys += last;
  }
  keys.resize(size);
  wipe(extracted);
  wipe(last);
  return keys;
}

// Straight from the kernel: OpenSSL's own generator would cost its seeding at every start.
std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = getrandom(bytes.data() + done, size - done, 0);
    ROTA_ASSERT(got > 0 || errno == EINTR);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace rota::net
