// sched/policy_config.h - the scheduler.* keys of rota.yaml as a Policy.
#pragma once
#include "common/config.h"
#include "sched/world.h"

namespace rota::sched {

/// How a controller with this configuration decides; rsim replays with the same.
Policy policy_from(const Config& config);

}  // namespace rota::sched
