// net/hang_guard.h - the end of a command whose blocking call hangs.
#pragma once
#include <chrono>
#include <string>

namespace rota::net {

/// While it lives: at `deadline` the process writes `message` and a newline to standard error and
/// ends with `exit_code`. It takes SIGALRM and the real-time interval timer for as long, and puts
/// both back. Only for a process that does nothing else meanwhile and leaves nothing behind: a
/// command.
class HangGuard {
 public:
  HangGuard(std::chrono::steady_clock::time_point deadline, std::string message, int exit_code);
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;
};

}  // namespace rota::net
