// common/time.h - instants and durations as values. Reading a clock is common/clock.h's business.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>

namespace rota {

using Duration = std::chrono::nanoseconds;

/// A point on a clock that never steps: for limits, deadlines and elapsed time. Means nothing on
/// another host or after a reboot.
struct MonoTime {
  std::int64_t nanoseconds = 0;

  friend auto operator<=>(const MonoTime&, const MonoTime&) = default;
  friend MonoTime operator+(MonoTime t, Duration d) { return {t.nanoseconds + d.count()}; }
  friend MonoTime operator-(MonoTime t, Duration d) { return {t.nanoseconds - d.count()}; }
  friend Duration operator-(MonoTime a, MonoTime b) {
    return Duration(a.nanoseconds - b.nanoseconds);
  }
};

/// A date for people and records: microseconds since 1970 UTC; 0 is "never". It may step, so no
/// decision hangs on a difference of two of them.
struct WallTime {
  std::int64_t microseconds = 0;

  friend auto operator<=>(const WallTime&, const WallTime&) = default;
  explicit operator bool() const { return microseconds != 0; }
};

/// One moment read from both clocks: what the shells hand to the pure cores.
struct Now {
  MonoTime mono;
  WallTime wall;
};

/// Whole seconds on the clock that never steps.
inline std::int64_t seconds_of(const Now& now) { return now.mono.nanoseconds / 1'000'000'000; }

}  // namespace rota
