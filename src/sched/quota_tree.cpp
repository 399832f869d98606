// sched/quota_tree.cpp - charging, gates and the division from the top down.
#include "sched/quota_tree.h"

#include <algorithm>
#include <cmath>

#include "common/assert.h"
#include "sched/fair_share.h"

namespace rota::sched {
namespace {

/// The unit that surplus goes out in: whole GPUs, thousandths of CPUs, bytes.
double unit_of(Resource r) { return r == Resource::gpu ? static_cast<double>(one_gpu) : 1.0; }

double in_units(std::int64_t amount, Resource r) {
  return amount == unbounded ? INFINITY : static_cast<double>(amount) / unit_of(r);
}

std::int64_t from_units(double units, Resource r) { return std::llround(units * unit_of(r)); }

/// Nobody passes a line in what they do not ask for, even if it has been passed before.
bool is_beyond(const Amount& held, const Amount& amount, const Amount& line) {
  return std::any_of(resources.begin(), resources.end(),
                     [&](Resource r) { return amount[r] > 0 && held[r] + amount[r] > line[r]; });
}

}  // namespace

QuotaTree::QuotaTree() {
  QuotaNode root;
  root.name = "cluster";
  root.terms.deserved = Amount::all(unbounded);
  nodes_.push_back(std::move(root));
}

QuotaIndex QuotaTree::add(std::string name, QuotaIndex parent, QuotaTerms terms) {
  auto index = static_cast<QuotaIndex>(nodes_.size());
  if (free_places_.empty()) {
    nodes_.emplace_back();
  } else {
    index = free_places_.back();
    free_places_.pop_back();
  }
  QuotaNode& node = at(index);
  node.name = std::move(name);
  node.parent = parent;
  node.depth = at(parent).depth + 1;
  node.terms = terms;
  at(parent).children.push_back(index);
  return index;
}

void QuotaTree::move(QuotaIndex index, QuotaIndex parent) {
  const Amount held = at(index).held, held_firm = at(index).held_firm, waiting = at(index).waiting;
  const auto settle = [&](QuotaIndex leaf, bool comes) {
    for (QuotaIndex i = leaf;; i = at(i).parent) {
      at(i).held = comes ? at(i).held + held : at(i).held - held;
      at(i).held_firm = comes ? at(i).held_firm + held_firm : at(i).held_firm - held_firm;
      at(i).waiting = comes ? at(i).waiting + waiting : at(i).waiting - waiting;
      if (i == quota_root) return;
    }
  };
  settle(at(index).parent, false);
  leave_parent(index);
  at(index).parent = parent;
  at(parent).children.push_back(index);
  settle(parent, true);
  set_depth(index, at(parent).depth + 1);
}

void QuotaTree::remove(QuotaIndex index) {
  ROTA_ASSERT(index != quota_root && at(index).children.empty());
  ROTA_ASSERT(at(index).held == Amount() && at(index).waiting == Amount());
  leave_parent(index);
  at(index) = {};
  free_places_.push_back(index);
}

void QuotaTree::leave_parent(QuotaIndex index) { std::erase(at(at(index).parent).children, index); }

void QuotaTree::set_depth(QuotaIndex index, std::uint32_t depth) {
  at(index).depth = depth;
  for (const QuotaIndex child : at(index).children) set_depth(child, depth + 1);
}

void QuotaTree::charge(QuotaIndex leaf, const Amount& amount, bool firm) {
  for (QuotaIndex i = leaf;; i = at(i).parent) {
    at(i).held += amount;
    if (firm) at(i).held_firm += amount;
    if (i == quota_root) return;
  }
}

void QuotaTree::discharge(QuotaIndex leaf, const Amount& amount, bool firm) {
  for (QuotaIndex i = leaf;; i = at(i).parent) {
    at(i).held -= amount;
    if (firm) at(i).held_firm -= amount;
    if (i == quota_root) return;
  }
}

void QuotaTree::add_waiting(QuotaIndex leaf, const Amount& amount) {
  for (QuotaIndex i = leaf;; i = at(i).parent) {
    at(i).waiting += amount;
    if (i == quota_root) return;
  }
}

void QuotaTree::remove_waiting(QuotaIndex leaf, const Amount& amount) {
  add_waiting(leaf, Amount() - amount);
}

void QuotaTree::divide(const Amount& total, double k) {
  total_ = total;
  at(quota_root).fair_share = total;
  divide_children(quota_root, k);
}

void QuotaTree::divide_children(QuotaIndex index, double k) {
  const std::vector<QuotaIndex>& children = at(index).children;
  if (children.empty()) return;
  for (const Resource r : resources) {
    std::vector<Claim> claims;
    claims.reserve(children.size());
    for (const QuotaIndex child : children) {
      const QuotaNode& node = at(child);
      const auto i = static_cast<std::size_t>(r);
      claims.push_back({.deserved = in_units(node.terms.deserved[r], r),
                        .limit = in_units(node.terms.limit[r], r),
                        .weight = node.terms.weight[i],
                        .requested = in_units(node.held[r] + node.waiting[r], r),
                        .usage = node.usage[i],
                        .rank = node.terms.rank,
                        .age_order = node.terms.age_order,
                        .name = node.name});
    }
    const double left = divide_guaranteed(claims, in_units(at(index).fair_share[r], r));
    divide_surplus(claims, left, k);
    for (std::size_t i = 0; i < children.size(); ++i)
      at(children[i]).fair_share[r] = from_units(claims[i].share, r);
  }
  for (const QuotaIndex child : children) divide_children(child, k);
}

std::optional<QuotaIndex> QuotaTree::over_limit(QuotaIndex leaf, const Amount& amount) const {
  for (QuotaIndex i = leaf; i != quota_root; i = at(i).parent)
    if (is_beyond(at(i).held, amount, at(i).terms.limit)) return i;
  return std::nullopt;
}

std::optional<QuotaIndex> QuotaTree::over_quota_firm(QuotaIndex leaf, const Amount& amount) const {
  for (QuotaIndex i = leaf; i != quota_root; i = at(i).parent)
    if (is_beyond(at(i).held_firm, amount, at(i).terms.deserved)) return i;
  return std::nullopt;
}

std::pair<QuotaIndex, QuotaIndex> QuotaTree::levelled(QuotaIndex a, QuotaIndex b) const {
  ROTA_ASSERT(a != b);
  while (at(a).depth > at(b).depth) a = at(a).parent;
  while (at(b).depth > at(a).depth) b = at(b).parent;
  while (at(a).parent != at(b).parent) {
    a = at(a).parent;
    b = at(b).parent;
  }
  return {a, b};
}

}  // namespace rota::sched
