// testsuite/fuzz/fuzz_frame.cpp - frame headers and the handshake's messages from anybody.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/assert.h"
#include "net/handshake.h"
#include "proto/codec.h"
#include "proto/frame.h"

namespace {

void try_header(std::string_view bytes) {
  rota::proto::FrameHeaderBytes head;
  if (bytes.size() < head.size()) return;
  std::memcpy(head.data(), bytes.data(), head.size());
  std::uint64_t sequence = 0;
  std::memcpy(&sequence, head.data() + 8, sizeof sequence);
  for (const std::uint64_t expected : {sequence, sequence + 1}) {
    const auto header = rota::proto::decode_header(head, expected);
    if (!header) continue;
    ROTA_ASSERT(expected == sequence);
    ROTA_ASSERT(rota::proto::encode_header(*header) == head);
    ROTA_ASSERT(header->length >= rota::proto::frame_tag_size);
    ROTA_ASSERT(header->length - rota::proto::frame_tag_size <=
                rota::proto::body_size_max(header->type));
  }
}

/// What is taken once must be taken at every later byte, and what is refused once never.
template <class Decode>
void try_prefixes(std::string_view bytes, Decode decode) {
  const auto whole = decode(bytes);
  const std::size_t step = bytes.size() / 64 + 1;
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    const auto part = decode(bytes.substr(0, size));
    if (!part) ROTA_ASSERT(!whole);
    if (part && *part) ROTA_ASSERT(!whole);  // bytes behind a whole message are refused
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_header(bytes);
  try_prefixes(bytes, rota::net::decode_hello);
  try_prefixes(bytes, rota::net::decode_answer);
  if (const auto hello = rota::net::decode_hello(bytes); hello && *hello) {
    ROTA_ASSERT((*hello)->size() <= rota::net::credential_size_max);
    // All but the reserved bytes comes back as it was.
    std::string again = rota::net::encode_hello(**hello);
    std::memcpy(again.data() + 6, bytes.data() + 6, 2);
    ROTA_ASSERT(again == bytes);
  }
  if (const auto answer = rota::net::decode_answer(bytes); answer && *answer) {
    for (const char c : (*answer)->refusal.text) ROTA_ASSERT(c >= ' ' && c <= '~');
  }
  if (const auto secret = rota::net::decode_client_secret(bytes)) {
    ROTA_ASSERT(secret->nonce.size() == rota::net::secret_size);
    ROTA_ASSERT(rota::net::decode_client_secret(rota::proto::encode(*secret)));
  }
  rota::net::ClientSecret asked;
  asked.nonce = std::string(rota::net::secret_size, 'n');
  if (const auto secret = rota::net::decode_server_secret(bytes, asked))
    ROTA_ASSERT(secret->client_nonce == asked.nonce);
  return 0;
}
