// testsuite/unit/net/refusal_test.cpp - every kind of bad peer against the real listener.
//
// Each test has a witness: a good session that is there before and must notice nothing.
#include <gtest/gtest.h>

#include <ctime>

#include "harness.h"
#include "raw_peer.h"

namespace rota::net {
namespace {

class Refusal : public testing::Test {
 protected:
  void SetUp() override {
    ROTA_NEEDS_MUNGED();
    munged = &shared_munged();
    server.emplace(*munged, [](ListenerOptions& options) { options.handshake_limit = 5s; });
    witness.emplace(*server, *munged);
    ASSERT_EQ(witness->ping(1), "pong 1");
  }
  void TearDown() override {
    if (!witness) return;
    EXPECT_EQ(witness->ping(2), "pong 2");
    Client newcomer(*server, *munged);
    EXPECT_EQ(newcomer.ping(3), "pong 3");
  }
  /// What the log says of `peer`.
  std::string logged(const RawPeer& peer) {
    std::string line = log.line_with("refused " + peer.address());
    const std::string expected = "refused " + peer.address();
    return line.starts_with(expected) ? line.substr(expected.size()) : line;
  }

  LogCapture log;
  Munged* munged = nullptr;
  std::optional<Server> server;
  std::optional<Client> witness;
};

/// As the log names the peer of a session that was established.
std::string session_prefix() { return format(" (uid {}): ", geteuid()); }

// ---- the handshake ----

TEST_F(Refusal, WrongMungeKey) {
  Munged other;
  RawPeer peer(server->port());
  peer.send(peer.hello(other));
  const std::string why =
      "credential made with another MUNGE key: is munge.key the same on both hosts?";
  EXPECT_EQ(peer.answer_text(), "refused: " + why);
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer), ": authentication failed: " + why);
}

TEST_F(Refusal, StaleCredential) {
  RawPeer peer(server->port());
  const std::string hello = peer.hello(*munged, 1s);
  timespec expired{std::time(nullptr) + 3, 0};
  while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &expired, nullptr) != 0) {
  }
  peer.send(hello);
  const std::string said = peer.answer_text();
  EXPECT_TRUE(said.starts_with("refused: stale credential: ")) << said;
  EXPECT_TRUE(said.ends_with(" s old by this host's clock; check the clocks of both hosts"))
      << said;
  EXPECT_TRUE(logged(peer).starts_with(": authentication failed: stale credential: "));
}

TEST_F(Refusal, ReplayedCredential) {
  RawPeer first(server->port());
  const std::string hello = first.hello(*munged);
  first.send(hello);
  EXPECT_EQ(first.answer_text(), "welcome");
  RawPeer second(server->port());
  second.send(hello);
  const std::string why = "replayed credential: it has been used before";
  EXPECT_EQ(second.answer_text(), "refused: " + why);
  EXPECT_EQ(logged(second), ": authentication failed: " + why);
}

// MUNGE's memory of replays is one daemon's. At another host the credential is taken, and still
// worth nothing: the answer cannot be read, so no frame can be sealed.
TEST_F(Refusal, CredentialReplayedAtAnotherMunged) {
  Munged twin(munged->key());
  Server other(twin, [](ListenerOptions& options) { options.handshake_limit = 200ms; });
  RawPeer honest(server->port());
  const std::string hello = honest.hello(*munged);
  honest.send(hello);
  EXPECT_EQ(honest.answer_text(), "welcome");

  RawPeer silent(other.port());
  silent.send(hello);
  EXPECT_EQ(silent.answer_text(), "welcome");
  EXPECT_TRUE(silent.was_hung_up_on());
  EXPECT_EQ(logged(silent), ": timed out: no sealed frame came in time after the handshake");
  EXPECT_EQ(other.sessions(), 0u);
}

TEST_F(Refusal, FirstFrameWithoutTheKey) {
  RawPeer peer(server->port());
  peer.send(peer.hello(*munged));
  EXPECT_EQ(peer.answer_text(), "welcome");
  proto::FrameHeader header;
  header.length = 20;
  header.type = proto::PingRequest::number;
  const auto head = proto::encode_header(header);
  peer.send(std::string(head.begin(), head.end()) + std::string(20, 'x'));
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer), ": frame failed authentication: frame 0 of type 2: its seal is broken");
  EXPECT_EQ(server->sessions(), 1u);  // the witness's
}

