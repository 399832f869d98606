// testsuite/unit/proto/walk.h - walks the fields of a record: fills them, writes them down.
#pragma once
#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <typeinfo>

#include "common/format.h"
#include "proto/codec.h"
#include "proto/messages.h"

namespace rota::proto {

/// "SubmitRequest".
template <class T>
std::string name_of_type() {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status), &std::free);
  const std::string full = name ? name.get() : typeid(T).name();
  return full.substr(full.rfind(':') + 1);
}

/// Gives a value that is not the default and, as far as its type allows, not any other field's: it
/// is made from the place where it stands ("second field of the first field ...").
template <class T>
void fill(T& value, std::uint64_t place = 1) {
  if constexpr (std::same_as<T, bool>) {
    value = !value;
  } else if constexpr (Number<T>) {
    auto number = static_cast<T>(place * 0x9e3779b97f4a7c15u >> 17);
    if (number == value || number == T{}) number = static_cast<T>(0x5a);
    value = number;
  } else if constexpr (detail::is_id<T>::value) {
    fill(value.value, place);
  } else if constexpr (std::same_as<T, WallTime>) {
    fill(value.microseconds, place);
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, SharedText>) {
    value = format("text {}", place) + std::string(1, '\0') + "\n";
  } else if constexpr (detail::is_vector<T>::value) {
    value.resize(2);
    fill(value[0], place * 64 + 62);
    fill(value[1], place * 64 + 63);
  } else if constexpr (detail::is_optional<T>::value) {
    fill(value.emplace(), place * 64 + 62);
  } else {
    std::uint64_t index = 0;
    std::apply([&](auto&... field) { (fill(field, place * 64 + index++), ...); }, T::fields(value));
  }
}

template <class T>
T filled() {
  T value{};
  fill(value);
  return value;
}

inline std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += format("{:02x}", byte);
  return text;
}
inline std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// One line: numbers as numbers, strings in quotes, (records), [sequences], ? for an absent
/// optional.
template <class T>
std::string written(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (Number<T>) {
    if constexpr (std::is_enum_v<T>)
      return std::to_string(static_cast<std::underlying_type_t<T>>(value));
    else
      return std::to_string(value);
  } else if constexpr (detail::is_id<T>::value) {
    return std::to_string(value.value);
  } else if constexpr (std::same_as<T, WallTime>) {
    return std::to_string(value.microseconds);
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, SharedText>) {
    std::string text = "'";
    for (const char c : std::string_view(value))
      text += c >= ' ' && c <= '~' && c != '\'' && c != '\\'
                  ? std::string(1, c)
                  : format("\\{:02x}", static_cast<unsigned char>(c));
    return text + "'";
  } else if constexpr (detail::is_vector<T>::value) {
    std::string text;
    for (const auto& item : value) text += (text.empty() ? "" : " ") + written(item);
    return "[" + text + "]";
  } else if constexpr (detail::is_optional<T>::value) {
    return value ? written(*value) : "?";
  } else {
    std::string text;
    std::apply(
        [&](const auto&... field) { ((text += (text.empty() ? "" : " ") + written(field)), ...); },
        T::fields(value));
    return "(" + text + ")";
  }
}

/// Calls `visit` with one default value of every message.
template <class Visit>
void for_every_message(Visit visit) {
  std::apply([&](const auto&... message) { (visit(message), ...); }, AllMessages{});
}

}  // namespace rota::proto
