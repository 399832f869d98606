// sched/scheduler.h - the controller's jobs, nodes and projects as the quota scheduler sees them.
//
// The engine says what has happened, asks for a plan, and carries it out; all that is worked out
// lies in the World behind it.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/placement.h"
#include "model/project.h"
#include "sched/history.h"
#include "sched/job_shapes.h"
#include "sched/node_rules.h"
#include "sched/quota_map.h"
#include "sched/world.h"

namespace rota::sched {

struct Start {
  JobId job;
  Placement placement;
  bool grows = false;  // it runs already; this is what it gets besides
};

/// A job that has to make way.
struct Eviction {
  /// Millionths of GPUs that a project held when the pass began, and what was its due.
  struct Standing {
    std::int64_t held = 0;
    std::int64_t share = 0;
  };
  JobId job;
  JobId taker;  // none: for nobody in particular
  Action action = Action::reclaim;
  Standing gives, gains;      // the project of the job, and that of the taker
  std::vector<NodeId> nodes;  // what an elastic job gives up, and goes on; none: all of it
};

/// Where a job that waits, and has an image, is to run: a place is kept for it in time, or others
/// are leaving it.
struct Expected {
  JobId job;
  std::vector<NodeId> nodes;  // ascending
};

/// What to do now. Why the others wait is told by wait_of().
struct Plan {
  std::vector<Start> starts;        // by job
  std::vector<Eviction> evictions;  // in the order decided
  std::vector<Expected> expected;   // by job
};

/// Why a job waits: the short word and one sentence with the numbers.
struct Wait {
  WaitReason why = WaitReason::none;
  std::string text;
};

/// How a controller runs passes, as against single decisions on described clusters: often, so no
/// pass may take long.
Policy live_policy();

class Scheduler {
 public:
  explicit Scheduler(const Policy& policy, std::vector<NamedNodes> groups = {},
                     const NetworkTopology& topology = {});

  /// Adds a node or replaces what is known of it. What jobs hold there stays held.
  void put_node(NodeId id, const std::string& name, const NodeInventory& inventory,
                const std::vector<bool>& gpu_absent, bool usable);
  void set_usable(NodeId id, bool usable);
  /// The names of all images that the node has: of nodes that are equal otherwise, those that have
  /// a job's image are preferred.
  void set_images(NodeId id, const std::vector<std::string>& names) {
    world_.images.set_node(index_of(id), names);
  }
  /// Every job's project must stay. True when rules about nodes have changed: jobs that wait may
  /// then have to be told of again, by renew().
  bool set_org(const Org& org);
  /// What a job that waits or could grow may run on has changed, perhaps.
  void renew(const Job& job, const std::vector<NodeId>& avoid = {});

  /// Whose jobs come first in the project among those of equal priority: the smaller number.
  /// Whoever is not named keeps his; at first that is 0.
  struct UserRank {
    std::string user;
    std::uint32_t rank = 0;

    friend bool operator==(const UserRank&, const UserRank&) = default;
  };
  void rank_users(const std::string& project, const std::vector<UserRank>& ranks);

  /// What was held and what there was to hold before the first plan: for fairness over time. Times
  /// as in plan(), or negative.
  void add_past(const std::string& project, const Amount& held, std::int64_t from, std::int64_t to);
  void add_past_capacity(const Amount& total, std::int64_t from, std::int64_t to);

  /// It waits from now on, and does not start on the nodes to avoid. Times are seconds on a clock
  /// that never steps.
  void add_waiting(const Job& job, std::int64_t now, const std::vector<NodeId>& avoid = {});
  /// It holds what its placement says; `is_ending`: and is about to give it back.
  void add_holding(const Job& job, bool is_ending, std::int64_t now);
  void set_ending(JobId job);
  /// It runs, and could go on from what it has done until now: so much less is lost with its place.
  void note_saved(JobId job, std::int64_t now) { world_.set_saved(number_of(job), now); }
  /// What it had on this node is free again; an elastic job may get something in its stead.
  void release(JobId job, NodeId node, bool may_regrow = false);
  /// It gets nothing more in this run.
  void end_growth(JobId job);
  /// It waits no more, or has ended.
  void remove(JobId job);

  /// One pass. What is planned counts as done from here on. Without `may_evict` nobody has to make
  /// way.
  Plan plan(std::int64_t now, bool may_evict = true);
  /// When time alone may change what the last plan found.
  std::int64_t next_look() const { return world_.next_look(); }

  Wait wait_of(const Job& job) const;
  /// When a job that waits can start if all others run to their limits, on the clock of plan();
  /// none: no place is kept for it.
  std::optional<std::int64_t> expected_start(JobId job) const {
    return world_.reservations.start_of(number_of(job));
  }
  /// Whether it would fit if nothing were held.
  Fit fit_of(const JobSpec& spec, const std::vector<NodeId>& avoid = {}) const {
    return shapes_.fit_of(spec, world_, set_of(spec, avoid));
  }
  /// What the nodes have that it may run on, for one that they never fit.
  std::string never_text(const JobSpec& spec) const;

