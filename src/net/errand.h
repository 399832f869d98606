// net/errand.h - blocking calls (MUNGE, name look-up) on threads that nobody ever has to wait for.
#pragma once
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "net/wakeup.h"

namespace rota::net {

/// A few threads, started when there is work. Neither libmunge nor getaddrinfo can be interrupted,
/// and both may hang for ten seconds; so the threads are detached, an errand can be given up at its
/// deadline, and a pool that goes away leaves them to end by themselves without touching the
/// executor again.
class ErrandPool {
 public:
  ErrandPool(boost::asio::any_io_executor executor, unsigned threads_max);
  ~ErrandPool();
  ErrandPool(const ErrandPool&) = delete;
  ErrandPool& operator=(const ErrandPool&) = delete;

  /// From now on nothing is started; whoever waits is told so at once. Called on the executor's
  /// thread.
  void abandon();

 private:
  template <class T>
  friend class Errand;
  struct Shared;
  /// Runs `call` on a thread, then wakes `waiter` on the executor; drops both if the waiter is gone
  /// by then. False when no thread can be had.
  bool start(std::function<void()> call, std::weak_ptr<Wakeup> waiter);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
};

/// One blocking call under way. `call` owns all that it uses: it may outlive whoever asked for it.
template <class T>
class Errand {
 public:
  Errand(ErrandPool& pool, std::function<Result<T>()> call)
      : answer_(std::make_shared<Answer>()), wakeup_(std::make_shared<Wakeup>(pool.executor_)) {
    auto work = [answer = answer_, call = std::move(call)] {
      answer->value.emplace(call());
      answer->ready = true;
    };
    started_ = pool.start(std::move(work), wakeup_);
  }

  /// Asked for once. timed_out when the deadline comes first: the errand is then given up.
  boost::asio::awaitable<Result<T>> result(Deadline deadline) {
    if (!started_) co_return Error{Errc::internal, "no thread can be started"};
    const bool woken = co_await wakeup_->wait(deadline);
    wakeup_.reset();
    if (!woken) co_return Error{Errc::timed_out, "no answer in time"};
    if (!answer_->ready) co_return Error{Errc::internal, "given up: this process is ending"};
    co_return std::move(*answer_->value);
  }

 private:
  struct Answer {
    std::optional<Result<T>> value;  // the thread's until `ready`, ours after that
    std::atomic<bool> ready = false;
  };
  std::shared_ptr<Answer> answer_;
  std::shared_ptr<Wakeup> wakeup_;
  bool started_ = false;
};

}  // namespace rota::net
