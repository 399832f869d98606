// sched/node_rules.cpp - rules become sets of nodes, one for all jobs that have the same.
#include "sched/node_rules.h"

#include <algorithm>

#include "common/assert.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/lower.h"
#include "common/nearest.h"
#include "model/node_type.h"

namespace rota::sched {
namespace {

constexpr std::size_t sets_kept = 64;
constexpr std::ptrdiff_t sets_max = 4096;  // of jobs that live: each may name most of the cluster
constexpr long own_uses = 2;               // of a list of nodes, by the set that holds it

/// The names of a host list that was checked when it came in.
std::vector<std::string> sorted_names(const std::string& hosts) {
  auto names = hostlist_expand(hosts);
  ROTA_ASSERT(names);
  std::sort(names->begin(), names->end());
  return *std::move(names);
}

template <class T>
bool contains(const std::vector<T>& sorted, const T& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

/// Both ascending.
bool share_one(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&b](std::uint32_t each) { return contains(b, each); });
}

std::string listed(std::string_view one, std::string_view several,
                   const std::vector<std::string>& words) {
  return format("{} {}", words.size() == 1 ? one : several, fmt::join(words, " or "));
}

}  // namespace

std::string NodeRule::text() const {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
  if (!types.empty()) add(listed("of type", "of types", types));
  if (!groups.empty()) add(listed("in group", "in groups", groups));
  if (!queue_group.empty()) add(format("in its queue's group {}", queue_group));
  if (!wish.empty()) add(text_of(wish));
  return text;
}

NodeRules::NodeRules(std::vector<NamedNodes> groups) : groups_(std::move(groups)) {
  std::sort(groups_.begin(), groups_.end(), [](const NamedNodes& a, const NamedNodes& b) {
    return lower_case(a.name) < lower_case(b.name);
  });
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    numbers_.emplace(lower_case(groups_[i].name), i);
    for (const std::string& node : groups_[i].nodes) grouped_[node].push_back(i);
  }
}

void NodeRules::put_node(NodeIndex index, const std::string& name, const std::string& type) {
  if (nodes_.size() <= index) nodes_.resize(index + 1);
  Node& node = nodes_[index];
  if (node.type == type) return;
  if (const auto before = types_.find(node.type); before != types_.end() && --before->second == 0)
    types_.erase(before);
  ++types_[type];
  if (node.name.empty()) {
    node.name = name;
    node_names_.emplace(name, index);
    if (const auto at = grouped_.find(name); at != grouped_.end()) node.groups = at->second;
  }
  node.type = type;
  for (auto& [rule, set] : sets_) {
    NodeList& list = *set.nodes;
    const auto at = std::lower_bound(list.begin(), list.end(), index);
    const bool is_in = at != list.end() && *at == index;
    if (passes(set.test, rule, index) == is_in) continue;
    if (is_in)
      list.erase(at);
    else
      list.insert(at, index);
  }
}

bool NodeRules::set_org(const Org& org) {
  decltype(projects_) projects;
  decltype(queues_) queues;
  for (const Project& project : org.projects)
    if (!project.kinds.empty()) projects.emplace(project.name, project.kinds);
  for (const Queue& queue : org.queues)
    if (const bool spread = queue.placement == QueuePlacement::spread;
        spread || !queue.node_group.empty())
      queues.emplace(queue.name, QueueRule{queue.node_group, spread});
  const bool same = projects == projects_ && queues == queues_;
  projects_ = std::move(projects);
  queues_ = std::move(queues);
  return !same;
}

NodeRule NodeRules::rule_of(const JobSpec& spec) const {
  NodeRule rule;
  rule.wish = *spec.nodes;
  if (const auto project = projects_.find(spec.project); project != projects_.end())
    for (const KindPolicy& policy : project->second)
      if (policy.kind == spec.kind) {
        rule.types = policy.node_types;
        rule.groups = policy.node_groups;
      }
  if (const auto queue = queues_.find(spec.queue); queue != queues_.end())
    rule.queue_group = queue->second.group;
  return rule;
}

NodeSet NodeRules::set_of(const JobSpec& spec, NodeList avoid) {
  NodeRule rule = rule_of(spec);
  rule.avoid = std::move(avoid);
  NodeSet set = rule.restricts() ? set_by(std::move(rule)) : NodeSet{};
  const auto queue = queues_.find(spec.queue);
  set.spread = queue != queues_.end() && queue->second.spread;
  return set;
}

NodeSet NodeRules::set_by(NodeRule rule) {
  if (const auto known = sets_.find(rule); known != sets_.end()) return known->second.set;
  drop_unused();
  Set set;
  set.test = test_of(rule);
  set.nodes = std::make_shared<NodeList>();
  for (NodeIndex i = 0; i < nodes_.size(); ++i)
    if (passes(set.test, rule, i)) set.nodes->push_back(i);
  set.set = {.id = ++set_last_, .nodes = set.nodes};
  return sets_.emplace(std::move(rule), std::move(set)).first->second.set;
}

/// Sets that no job has any more are forgotten, once they could be half of all.
void NodeRules::drop_unused() {
  if (sets_.size() < std::max(sets_kept, 2 * size_at_drop_)) return;
  std::erase_if(sets_, [](const auto& each) { return each.second.nodes.use_count() <= own_uses; });
  size_at_drop_ = sets_.size();
}

