// sim/conform_case.h - one scheduling case: its starting state, a round of it, and what came out.
#pragma once
#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <vector>

#include "sched/pass.h"
#include "sched/world.h"

namespace rota::sim {

/// A case with names in place of the world's numbers. Rounds change the tasks' states.
class ConformCase {
 public:
  explicit ConformCase(const boost::json::object& source);

  struct RoundCounts {
    std::int64_t placements = 0, evictions = 0, promises = 0;
  };
  RoundCounts run(std::span<const sched::Action> actions);
  /// Time passes: what started runs, what was promised or evicted waits.
  void move_on();

  const sched::World& world() const { return world_; }
  /// By name; nothing if there is no such job, task or node.
  std::optional<std::uint32_t> job(const std::string& name) const;
  std::optional<sched::TaskRef> task(const std::string& name) const;
  std::optional<sched::NodeIndex> node(const std::string& name) const;
  /// The words of the format: Pending, Binding, Running ...
  std::string status(sched::TaskRef ref) const;
  bool stays_releasing(std::uint32_t job) const { return stays_releasing_[job]; }

 private:
  void read_policy(const boost::json::object& settings);
  void read_nodes(const boost::json::array& nodes);
  void read_topologies(const boost::json::array& topologies);
  void read_queues(const boost::json::array& departments, const boost::json::array& queues);
  void read_job(const boost::json::object& source);
  void read_groups(const boost::json::object& source, sched::Gang& gang, std::uint32_t index);
  sched::TaskShape read_task_shape(const boost::json::object& source,
                                   const boost::json::object& job, const sched::Gang& gang) const;
  sched::Task read_task(const boost::json::object& source, const sched::Demand& demand);
  std::optional<sched::TopologyWish> read_wish(const boost::json::value* source);
  sched::QuotaIndex queue_of(const std::string& name);
  std::uint32_t shared_id(sched::NodeIndex node, const std::string& label);

  sched::World world_;
  std::map<std::string, sched::NodeIndex> nodes_;
  std::map<std::string, sched::QuotaIndex> departments_, queues_;  // may have names in common
  std::optional<sched::QuotaIndex> no_queue_;
  std::map<std::string, std::uint32_t> jobs_;
  std::map<std::string, sched::TaskRef> tasks_;
  std::map<sched::TaskRef, std::string> first_words_;  // Bound, Running: the same to us
  std::map<std::pair<sched::NodeIndex, std::string>, std::uint32_t> shared_ids_;
  std::vector<bool> stays_releasing_;
  bool checks_nodes_ = true;
  bool has_topology_ = true;
};

}  // namespace rota::sim