TEST_F(Refusal, CredentialForAnotherUid) {
  ConnectOptions options = options_for(server->address(), *munged);
  options.peer_uid = geteuid() + 1;
  Client client(options);
  EXPECT_EQ(
      client.error(),
      format("authentication failed: {} refused: credential meant for another uid: this process "
             "runs as uid {}",
             server->address(), geteuid()));
  log.line_with("credential meant for another uid");
}

TEST_F(Refusal, CredentialMadeForAnotherPurpose) {
  RawPeer peer(server->port());
  peer.send(encode_hello(*munge_encode(munged->socket(), "a Slurm job, perhaps", geteuid())));
  EXPECT_EQ(peer.answer_text(), "refused: record cut short or out of range");
  EXPECT_EQ(logged(peer), ": malformed message: record cut short or out of range");
}

TEST_F(Refusal, NoCredentialAtAll) {
  RawPeer peer(server->port());
  peer.send(encode_hello("let me in"));
  EXPECT_EQ(peer.answer_text(), "refused: no MUNGE credential where one was due");
  EXPECT_EQ(logged(peer), ": malformed message: no MUNGE credential where one was due");
}

TEST_F(Refusal, GarbageThatLooksLikeACredential) {
  RawPeer peer(server->port());
  peer.send(encode_hello("MUNGE:AwQFAAB" + std::string(200, 'A') + ":"));
  EXPECT_TRUE(peer.answer_text().starts_with("refused: ")) << "got a welcome";
  EXPECT_NE(logged(peer), "");
}

TEST_F(Refusal, CredentialOverItsLimit) {
  RawPeer peer(server->port());
  std::string hello = encode_hello("x");
  hello[8] = 1;
  hello[9] = 0x40;  // 16385
  peer.send(hello);
  EXPECT_EQ(peer.answer_text(), "refused: credential of 16385 bytes, 1 to 16384 are allowed");
  EXPECT_EQ(logged(peer), ": malformed message: credential of 16385 bytes, 1 to 16384 are allowed");
}

TEST_F(Refusal, AnotherVersion) {
  RawPeer peer(server->port());
  std::string hello = peer.hello(*munged);
  hello[4] = 9;
  peer.send(hello);
  EXPECT_EQ(peer.answer_text(), "refused: version 9 of the protocol; this side speaks 1");
  EXPECT_EQ(logged(peer), ": protocol mismatch: version 9 of the protocol; this side speaks 1");
}

TEST_F(Refusal, AnotherProtocol) {
  RawPeer peer(server->port());
  peer.send("GET /metrics HTTP/1.1\r\nHost: rota\r\n\r\n");
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer),
            ": malformed message: not Rota's protocol: it begins with 'GET /metrics HTT'");
}

TEST_F(Refusal, WordsAfterTheHello) {
  RawPeer peer(server->port());
  peer.send(peer.hello(*munged) + "and another thing");
  EXPECT_EQ(peer.answer_text(), "refused: bytes after the handshake where an answer was due first");
  EXPECT_NE(logged(peer), "");
}

TEST_F(Refusal, SilentPeerRunsOutOfTime) {
  Server impatient(*munged, [](ListenerOptions& options) { options.handshake_limit = 100ms; });
  RawPeer silent(impatient.port());
  RawPeer halfway(impatient.port());
  halfway.send("ROTA");
  EXPECT_TRUE(silent.was_hung_up_on());
  EXPECT_TRUE(halfway.was_hung_up_on());
  EXPECT_EQ(logged(silent), ": timed out: no whole hello came in time");
  EXPECT_EQ(logged(halfway), ": timed out: no whole hello came in time");
}

TEST_F(Refusal, PeerThatLeaves) {
  RawPeer peer(server->port());
  peer.send("ROT");
  peer.hang_up();
  EXPECT_EQ(logged(peer), ": connection lost: the peer closed the connection");
}

// ---- frames ----

