// testsuite/unit/net/errand_test.cpp - blocking calls that hang hold nobody up.
#include "net/errand.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "harness.h"

namespace rota::net {
namespace {

/// A call that blocks until it is let go. Shared with it, because it may outlive the test.
struct Gate {
  std::binary_semaphore entered{0};
  std::binary_semaphore open{0};
};
std::function<Result<int>()> blocked_on(std::shared_ptr<Gate> gate) {
  return [gate]() -> Result<int> {
    gate->entered.release();
    gate->open.acquire();
    return 1;
  };
}

std::string text_of(const Result<int>& result) {
  return result ? std::to_string(*result) : result.error().message();
}

TEST(Errand, BringsTheAnswerOrTheError) {
  asio::io_context io;
  ErrandPool pool(io.get_executor(), 2);
  Errand<int> good(pool, []() -> Result<int> { return 42; });
  Errand<int> bad(pool, []() -> Result<int> { return Error{Errc::io_failed, "no luck"}; });
  EXPECT_EQ(text_of(run(io, good.result(deadline_after(20s)))), "42");
  EXPECT_EQ(text_of(run(io, bad.result(deadline_after(20s)))), "input/output error: no luck");
}

TEST(Errand, IsGivenUpAtItsDeadline) {
  asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  ErrandPool pool(io.get_executor(), 1);
  Errand<int> errand(pool, blocked_on(gate));
  EXPECT_EQ(text_of(run(io, errand.result(deadline_after(1ms)))), "timed out: no answer in time");
  gate->open.release();
}

TEST(Errand, OneThatWasGivenUpInTheQueueIsNeverRun) {
  asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  ErrandPool pool(io.get_executor(), 1);
  Errand<int> first(pool, blocked_on(gate));
  gate->entered.acquire();
  const auto ran = std::make_shared<std::atomic<bool>>(false);
  Errand<int> second(pool, [ran]() -> Result<int> { return *ran = true, 2; });
  EXPECT_EQ(text_of(run(io, second.result(deadline_after(1ms)))), "timed out: no answer in time");
  gate->open.release();
  Errand<int> third(pool, []() -> Result<int> { return 3; });
  EXPECT_EQ(text_of(run(io, third.result(deadline_after(20s)))), "3");
  EXPECT_FALSE(*ran);
}

TEST(Errand, TwoThreadsWorkAtOnce) {
  asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  ErrandPool pool(io.get_executor(), 2);
  Errand<int> slow(pool, blocked_on(gate));
  Errand<int> quick(pool, []() -> Result<int> { return 2; });
  EXPECT_EQ(text_of(run(io, quick.result(deadline_after(20s)))), "2");
  gate->open.release();
  EXPECT_EQ(text_of(run(io, slow.result(deadline_after(20s)))), "1");
}

TEST(Errand, AbandonedPoolTellsThoseWhoWait) {
  asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  ErrandPool pool(io.get_executor(), 1);
  Errand<int> running(pool, blocked_on(gate));
  Errand<int> queued(pool, []() -> Result<int> { return 2; });
  gate->entered.acquire();
  asio::post(io, [&] { pool.abandon(); });
  const std::string given_up = "internal error: given up: this process is ending";
  EXPECT_EQ(text_of(run(io, running.result(deadline_after(20s)))), given_up);
  EXPECT_EQ(text_of(run(io, queued.result(deadline_after(20s)))), given_up);
  Errand<int> late(pool, []() -> Result<int> { return 3; });
  EXPECT_EQ(text_of(run(io, late.result(deadline_after(20s)))),
            "internal error: no thread can be started");
  gate->open.release();
}

// munged hangs and the process ends: the executor goes first, the thread comes back later.
TEST(Errand, TheThreadMayOutliveEverything) {
  const auto gate = std::make_shared<Gate>();
  {
    asio::io_context io;
    ErrandPool pool(io.get_executor(), 1);
    Errand<int> errand(pool, blocked_on(gate));
    gate->entered.acquire();
  }
  gate->open.release();
}

}  // namespace
}  // namespace rota::net
