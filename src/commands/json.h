// commands/json.h - writes JSON into a buffer: commas, escapes and nothing else.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::commands {

/// Appends one document to `out`, in the order it is told. Keys that do not fit where they stand
/// are our own mistake and stop the program. Bytes that are not UTF-8 become U+FFFD, so the output
/// can always be read back.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  /// `name` is ours: written as it is.
  void key(std::string_view name);
  void null();

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag);
  void value(std::integral auto number) {
    if constexpr (std::signed_integral<decltype(number)>)
      write_signed(number);
    else
      write_unsigned(number);
  }
  /// With so many digits behind the point. Pre: finite.
  void decimal(double number, int digits);
  /// A whole number of small units, exactly: 1500000 with 6 digits is 1.5.
  void units(std::int64_t count, unsigned digits);

  /// A key and its value in one go.
  void field(std::string_view name, const auto& content) {
    key(name);
    value(content);
  }
  /// The same, or null where `present` is false.
  void field_or_null(std::string_view name, bool present, const auto& content) {
    key(name);
    if (present)
      value(content);
    else
      null();
  }

 private:
  void before_value();
  void begin(char bracket, bool object);
  void end(char bracket, bool object);
  void write_signed(std::int64_t number);
  void write_unsigned(std::uint64_t number);

  struct Level {
    bool object = false;
    bool empty = true;
  };
  std::string& out_;
  std::vector<Level> levels_;
  bool key_written_ = false;
};

/// Appends `text` in quotes.
void append_json_string(std::string& out, std::string_view text);

}  // namespace rota::commands
