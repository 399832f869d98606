// proto/codec.h - values to bytes and back, driven by each record's one list of fields.
//
// Integers are fixed width, little endian. Strings and sequences carry a 32-bit count. A record
// (anything with `fields`) carries the length of its body, so fields are only ever added at its
// end: an old reader skips what it does not know, a new one keeps the default of what is not there.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "common/assert.h"
#include "common/result.h"
#include "common/shared_text.h"
#include "common/time.h"
#include "model/ids.h"

namespace rota::proto {

template <class T>
concept Record = requires(T& m) {
  T::fields(m);
};
template <class T>
concept Number = (std::integral<T> && !std::same_as<T, bool>) || std::is_enum_v<T>;

namespace detail {
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_id : std::false_type {};
template <class Tag, class N>
struct is_id<Id<Tag, N>> : std::true_type {};
}  // namespace detail

class Encoder {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      bytes_.push_back(value ? 1 : 0);
    } else if constexpr (Number<T>) {
      put_number(value);
    } else if constexpr (detail::is_id<T>::value) {
      put_number(value.value);
    } else if constexpr (std::same_as<T, WallTime>) {
      put_number(value.microseconds);
    } else if constexpr (std::same_as<T, std::string> || std::same_as<T, SharedText>) {
      const std::string& text = value;
      put_count(text.size());
      bytes_.append(text);
    } else if constexpr (std::same_as<T, std::string_view>) {
      put_count(value.size());
      bytes_.append(value);
    } else if constexpr (detail::is_vector<T>::value) {
      put_count(value.size());
      for (const auto& item : value) put(item);
    } else if constexpr (detail::is_optional<T>::value) {
      put(value.has_value());
      if (value) put(*value);
    } else {
      static_assert(Record<T>);
      const std::size_t start = bytes_.size();
      put_number(std::uint32_t{0});
      std::apply([this](const auto&... field) { (this->put(field), ...); }, T::fields(value));
      const std::size_t length = bytes_.size() - start - 4;
      ROTA_ASSERT(length <= UINT32_MAX);
      const auto little = static_cast<std::uint32_t>(length);
      std::memcpy(bytes_.data() + start, &little, 4);
    }
  }

  std::string take() { return std::move(bytes_); }
  std::size_t size() const { return bytes_.size(); }

 private:
  static_assert(std::endian::native == std::endian::little, "the wire is little endian");

  template <class N>
  void put_number(N number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put_count(std::size_t count) {
    ROTA_ASSERT(count <= UINT32_MAX);
    put_number(static_cast<std::uint32_t>(count));
  }

  std::string bytes_;
};

/// Reads what Encoder wrote from bytes that anybody may have sent: never past the end, never more
/// memory than a small multiple of the input.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] bool get(T& value) {
    if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte = 0;
      if (!get_number(byte) || byte > 1) return false;
      value = byte == 1;
      return true;
    } else if constexpr (Number<T>) {
      return get_number(value);
    } else if constexpr (detail::is_id<T>::value) {
      return get_number(value.value);
    } else if constexpr (std::same_as<T, WallTime>) {
      return get_number(value.microseconds);
    } else if constexpr (std::same_as<T, std::string> || std::same_as<T, SharedText> ||
                         std::same_as<T, std::string_view>) {  // a view: into the bytes given
      std::uint32_t count = 0;
      if (!get_number(count) || count > bytes_.size()) return false;
      value = bytes_.substr(0, count);
      bytes_.remove_prefix(count);
      return true;
    } else if constexpr (detail::is_vector<T>::value) {
      return get_sequence(value);
    } else if constexpr (detail::is_optional<T>::value) {
      bool present = false;
      if (!get(present)) return false;
      if (!present) return value.reset(), true;
      return get(value.emplace());
    } else {
      static_assert(Record<T>);
      std::uint32_t length = 0;
      if (!get_number(length) || length > bytes_.size()) return false;
      Decoder body(bytes_.substr(0, length));
      bytes_.remove_prefix(length);
      const bool whole = std::apply(
          [&body](auto&... field) { return (body.get_if_any(field) && ...); }, T::fields(value));
      if constexpr (requires { value.decoded(); }) value.decoded();
      return whole;
    }
  }

  bool empty() const { return bytes_.empty(); }

 private:
  /// A record that ends before a field was written by an older release: the default stays.
  template <class T>
  bool get_if_any(T& value) {
    return bytes_.empty() || get(value);
  }
  template <class N>
  bool get_number(N& number) {
    if (bytes_.size() < sizeof number) return false;
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return true;
  }
  template <class T>
  bool get_sequence(std::vector<T>& items) {
    std::uint32_t count = 0;
    // Every item takes at least a byte, so a count beyond the rest is a lie; reserving is left to
    // push_back so that a lie about large items costs no memory either.
    if (!get_number(count) || count > bytes_.size()) return false;
    items.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      T item{};
      if (!get(item)) return false;
      items.push_back(std::move(item));
    }
    return true;
  }

  std::string_view bytes_;
};

template <Record T>
std::string encode(const T& value) {
  Encoder encoder;
  encoder.put(value);
  return encoder.take();
}

/// The whole of `bytes` must be one T.
template <Record T>
Result<T> decode(std::string_view bytes) {
  Decoder decoder(bytes);
  T value{};
  if (!decoder.get(value)) return Error{Errc::malformed, "record cut short or out of range"};
  if (!decoder.empty()) return Error{Errc::malformed, "bytes after the record"};
  return value;
}

}  // namespace rota::proto
