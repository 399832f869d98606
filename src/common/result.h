// common/result.h - how every room says that the world failed: Error and Result<T>.
#pragma once
#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rota {

enum class Errc : std::uint16_t {
#define ROTA_ERROR(name, number, text) name = number,
#include "common/error.def"
#undef ROTA_ERROR
};

/// The sentence that belongs to a code; "unknown error" for a number this build does not know.
std::string_view text_of(Errc code);

/// What went wrong: a code to react to and, in `detail`, one sentence for people that says what,
/// where, and what would be right.
struct Error {
  Errc code = Errc::internal;
  std::string detail;

  /// "request can never fit this cluster: 9 GPUs on one node, the largest node has 8".
  std::string message() const;
  friend bool operator==(const Error&, const Error&) = default;
};

/// Reading the value of a Result that holds an error is our own mistake: it aborts.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& location);

/// A value, or why there is none. Must be looked at.
template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
  using Base = boost::system::result<T, Error>;

 public:
  using Base::Base;
  using value_type = T;
};

}  // namespace rota

#define ROTA_CONCAT_(a, b) a##b
#define ROTA_CONCAT(a, b) ROTA_CONCAT_(a, b)
#define ROTA_TRY_(result, target, expression, returning) \
  auto result = (expression);                            \
  if (!result) returning std::move(result).error();      \
  target = *std::move(result)

/// ROTA_TRY(auto x, f()): takes the value of f(), or returns its error from this function.
#define ROTA_TRY(target, expression) \
  ROTA_TRY_(ROTA_CONCAT(rota_result_, __LINE__), target, expression, return )
/// The same inside a coroutine.
#define ROTA_CO_TRY(target, expression) \
  ROTA_TRY_(ROTA_CONCAT(rota_result_, __LINE__), target, expression, co_return )

#define ROTA_CHECK_(result, expression, returning) \
  if (auto result = (expression); !result) returning std::move(result).error()
/// For a Result<void>: returns its error from this function if it holds one.
#define ROTA_CHECK(expression) ROTA_CHECK_(ROTA_CONCAT(rota_result_, __LINE__), expression, return )
#define ROTA_CO_CHECK(expression) \
  ROTA_CHECK_(ROTA_CONCAT(rota_result_, __LINE__), expression, co_return )
