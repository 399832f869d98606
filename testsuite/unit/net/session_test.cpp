// testsuite/unit/net/session_test.cpp - good sessions: both ways, much at once, to the end.
#include <gtest/gtest.h>

#include "harness.h"

namespace rota::net {
namespace {

std::string text_of(const Result<proto::Frame>& frame) {
  if (!frame) return frame.error().message();
  const auto chunk = proto::decode<proto::LogChunk>(frame->body);
  return chunk ? chunk->data : chunk.error().message();
}

void say(Connection& connection, std::string words) {
  proto::LogChunk chunk;
  chunk.data = std::move(words);
  connection.send(chunk);
}

awaitable<void> close_gently_and_report(std::shared_ptr<Connection> session,
                                        std::promise<std::size_t>* left) {
  co_await session->close_gently(20s);
  left->set_value(session->backlog_bytes());
}

TEST(Session, AsksAndIsAnswered) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(server, shared_munged());
  EXPECT_EQ(client.ping(7), "pong 7");
  EXPECT_EQ(client.ping(8), "pong 8");
  EXPECT_EQ(server.sessions(), 1u);
  EXPECT_TRUE(client.connection().is_open());
}

TEST(Session, BothSidesKnowWhoTheOtherIs) {
  ROTA_NEEDS_MUNGED();
  std::promise<Peer> seen;
  Server server(shared_munged(), {},
                [&seen](std::shared_ptr<Connection> session) { seen.set_value(session->peer()); });
  Client client(server, shared_munged());
  ASSERT_EQ(client.error(), "");
  EXPECT_EQ(client.connection().peer().uid, geteuid());
  EXPECT_EQ(client.connection().peer().gid, getegid());
  EXPECT_EQ(client.connection().peer().address, server.address());
  say(client.connection(), "here I am");
  EXPECT_FALSE(client.read());  // the server dropped the session
  const Peer peer = seen.get_future().get();
  EXPECT_EQ(peer.uid, geteuid());
  EXPECT_EQ(peer.gid, getegid());
  EXPECT_TRUE(peer.address.starts_with("127.0.0.1:")) << peer.address;
}

// Without a first frame there is no proof that the client holds the key.
TEST(Session, IsHandedOverWithItsFirstFrame) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(server, shared_munged());
  ASSERT_EQ(client.error(), "");
  EXPECT_EQ(server.sessions(), 0u);
  EXPECT_EQ(client.ping(1), "pong 1");
  EXPECT_EQ(server.sessions(), 1u);
}

TEST(Session, TenThousandFramesAtOnceComeBackInOrder) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(server, shared_munged());
  ASSERT_EQ(client.error(), "");
  proto::PingRequest ping;
  for (ping.token = 0; ping.token < 10'000; ++ping.token)
    client.connection().send(ping, static_cast<std::uint32_t>(ping.token));
  for (std::uint64_t token = 0; token < 10'000; ++token) {
    const auto frame = client.read();
    ASSERT_TRUE(frame) << frame.error().message();
    ASSERT_EQ(frame->call, token);
    ASSERT_EQ(reply_from<proto::PingReply>(*frame)->token, token);
  }
  EXPECT_EQ(client.connection().backlog_bytes(), 0u);
}

TEST(Session, LargeAndSmallFramesMix) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(server, shared_munged());
  ASSERT_EQ(client.error(), "");
  proto::SubmitRequest large;
  large.payload.script = std::string(15 << 20, 's');
  const std::string sizes[] = {std::string(1, 'a'), std::string(100'000, 'b'), "",
                               std::string((1 << 20) - 8, 'c'), std::string(4077, 'd')};
  for (int round = 0; round < 3; ++round) {
    client.connection().send(large, 5, proto::frame_more);
    for (const std::string& size : sizes) say(client.connection(), size);
  }
  for (int round = 0; round < 3; ++round) {
    const auto frame = client.read();
    ASSERT_TRUE(frame) << frame.error().message();
    EXPECT_EQ(frame->type, proto::SubmitRequest::number);
    EXPECT_EQ(frame->call, 5u);
    EXPECT_EQ(frame->flags, proto::frame_more);
    EXPECT_EQ(proto::decode<proto::SubmitRequest>(frame->body)->payload.script,
              large.payload.script);
    for (const std::string& size : sizes) EXPECT_EQ(text_of(client.read()), size);
  }
}

TEST(Session, AReadThatTimesOutLosesNothing) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(server, shared_munged());
  EXPECT_EQ(client.ping(1), "pong 1");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(text_of(client.read(1ms)), "timed out: nothing came in time");
  EXPECT_TRUE(client.connection().is_open());
  EXPECT_EQ(client.ping(2), "pong 2");
}