std::vector<std::uint32_t> NodeRules::group_numbers(const std::vector<std::string>& names) const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names)
    if (const auto at = numbers_.find(lower_case(name)); at != numbers_.end())
      numbers.push_back(at->second);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

NodeRules::Test NodeRules::test_of(const NodeRule& rule) const {
  Test test;
  for (const std::string& type : rule.types) test.types.push_back(type_word(type));
  test.groups = group_numbers(rule.groups);
  test.queue_group = group_numbers({rule.queue_group});
  test.only = sorted_names(rule.wish.only);
  test.except = sorted_names(rule.wish.except);
  if (rule.wish.constraint.empty()) return test;
  const auto constraint = constraint_parse(rule.wish.constraint);
  ROTA_ASSERT(constraint);
  for (const auto& words : *constraint) {
    auto& part = test.constraint.emplace_back();
    for (const std::string& word : words) part.push_back({type_word(word), group_numbers({word})});
  }
  return test;
}

bool NodeRules::passes(const Test& test, const NodeRule& rule, NodeIndex index) const {
  const Node& node = nodes_[index];
  const auto is_of = [&node](const std::string& word) { return names_type(word, node.type); };
  if (!rule.types.empty() && std::none_of(test.types.begin(), test.types.end(), is_of))
    return false;
  if (!rule.groups.empty() && !share_one(test.groups, node.groups)) return false;
  if (!rule.queue_group.empty() && !share_one(test.queue_group, node.groups)) return false;
  if (!test.only.empty() && !contains(test.only, node.name)) return false;
  if (contains(test.except, node.name) || contains(rule.avoid, index)) return false;
  return std::all_of(test.constraint.begin(), test.constraint.end(), [&](const auto& words) {
    return std::any_of(words.begin(), words.end(), [&](const Test::Word& word) {
      return is_of(word.type) || share_one(word.group, node.groups);
    });
  });
}

std::vector<std::string> NodeRules::groups_of(NodeIndex index) const {
  std::vector<std::string> names;
  for (const std::uint32_t group : nodes_[index].groups) names.push_back(groups_[group].name);
  return names;
}

Result<void> NodeRules::check_names(std::string_view what, const std::string& hosts) const {
  for (const std::string& name : sorted_names(hosts)) {
    if (node_names_.contains(name) || grouped_.contains(name)) continue;
    std::vector<std::string_view> known;
    for (const auto& [node, index] : node_names_) known.push_back(node);
    return Error{Errc::no_such_node,
                 format("{} in {}; {}", quoted(name), what, suggestion(name, known))};
  }
  return {};
}

bool NodeRules::knows_word(const std::string& word) const {
  if (numbers_.contains(lower_case(word))) return true;
  return std::any_of(types_.begin(), types_.end(), [type = type_word(word)](const auto& each) {
    return names_type(type, each.first);
  });
}

Result<void> NodeRules::check(const NodeWish& wish) const {
  if (wish.empty()) return {};
  const auto lives = [](const auto& each) { return each.second.nodes.use_count() > own_uses; };
  const auto is_same = [&wish](const auto& each) { return each.first.wish == wish; };
  if (std::ssize(sets_) >= sets_max && std::none_of(sets_.begin(), sets_.end(), is_same) &&
      std::count_if(sets_.begin(), sets_.end(), lives) >= sets_max)
    return Error{Errc::queue_full,
                 format("jobs with {} different wishes for nodes have not ended; ask for a type or "
                        "group of nodes, or for what others ask for",
                        sets_max)};
  if (nodes_.empty()) return {};  // with no node known nothing can be said
  ROTA_CHECK(check_names("the list of nodes", wish.only));
  ROTA_CHECK(check_names("the list of nodes to leave out", wish.except));
  if (wish.constraint.empty()) return {};
  ROTA_TRY(const Constraint constraint, constraint_parse(wish.constraint));
  for (const auto& words : constraint)
    for (const std::string& word : words) {
      if (knows_word(word)) continue;
      std::vector<std::string_view> known;
      for (const NamedNodes& group : groups_) known.push_back(group.name);
      for (const auto& [type, count] : types_) known.push_back(type);
      return Error{Errc::no_such_node, format("{} is no type and no group of nodes; {}",
                                              quoted(word), suggestion(word, known))};
    }
  return {};
}

std::vector<std::string> NodeRules::warnings_of(const Org& org) const {
  std::vector<std::string> lines;
  std::vector<std::string_view> known;
  for (const NamedNodes& group : groups_) known.push_back(group.name);
  const auto look_at = [&](const std::string& whose, const std::string& group) {
    if (group.empty() || numbers_.contains(lower_case(group))) return;
    lines.push_back(format("{}: rota.yaml has no node group {}, so its jobs wait; {}", whose,
                           quoted(group), suggestion(group, known)));
  };
  for (const Project& project : org.projects)
    for (const KindPolicy& policy : project.kinds)
      for (const std::string& group : policy.node_groups)
        look_at(format("project {}, {}_node_groups", quoted(project.name), name_of(policy.kind)),
                group);
  for (const Queue& queue : org.queues)
    look_at(format("queue {}, node_group", quoted(queue.name)), queue.node_group);
  return lines;
}

}  // namespace rota::sched
