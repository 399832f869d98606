// sched/node_rules.h - which nodes a job may run on: by its own wish, its project's and its queue's
// rules.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "model/job.h"
#include "model/node_wish.h"
#include "model/project.h"
#include "sched/fleet.h"
#include "sched/workload.h"

namespace rota::sched {

/// All that restricts a job. A node must satisfy every field that is not empty.
struct NodeRule {
  std::vector<std::string> types;   // one of these, as people wrote them
  std::vector<std::string> groups;  // in one of these
  std::string queue_group;          // in this one too
  NodeWish wish;
  NodeList avoid;  // not on these, ascending: they could not start it

  bool restricts() const {
    return !types.empty() || !groups.empty() || !queue_group.empty() || !wish.empty() ||
           !avoid.empty();
  }
  /// "of type a100 in group dgx"; "" where nothing restricts.
  std::string text() const;
  friend auto operator<=>(const NodeRule&, const NodeRule&) = default;
};

/// The nodes that satisfy a rule. Shared by all who have the rule, and true at any time: nodes that
/// come or change are put in and taken out.
struct NodeSet {
  std::uint64_t id = 0;                   // never used twice; 0: all nodes
  std::shared_ptr<const NodeList> nodes;  // ascending; none: all
  bool spread = false;                    // its queue wants the emptiest first, not the fullest
  std::optional<TopologyWish> topology;   // how close together; not for NodeRules to say
  std::optional<Segments> segments;       // groups of its nodes that are closer; the same
};

class NodeRules {
 public:
  explicit NodeRules(std::vector<NamedNodes> groups);

  /// A node has come, or is of another type than before.
  void put_node(NodeIndex index, const std::string& name, const std::string& type);
  /// The rules of projects and queues. True when any has changed: sets of jobs that wait may then
  /// be others.
  bool set_org(const Org& org);

  NodeRule rule_of(const JobSpec& spec) const;
  /// Where such a job may run, without the nodes to avoid, and which of that is best.
  NodeSet set_of(const JobSpec& spec, NodeList avoid = {});

  /// A wish that names a node, type or group that nobody knows is an error, with the nearest one.
  Result<void> check(const NodeWish& wish) const;
  /// Groups that projects and queues name and rota.yaml does not have.
  std::vector<std::string> warnings_of(const Org& org) const;

  const std::string& type_of(NodeIndex index) const { return nodes_[index].type; }
  /// The groups that the node is in, by name.
  std::vector<std::string> groups_of(NodeIndex index) const;

 private:
  struct Node {
    std::string name;
    std::string type;
    std::vector<std::uint32_t> groups;  // ascending numbers in groups_
  };
  /// A rule as it is asked about every node.
  struct Test {
    std::vector<std::string> types;          // words of type_word()
    std::vector<std::uint32_t> groups;       // numbers of those that there are
    std::vector<std::uint32_t> queue_group;  // none or one
    std::vector<std::string> only, except;   // names, ascending
    struct Word {
      std::string type;
      std::vector<std::uint32_t> group;  // none or one
    };
    std::vector<std::vector<Word>> constraint;
  };
  struct Set {
    NodeSet set;
    std::shared_ptr<NodeList> nodes;
    Test test;
  };

  NodeSet set_by(NodeRule rule);
  Test test_of(const NodeRule& rule) const;
  bool passes(const Test& test, const NodeRule& rule, NodeIndex index) const;
  /// Ascending, without those that are no group.
  std::vector<std::uint32_t> group_numbers(const std::vector<std::string>& names) const;
  void drop_unused();
  Result<void> check_names(std::string_view what, const std::string& hosts) const;
  bool knows_word(const std::string& word) const;

  std::vector<NamedNodes> groups_;                             // by name in small letters
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of groups_, by that
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> grouped_;  // groups of each node
  std::vector<Node> nodes_;                                                 // by NodeIndex
  std::map<std::string, NodeIndex, std::less<>> node_names_;
  std::map<std::string, std::uint32_t> types_;  // known ones, and how many nodes are of each
  std::map<std::string, std::vector<KindPolicy>, std::less<>> projects_;  // only that restrict
  struct QueueRule {
    std::string group;
    bool spread = false;
    friend bool operator==(const QueueRule&, const QueueRule&) = default;
  };
  std::map<std::string, QueueRule, std::less<>> queues_;  // the same
  std::map<NodeRule, Set> sets_;
  std::uint64_t set_last_ = 0;
  std::size_t size_at_drop_ = 0;
};

}  // namespace rota::sched
