// net/wakeup.h - one coroutine waits, with a limit, until somebody wakes it.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "common/time.h"

namespace rota::net {

/// Completion token: the error code comes back as a value, nothing is thrown.
inline constexpr auto no_throw = boost::asio::as_tuple(boost::asio::use_awaitable);

using Deadline = std::chrono::steady_clock::time_point;

/// `limit` from now; a limit of years (Duration::max() for "none") does not overflow.
inline Deadline deadline_after(Duration limit) {
  constexpr Duration longest = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + (limit < longest ? limit : longest);
}

/// A timer that is armed once per wait and cut short by notify(). A notify() that comes before the
/// wait is not lost. All calls from the executor's thread; one waiter at a time.
class Wakeup {
 public:
  explicit Wakeup(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  void notify() {
    notified_ = true;
    if (waiting_) timer_.cancel();
  }

  /// True when notified, false when the deadline passed first.
  boost::asio::awaitable<bool> wait(Deadline deadline) {
    if (!notified_) {
      timer_.expires_at(deadline);
      waiting_ = true;
      co_await timer_.async_wait(no_throw);
      waiting_ = false;
    }
    co_return std::exchange(notified_, false);
  }

 private:
  boost::asio::steady_timer timer_;
  bool notified_ = false;
  bool waiting_ = false;
};

}  // namespace rota::net
