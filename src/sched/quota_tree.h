// sched/quota_tree.h - projects and departments as a decision sees them: promised, held, due.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sched/amount.h"

namespace rota::sched {

/// A place in the tree, fixed for its life. 0 is the root: the whole cluster.
using QuotaIndex = std::uint32_t;
inline constexpr QuotaIndex quota_root = 0;

/// What an administrator said of a project or department.
struct QuotaTerms {
  Amount deserved;                        // guaranteed
  Amount limit = Amount::all(unbounded);  // never more than this
  std::array<double, 3> weight{0, 1, 1};  // of the surplus, per resource
  std::int32_t rank = 100;                // of the surplus: higher is served first
  std::uint64_t age_order = 0;            // smaller is older
  std::optional<std::int64_t> reclaim_min_runtime_seconds;
  std::optional<std::int64_t> preempt_min_runtime_seconds;
  std::optional<std::int64_t> delay_seconds;  // that a job waits before it takes from others
};

/// One project (a leaf) or department.
struct QuotaNode {
  std::string name;
  QuotaIndex parent = quota_root;
  std::uint32_t depth = 0;  // of the root: 0
  std::vector<QuotaIndex> children;
  QuotaTerms terms;

  Amount held;                    // by placed and promised tasks
  Amount held_firm;               // of those, by jobs that cannot be preempted
  Amount waiting;                 // asked for by waiting tasks
  std::array<double, 3> usage{};  // of the past, normalized to the cluster
  Amount fair_share;

  /// What it may hold without owing anybody: its share, at least its quota, at most its limit.
  std::int64_t allocatable(Resource r) const {
    const std::int64_t due = std::max(terms.deserved[r], fair_share[r]);
    return std::min(terms.limit[r], due);
  }
  Amount allocatable() const {
    Amount amount;
    for (const Resource r : resources) amount[r] = allocatable(r);
    return amount;
  }
};

/// The tree. Amounts are charged to a leaf and all above it.
class QuotaTree {
 public:
  QuotaTree();

  QuotaIndex add(std::string name, QuotaIndex parent, QuotaTerms terms);
  /// Puts it, with all below it, under another parent. Not below itself.
  void move(QuotaIndex index, QuotaIndex parent);
  /// It is no more; nothing is held or waiting there, and nothing is below it. Its place goes to
  /// the next that is added.
  void remove(QuotaIndex index);
  void set_terms(QuotaIndex index, QuotaTerms terms) { at(index).terms = terms; }

  QuotaNode& at(QuotaIndex index) { return nodes_[index]; }
  const QuotaNode& at(QuotaIndex index) const { return nodes_[index]; }
  std::size_t size() const { return nodes_.size(); }

  void charge(QuotaIndex leaf, const Amount& amount, bool firm);
  void discharge(QuotaIndex leaf, const Amount& amount, bool firm);
  void add_waiting(QuotaIndex leaf, const Amount& amount);
  void remove_waiting(QuotaIndex leaf, const Amount& amount);

  /// Divides `total` from the top down. `k` weighs the past.
  void divide(const Amount& total, double k);
  const Amount& total() const { return total_; }

  /// The first of `index` and those above it where `amount` more passes `limit_of`; none: it fits.
  std::optional<QuotaIndex> over_limit(QuotaIndex leaf, const Amount& amount) const;
  /// The same for what cannot be preempted and the guaranteed quota.
  std::optional<QuotaIndex> over_quota_firm(QuotaIndex leaf, const Amount& amount) const;

  /// The two that are children of the lowest common ancestor, on a's and on b's side. Both are
  /// leaves' ancestors or the leaves themselves; a != b.
  std::pair<QuotaIndex, QuotaIndex> levelled(QuotaIndex a, QuotaIndex b) const;

 private:
  void divide_children(QuotaIndex index, double k);
  void leave_parent(QuotaIndex index);
  void set_depth(QuotaIndex index, std::uint32_t depth);

  std::vector<QuotaNode> nodes_;
  std::vector<QuotaIndex> free_places_;
  Amount total_;
};

}  // namespace rota::sched