TEST(Session, ReadSaysThatThePeerIsGone) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  {
    Client client(server, shared_munged());
    EXPECT_EQ(client.ping(1), "pong 1");
  }
  EXPECT_EQ(server.next_end(), "connection lost: the peer closed the connection");
}

TEST(Session, CloseEndsItHereAndThere) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Server server(shared_munged());
  Client client(server, shared_munged());
  EXPECT_EQ(client.ping(1), "pong 1");
  client.connection().close("enough");
  EXPECT_FALSE(client.connection().is_open());
  EXPECT_EQ(text_of(client.read()), "connection lost: closed here: enough");
  say(client.connection(), "dropped in silence");
  EXPECT_EQ(server.next_end(), "connection lost: the peer closed the connection");
  EXPECT_NE(log.line_with("closed: enough"), "");
}

// The last words of a session arrive although its owner has already turned away: 8 MB of them are
// far more than the kernel's buffers take at once.
TEST(Session, WhatWasSentBeforeTheEndArrives) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged(), {}, [](std::shared_ptr<Connection> session) {
    for (int i = 0; i < 8; ++i) say(*session, std::string(1'000'000, 'x'));
    say(*session, "farewell");
  });
  Client client(server, shared_munged());
  ASSERT_EQ(client.error(), "");
  say(client.connection(), "hello");
  say(client.connection(), "words that nobody reads must not take back the answer");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(text_of(client.read()).size(), 1'000'000u);
  EXPECT_EQ(text_of(client.read()), "farewell");
  EXPECT_EQ(text_of(client.read()), "connection lost: the peer closed the connection");
}

TEST(Session, CloseGentlyWritesWhatIsQueued) {
  ROTA_NEEDS_MUNGED();
  std::promise<std::size_t> left;
  Server* running = nullptr;
  Server server(shared_munged(), {}, [&](std::shared_ptr<Connection> session) {
    for (int i = 0; i < 8; ++i) say(*session, std::string(1'000'000, 'x'));
    asio::co_spawn(running->io(), close_gently_and_report(session, &left), rethrow);
  });
  running = &server;
  Client client(server, shared_munged());
  say(client.connection(), "hello");
  say(client.connection(), "words that nobody reads must not take back the answer");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(text_of(client.read()).size(), 1'000'000u);
  EXPECT_EQ(text_of(client.read()), "connection lost: the peer closed the connection");
  EXPECT_EQ(left.get_future().get(), 0u);
}

TEST(Session, BacklogGoesDownAsThePeerReads) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(server, shared_munged());
  ASSERT_EQ(client.error(), "");
  for (int i = 0; i < 20; ++i) say(client.connection(), std::string(1'000'000, 'x'));
  EXPECT_GE(client.connection().backlog_bytes(), 20'000'000u);
  run(client.io(), client.connection().backlog_below(1'000'000));
  EXPECT_LT(client.connection().backlog_bytes(), 1'000'000u);
  run(client.io(), client.connection().backlog_below(0));  // nothing is below this: back when empty
  EXPECT_EQ(client.connection().backlog_bytes(), 0u);
}

// The server answers all it is sent; this client never reads. 256 MiB may wait for it, no more.
TEST(Session, APeerThatDoesNotReadIsCutOff) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Server server(shared_munged(), {}, [](std::shared_ptr<Connection> session) {
    const std::string megabyte((1 << 20) - 100, 'x');
    for (int i = 0; i < 300 && session->is_open(); ++i) say(*session, megabyte);
    EXPECT_FALSE(session->is_open());
    EXPECT_EQ(session->backlog_bytes(), 0u);
  });
  Client client(server, shared_munged());
  say(client.connection(), "go on");
  run(client.io(), client.connection().backlog_below(1));
  const std::string line = log.line_with("does not read them");
  EXPECT_TRUE(line.starts_with("refused 127.0.0.1:")) << line;
  EXPECT_TRUE(
      line.ends_with("bytes wait for this peer, which does not read them; at most 268435456 "
                     "may"))
      << line;
}

TEST(Session, AFrameOverItsLimitIsNotEvenSent) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Server server(shared_munged());
  Client client(server, shared_munged());
  EXPECT_EQ(client.ping(1), "pong 1");
  say(client.connection(), std::string((1 << 20) + 1, 'x'));
  EXPECT_FALSE(client.connection().is_open());
  EXPECT_EQ(
      text_of(client.read()),
      "frame too long: 1048585 bytes of type 302 were to be sent, at most 1048576 are allowed");
}

}  // namespace
}  // namespace rota::net
