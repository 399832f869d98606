// sched/quota_map.h - the organisation's departments and projects, and their places in the tree.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model/project.h"
#include "sched/quota_tree.h"

namespace rota::sched {

/// Follows the organisation: makes the tree what it says, and knows who is where.
class QuotaMap {
 public:
  /// What is held and waits stays with its project, wherever that moves.
  void update(QuotaTree& tree, const Org& org);

  /// There must be one of that name.
  QuotaIndex project(std::string_view name) const;
  QuotaIndex department(std::string_view name) const;
  bool is_project(QuotaIndex index) const { return is_project_.at(index); }

 private:
  using Places = std::map<std::string, QuotaIndex, std::less<>>;
  QuotaIndex settle_department(QuotaTree& tree, const Org& org, const std::string& name,
                               Places& settled);
  void put(QuotaTree& tree, Places& places, const std::string& name, QuotaIndex parent,
           const QuotaTerms& terms, bool is_project);

  Places departments_;
  Places projects_;
  std::map<QuotaIndex, bool> is_project_;
};

}  // namespace rota::sched
