// sched/topology.cpp - domains from the labels of nodes, or from what the site says.
#include "sched/topology.h"

#include <algorithm>
#include <iterator>

#include "common/assert.h"
#include "common/lower.h"

namespace rota::sched {

Topology::Topology(std::string name, std::vector<std::string> levels, const Fleet& fleet)
    : name_(std::move(name)), levels_(std::move(levels)), domains_(1), by_level_(levels_.size()) {
  for (NodeIndex node = 0; node < fleet.size(); ++node) {
    const auto& labels = fleet.at(node).labels;
    std::vector<std::string> path;
    for (const std::string& level : levels_)
      if (const auto label = labels.find(level); label != labels.end())
        path.push_back(label->second);
    if (path.size() == levels_.size()) put(node, add_path(path));
  }
}

Topology::Topology(const NetworkTopology& site)
    : levels_(site.levels), domains_(1), by_level_(levels_.size()) {
  for (const NetworkPlace& place : site.places) {
    const std::uint32_t leaf = add_path(place.path);
    for (const std::string& node : place.nodes) leaves_to_come_.emplace(node, leaf);
    for (std::uint32_t at = leaf; at != 0; at = domains_[at].parent)
      domains_[at].to_come += static_cast<std::uint32_t>(place.nodes.size());
  }
}

std::uint32_t Topology::add_path(const std::vector<std::string>& path) {
  ROTA_ASSERT(path.size() == levels_.size());
  std::uint32_t domain = 0;
  for (const std::string& name : path) {
    const auto is_before = [this](std::uint32_t child, const std::string& other) {
      return domains_[child].name < other;
    };
    auto& children = domains_[domain].children;
    const auto at = std::lower_bound(children.begin(), children.end(), name, is_before);
    if (at != children.end() && domains_[*at].name == name) {
      domain = *at;
      continue;
    }
    const auto child = static_cast<std::uint32_t>(domains_.size());
    children.insert(at, child);
    const std::uint32_t depth = domains_[domain].depth + 1;
    domains_.push_back({.name = name, .parent = domain, .depth = depth});
    by_level_[depth - 1].push_back(child);
    domain = child;
  }
  return domain;
}

void Topology::join(NodeIndex node, const std::string& name) {
  const auto leaf = leaves_to_come_.extract(name);
  if (leaf.empty()) return;
  put(node, leaf.mapped());
  for (std::uint32_t at = leaf.mapped(); at != 0; at = domains_[at].parent) --domains_[at].to_come;
}

/// Nodes come in the order of their numbers.
void Topology::put(NodeIndex node, std::uint32_t leaf) {
  leaves_.resize(node + 1);
  leaves_[node] = leaf;
  for (std::uint32_t at = leaf;; at = domains_[at].parent) {
    domains_[at].nodes.push_back(node);
    if (at == 0) return;
  }
}

std::optional<std::uint32_t> Topology::level_named(std::string_view name) const {
  for (std::uint32_t level = 0; level < levels_.size(); ++level)
    if (lower_case(levels_[level]) == lower_case(name)) return level;
  return std::nullopt;
}

const std::vector<std::uint32_t>& Topology::places_of(std::uint32_t level) const {
  static const std::vector<std::uint32_t> none;
  return level < by_level_.size() ? by_level_[level] : none;
}

std::optional<std::uint32_t> Topology::place_of(NodeIndex node, std::uint32_t level) const {
  std::uint32_t at = place_of(node);
  while (domains_[at].depth > level + 1) at = domains_[at].parent;
  if (domains_[at].depth != level + 1) return std::nullopt;
  return at;
}

std::uint32_t Topology::place_of_all(const NodeList& nodes) const {
  if (nodes.empty()) return 0;
  std::uint32_t place = place_of(nodes.front());
  for (const NodeIndex node : nodes) {
    std::uint32_t other = place_of(node);
    while (place != other) {
      std::uint32_t& deeper = domains_[place].depth >= domains_[other].depth ? place : other;
      deeper = domains_[deeper].parent;
    }
  }
  return place;
}

std::string Topology::path_of(std::uint32_t domain) const {
  std::string path;
  for (; domain != 0; domain = domains_[domain].parent)
    path = domains_[domain].name + (path.empty() ? "" : "/") + path;
  return path;
}

NodeList intersection(const NodeList& a, const NodeList& b) {
  constexpr std::size_t much_longer = 16;
  const NodeList& few = a.size() < b.size() ? a : b;
  const NodeList& many = a.size() < b.size() ? b : a;
  NodeList both;
  if (few.size() < many.size() / much_longer) {
    std::copy_if(few.begin(), few.end(), std::back_inserter(both), [&many](NodeIndex node) {
      return std::binary_search(many.begin(), many.end(), node);
    });
    return both;
  }
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace rota::sched
