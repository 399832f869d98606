// testsuite/unit/sched/shares_model.h - fair shares once more: quota.md 3 in whole numbers.
#pragma once
#include <vector>

#include "unit/sched/drawn_world.h"

namespace rota::sched::drawn {

/// What each project and department is due. `requested`: what each holds and waits for, with all
/// below it.
std::vector<Triple> fair_shares(const World& world, const std::vector<Triple>& requested);

}  // namespace rota::sched::drawn
