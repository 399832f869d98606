// testsuite/unit/sched/small_world.h - worlds written as text, and decisions read as text.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sched/pass.h"
#include "sched/world.h"

namespace rota::sched {

/// Items are separated by `;`, the words of an item by blanks.
///   nodes     NAME gpus=N [cpus=N]
///   projects  NAME [in=DEPARTMENT] [quota=Q] [weight=W] [limit=L] [rank=R]
///             [keep=SECONDS | reclaim_keep=SECONDS | preempt_keep=SECONDS]
///   jobs      NAME PROJECT [gpus=N | share=F] [tasks=N] [min=N] [priority=P]
///             [firm | semi | background]
///             [age=SECONDS]
///             [on=NODE,...] [ran=SECONDS] [saved=SECONDS] [delay=SECONDS]
/// Quota and limit are GPUs; CPUs and memory are never scarce. A project named as somebody's
/// department is one. Jobs with `on` run there, a task a node; `keep` is the minimum runtime;
/// they saved their work `saved` seconds ago.
class SmallWorld {
 public:
  SmallWorld(const std::string& nodes, const std::string& projects, const std::string& jobs);

  World& world() { return world_; }
  /// Runs one pass and says what was decided, jobs in the order given:
  /// "start a on n0; promise b on n1; evict c; move d to n1". Nothing for those who stay.
  std::string run(std::span<const Action> actions = all_actions);
  /// "team-a 4 of 8.5": what each project holds, and its fair share.
  std::string shares() const;
  /// Everything that a pass may change, for comparisons.
  std::string digest() const;

 private:
  using Words = std::map<std::string, std::string>;
  void add_node(const std::string& name, const Words& words);
  void add_project(const std::string& name, const Words& words);
  void add_job(const std::string& name, const Words& words);
  NodeIndex node_named(const std::string& name) const;

  World world_;
  std::map<std::string, QuotaIndex> projects_;
  std::vector<std::string> job_names_;
};

/// The decisions of one pass in one call.
std::string decide(const std::string& nodes, const std::string& projects, const std::string& jobs);

}  // namespace rota::sched
