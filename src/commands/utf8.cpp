// commands/utf8.cpp - decodes UTF-8, without a locale.
#include "commands/utf8.h"

#include <array>

namespace rota::commands {
namespace {

constexpr Utf8Char bad{0xfffd, 1, false};

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// The blocks that matter for names of jobs and people; not all of Unicode's tables.
constexpr std::array<Range, 8> combining{{{0x300, 0x36f},
                                          {0x483, 0x489},
                                          {0x591, 0x5bd},
                                          {0x610, 0x61a},
                                          {0x1ab0, 0x1aff},
                                          {0x200b, 0x200f},
                                          {0x20d0, 0x20ff},
                                          {0xfe00, 0xfe0f}}};
constexpr std::array<Range, 9> wide{{{0x1100, 0x115f},
                                     {0x2e80, 0xa4cf},
                                     {0xac00, 0xd7a3},
                                     {0xf900, 0xfaff},
                                     {0xfe30, 0xfe4f},
                                     {0xff00, 0xff60},
                                     {0xffe0, 0xffe6},
                                     {0x1f300, 0x1faff},
                                     {0x20000, 0x3fffd}}};

bool is_in(std::uint32_t code, const auto& ranges) {
  for (const Range& range : ranges)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

}  // namespace

Utf8Char utf8_front(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char head = byte(0);
  if (head < 0x80) return {head, 1, true};
  const std::size_t size = head >= 0xf0 ? 4 : head >= 0xe0 ? 3 : 2;
  // 0x80-0xc1 begin nothing (0xc0 and 0xc1 would be longer forms of ASCII); nothing starts over
  // 0xf4.
  if (head < 0xc2 || head > 0xf4 || text.size() < size) return bad;
  std::uint32_t code = head & (0x7f >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return bad;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (too_long || surrogate || code > 0x10ffff) return bad;
  return {code, size, true};
}

std::size_t column_count(std::uint32_t code) {
  if (code < 0x300) return 1;
  if (is_in(code, combining)) return 0;
  return is_in(code, wide) ? 2 : 1;
}

}  // namespace rota::commands
