// sched/policy_config.cpp - the one place where keys of rota.yaml become rules of the scheduler.
#include "sched/policy_config.h"

#include "sched/scheduler.h"

namespace rota::sched {
namespace {

std::int64_t seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

Policy policy_from(const Config& config) {
  Policy policy = live_policy();
  policy.reservations_max = static_cast<std::uint32_t>(config.scheduler_reservations);
  policy.limit_assumed_seconds = seconds(config.scheduler_limit_assumed);
  policy.reclaim_min_runtime_seconds = seconds(config.scheduler_min_runtime_reclaim);
  policy.preempt_min_runtime_seconds = seconds(config.scheduler_min_runtime_preempt);
  policy.preemption_delay_seconds = seconds(config.scheduler_preemption_delay);
  policy.history_weight = static_cast<double>(config.scheduler_history_weight) / 1e6;
  policy.history_window_seconds = seconds(config.scheduler_history_window);
  policy.history_half_life_seconds = seconds(config.scheduler_history_half_life);
  policy.least_loss = config.scheduler_packing == "least-loss";
  policy.consolidate_jobs_max = static_cast<std::uint32_t>(config.scheduler_consolidate_max);
  return policy;
}

}  // namespace rota::sched
