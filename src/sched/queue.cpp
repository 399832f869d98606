// sched/queue.cpp - keeps classes of waiting jobs.
#include "sched/queue.h"

#include "common/assert.h"
#include "sched/trial.h"

namespace rota::sched {

Shape shape_of(const JobSpec& spec) {
  return {spec.task_count, spec.node_count, spec.task, spec.node};
}

void Queue::push(JobId job, const JobSpec& spec) {
  auto [at, is_new] = classes_.try_emplace(shape_of(spec));
  if (is_new) at->second.spec = spec;
  ROTA_ASSERT(at->second.jobs.insert(job));
  ++size_;
}

void Queue::remove(JobId job, const JobSpec& spec) {
  const auto at = classes_.find(shape_of(spec));
  ROTA_ASSERT(at != classes_.end() && at->second.jobs.erase(job));
  if (at->second.jobs.empty()) classes_.erase(at);
  --size_;
}

const WaitingClass* Queue::class_of(const JobSpec& spec) const {
  const auto at = classes_.find(shape_of(spec));
  return at == classes_.end() ? nullptr : &at->second;
}

Fit fit_of(WaitingClass& waiting, const Cluster& cluster) {
  if (waiting.fit_generation != cluster.generation()) {
    waiting.fit = fits_empty(waiting.spec, cluster, true)    ? Fit::yes
                  : fits_empty(waiting.spec, cluster, false) ? Fit::when_up
                                                             : Fit::never;
    waiting.fit_generation = cluster.generation();
  }
  return waiting.fit;
}

}  // namespace rota::sched
