// testsuite/unit/net/flood_test.cpp - too many connections, too few descriptors.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "harness.h"
#include "raw_peer.h"

namespace rota::net {
namespace {

/// As many descriptors as the host allows; the limit of before comes back at the end.
class DescriptorLimit {
 public:
  DescriptorLimit() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit wanted = before_;
    wanted.rlim_cur = wanted.rlim_max;
    setrlimit(RLIMIT_NOFILE, &wanted);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  std::size_t count() const { return before_.rlim_max; }
  void lower_to(rlim_t count) {
    rlimit wanted = before_;
    wanted.rlim_cur = count;
    setrlimit(RLIMIT_NOFILE, &wanted);
  }

 private:
  rlimit before_{};
};

TEST(Flood, TheOldestHandshakeMakesWay) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Server server(shared_munged(), [](ListenerOptions& options) { options.half_open_max = 2; });
  RawPeer first(server.port());
  RawPeer second(server.port());
  RawPeer third(server.port());
  EXPECT_TRUE(first.was_hung_up_on());
  EXPECT_EQ(
      log.line_with("refused " + first.address()),
      "refused " + first.address() +
          ": too many connections: made way for a newer connection: 2 handshakes were under way");
  second.send(second.hello(shared_munged()));
  EXPECT_EQ(second.answer_text(), "welcome");
  third.send(third.hello(shared_munged()));
  EXPECT_EQ(third.answer_text(), "welcome");
}

/// Connects, says nothing or not enough, and stays.
std::unique_ptr<RawPeer> half_open(std::uint16_t port, std::size_t number) {
  auto peer = std::make_unique<RawPeer>(port);
  if (number % 2 == 0) peer->send("ROTA");
  return peer;
}

// Strangers go first; one that MUNGE has vouched for only makes way for others like it.
TEST(Flood, WhoHasShownACredentialStaysLonger) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Server server(shared_munged(), [](ListenerOptions& options) { options.half_open_max = 2; });
  RawPeer known(server.port());
  known.shake_hands(shared_munged());
  std::vector<std::unique_ptr<RawPeer>> strangers;
  for (std::size_t i = 0; i < 10; ++i) strangers.push_back(half_open(server.port(), i));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(strangers[i]->was_hung_up_on());
  known.send(known.sealed_ping(1));
  known.skip_frame();
  EXPECT_EQ(server.sessions(), 1u);
}

// Ten thousand connect as fast as they can and stay. Good clients that come in between all get
// their session; once the storm is a steady rain, each within a second. A session that was there
// before notices nothing, and the log does not grow with the flood.
TEST(Flood, TenThousandHalfOpenConnectionsStopNobody) {
  ROTA_NEEDS_MUNGED();
  DescriptorLimit descriptors;
  const std::size_t attackers_max = std::min<std::size_t>(
      10'000, descriptors.count() > 2'000 ? descriptors.count() - 2'000 : 100);
  LogCapture log;
  Server server(shared_munged());
  Client witness(server, shared_munged());
  ASSERT_EQ(witness.ping(1), "pong 1");

  std::vector<std::unique_ptr<RawPeer>> attackers;
  std::atomic<bool> storm = true;
  std::jthread attack([&] {
    while (attackers.size() < attackers_max)
      attackers.push_back(half_open(server.port(), attackers.size()));
    storm = false;
  });
  std::uint64_t good = 0;
  do {
    Client client(server, shared_munged());
    EXPECT_EQ(client.ping(good), format("pong {}", good));
    ++good;
  } while (storm);
  attack.join();
  // The kernel hands connections over in their order: behind this one, nothing of the storm is
  // left.
  Client last(server, shared_munged());
  ASSERT_EQ(last.ping(good), format("pong {}", good));

  for (std::size_t round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 50; ++i) attackers[round * 50 + i] = half_open(server.port(), i);
    const auto start = std::chrono::steady_clock::now();
    Client client(server, shared_munged());
    EXPECT_EQ(client.ping(round), format("pong {}", round));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1s) << "round " << round;
  }
  EXPECT_EQ(witness.ping(2), "pong 2");
  EXPECT_GE(log.count("made way"), 1u);
  EXPECT_LE(log.count("\n"), 200u);
}