  const World& world() const { return world_; }
  const NodeRules& node_rules() const { return node_rules_; }
  const std::string& type_of(NodeId id) const { return node_rules_.type_of(index_of(id)); }
  std::vector<std::string> groups_of(NodeId id) const {
    return node_rules_.groups_of(index_of(id));
  }
  /// The one that the site has.
  const Topology& topology() const { return world_.topologies.front(); }
  /// The narrowest place that has all of these nodes; the topology's root: there is none.
  std::uint32_t place_of_all(const std::vector<NodeId>& nodes) const;
  const FleetNode& node(NodeId id) const { return world_.fleet.at(index_of(id)); }
  /// Who has each of the node's GPUs to itself.
  std::vector<JobId> gpu_holders(NodeId id) const;
  /// Who has a part of one.
  std::vector<GpuShare> gpu_sharers(NodeId id) const;
  /// Who has which MIG instances; by GPU, then start.
  std::vector<MigHolder> mig_holders(NodeId id) const;
  /// Millionths of GPUs that such a job would be charged, on the smallest GPUs that there are.
  std::int64_t gpu_amount(const JobSpec& spec) const;
  /// The place of a project or department in the tree.
  const QuotaNode& project(const std::string& name) const;
  const QuotaNode& department(const std::string& name) const;

 private:
  NodeIndex index_of(NodeId id) const;
  NodeSet set_of(const JobSpec& spec, const std::vector<NodeId>& avoid = {}) const;
  void reshape(std::uint32_t number, std::shared_ptr<const JobShape> shape);
  void renew_shapes();
  std::uint32_t number_of(JobId id) const;
  SchedJob sched_job(const Job& job);
  std::uint32_t user_of(const std::string& project, const std::string& user);
  std::vector<Task> tasks_holding(const Placement& placement, TaskState state) const;
  Task task_holding(const NodePart& part, TaskState state) const;
  bool lie_together(const std::vector<NodeId>& nodes, const Segments& segments) const;
  std::vector<Task> elastic_tasks(const Job& job, bool is_ending) const;
  Placement placement_of(const SchedJob& job, bool grows) const;
  using Places = std::map<std::uint32_t, std::set<NodeIndex>>;  // by job number
  Places promised_places(const std::vector<TaskRef>& changed) const;
  std::vector<Expected> expected(Places places) const;
  void leave(std::uint32_t number);
  void note_uses(const Placement& placement);
  Eviction::Standing standing_of(QuotaIndex project) const;
  void settle_start(std::uint32_t number, const Placement& placement, bool grows);
  void remember(std::int64_t now);
  const std::string& free_text(const NodeSet& set) const;
  std::string cut_text(const JobSpec& spec, const NodeSet& set) const;
  std::string empty_text(const NodeSet& set) const;
  std::string fit_text(const JobSpec& spec, Fit fit) const;
  std::string places_text(const JobSpec& spec, const NodeSet& set) const;
  std::string segment_fit_text(Fit fit, const NodeSet& set, const std::string& which) const;
  std::string required_fit_text(const JobSpec& spec, Fit fit, const NodeSet& set,
                                const std::string& which) const;
  std::string quota_text(const Job& job, const WaitCause& cause) const;

  World world_;
  mutable JobShapes shapes_;      // answers are kept
  mutable NodeRules node_rules_;  // the same
  QuotaMap quota_map_;
  bool nodes_changed_ = false;           // what they have, since the last plan
  std::vector<NodeIndex> node_indexes_;  // by NodeId
  std::vector<NodeId> node_ids_;         // by NodeIndex
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> numbers_;  // of jobs, by JobId
  using Users = std::map<std::string, std::uint32_t, std::less<>>;
  std::map<std::string, Users, std::less<>> users_;  // by project; numbers from 1
  std::uint32_t user_last_ = 0;
  std::vector<std::int64_t> held_before_;  // GPUs, by QuotaIndex: when the last pass began
  std::optional<History> history_;         // none: the past does not count
  /// What projects hold since the last plan, of what there is.
  struct Since {
    std::int64_t time = never;
    Amount total;
    std::vector<std::pair<QuotaIndex, Amount>> held;
  };
  Since since_;
  std::int64_t history_told_ = never;
  /// What is free in a set of nodes, in words; as of the last plan.
  using FreeKey = std::pair<std::uint64_t, std::optional<std::uint32_t>>;  // NodeSet::id, level
  mutable std::map<FreeKey, std::string> free_texts_;
};

}  // namespace rota::sched
