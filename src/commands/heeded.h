// commands/heeded.h - the signals that a command passes on.
#pragma once
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <initializer_list>

namespace rota::commands {

/// Adds them to `set`, but for those that were ignored when we started (nohup): they stay so.
inline void heed_unless_ignored(boost::asio::signal_set& set, std::initializer_list<int> signals) {
  for (const int signal : signals) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    boost::system::error_code ignored;
    set.add(signal, ignored);
  }
}

}  // namespace rota::commands
