// net/log_end.h - the end of every top-level coroutine: an exception is logged, never dropped.
#pragma once
#include <exception>
#include <string>

#include "common/log.h"

namespace rota::net {

/// co_spawn(io, work(), log_end("work")): what escapes a coroutine is our mistake; say so and go
/// on.
inline auto log_end(std::string name) {
  return [name = std::move(name)](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      log::error("{} ended with an exception: {}", name, error.what());
    } catch (...) {
      log::error("{} ended with an unknown exception", name);
    }
  };
}

}  // namespace rota::net
