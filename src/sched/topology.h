// sched/topology.h - places in the network: ordered levels, wide to narrow, and their domains.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sched/fleet.h"

namespace rota::sched {

/// One place: a rack, a block. Ordered by name among its siblings.
struct Domain {
  std::string name;
  std::vector<std::uint32_t> children;  // one level narrower; empty at the narrowest
  NodeList nodes;                       // ascending
};

/// A tree of domains; domains[0] holds all nodes that carry every level's label.
class Topology {
 public:
  Topology(std::string name, std::vector<std::string> levels, const Fleet& fleet);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& levels() const { return levels_; }
  const Domain& root() const { return domains_[0]; }
  const Domain& at(std::uint32_t domain) const { return domains_[domain]; }

 private:
  std::uint32_t child(std::uint32_t parent, const std::string& name);

  std::string name_;
  std::vector<std::string> levels_;
  std::vector<Domain> domains_;
};

}  // namespace rota::sched
