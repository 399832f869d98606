// common/clock.h - the clocks of this host. Never included by sched/ or ctld/engine: time is an
// argument there.
#pragma once
#include "common/time.h"

namespace rota {

/// CLOCK_BOOTTIME: goes on while the host sleeps, never steps.
MonoTime mono_now();
WallTime wall_now();
inline Now now() { return {mono_now(), wall_now()}; }

}  // namespace rota
