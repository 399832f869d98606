// commands/json.cpp - the JSON writer.
#include "commands/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "commands/utf8.h"
#include "common/assert.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

void append_control(std::string& out, unsigned char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
  }
}

void append_number(std::string& out, auto number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Utf8Char c = utf8_front(text);
    if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code < 0x20 || c.code == 0x7f) {
      append_control(out, static_cast<unsigned char>(c.code));
    } else if (c.valid) {
      out += text.substr(0, c.size);
    } else {
      out += "\xef\xbf\xbd";
    }
    text.remove_prefix(c.size);
  }
  out += '"';
}

void JsonWriter::before_value() {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  ROTA_ASSERT(level.object == key_written_);
  if (!level.object) {
    if (!level.empty) out_ += ',';
    level.empty = false;
  }
  key_written_ = false;
}

void JsonWriter::key(std::string_view name) {
  ROTA_ASSERT(!levels_.empty() && levels_.back().object && !key_written_);
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  // Our own words: nothing in them needs an escape.
  out_ += '"';
  out_ += name;
  out_ += "\":";
  key_written_ = true;
}

void JsonWriter::begin(char bracket, bool object) {
  before_value();
  out_ += bracket;
  levels_.push_back({object, true});
}

void JsonWriter::end(char bracket, bool object) {
  ROTA_ASSERT(!levels_.empty() && levels_.back().object == object && !key_written_);
  levels_.pop_back();
  out_ += bracket;
}

void JsonWriter::begin_object() { begin('{', true); }
void JsonWriter::end_object() { end('}', true); }
void JsonWriter::begin_array() { begin('[', false); }
void JsonWriter::end_array() { end(']', false); }

void JsonWriter::null() {
  before_value();
  out_ += "null";
}

void JsonWriter::value(std::string_view text) {
  before_value();
  append_json_string(out_, text);
}

void JsonWriter::value(bool flag) {
  before_value();
  out_ += flag ? "true" : "false";
}

void JsonWriter::decimal(double number, int digits) {
  before_value();
  ROTA_ASSERT(std::isfinite(number));
  // Not std::to_chars, which would bring libm into every command.
  out_ += format("{:.{}f}", number, digits);
}

void JsonWriter::units(std::int64_t count, unsigned digits) {
  before_value();
  out_ += decimal_format(count, digits);
}

void JsonWriter::write_signed(std::int64_t number) {
  before_value();
  append_number(out_, number);
}

void JsonWriter::write_unsigned(std::uint64_t number) {
  before_value();
  append_number(out_, number);
}

}  // namespace rota::commands
