// sched/user_turns.cpp - what is used decays while what is held adds to it.
#include "sched/user_turns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace rota::sched {

double used_after(const UseAndHold& before, std::int64_t half_life_seconds, double seconds) {
  const double held = static_cast<double>(before.held) / static_cast<double>(gpu_unit);
  if (half_life_seconds <= 0) return before.used + held * seconds;
  const double rate = std::log(2.0) / static_cast<double>(half_life_seconds);
  const double left = std::exp(-rate * seconds);
  return before.used * left + held * (1 - left) / rate;
}

std::vector<Scheduler::UserRank> rank_users(const std::vector<UserUse>& uses,
                                            const Project& project) {
  std::vector<std::pair<double, std::string_view>> order;
  for (const UserUse& use : uses) {
    if (use.used <= 0) continue;
    std::int64_t weight = gpu_unit;
    for (const UserWeight& each : project.user_weights)
      if (each.user == use.user) weight = each.weight;
    order.emplace_back(weight > 0 ? use.used / static_cast<double>(weight)
                                  : std::numeric_limits<double>::infinity(),
                       use.user);
  }
  std::sort(order.begin(), order.end());
  std::vector<Scheduler::UserRank> ranks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool ties = i > 0 && order[i].first == order[i - 1].first;
    ranks.push_back({std::string(order[i].second),
                     ties ? ranks.back().rank : static_cast<std::uint32_t>(i + 1)});
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const auto& a, const auto& b) { return a.user < b.user; });
  return ranks;
}

}  // namespace rota::sched
