// sched/topology.cpp - domains from the labels of nodes.
#include "sched/topology.h"

#include <algorithm>

namespace rota::sched {

Topology::Topology(std::string name, std::vector<std::string> levels, const Fleet& fleet)
    : name_(std::move(name)), levels_(std::move(levels)) {
  domains_.emplace_back();
  for (NodeIndex node = 0; node < fleet.size(); ++node) {
    const auto& labels = fleet.at(node).labels;
    const bool inside = std::all_of(levels_.begin(), levels_.end(),
                                    [&](const auto& level) { return labels.contains(level); });
    if (!inside) continue;
    std::uint32_t domain = 0;
    domains_[domain].nodes.push_back(node);
    for (const std::string& level : levels_) {
      domain = child(domain, labels.at(level));
      domains_[domain].nodes.push_back(node);
    }
  }
  for (Domain& domain : domains_)
    std::sort(domain.children.begin(), domain.children.end(),
              [this](auto a, auto b) { return domains_[a].name < domains_[b].name; });
}

std::uint32_t Topology::child(std::uint32_t parent, const std::string& name) {
  for (const auto index : domains_[parent].children)
    if (domains_[index].name == name) return index;
  const auto index = static_cast<std::uint32_t>(domains_.size());
  domains_.push_back({name, {}, {}});
  domains_[parent].children.push_back(index);
  return index;
}

}  // namespace rota::sched
