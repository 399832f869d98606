// sched/user_turns.h - whose turn it is among the users of a project, by what they have used.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/project.h"
#include "sched/scheduler.h"

namespace rota::sched {

/// GPU seconds that a user has used, and millionths of GPUs that are held since.
struct UseAndHold {
  double used = 0;
  std::int64_t held = 0;
};
/// GPU seconds after so much time: what was used counts half after each half-life (0: nothing is
/// forgotten), while what is held adds to it.
double used_after(const UseAndHold& before, std::int64_t half_life_seconds, double seconds);

/// GPU seconds.
struct UserUse {
  std::string user;
  double used = 0;
};
/// Whose jobs come first: who has used least for his weight. Who has used nothing has 0, and so has
/// everybody who is not named. By name.
std::vector<Scheduler::UserRank> rank_users(const std::vector<UserUse>& uses,
                                            const Project& project);

}  // namespace rota::sched
