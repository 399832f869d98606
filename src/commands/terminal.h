// commands/terminal.h - this command's own terminal: its size, and raw while another one is behind
// it.
#pragma once
#include <termios.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rota::commands {

struct WindowSize {
  std::uint16_t rows = 0;  // 0: there is no terminal
  std::uint16_t columns = 0;
};
/// Of the terminal at standard input, output or errors, whichever is one.
WindowSize window_size();

/// Standard input passes every key on as it is, from raw() to cooked() or the end. Where it is no
/// terminal, nothing happens.
class RawInput {
 public:
  RawInput() = default;
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;
  ~RawInput() { cooked(); }

  void raw();
  void cooked();
  bool is_raw() const { return is_raw_; }

 private:
  termios before_{};
  bool is_raw_ = false;
};

/// What a program on a terminal wants to know of it: TERM=... and such, from our own environment.
std::vector<std::string> terminal_environment();

}  // namespace rota::commands
