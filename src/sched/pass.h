// sched/pass.h - one pass of the quota scheduler: a world in, the same world with decisions out.
#pragma once
#include <cstdint>
#include <span>

#include "sched/world.h"

namespace rota::sched {

inline constexpr Action all_actions[] = {Action::allocate, Action::consolidate, Action::reclaim,
                                         Action::preempt,  Action::evict_stale, Action::give_way};

/// Works out who is due what, then runs the actions in order: cheap and harmless ones first. What
/// was decided stands in the tasks' states.
void run_pass(World& world, std::span<const Action> actions = all_actions);

}  // namespace rota::sched