TEST_F(Refusal, TamperedFrames) {
  const std::size_t ping_size = 20 + 12 + 16;
  struct Case {
    std::size_t byte;
    std::string why;
  };
  const Case cases[] = {
      {20, "frame failed authentication: frame 1 of type 2: its seal is broken"},  // body
      {ping_size - 1, "frame failed authentication: frame 1 of type 2: its seal is broken"},  // tag
      {16, "frame failed authentication: frame 1 of type 2: its seal is broken"},  // call
      {8,
       "frame failed authentication: frame 0 came where 1 was due: repeated or lost"},  // sequence
      {6, "frame failed authentication: frame 1 of type 2: its seal is broken"},  // flags: more
      {4, "frame failed authentication: frame 1 of type 3: its seal is broken"},  // type
      {7, "malformed message: unknown flags 0x100"},                              // flags
      {5, "malformed message: unknown message type 258"},                         // type
  };
  for (const Case& c : cases) {
    RawPeer peer(server->port());
    peer.shake_hands(*munged);
    peer.send(peer.sealed_ping(1));
    peer.skip_frame();
    std::string frame = peer.sealed_ping(2);
    ASSERT_EQ(frame.size(), ping_size);
    frame[c.byte] = static_cast<char>(frame[c.byte] ^ 1);
    peer.send(frame);
    EXPECT_TRUE(peer.was_hung_up_on());
    EXPECT_EQ(server->next_end(), c.why) << "byte " << c.byte;
    EXPECT_EQ(logged(peer), session_prefix() + c.why) << "byte " << c.byte;
  }
}

TEST_F(Refusal, RepeatedFrame) {
  RawPeer peer(server->port());
  peer.shake_hands(*munged);
  const std::string frame = peer.sealed_ping(1);
  peer.send(frame);
  peer.skip_frame();
  peer.send(frame);
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer), session_prefix() +
                              "frame failed authentication: frame 0 came where 1 was "
                              "due: repeated or lost");
}

TEST_F(Refusal, LostFrame) {
  RawPeer peer(server->port());
  peer.shake_hands(*munged);
  peer.send(peer.sealed_ping(1));
  peer.sealed_ping(2);
  peer.send(peer.sealed_ping(3));
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer), session_prefix() +
                              "frame failed authentication: frame 2 came where 1 was "
                              "due: repeated or lost");
}

TEST_F(Refusal, TruncatedFrame) {
  RawPeer peer(server->port());
  peer.shake_hands(*munged);
  peer.send(peer.sealed_ping(1));
  peer.skip_frame();
  peer.send(peer.sealed_ping(2).substr(0, 30));
  peer.hang_up();
  EXPECT_EQ(server->next_end(),
            "malformed message: the connection ended within frame 1: 30 bytes of it came");
  EXPECT_EQ(logged(peer), session_prefix() +
                              "malformed message: the connection ended within frame "
                              "1: 30 bytes of it came");
}

TEST_F(Refusal, FrameOverItsLimit) {
  RawPeer peer(server->port());
  peer.shake_hands(*munged);
  peer.send(peer.sealed_ping(1));
  peer.skip_frame();
  // Sealed as it should be, but larger than a ping may be: refused on its header, before a byte of
  // it.
  const std::string frame = peer.sealed(proto::PingRequest::number, std::string(65'537, 'x'));
  peer.send(frame.substr(0, proto::FrameHeader::size));
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer), session_prefix() +
                              "frame too long: 65537 bytes of type 2, at most 65536 "
                              "are allowed");
}

TEST_F(Refusal, FrameShorterThanItsSeal) {
  RawPeer peer(server->port());
  peer.shake_hands(*munged);
  peer.send(peer.sealed_ping(1));
  peer.skip_frame();
  std::string frame = peer.sealed_ping(2);
  frame[0] = 15;
  peer.send(frame);
  EXPECT_TRUE(peer.was_hung_up_on());
  EXPECT_EQ(logged(peer),
            session_prefix() + "malformed message: frame of 15 bytes is shorter than its seal");
}

// One frame in pieces of one byte, several frames in one piece: bytes are bytes.
TEST_F(Refusal, OddPiecesAreFine) {
  RawPeer peer(server->port());
  peer.shake_hands(*munged);
  for (const char byte : peer.sealed_ping(1)) peer.send(std::string(1, byte));
  peer.skip_frame();
  peer.send(peer.sealed_ping(2) + peer.sealed_ping(3) + peer.sealed_ping(4).substr(0, 5));
  peer.skip_frame();
  peer.skip_frame();
}

}  // namespace
}  // namespace rota::net
