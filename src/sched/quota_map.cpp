// sched/quota_map.cpp - adds, moves and drops places until the tree is what the organisation says.
#include "sched/quota_map.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {
namespace {

QuotaTerms terms_of(const QuotaPolicy& quota, const PreemptionPolicy& preemption,
                    std::uint64_t serial) {
  QuotaTerms terms;
  // Where CPUs or memory are no part of the promise, nobody is ever beyond it.
  terms.deserved[Resource::gpu] = quota.gpu_quota;
  terms.deserved[Resource::cpu] = quota.cpu_quota.value_or(unbounded);
  terms.deserved[Resource::memory] = quota.memory_quota.value_or(unbounded);
  terms.limit[Resource::gpu] = quota.gpu_limit.value_or(unbounded);
  terms.limit[Resource::cpu] = quota.cpu_limit.value_or(unbounded);
  terms.limit[Resource::memory] = quota.memory_limit.value_or(unbounded);
  if (!quota.over_quota)
    for (const Resource r : resources) terms.limit[r] = std::min(terms.limit[r], terms.deserved[r]);
  terms.weight[0] = static_cast<double>(quota.weight_or_quota()) / static_cast<double>(gpu_unit);
  terms.rank = quota.rank;
  terms.age_order = serial;
  terms.reclaim_min_runtime_seconds = preemption.min_runtime_reclaim_seconds;
  terms.preempt_min_runtime_seconds = preemption.min_runtime_preempt_seconds;
  terms.delay_seconds = preemption.delay_seconds;
  return terms;
}

}  // namespace

QuotaIndex QuotaMap::project(std::string_view name) const {
  const auto at = projects_.find(name);
  ROTA_ASSERT(at != projects_.end());
  return at->second;
}

QuotaIndex QuotaMap::department(std::string_view name) const {
  if (name.empty()) return quota_root;
  const auto at = departments_.find(name);
  ROTA_ASSERT(at != departments_.end());
  return at->second;
}

void QuotaMap::put(QuotaTree& tree, Places& places, const std::string& name, QuotaIndex parent,
                   const QuotaTerms& terms, bool is_project) {
  const auto [place, is_new] = places.try_emplace(name, quota_root);
  if (is_new) {
    place->second = tree.add(name, parent, terms);
    is_project_[place->second] = is_project;
    return;
  }
  if (tree.at(place->second).parent != parent) tree.move(place->second, parent);
  tree.set_terms(place->second, terms);
}

/// Those above it first: then nothing is ever moved below itself.
QuotaIndex QuotaMap::settle_department(QuotaTree& tree, const Org& org, const std::string& name,
                                       Places& settled) {
  if (name.empty()) return quota_root;
  if (const auto at = settled.find(name); at != settled.end()) return at->second;
  const Department* department = find_department(org, name);
  ROTA_ASSERT(department != nullptr);
  const QuotaIndex parent = settle_department(tree, org, department->parent, settled);
  put(tree, departments_, name, parent,
      terms_of(department->quota, department->preemption, department->serial), false);
  return settled[name] = departments_.at(name);
}

void QuotaMap::update(QuotaTree& tree, const Org& org) {
  Places settled;
  for (const Department& department : org.departments)
    settle_department(tree, org, department.name, settled);
  for (const Project& project : org.projects)
    put(tree, projects_, project.name, department(project.department),
        terms_of(project.quota, project.preemption, project.serial), true);
  std::erase_if(projects_, [&](const auto& place) {
    if (find_project(org, place.first) != nullptr) return false;
    tree.remove(place.second);
    return true;
  });
  // Whatever stood below a department that goes has been moved or dropped; the lowest go first.
  std::multimap<std::uint32_t, std::string, std::greater<>> going;
  for (const auto& [name, index] : departments_)
    if (find_department(org, name) == nullptr) going.emplace(tree.at(index).depth, name);
  for (const auto& [depth, name] : going) {
    tree.remove(departments_.at(name));
    departments_.erase(name);
  }
}

}  // namespace rota::sched
