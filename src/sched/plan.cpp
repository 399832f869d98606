// sched/plan.cpp - first come, first served over classes of equal shape.
#include "sched/plan.h"

#include <queue>

#include "common/format.h"
#include "sched/trial.h"

namespace rota::sched {
namespace {

/// A class with the place of its next member in the line.
struct Next {
  JobId job;
  WaitingClass* waiting;
  Line::Iterator at;

  friend bool operator<(const Next& a, const Next& b) { return a.job > b.job; }  // smallest on top
};

std::string request_text(const JobSpec& spec) {
  const std::uint64_t gpus = spec.gpu_total();
  std::string text =
      spec.task_count == 1
          ? format("1 task of {} CPU{}", spec.task.cpu_count, spec.task.cpu_count == 1 ? "" : "s")
          : format("{} tasks of {} CPU{}", spec.task_count, spec.task.cpu_count,
                   spec.task.cpu_count == 1 ? "" : "s");
  if (gpus > 0) text = format("{} GPU{}, {}", gpus, gpus == 1 ? "" : "s", text);
  if (spec.node_count > 0)
    text += format(" on {} node{}", spec.node_count, spec.node_count == 1 ? "" : "s");
  return text;
}

std::string free_text(const Cluster& cluster) {
  std::uint64_t gpus = 0, cpus = 0;
  std::uint32_t gpus_most = 0;
  for (const auto& [free_gpus, free_cpus, id] : cluster.by_free()) {
    gpus += free_gpus;
    cpus += free_cpus;
    gpus_most = std::max(gpus_most, free_gpus);
  }
  return format("{} GPUs and {} CPUs are free, at most {} GPUs on one node", gpus, cpus, gpus_most);
}

void explain_wait(WaitingClass& waiting, WaitReason why, std::string text) {
  waiting.why = why;
  waiting.text = std::move(text);
}

}  // namespace

Plan plan(Cluster& cluster, Queue& queue) {
  Plan plan;
  Trial trial(cluster);
  std::priority_queue<Next> line;
  for (auto& [shape, waiting] : queue.classes()) {
    switch (fit_of(waiting, cluster)) {
      case Fit::yes:
        line.push({waiting.jobs.front(), &waiting, waiting.jobs.begin()});
        break;
      case Fit::when_up:
        explain_wait(
            waiting, WaitReason::node_down,
            format("needs {}: nodes that are down now would have it", request_text(waiting.spec)));
        break;
      case Fit::never:
        explain_wait(
            waiting, WaitReason::node_down,
            format("needs {}: more than all known nodes have", request_text(waiting.spec)));
        break;
    }
  }
  while (!line.empty()) {
    Next next = line.top();
    line.pop();
    auto placement = trial.place(next.job, next.waiting->spec);
    if (!placement) {
      explain_wait(*next.waiting, WaitReason::resources,
                   format("needs {}: {}", request_text(next.waiting->spec), free_text(cluster)));
      for (; !line.empty(); line.pop())
        explain_wait(*line.top().waiting, WaitReason::priority,
                     format("waits behind job {}", next.job.value));
      break;
    }
    plan.starts.push_back({next.job, std::move(*placement)});
    if (++next.at != next.waiting->jobs.end()) {
      next.job = *next.at;
      line.push(next);
    }
  }
  return plan;
}

}  // namespace rota::sched
