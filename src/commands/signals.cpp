// commands/signals.cpp - asks the C library for the names.
#include "commands/signals.h"

#include <csignal>
#include <cstring>
#include <string>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/job.h"

namespace rota::commands {

Result<int> signal_from(std::string_view text) {
  if (auto number = number_parse(text, JobBounds::signal_max); number && *number > 0)
    return static_cast<int>(*number);
  std::string name;
  for (const char c : text) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* known = sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  return Error{Errc::usage,
               format("{} is no signal; write a name such as TERM or USR1, or a number "
                      "from 1 to {}",
                      quoted(text), JobBounds::signal_max)};
}

}  // namespace rota::commands
