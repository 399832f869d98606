// sched/job_shapes.h - what a job asks for, as tasks that the scheduler places; shared by jobs that
// ask for the same.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/placement.h"
#include "sched/workload.h"

namespace rota::sched {

/// Whether a job fits when nothing is held.
enum class Fit : std::uint8_t {
  yes,      // on the usable nodes
  when_up,  // only with nodes that are not usable now
  never,    // not on all nodes known
};

/// Keeps one JobShape for all jobs of the same request. With a number of nodes, one task of the
/// scheduler is all that the job has on one node; without, it is one task of the job.
class JobShapes {
 public:
  std::shared_ptr<const JobShape> shape_of(const JobSpec& spec, const Fleet& fleet);
  /// Of a job that holds these parts: a task for each of them.
  std::shared_ptr<const JobShape> shape_of(const Placement& placement);

  Fit fit_of(const JobSpec& spec, const Fleet& fleet);

 private:
  struct Key {
    std::uint32_t task_count = 1;
    std::uint32_t node_count = 0;
    TaskRequest task;
    NodeRequest node;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::weak_ptr<const JobShape> shape;
    Fit fit = Fit::yes;
    std::uint64_t fit_generation = 0;  // of the fleet, when `fit` was found
  };
  static Key key_of(const JobSpec& spec);
  void drop_unused();

  std::map<Key, Entry> entries_;
  std::map<std::vector<Demand>, std::weak_ptr<const JobShape>> held_;
  std::size_t size_at_drop_ = 0;
};

/// How many of the job's tasks its i-th node gets when the number of nodes is fixed: as even as can
/// be, the larger parts first.
std::uint32_t tasks_of_node(std::uint32_t task_count, std::uint32_t node_count, std::uint32_t i);
/// The nodes that the job's tasks are divided among; 0: each goes where it fits.
std::uint32_t fixed_node_count(const JobSpec& spec, const Fleet& fleet);
/// "16 GPUs, 2 tasks of 4 CPUs on 2 nodes".
std::string request_text(const JobSpec& spec);

}  // namespace rota::sched
