// sched/queue.h - the demand: waiting jobs, grouped in classes of equal shape.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "sched/cluster.h"
#include "sched/line.h"

namespace rota::sched {

/// What decides where a job fits. Jobs of equal shape are alike to the scheduler.
struct Shape {
  std::uint32_t task_count = 1;
  std::uint32_t node_count = 0;
  TaskRequest task;
  NodeRequest node;

  friend auto operator<=>(const Shape&, const Shape&) = default;
};
Shape shape_of(const JobSpec& spec);

/// Whether a shape fits when nothing is held.
enum class Fit : std::uint8_t {
  yes,      // on the usable nodes
  when_up,  // only with nodes that are not usable now
  never,    // not on all nodes known
};

/// Waiting jobs of one shape, in order of arrival, and why the first of them waits.
struct WaitingClass {
  JobSpec spec;  // of any member: only its shape is used
  Line jobs;
  WaitReason why = WaitReason::none;
  std::string text;
  Fit fit = Fit::yes;
  std::uint64_t fit_generation = 0;  // of the cluster, when `fit` was found
};

class Queue {
 public:
  void push(JobId job, const JobSpec& spec);
  void remove(JobId job, const JobSpec& spec);

  std::map<Shape, WaitingClass>& classes() { return classes_; }
  const WaitingClass* class_of(const JobSpec& spec) const;
  std::size_t size() const { return size_; }

 private:
  std::map<Shape, WaitingClass> classes_;
  std::size_t size_ = 0;
};

/// The class's fit, looked up again only when the cluster has changed.
Fit fit_of(WaitingClass& waiting, const Cluster& cluster);

}  // namespace rota::sched
