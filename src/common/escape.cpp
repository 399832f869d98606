// common/escape.cpp - writes control characters out.
#include "common/escape.h"

#include "common/format.h"

namespace rota {
namespace {

constexpr std::size_t quoted_bytes_max = 64;

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

/// U+0080 to U+009F are C2 80 to C2 9F in UTF-8; C2 9B opens a terminal's escape sequence.
bool is_c1_control(std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) != 0xc2 || at + 1 == text.size()) return false;
  const auto next = static_cast<unsigned char>(text[at + 1]);
  return next >= 0x80 && next <= 0x9f;
}

void append_escaped(std::string& out, unsigned char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", c);
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (is_c1_control(text, i)) {
      append_escaped(out, c);
      append_escaped(out, static_cast<unsigned char>(text[++i]));
    } else if (is_control(c)) {
      append_escaped(out, c);
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string quoted(std::string_view text) {
  if (text.size() <= quoted_bytes_max) return "'" + escaped(text) + "'";
  std::size_t end = quoted_bytes_max;
  // Not in the middle of a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return "'" + escaped(text.substr(0, end)) + "...'";
}

}  // namespace rota
