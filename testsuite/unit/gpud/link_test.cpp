// testsuite/unit/gpud/link_test.cpp - the session with the controller, against one that is not
// there.
#include "gpud/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>

#include "fake_connection.h"

namespace rota::gpud {
namespace {

using net::FakeConnection;
using namespace std::chrono_literals;

/// A controller of the test's making, and a list of what the link did.
class LinkTest : public ::testing::Test {
 protected:
  LinkTest() {
    Link::Events events;
    events.connected = [this](std::shared_ptr<net::Connection> connection) {
      connection->send(proto::NodeHello{}, 1);
      note("hello");
    };
    events.welcomed = [this](const proto::NodeWelcome&) { note("welcomed"); };
    events.received = [this](const proto::Frame& frame) -> Result<void> {
      note("frame " + std::to_string(frame.type));
      if (frame.type == proto::LaunchRun::number) return Error{Errc::malformed, "no"};
      return {};
    };
    events.disconnected = [this] { note("disconnected"); };
    events.in_contact = [](MonoTime) {};
    events.heartbeat = [this] {
      note("beat");
      return proto::Heartbeat{};
    };
    link.emplace(
        io.get_executor(), [this] { return dial(); }, std::move(events), BackOff(5ms, 1));
  }

  net::awaitable<Result<std::shared_ptr<net::Connection>>> dial() {
    ++dials;
    if (refusals > 0) {
      --refusals;
      co_return Error{Errc::unreachable, "nobody there"};
    }
    connection = std::make_shared<FakeConnection>(io.get_executor(), 0);
    co_return connection;
  }
  void note(const std::string& word) { notes.push_back(word); }
  /// Runs until the condition holds; false after ten seconds.
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_for(2ms);
    }
    return condition();
  }
  bool has(const std::string& word) const {
    return std::find(notes.begin(), notes.end(), word) != notes.end();
  }
  proto::NodeWelcome welcome(std::int64_t heartbeat_ms, std::int64_t lost_after_ms) const {
    proto::NodeWelcome message;
    message.settings.heartbeat_ms = heartbeat_ms;
    message.settings.lost_after_ms = lost_after_ms;
    return message;
  }

  boost::asio::io_context io;
  std::optional<Link> link;
  std::shared_ptr<FakeConnection> connection;
  std::vector<std::string> notes;
  int dials = 0;
  int refusals = 0;
};

TEST_F(LinkTest, DialsUntilSomebodyAnswers) {
  refusals = 5;
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  EXPECT_EQ(dials, 6);
  EXPECT_EQ(connection->sent_of<proto::NodeHello>().size(), 1u);
}

TEST_F(LinkTest, BeatsOnceWelcomed) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  EXPECT_FALSE(has("beat"));
  connection->arrive(welcome(50, 60'000), 1);
  ASSERT_TRUE(until([&] { return connection->sent_of<proto::Heartbeat>().size() >= 3; }));
  EXPECT_TRUE(has("welcomed"));
}

TEST_F(LinkTest, OrdersReachTheAgentAlsoBeforeTheWelcome) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  connection->arrive(proto::EndRun{});
  connection->arrive(welcome(1000, 60'000), 1);
  connection->arrive(proto::ForgetRun{});
  ASSERT_TRUE(until([&] { return has("frame 207"); }));
  EXPECT_EQ(notes,
            (std::vector<std::string>{"hello", "frame 206", "welcomed", "beat", "frame 207"}));
}

TEST_F(LinkTest, ASilentControllerIsLeft) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  connection->arrive(welcome(50, 200), 1);
  const auto first = connection;
  ASSERT_TRUE(until([&] { return dials == 2; }));
  EXPECT_FALSE(first->is_open());
  EXPECT_TRUE(has("disconnected"));
}

TEST_F(LinkTest, ARefusedHelloIsTriedAgainLater) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  connection->arrive(proto::ErrorReply{static_cast<std::uint16_t>(Errc::denied), "no"}, 1);
  ASSERT_TRUE(until([&] { return dials == 2; }));
  EXPECT_FALSE(has("welcomed"));
  EXPECT_TRUE(has("disconnected"));
}

TEST_F(LinkTest, AControllerThatForgotUsIsGreetedAgain) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  connection->arrive(welcome(50, 60'000), 1);
  connection->arrive(proto::HeartbeatReply{false}, 2);
  ASSERT_TRUE(until([&] { return dials == 2; }));
}

TEST_F(LinkTest, AnOrderThatMakesNoSenseEndsTheSession) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  connection->arrive(welcome(50, 60'000), 1);
  connection->arrive(proto::LaunchRun{});
  ASSERT_TRUE(until([&] { return dials == 2; }));
}

TEST_F(LinkTest, StopEndsTheSessionAndDialsNoMore) {
  link->start();
  ASSERT_TRUE(until([&] { return has("hello"); }));
  connection->arrive(welcome(50, 60'000), 1);
  ASSERT_TRUE(until([&] { return has("beat"); }));
  link->stop();
  io.restart();
  io.run();  // comes back: nothing is left to do
  EXPECT_EQ(dials, 1);
  EXPECT_FALSE(connection->is_open());
}

TEST(BackOffTest, DoublesUpToItsBoundAndSpreads) {
  BackOff back_off(2s, 7);
  Duration bound = 100ms;
  Duration longest{};
  for (int i = 0; i < 40; ++i) {
    const Duration pause = back_off.next();
    EXPECT_LE(pause, bound) << i;
    EXPECT_GE(pause, Duration::zero());
    bound = std::min<Duration>(2 * bound, 2s);
    longest = std::max(longest, pause);
  }
  EXPECT_GT(longest, 1s);
  back_off.reset();
  EXPECT_LE(back_off.next(), 100ms);
}

}  // namespace
}  // namespace rota::gpud
