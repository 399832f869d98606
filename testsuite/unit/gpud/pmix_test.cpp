// testsuite/unit/gpud/pmix_test.cpp - PMIx servers of a step among themselves: who is let in, and
// when a fence is complete.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "gpud/launch/pmix_book.h"
#include "gpud/launch/pmix_link.h"
#include "proto/pmix_words.h"

namespace rota::gpud {
namespace {

const std::string secret(32, 's');

struct Pair {
  Fd caller, called;
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    caller.reset(ends[0]);
    called.reset(ends[1]);
  }
};

/// Both sides write and read until nothing moves; the first error of either.
std::string talk(PmixLink& one, PmixLink& other) {
  for (int i = 0; i < 20; ++i)
    for (PmixLink* link : {&one, &other}) {
      for (const Result<void>& done : {link->write(), link->read()})
        if (!done) return done.error().detail;
    }
  return {};
}

TEST(PmixLink, WhoKnowsTheSecretIsHeard) {
  Pair ends;
  PmixLink caller = PmixLink::calling(std::move(ends.caller), secret, 2);
  PmixLink called = PmixLink::answering(std::move(ends.called), secret, 3);
  EXPECT_EQ(talk(caller, called), "");
  ASSERT_TRUE(caller.is_proved() && called.is_proved());
  EXPECT_EQ(called.place(), 2u);
  ASSERT_TRUE(caller.send("first") && caller.send("") && called.send(std::string(300'000, 'x')));
  EXPECT_EQ(talk(caller, called), "");
  EXPECT_EQ(called.next(), "first");
  EXPECT_EQ(called.next(), "");
  EXPECT_EQ(called.next(), std::nullopt);
  EXPECT_EQ(caller.next(), std::string(300'000, 'x'));
}

TEST(PmixLink, WhoDoesNotIsTurnedAway) {
  Pair ends;
  PmixLink caller = PmixLink::calling(std::move(ends.caller), std::string(32, 'x'), 2);
  PmixLink called = PmixLink::answering(std::move(ends.called), secret, 3);
  EXPECT_EQ(talk(caller, called), "it does not know the step's secret");
  EXPECT_FALSE(called.is_proved());
  EXPECT_FALSE(caller.is_proved());
}

// A server that has not got the secret gets nothing from who calls it.
TEST(PmixLink, ACalledStrangerIsLeft) {
  Pair ends;
  PmixLink caller = PmixLink::calling(std::move(ends.caller), secret, 1);
  const std::string nonce(16, 'n'), lie(32, 'l');
  ASSERT_EQ(::send(ends.called.get(), nonce.data(), nonce.size(), 0), 16);
  ASSERT_TRUE(caller.read() && caller.write());
  ASSERT_EQ(::send(ends.called.get(), lie.data(), lie.size(), 0), 32);
  EXPECT_EQ(caller.read().error().detail, "it does not know the step's secret");
}

TEST(PmixLink, OnlyPlacesOfTheStepMayCall) {
  for (const std::uint32_t place : {0u, 3u, 4'000'000'000u}) {
    Pair ends;
    PmixLink caller = PmixLink::calling(std::move(ends.caller), secret, place);
    PmixLink called = PmixLink::answering(std::move(ends.called), secret, 3);
    EXPECT_EQ(talk(caller, called), "it does not know the step's secret") << place;
  }
}

/// What a man in the middle passes on from `from` to `to`.
std::string passed(int from) {
  char block[4096];
  const ssize_t size = ::recv(from, block, sizeof block, MSG_DONTWAIT);
  return std::string(block, size > 0 ? static_cast<std::size_t>(size) : 0);
}

class PmixMiddle : public ::testing::Test {
 protected:
  PmixMiddle()
      : caller(PmixLink::calling(std::move(left.caller), secret, 1)),
        called(PmixLink::answering(std::move(right.caller), secret, 2)) {
    for (int i = 0; i < 10; ++i) {
      step(caller, left.called.get(), right.called.get());
      step(called, right.called.get(), left.called.get());
    }
    EXPECT_TRUE(caller.is_proved() && called.is_proved());
  }
  static void step(PmixLink& link, int from, int to) {
    EXPECT_TRUE(link.write());
    const std::string bytes = passed(from);
    if (!bytes.empty()) {
      EXPECT_GT(::send(to, bytes.data(), bytes.size(), 0), 0);
    }
    EXPECT_TRUE(link.read());
  }
  std::string caught(std::string_view message) {
    EXPECT_TRUE(caller.send(message) && caller.write());
    return passed(left.called.get());
  }
  Result<void> deliver(const std::string& bytes) {
    EXPECT_GT(::send(right.called.get(), bytes.data(), bytes.size(), 0), 0);
    return called.read();
  }
  Pair left, right;
  PmixLink caller, called;
};

TEST_F(PmixMiddle, AChangedMessageIsNotTaken) {
  std::string bytes = caught("pay ada 1");
  bytes.back() = '9';
  EXPECT_EQ(deliver(bytes).error().detail, "a message was changed on its way");
}

TEST_F(PmixMiddle, ARepeatedMessageIsNotTaken) {
  const std::string bytes = caught("once");
  EXPECT_TRUE(deliver(bytes));
  EXPECT_EQ(called.next(), "once");
  EXPECT_EQ(deliver(bytes).error().detail, "a message was changed on its way");
}

TEST_F(PmixMiddle, AMessageIsNotTakenBack) {
  const std::string bytes = caught("to you");
  EXPECT_GT(::send(left.called.get(), bytes.data(), bytes.size(), 0), 0);
  EXPECT_EQ(caller.read().error().detail, "a message was changed on its way");
}

TEST_F(PmixMiddle, ALengthThatNobodySendsEndsIt) {
  EXPECT_EQ(deliver(std::string(40, '\xff')).error().detail, "a message is too long");
}

TEST(PmixMap, KnowsWhereATaskIs) {
  const PmixMap map({2, 3, 1});
  EXPECT_EQ(map.place_of(0), 0u);
  EXPECT_EQ(map.place_of(1), 0u);
  EXPECT_EQ(map.place_of(4), 1u);
  EXPECT_EQ(map.place_of(5), 2u);
  EXPECT_EQ(map.place_of(6), std::nullopt);
  EXPECT_EQ(map.places_of({}), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(map.places_of({5, 0, 1}), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(map.places_of({0, 6}), std::nullopt);
}

class PmixFence : public ::testing::Test {
 protected:
  /// "", "bad", or what all brought.
  std::string bring(const std::vector<std::uint32_t>& ranks, std::uint32_t place,
                    const std::string& data) {
    bool is_good = false;
    const auto outcome = book.bring(ranks, place, data, is_good);
    if (!is_good) return "bad";
    return outcome ? outcome->data : "";
  }
  PmixMap map{{2, 3, 1}};
  PmixBook book{map};
};

TEST_F(PmixFence, IsCompleteWithTheLast) {
  EXPECT_EQ(bring({}, 2, "c"), "");
  EXPECT_EQ(bring({}, 0, "a"), "");
  EXPECT_EQ(bring({}, 1, "b"), "abc");
  EXPECT_EQ(bring({}, 0, "A"), "");  // the next one
}

TEST_F(PmixFence, OfSomeIsApartFromThatOfAll) {
  EXPECT_EQ(bring({}, 0, "all"), "");
  EXPECT_EQ(bring({1, 5}, 0, "x"), "");
  EXPECT_EQ(bring({1, 5}, 2, "y"), "xy");
}

TEST_F(PmixFence, TakesFromEachOnceAndOnlyFromThoseInIt) {
  EXPECT_EQ(bring({1, 5}, 1, "z"), "bad");
  EXPECT_EQ(bring({1, 5}, 0, "x"), "");
  EXPECT_EQ(bring({1, 5}, 0, "x"), "bad");
  EXPECT_EQ(bring({1, 99}, 0, "x"), "bad");
}

TEST(PmixWords, AreCutFromAStream) {
  proto::PmixNews news;
  news.text = "hello";
  std::string buffer = proto::pmix_pack(news) + "rest";
  std::string early = buffer.substr(0, 6);
  EXPECT_EQ(proto::pmix_unpack(early).value(), std::nullopt);
  const auto body = proto::pmix_unpack(buffer);
  ASSERT_TRUE(body && *body);
  EXPECT_EQ(proto::decode<proto::PmixNews>(**body).value(), news);
  EXPECT_EQ(buffer, "rest");
  std::string nonsense(8, '\xff');
  EXPECT_FALSE(proto::pmix_unpack(nonsense));
}

}  // namespace
}  // namespace rota::gpud
