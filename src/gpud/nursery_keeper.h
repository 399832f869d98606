// gpud/nursery_keeper.h - keeps rstepd's nursery alive and its orders in line.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>

#include "common/result.h"
#include "gpud/launch/file.h"
#include "gpud/launch/nursery.h"

namespace rota::gpud {

/// rgpud's end of the nursery. A nursery that dies is started again; orders that it had not taken
/// are lost, which shows as a closed line to whoever waits for the run.
class NurseryKeeper {
 public:
  NurseryKeeper(boost::asio::any_io_executor executor, std::string program, std::string node);

  /// Starts it for the first time, so that a missing program is known at once.
  Result<void> start();
  /// Takes the descriptors. Never waits: what the nursery does not take now waits here.
  void send(NurseryOrder order, std::string body, Fd first, Fd second = {}, Fd third = {});

 private:
  struct Order {
    NurseryOrder order;
    std::string body;
    Fd first;
    Fd second;
    Fd third;
  };
  void flush();
  void watch();
  void died(std::string_view why, std::chrono::milliseconds pause);

  boost::asio::any_io_executor executor_;
  std::string program_;
  std::string node_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer restart_;
  std::deque<Order> queue_;
  bool waiting_to_write_ = false;
};

}  // namespace rota::gpud
