// common/assert.h - ROTA_ASSERT: an invariant of ours, checked in release builds too.
#pragma once

namespace rota {
/// Writes what broke and where to standard error, then aborts. A controller that stops and reloads
/// its store is better than one that goes on wrong.
[[noreturn]] void assertion_failed(const char* what, const char* file, int line) noexcept;
}  // namespace rota

#define ROTA_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::rota::assertion_failed(#condition, __FILE__, __LINE__))