TEST(Flood, WhenAllSessionsAreTakenTheNextIsToldSo) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Server server(shared_munged(), [](ListenerOptions& options) { options.sessions_max = 2; });
  Client first(server, shared_munged());
  EXPECT_EQ(first.ping(1), "pong 1");
  {
    Client second(server, shared_munged());
    EXPECT_EQ(second.ping(2), "pong 2");
    Client third(server, shared_munged());
    EXPECT_EQ(third.error(),
              format("too many connections: {} refused: all sessions are taken; try again later",
                     server.address()));
    log.line_with("too many connections: all sessions are taken");
  }
  server.next_end();
  Client fourth(server, shared_munged());
  EXPECT_EQ(fourth.ping(4), "pong 4");
}

TEST(Flood, WithoutDescriptorsTheListenerWaitsAndGoesOn) {
  ROTA_NEEDS_MUNGED();
  DescriptorLimit descriptors;
  LogCapture log;
  Server server(shared_munged());
  Client witness(server, shared_munged());
  ASSERT_EQ(witness.ping(1), "pong 1");

  // All but one descriptor are used up; that one is the client's, so there is none to accept it
  // with.
  descriptors.lower_to(200);
  std::vector<int> hoard;
  for (int fd; (fd = dup(STDERR_FILENO)) >= 0;) hoard.push_back(fd);
  close(hoard.back());
  hoard.pop_back();
  RawPeer peer(server.port());
  const std::string line = log.line_with("cannot accept");
  EXPECT_EQ(line,
            "refused connections to 127.0.0.1:0: input/output error: cannot accept: Too many "
            "open files");
  EXPECT_EQ(witness.ping(2), "pong 2");

  for (const int fd : hoard) close(fd);
  peer.send(peer.hello(shared_munged()));
  EXPECT_EQ(peer.answer_text(), "welcome");
}

// munged stands still, and with it two handshakes; sessions that exist go on, and the others are
// refused in their time.
TEST(Flood, AFrozenMungedDelaysNoSession) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Munged munged;
  Server server(munged, [](ListenerOptions& options) {
    options.handshake_limit = 300ms;
    options.half_open_max = 4;
  });
  Client witness(server, munged);
  ASSERT_EQ(witness.ping(1), "pong 1");
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::vector<std::string> hellos;
  for (int i = 0; i < 8; ++i) {
    peers.push_back(std::make_unique<RawPeer>(server.port()));
    hellos.push_back(peers.back()->hello(munged));
  }
  munged.freeze();
  for (int i = 4; i < 8; ++i) peers[i]->send(hellos[i]);  // the first four made way for these
  EXPECT_EQ(witness.ping(2), "pong 2");
  for (int i = 4; i < 8; ++i) EXPECT_TRUE(peers[i]->was_hung_up_on());
  EXPECT_NE(log.line_with("munged did not answer in time").find("refused 127.0.0.1:"),
            std::string::npos);
  EXPECT_EQ(witness.ping(3), "pong 3");
  munged.thaw();
  Client newcomer(server, munged);
  EXPECT_EQ(newcomer.ping(4), "pong 4");
}

TEST(Flood, TheListenerStopsAtOnceWhateverIsUnderWay) {
  ROTA_NEEDS_MUNGED();
  Munged munged;
  std::optional<Server> server(std::in_place, munged);
  RawPeer silent(server->port());
  RawPeer waiting(server->port());
  const std::string hello = waiting.hello(munged);
  munged.freeze();
  waiting.send(hello);
  server->on_thread([] {});
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  EXPECT_TRUE(silent.was_hung_up_on());
  EXPECT_TRUE(waiting.was_hung_up_on());
}

}  // namespace
}  // namespace rota::net
