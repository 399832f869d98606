// sim/conform_units.cpp - each kind of fact against the function that decides it.
#include "sim/conform_units.h"

#include <boost/json.hpp>
#include <cmath>
#include <map>

#include "common/format.h"
#include "sched/fair_share.h"
#include "sched/reclaim_rules.h"

namespace rota::sim {

namespace json = boost::json;
using sched::Amount;
using sched::QuotaIndex;
using sched::Resource;

namespace {

constexpr std::pair<const char*, Resource> resource_words[] = {
    {"gpu", Resource::gpu}, {"cpu", Resource::cpu}, {"memory", Resource::memory}};

double number(const json::object& o, const char* key, double otherwise) {
  const auto* value = o.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : otherwise;
}

std::int64_t amount(const json::object& o, const char* key, Resource r) {
  const auto* value = o.if_contains(key);
  if (value == nullptr || value->is_null()) return sched::unbounded;
  return std::llround(value->to_number<double>() * (r == Resource::gpu ? sched::one_gpu : 1));
}

Amount amounts(const json::object& o) {
  Amount sum;
  for (const auto& [word, r] : resource_words)
    if (o.contains(word)) sum[r] = amount(o, word, r);
  return sum;
}

/// The queues of a case as a tree.
class Queues {
 public:
  explicit Queues(const json::array& source) {
    std::vector<const json::object*> left;
    for (const auto& item : source) left.push_back(&item.as_object());
    for (std::size_t before = left.size() + 1; !left.empty() && left.size() < before;) {
      before = left.size();
      std::erase_if(left, [this](const json::object* o) { return add(*o); });
    }
    orphans_ = true;  // whose parents are not in the case stand at the top
    for (const json::object* o : left) add(*o);
  }
  const sched::QuotaTree& tree() const { return tree_; }
  QuotaIndex at(const json::value& id) const { return names_.at(std::string(id.as_string())); }
  bool contains(const json::object& o, const char* key) const {
    const auto* id = o.if_contains(key);
    return id != nullptr && id->is_string() && names_.contains(std::string(id->as_string()));
  }

 private:
  bool add(const json::object& o) {
    QuotaIndex parent = sched::quota_root;
    if (const auto* above = o.if_contains("parent"); above != nullptr && above->is_string()) {
      const auto at = names_.find(std::string(above->as_string()));
      if (at == names_.end() && !orphans_) return false;
      if (at != names_.end()) parent = at->second;
    }
    const std::string id(o.at("id").as_string());
    sched::QuotaTerms terms;
    const auto seconds = [&o](const char* key) -> std::optional<std::int64_t> {
      const auto* value = o.if_contains(key);
      if (value == nullptr || !value->is_number()) return std::nullopt;
      return value->to_number<std::int64_t>();
    };
    terms.preempt_min_runtime_seconds = seconds("preempt_min_runtime_sec");
    terms.reclaim_min_runtime_seconds = seconds("reclaim_min_runtime_sec");
    const QuotaIndex index = names_[id] = tree_.add(id, parent, terms);
    sched::QuotaNode& node = tree_.at(index);
    for (const auto& [word, r] : resource_words) {
      const auto* numbers = o.if_contains(word);
      if (numbers == nullptr) continue;
      const json::object& n = numbers->as_object();
      node.terms.deserved[r] = amount(n, "deserved", r);
      node.terms.limit[r] = amount(n, "limit", r);
      node.held[r] = amount(n, "allocated", r);
      node.held_firm[r] = amount(n, "allocated_non_preemptible", r);
      node.fair_share[r] = amount(n, "fair_share", r);
    }
    return true;
  }

