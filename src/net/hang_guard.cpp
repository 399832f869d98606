// net/hang_guard.cpp - an alarm whose handler does only what a handler may: write and _exit.
#include "net/hang_guard.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "common/assert.h"

namespace rota::net {
namespace {

// What the handler says: written before the alarm is set, only read after that.
std::string last_words;
int last_code = 0;
bool guarding = false;
struct sigaction before;

void give_up(int) {
  const ssize_t ignored = write(STDERR_FILENO, last_words.data(), last_words.size());
  static_cast<void>(ignored);
  _exit(last_code);
}

void set_alarm(std::chrono::microseconds after) {
  itimerval timer{};
  timer.it_value.tv_sec = after.count() / 1'000'000;
  timer.it_value.tv_usec = after.count() % 1'000'000;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

HangGuard::HangGuard(std::chrono::steady_clock::time_point deadline, std::string message,
                     int exit_code) {
  ROTA_ASSERT(!guarding);
  guarding = true;
  last_words = std::move(message) + "\n";
  last_code = exit_code;
  struct sigaction action {};
  action.sa_handler = give_up;
  sigaction(SIGALRM, &action, &before);
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
      deadline - std::chrono::steady_clock::now());
  set_alarm(std::max(left, std::chrono::microseconds(1)));
}

HangGuard::~HangGuard() {
  set_alarm(std::chrono::microseconds(0));
  sigaction(SIGALRM, &before, nullptr);
  guarding = false;
}

}  // namespace rota::net
