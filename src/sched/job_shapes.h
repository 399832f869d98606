// sched/job_shapes.h - what a job asks for, as tasks that the scheduler places; shared by jobs that
// ask for the same.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/job.h"
#include "model/placement.h"
#include "sched/node_rules.h"
#include "sched/workload.h"
#include "sched/world.h"

namespace rota::sched {

/// Whether a job fits when nothing is held.
enum class Fit : std::uint8_t {
  yes,      // on the usable nodes
  when_up,  // only with nodes that are not usable now
  never,    // not on all nodes known
  no_node,  // none is known that it may run on
};

/// Keeps one JobShape for all jobs of the same request. With a number of nodes, one task of the
/// scheduler is all that the job has on one node; without, it is one task of the job.
class JobShapes {
 public:
  std::shared_ptr<const JobShape> shape_of(const JobSpec& spec, const World& world,
                                           const NodeSet& set);
  /// Of a job that holds these parts: a task for each of them.
  std::shared_ptr<const JobShape> shape_of(const Placement& placement, const NodeSet& set,
                                           bool exclusive);

  /// Where a level is required, nodes that its places are still to get count as large enough.
  Fit fit_of(const JobSpec& spec, const World& world, const NodeSet& set);

  /// Shapes whose number of nodes follows from what nodes have, or what their MIG instances count
  /// for, where that is another one now; and what they have to become.
  using Renewed = std::map<std::shared_ptr<const JobShape>, std::shared_ptr<const JobShape>>;
  Renewed renew(const World& world);

 private:
  struct Key {
    std::uint32_t task_count = 1;
    std::uint32_t node_count = 0;
    std::uint32_t node_count_max = 0;
    TaskRequest task;
    NodeRequest node;
    std::uint64_t set = 0;  // of nodes that it may run on: NodeSet::id
    bool spread = false;
    std::optional<TopologyWish> topology;
    std::optional<Segments> segments;
    bool exclusive = false;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::weak_ptr<const JobShape> shape;
    Fit fit = Fit::yes;
    std::uint64_t fit_generation = 0;  // of the fleet, when `fit` was found
  };
  static Key key_of(const JobSpec& spec, const NodeSet& set);
  static std::shared_ptr<const JobShape> make(const JobSpec& spec, const Fleet& fleet,
                                              std::uint32_t nodes, const NodeSet& set);
  void drop_unused();

  std::map<Key, Entry> entries_;
  /// By what they hold and where they could go instead. A list lives as long as a shape with it.
  using HeldKey = std::tuple<std::vector<Demand>, const NodeList*, bool,
                             std::optional<TopologyWish>, std::optional<Segments>>;
  std::map<HeldKey, std::weak_ptr<const JobShape>> held_;
  std::size_t size_at_drop_ = 0;
};

/// How many of the job's tasks its i-th node gets when the number of nodes is fixed: as even as can
/// be, the larger parts first.
std::uint32_t tasks_of_node(std::uint32_t task_count, std::uint32_t node_count, std::uint32_t i);
/// The nodes that the job's tasks are divided among; 0: each goes where it fits.
std::uint32_t fixed_node_count(const JobSpec& spec, const World& world, const NodeSet& set);
/// "16 GPUs, 2 tasks of 4 CPUs on 2 nodes in one rack".
std::string request_text(const JobSpec& spec);

}  // namespace rota::sched