  sched::QuotaTree tree_;
  std::map<std::string, QuotaIndex> names_;
  bool orphans_ = false;
};

sched::Reclaimer reclaimer_of(const json::object& source, const Queues& queues) {
  const json::object& o = source.at("reclaimer").as_object();
  return {queues.at(o.at("queue")), o.at("preemptible").as_bool(),
          amounts(o.at("required").as_object())};
}

void compare(Verdict& verdict, const std::string& what, double want, double is) {
  if (std::abs(want - is) > 1e-6 && !(std::isinf(want) && std::isinf(is)))
    verdict.faults.push_back(format("{}: expected {}, is {}", what, want, is));
}

void fair_share(const json::object& source, Verdict& verdict) {
  const json::array& queues = source.at("queues").as_array();
  std::vector<sched::Claim> claims;
  for (const auto& item : queues) {
    const json::object& o = item.as_object();
    claims.push_back({.deserved = number(o, "deserved", INFINITY),
                      .limit = number(o, "limit", INFINITY),
                      .weight = number(o, "over_quota_weight", 0),
                      .requested = number(o, "requested", INFINITY),
                      .usage = number(o, "usage", 0),
                      .rank = static_cast<std::int32_t>(number(o, "priority", 0)),
                      .age_order = static_cast<std::uint64_t>(number(o, "created", 0)),
                      .name = o.at("id").as_string(),
                      .share = number(o, "fair_share_before", 0)});
  }
  double left = number(source, "total", 0);
  if (source.at("stage").as_string() == "deserved_then_over_quota")
    left = sched::divide_guaranteed(claims, left);
  left = sched::divide_surplus(claims, left, number(source, "k_value", 0));
  const json::object& expected = source.at("expected").as_object();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string id(queues[i].at("id").as_string());
    if (!expected.at("fair_share").as_object().contains(id)) continue;
    compare(verdict, "fair share of " + id,
            number(expected.at("fair_share").as_object(), id.c_str(), 0), claims[i].share);
  }
  if (expected.contains("remaining"))
    compare(verdict, "remaining", number(expected, "remaining", 0), left);
}

void expect(const json::object& source, const char* key, bool is, Verdict& verdict) {
  const bool want = source.at("expected").at(key).as_bool();
  if (want != is) verdict.faults.push_back(format("{}: expected {}, is {}", key, want, is));
}

void reclaim_allowed(const json::object& source, Verdict& verdict) {
  const Queues queues(source.at("queues").as_array());
  std::vector<sched::Loss> losses;
  for (const auto& item : source.at("victims").as_array()) {
    sched::Loss loss{queues.at(item.at("queue")), {}};
    for (const auto& unit : item.at("units").as_array())
      loss.units.push_back(amounts(unit.as_object()));
    losses.push_back(std::move(loss));
  }
  expect(source, "allowed",
         sched::is_allowed(queues.tree(), reclaimer_of(source, queues), losses,
                           number(source, "saturation_multiplier", 1)),
         verdict);
}

void min_runtime(const json::object& source, Verdict& verdict) {
  const Queues queues(source.at("queues").as_array());
  const auto preempt = static_cast<std::int64_t>(number(source, "default_preempt_sec", 0));
  const auto reclaim = static_cast<std::int64_t>(number(source, "default_reclaim_sec", 0));
  const std::string method(source.at("method").as_string());
  // Of a queue that is not there nothing is known but what holds for all.
  std::int64_t seconds = method == "preempt" ? preempt : reclaim;
  const bool is_known = queues.contains(source, "victim_queue") &&
                        (method == "preempt" || queues.contains(source, "reclaimer_queue"));
  if (is_known) {
    const QuotaIndex victim = queues.at(source.at("victim_queue"));
    seconds = method == "preempt" ? sched::preempt_min_runtime(queues.tree(), victim, preempt)
              : method == "reclaim_queue"
                  ? sched::reclaim_min_runtime_of(queues.tree(), victim, reclaim)
                  : sched::reclaim_min_runtime(
                        queues.tree(), queues.at(source.at("reclaimer_queue")), victim, reclaim);
  }
  compare(verdict, "seconds", number(source.at("expected").as_object(), "seconds", 0),
          static_cast<double>(seconds));
}

}  // namespace

Verdict run_unit_case(const json::object& source) {
  Verdict verdict{std::string(source.at("id").as_string()), {}};
  const std::string kind(source.at("kind").as_string());
  if (kind == "fair_share") {
    fair_share(source, verdict);
  } else if (kind == "can_reclaim") {
    const Queues queues(source.at("queues").as_array());
    expect(source, "allowed", sched::can_reclaim(queues.tree(), reclaimer_of(source, queues)),
           verdict);
  } else if (kind == "victim_candidate") {
    const Queues queues(source.at("queues").as_array());
    expect(source, "candidate",
           sched::is_candidate(queues.tree(), reclaimer_of(source, queues),
                               queues.at(source.at("victim_queue"))),
           verdict);
  } else if (kind == "reclaim_allowed") {
    reclaim_allowed(source, verdict);
  } else if (kind == "min_runtime") {
    min_runtime(source, verdict);
  } else {
    verdict.faults.push_back(format("the kind of fact {} is not known", kind));
  }
  return verdict;
}

}  // namespace rota::sim
