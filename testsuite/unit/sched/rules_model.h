// testsuite/unit/sched/rules_model.h - the rules of quota.md as a slow and simple judge of a pass.
#pragma once
#include <array>
#include <string>

#include "unit/sched/played_pass.h"

namespace rota::sched::drawn {

/// What the worlds of a test have led to: a rule that nobody comes near is not tested.
struct Coverage {
  std::size_t starts = 0;                        // tasks that started
  std::size_t gangs = 0;                         // of more than one task, started or promised
  std::array<std::size_t, did_count> takings{};  // by action, also those that only move others
  std::size_t lost = 0;                          // units that reclaim took
  std::size_t stopped = 0;                       // steps that only a gate kept from starting
  std::size_t full = 0;                          // steps that had no room
  std::size_t alone = 0;                         // worlds in which one task waits and is entitled
};

/// What the pass did against the rules, a line each; nothing: it kept them.
std::string broken_rules(const World& world, const PlayedPass& played, Coverage& coverage);

}  // namespace rota::sched::drawn
