// commands/input_pump.h - this command's input to a process in a job, as fast as that takes it.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>

#include "net/connection.h"

namespace rota::commands {

/// Reads a file and sends it as ExecData under one call, no more of it than there is credit for.
class InputPump : public std::enable_shared_from_this<InputPump> {
 public:
  InputPump(const boost::asio::any_io_executor& executor,
            std::shared_ptr<net::Connection> connection, std::uint32_t call, int fd);
  /// Begins; once.
  void start();
  void grant(std::uint64_t bytes);

 private:
  net::awaitable<void> run();

  boost::asio::any_io_executor executor_;
  std::shared_ptr<net::Connection> connection_;
  std::uint32_t call_;
  int fd_;
  std::uint64_t credit_ = 0;
  boost::asio::steady_timer granted_;  // never expires: cancelled to wake us
};

}  // namespace rota::commands
