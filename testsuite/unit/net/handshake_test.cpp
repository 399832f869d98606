// testsuite/unit/net/handshake_test.cpp - the handshake's bytes: taken or refused.
#include "net/handshake.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "proto/codec.h"

namespace rota::net {
namespace {

std::string hello_text(std::string_view bytes) {
  const auto credential = decode_hello(bytes);
  if (!credential) return credential.error().message();
  return *credential ? "credential " + **credential : "incomplete";
}

std::string answer_text(std::string_view bytes) {
  const auto answer = decode_answer(bytes);
  if (!answer) return answer.error().message();
  if (!*answer) return "incomplete";
  if ((*answer)->status == AnswerStatus::welcome) return "welcome " + (*answer)->credential;
  return format("refused {} {}", (*answer)->refusal.code, (*answer)->refusal.text);
}

TEST(Hello, IsMagicVersionReservedLengthCredential) {
  EXPECT_EQ(encode_hello("MUNGE:x:"), std::string("ROTA\1\0\0\0\x8\0\0\0MUNGE:x:", 20));
  EXPECT_EQ(hello_text(encode_hello("MUNGE:x:")), "credential MUNGE:x:");
}

TEST(Hello, EveryTruncationIsIncomplete) {
  const std::string whole = encode_hello("MUNGE:x:");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(hello_text(whole.substr(0, size)), "incomplete") << size << " bytes";
}

TEST(Hello, RefusesWhatItCannotBecome) {
  EXPECT_EQ(hello_text("G"), "malformed message: not Rota's protocol: it begins with 'G'");
  EXPECT_EQ(hello_text("GET / HTTP/1.1\r\n\r\n"),
            "malformed message: not Rota's protocol: it begins with 'GET / HTTP/1.1..'");
  EXPECT_EQ(hello_text(std::string("ROTA\2\0\0\0\x8\0\0\0", 12)),
            "protocol mismatch: version 2 of the protocol; this side speaks 1");
  EXPECT_EQ(hello_text(std::string("ROTA\1\0\0\0\0\0\0\0", 12)),
            "malformed message: credential of 0 bytes, 1 to 16384 are allowed");
  EXPECT_EQ(hello_text(std::string("ROTA\1\0\0\0\1\x40\0\0", 12)),
            "malformed message: credential of 16385 bytes, 1 to 16384 are allowed");
  EXPECT_EQ(hello_text(encode_hello("MUNGE:x:") + "y"),
            "malformed message: bytes after the handshake where an answer was due first");
}

TEST(Answer, WelcomeAndRefusalComeBack) {
  EXPECT_EQ(answer_text(encode_welcome("MUNGE:y:")), "welcome MUNGE:y:");
  EXPECT_EQ(answer_text(encode_refusal(Error{Errc::busy, "later"})), "refused 1107 later");
}

TEST(Answer, EveryTruncationIsIncomplete) {
  for (const std::string& whole :
       {encode_welcome("MUNGE:y:"), encode_refusal(Error{Errc::busy, "later"})})
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_EQ(answer_text(whole.substr(0, size)), "incomplete") << size << " bytes";
}

TEST(Answer, RefusesWhatItCannotBecome) {
  EXPECT_EQ(answer_text("HTTP/1.1 400"),
            "protocol mismatch: not Rota's protocol: it answers 'HTTP/1.1 400'");
  EXPECT_EQ(answer_text(std::string("\0\1\x40\0\0", 5)),
            "malformed message: answer of 16385 bytes, 1 to 16384 are allowed");
  EXPECT_EQ(answer_text(std::string("\1\1\4\0\0", 5)),
            "malformed message: answer of 1025 bytes, 1 to 1024 are allowed");
  EXPECT_EQ(answer_text(std::string("\1\2\0\0\0xx", 7)),
            "malformed message: record cut short or out of range");
}

// Anybody can send a refusal. It must neither move the reader's cursor nor pass for another error.
TEST(Answer, ARefusalIsOnlyWords) {
  EXPECT_EQ(answer_text(encode_refusal(Error{Errc::no_such_job, "\033[2Jyour\njob"})),
            "refused 1103 .[2Jyour.job");
  EXPECT_EQ(answer_text(encode_refusal(Error{Errc::busy, std::string(5000, 'x')})),
            "refused 1107 " + std::string(512, 'x'));
}

TEST(Secrets, ComeBackWhole) {
  const ClientSecret client = make_client_secret();
  const auto read = decode_client_secret(proto::encode(client));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nonce, client.nonce);
  EXPECT_EQ(read->key_half, client.key_half);
  EXPECT_NE(read->nonce, read->key_half);
  const ServerSecret server = make_server_secret(client);
  ASSERT_TRUE(decode_server_secret(proto::encode(server), client));
}

TEST(Secrets, AreRefusedWhenTheyAreNotForThis) {
  const auto client_error = [](const ClientSecret& secret) {
    return decode_client_secret(proto::encode(secret)).error().message();
  };
  ClientSecret client = make_client_secret();
  client.label = server_label;  // the server's own words, sent back to it
  EXPECT_EQ(
      client_error(client),
      "malformed message: credential without a Rota handshake in it: made for another purpose");
  client = make_client_secret();
  client.key_half.pop_back();
  EXPECT_EQ(
      client_error(client),
      "malformed message: credential without a Rota handshake in it: nonce or key half of the "
      "wrong size");
  EXPECT_EQ(decode_client_secret("").error().message(),
            "malformed message: record cut short or out of range");

  const ClientSecret asked = make_client_secret();
  const ServerSecret other = make_server_secret(make_client_secret());
  EXPECT_EQ(decode_server_secret(proto::encode(other), asked).error().message(),
            "authentication failed: the answer belongs to another session's question");
}

std::string hex(const DirectionKey& key) {
  std::string text;
  for (const unsigned char byte : key.key) text += format("{:02x}", byte);
  text += " ";
  for (const unsigned char byte : key.salt) text += format("{:02x}", byte);
  return text;
}

// Computed apart from this code, from the words of doc/wire.md; another implementation must agree.
TEST(Keys, AreThoseOfTheDescription) {
  ClientSecret client;
  client.nonce = std::string(32, 'n');
  client.key_half = std::string(32, 'k');
  ServerSecret server;
  server.nonce = std::string(32, 'N');
  server.key_half = std::string(32, 'K');
  const SessionKeys keys = derive_keys(client, server);
  EXPECT_EQ(hex(keys.client_to_server),
            "10d6b9a335ae3b35e30899fa040600ad1890e084e83bd71dcdf23e321e31d7e1 caa5b59d");
  EXPECT_EQ(hex(keys.server_to_client),
            "4862af2b71d8f0bd990ed66d8e4d9fe1aadc9640c4e48e0e6c81c4271921c711 0aaaaaaa");
}

}  // namespace
}  // namespace rota::net
