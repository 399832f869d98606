// testsuite/unit/net/seal_test.cpp - published vectors, and that nothing altered ever opens.
#include "net/seal.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rota::net {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}
std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

struct Sealed {
  std::string body;
  std::array<unsigned char, seal_tag_size> tag{};
};

std::span<unsigned char> span_of(std::string& text) {
  return {reinterpret_cast<unsigned char*>(text.data()), text.size()};
}

Sealed seal(Sealer& sealer, std::uint64_t sequence, std::string header, std::string body) {
  Sealed sealed;
  sealed.body = std::move(body);
  sealer.seal(sequence, span_of(header), span_of(sealed.body), sealed.tag);
  return sealed;
}

/// The body, or "broken".
std::string open(Opener& opener, std::uint64_t sequence, std::string header, Sealed sealed) {
  const bool good = opener.open(sequence, span_of(header), span_of(sealed.body), sealed.tag);
  return good ? sealed.body : "broken";
}

DirectionKey key_of(unsigned char fill) {
  DirectionKey key;
  key.key.fill(fill);
  key.salt.fill(fill);
  return key;
}

TEST(Seal, HmacSha256OfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  // Case 6: a key that is longer than a block.
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Seal, HkdfSha256OfRfc5869) {
  EXPECT_EQ(hex(hkdf_sha256(from_hex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"),
                            from_hex("000102030405060708090a0b0c"),
                            from_hex("f0f1f2f3f4f5f6f7f8f9"), 42)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
}

// Test case 16 of McGrew and Viega's GCM paper: its nonce begins with our salt, ends with our
// sequence.
TEST(Seal, AesGcmOfThePublishedVector) {
  DirectionKey key;
  const std::string raw =
      from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  std::memcpy(key.key.data(), raw.data(), raw.size());
  const std::string nonce = from_hex("cafebabefacedbaddecaf888");
  std::memcpy(key.salt.data(), nonce.data(), key.salt.size());
  std::uint64_t sequence = 0;
  std::memcpy(&sequence, nonce.data() + key.salt.size(), sizeof sequence);
  Sealed sealed;
  sealed.body = from_hex(
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662");
  const std::string tag = from_hex("76fc6ece0f4e1768cddf8853bb2d551b");
  std::memcpy(sealed.tag.data(), tag.data(), tag.size());
  Opener opener(key);
  EXPECT_EQ(
      hex(open(opener, sequence, from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"), sealed)),
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
}

TEST(Seal, WhatWasSealedOpens) {
  Sealer sealer(key_of(1));
  Opener opener(key_of(1));
  EXPECT_EQ(open(opener, 0, "head", seal(sealer, 0, "head", "first")), "first");
  EXPECT_EQ(open(opener, 1, "head", seal(sealer, 1, "head", "")), "");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(open(opener, 2, "head", seal(sealer, 2, "head", large)), large);
}

TEST(Seal, EqualBodiesLookDifferent) {
  Sealer sealer(key_of(1));
  const Sealed first = seal(sealer, 0, "head", "same");
  const Sealed second = seal(sealer, 1, "head", "same");
  EXPECT_NE(first.body, "same");
  EXPECT_NE(first.body, second.body);
}

TEST(Seal, EveryAlteredBitIsSeen) {
  Sealer sealer(key_of(1));
  Opener opener(key_of(1));
  const std::string header = "header";
  const Sealed good = seal(sealer, 0, header, "body");
  for (std::size_t bit = 0; bit < header.size() * 8; ++bit) {
    std::string altered = header;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(open(opener, 0, altered, good), "broken") << "bit " << bit << " of the header";
  }
  for (std::size_t bit = 0; bit < good.body.size() * 8; ++bit) {
    Sealed altered = good;
    altered.body[bit / 8] = static_cast<char>(altered.body[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(open(opener, 0, header, altered), "broken") << "bit " << bit << " of the body";
  }
  for (std::size_t bit = 0; bit < seal_tag_size * 8; ++bit) {
    Sealed altered = good;
    altered.tag[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    EXPECT_EQ(open(opener, 0, header, altered), "broken") << "bit " << bit << " of the tag";
  }
  EXPECT_EQ(open(opener, 0, header, good), "body");  // and a failure spoils nothing
}

TEST(Seal, AnotherSequenceKeyOrSaltOpensNothing) {
  Sealer sealer(key_of(1));
  const Sealed good = seal(sealer, 0, "head", "body");
  Opener same(key_of(1));
  EXPECT_EQ(open(same, 1, "head", good), "broken");
  Opener other(key_of(2));
  EXPECT_EQ(open(other, 0, "head", good), "broken");
  DirectionKey salted = key_of(1);
  salted.salt[3] ^= 1;
  Opener differently(salted);
  EXPECT_EQ(open(differently, 0, "head", good), "broken");
}

TEST(SealDeathTest, ASequenceIsNeverUsedTwice) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Sealer sealer(key_of(1));
  seal(sealer, 0, "head", "body");
  EXPECT_DEATH(seal(sealer, 0, "head", "other"), "sequence == sequence_next_");
}

TEST(Seal, RandomBytesAreNotTheSameTwice) {
  EXPECT_EQ(random_bytes(32).size(), 32u);
  EXPECT_NE(random_bytes(32), random_bytes(32));
}

TEST(Seal, SecretsAreComparedWhole) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  std::string secret = "secret";
  wipe(secret);
  EXPECT_EQ(secret, "");
}

}  // namespace
}  // namespace rota::net
