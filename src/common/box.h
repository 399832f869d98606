// common/box.h - a value that takes the room of a pointer until it is written to.
#pragma once
#include <memory>

namespace rota {

/// Reads as a default T as long as nobody has written to it. Copies are copies of the value.
template <class T>
class Box {
 public:
  Box() = default;
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(Box other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  const T& operator*() const { return value_ ? *value_ : nothing(); }
  const T* operator->() const { return &**this; }
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }
  /// Gives the room back if what stands in it says nothing.
  void tidy() {
    if (value_ && *value_ == nothing()) value_.reset();
  }

  friend bool operator==(const Box& a, const Box& b) { return *a == *b; }

 private:
  static const T& nothing() {
    static const T value{};
    return value;
  }

  std::unique_ptr<T> value_;
};

}  // namespace rota
