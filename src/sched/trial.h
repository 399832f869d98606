// sched/trial.h - try placements on a copy-free view of the cluster, then keep or undo them.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "model/job.h"
#include "model/placement.h"
#include "sched/cluster.h"

namespace rota::sched {

/// A sheet of changes over one Cluster. Destroyed unkept, it leaves no mark.
class Trial {
 public:
  explicit Trial(Cluster& cluster) : cluster_(cluster) {}
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Holds all tasks of the job where they fit tightest, or none of them.
  std::optional<Placement> place(JobId job, const JobSpec& spec);

 private:
  Cluster& cluster_;
  std::vector<std::pair<JobId, NodePart>> taken_;
};

/// Whether the job would fit if every node were empty: all nodes known, or only the usable ones.
bool fits_empty(const JobSpec& spec, const Cluster& cluster, bool usable_only);

}  // namespace rota::sched
