// commands/terminal.cpp - termios.
#include "commands/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace rota::commands {

WindowSize window_size() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return {size.ws_row, size.ws_col};
  }
  return {};
}

void RawInput::raw() {
  if (is_raw_ || tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios modes = before_;
  cfmakeraw(&modes);
  is_raw_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &modes) == 0;
}

void RawInput::cooked() {
  if (!is_raw_) return;
  is_raw_ = false;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

std::vector<std::string> terminal_environment() {
  std::vector<std::string> variables;
  for (const char* name : {"TERM", "COLORTERM"})
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + '=' + value);
  return variables;
}

}  // namespace rota::commands
