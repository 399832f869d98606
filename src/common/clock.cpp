// common/clock.cpp - clock_gettime, and nothing else.
#include "common/clock.h"

#include <ctime>

namespace rota {

MonoTime mono_now() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return {std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec};
}

WallTime wall_now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return {std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000};
}

}  // namespace rota
