// commands/utf8.h - UTF-8 from anybody: one character at a time, with what is not UTF-8 named as
// such.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rota::commands {

/// The character at the front of a text that is not empty.
struct Utf8Char {
  std::uint32_t code = 0;  // U+FFFD where the bytes are no UTF-8
  std::size_t size = 1;    // bytes it takes; a bad byte counts for one
  bool valid = false;
};
Utf8Char utf8_front(std::string_view text);

/// Columns that it takes on a terminal: 0 for combining marks, 2 for East Asian wide characters.
std::size_t column_count(std::uint32_t code);

}  // namespace rota::commands
