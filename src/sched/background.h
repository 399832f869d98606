// sched/background.h - jobs that take only what nobody wants, and give way to everybody.
//
// They are charged to nobody, and whatever they have counts as about to be given back: so plans are
// made as if they were not there, and a job that is placed on what they have is promised it, as on
// what anybody else is leaving. Only then are they told to leave it.
#pragma once
#include "sched/world.h"

namespace rota::sched {

/// Whether the task fits the node now, beside all that is promised there.
bool fits_spare(const World& world, const FleetNode& node, const Demand& demand);

/// Those in the way of what this pass has promised to others leave.
void make_way(World& world);
/// Those that wait start where they are in nobody's way.
void start_background(World& world);

}  // namespace rota::sched
