// sched/fair_share.cpp - the rounds of quota.md 3, taken literally.
#include "sched/fair_share.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
#include <tuple>

namespace rota::sched {
namespace {

/// Below this an amount is rounding, not a wish.
constexpr double crumb = 1e-9;

double wish(const Claim& claim) {
  return std::max(0.0, std::min(claim.requested, claim.limit) - claim.share);
}

/// One level of rank. Siblings are named by their place in `claims`.
class Level {
 public:
  Level(std::vector<Claim>& claims, std::int32_t rank, double k)
      : claims_(claims), k_(k), cut_off_(claims.size()) {
    for (std::size_t i = 0; i < claims.size(); ++i)
      if (claims[i].rank == rank) members_.push_back(i);
  }

  /// In whole units, as often as there is more to give; what is cut off is remembered.
  double divide(double left) {
    while (left > crumb && round(left)) {
    }
    return left;
  }

  /// A unit each, to whom most was cut off first.
  double hand_out_remainders(double left) {
    std::vector<std::size_t> in_order;
    for (std::size_t i = 0; i < claims_.size(); ++i)
      if (cut_off_[i] > crumb) in_order.push_back(i);
    std::stable_sort(in_order.begin(), in_order.end(), [this](std::size_t a, std::size_t b) {
      if (std::abs(cut_off_[a] - cut_off_[b]) > crumb) return cut_off_[a] > cut_off_[b];
      const Claim &x = claims_[a], &y = claims_[b];
      return std::tie(x.age_order, x.name) < std::tie(y.age_order, y.name);
    });
    for (const std::size_t index : in_order) {
      if (left <= crumb) break;
      Claim& claim = claims_[index];
      const double given = std::min({1.0, left, wish(claim)});
      claim.share += given;
      left -= given;
    }
    return left;
  }

 private:
  /// True when somebody wanted less than their portion, so that another round can give more.
  bool round(double& left) {
    std::erase_if(members_, [this](std::size_t i) { return wish(claims_[i]) <= crumb; });
    const std::vector<double> portions = shares_of_weight();
    if (portions.empty()) return false;
    const double at_start = left;
    bool again = false;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      Claim& claim = claims_[members_[m]];
      const double portion = at_start * portions[m];
      const double wanted = wish(claim);
      double given = wanted;
      if (wanted <= portion + crumb) {
        again = again || wanted < portion - crumb;
        cut_off_[members_[m]] = 0;
      } else {
        given = std::floor(portion + crumb);
        // Who has no part in the surplus, or got all of it, has no claim to what is cut off others.
        // What an earlier round cut off is remembered as long as nothing else is.
        if (portion - given > crumb) cut_off_[members_[m]] = portion - given;
      }
      claim.share += given;
      left -= given;
    }
    return again;
  }

  /// Each member's part of what there is; empty when nobody has a weight.
  std::vector<double> shares_of_weight() const {
    double weights = 0;
    for (const std::size_t i : members_) weights += claims_[i].weight;
    if (weights <= 0) return {};
    std::vector<double> parts;
    double sum = 0;
    for (const std::size_t i : members_) {
      const double part = claims_[i].weight / weights;
      parts.push_back(std::max(0.0, part + k_ * (part - claims_[i].usage)));
      sum += parts.back();
    }
    if (sum <= 0) return {};
    for (double& part : parts) part /= sum;
    return parts;
  }

  std::vector<Claim>& claims_;
  double k_;
  std::vector<std::size_t> members_;
  std::vector<double> cut_off_;  // of each claim: what it would have got beyond whole units
};

}  // namespace

double divide_guaranteed(std::vector<Claim>& claims, double total) {
  double left = total;
  for (Claim& claim : claims) {
    const double deserved = std::isinf(claim.deserved) ? total : claim.deserved;
    claim.share = std::max(0.0, std::min({deserved, claim.requested, claim.limit}));
    left -= claim.share;
  }
  return std::max(0.0, left);
}

double divide_surplus(std::vector<Claim>& claims, double left, double k) {
  std::set<std::int32_t, std::greater<>> ranks;
  for (const Claim& claim : claims) ranks.insert(claim.rank);
  // A lower rank sees what the rounds of a higher one left; what was cut off comes after all
  // rounds.
  std::vector<Level> levels;
  for (const std::int32_t rank : ranks) {
    levels.emplace_back(claims, rank, k);
    left = levels.back().divide(left);
  }
  for (Level& level : levels) left = level.hand_out_remainders(left);
  return left;
}

}  // namespace rota::sched
