// net/refusal_log.h - log lines about refused peers, few enough that no flood fills a disk.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace rota::net {

/// Which lines are written and which are only counted. Each cause (error code) has an allowance of
/// its own, so that a flood of one cannot hide another. Pure: time is an argument.
class RefusalCount {
 public:
  static constexpr std::uint32_t burst = 20;                              // lines at once
  static constexpr Duration refill = std::chrono::seconds(2);             // one more line each
  static constexpr Duration summary_interval = std::chrono::seconds(10);  // of what was left out

  /// Whether this one gets a line.
  bool admit(Errc cause, std::string_view line, MonoTime now);
  /// One line for each cause that had some left out; they then count from zero again.
  std::vector<std::string> take_summaries();
  bool has_left_out() const;

 private:
  struct Allowance {
    std::uint32_t lines = burst;
    MonoTime since;  // when `lines` was right
    std::uint64_t left_out = 0;
    std::string last;
  };
  std::map<Errc, Allowance> allowances_;
};

/// Shared by a listener, its handshakes and its sessions. On the executor's thread.
class RefusalLog : public std::enable_shared_from_this<RefusalLog> {
 public:
  explicit RefusalLog(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  /// "refused 127.0.0.1:40312: authentication failed: replayed credential ..."
  void refused(std::string_view peer, const Error& why);
  /// Writes the outstanding counts now.
  void flush();

 private:
  void summarize_later();

  RefusalCount count_;
  boost::asio::steady_timer timer_;
  bool timer_runs_ = false;
};

}  // namespace rota::net
