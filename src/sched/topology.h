// sched/topology.h - places in the network: ordered levels, wide to narrow, and their domains.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/config.h"
#include "sched/fleet.h"

namespace rota::sched {

/// One place: a rack, a block. Ordered by name among its siblings.
struct Domain {
  std::string name;
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;              // 0: the root, level 0 is at 1
  std::vector<std::uint32_t> children;  // one level narrower; empty at the narrowest
  NodeList nodes;                       // ascending
  std::uint32_t to_come = 0;            // nodes that are said to lie here and have not joined
};

/// A tree of domains; domains[0] holds all nodes that have a place.
class Topology {
 public:
  /// Of nodes that carry every level's label.
  Topology(std::string name, std::vector<std::string> levels, const Fleet& fleet);
  /// As the site says; nodes come with join().
  explicit Topology(const NetworkTopology& site);

  /// A node that was not there before. What lies where is kept up to date, at the cost of its
  /// levels; one that the site gives no place stays outside.
  void join(NodeIndex node, const std::string& name);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& levels() const { return levels_; }
  /// In any case of letters.
  std::optional<std::uint32_t> level_named(std::string_view name) const;

  const Domain& root() const { return domains_[0]; }
  const Domain& at(std::uint32_t domain) const { return domains_[domain]; }
  std::size_t size() const { return domains_.size(); }
  /// All places of the level; none where there is no such level.
  const std::vector<std::uint32_t>& places_of(std::uint32_t level) const;
  /// The narrowest place of the node; the root: it is outside.
  std::uint32_t place_of(NodeIndex node) const { return node < leaves_.size() ? leaves_[node] : 0; }
  /// The place of this level that it lies in; none: it is outside.
  std::optional<std::uint32_t> place_of(NodeIndex node, std::uint32_t level) const;
  /// The narrowest place that has them all; the root: there is none.
  std::uint32_t place_of_all(const NodeList& nodes) const;
  /// "block-a/rack-1"; "" of the root.
  std::string path_of(std::uint32_t domain) const;

 private:
  std::uint32_t add_path(const std::vector<std::string>& path);
  void put(NodeIndex node, std::uint32_t leaf);

  std::string name_;
  std::vector<std::string> levels_;
  std::vector<Domain> domains_;
  std::vector<std::vector<std::uint32_t>> by_level_;
  std::vector<std::uint32_t> leaves_;                              // by node; 0: outside
  std::unordered_map<std::string, std::uint32_t> leaves_to_come_;  // by name of a node
};

/// What two ascending lists have in common.
NodeList intersection(const NodeList& a, const NodeList& b);

}  // namespace rota::sched
