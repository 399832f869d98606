// testsuite/unit/sched/order_test.cpp - rules between projects that whole passes hardly show.
#include "sched/order.h"

#include <gtest/gtest.h>

#include "sched/fair_share.h"

namespace rota::sched {
namespace {

Amount all_of(std::int64_t gpus) { return {{gpus * one_gpu, gpus * 1000, gpus << 30}}; }

QuotaNode project_of(const char* name, std::int64_t deserved, std::int64_t share) {
  QuotaNode node;
  node.name = name;
  node.terms.deserved = all_of(deserved);
  node.fair_share = all_of(share);
  return node;
}

/// Over its share in everything at once comes last, even with the smaller dominant share; over it
/// in GPUs alone does not count.
TEST(Order, WhoIsOverItsShareInEverythingComesLast) {
  const Amount total = all_of(100);
  QuotaNode over = project_of("over", 0, 1), within = project_of("within", 0, 1);
  over.terms.rank = within.terms.rank + 1;  // would come first otherwise
  const Amount step = all_of(1);
  const auto standing = [&](const QuotaNode& node, const Amount& held) {
    return Standing(Bid{&node, held, held + step, held + step}, total);
  };
  EXPECT_GT(compare(standing(over, all_of(2)), standing(within, all_of(1))), 0);
  EXPECT_LT(compare(standing(over, all_of(1)), standing(within, all_of(1))), 0);
  const Amount only_gpus{{2 * one_gpu, 1000, std::int64_t{1} << 30}};
  EXPECT_LT(compare(standing(over, only_gpus), standing(within, all_of(1))), 0);
}

std::vector<double> surplus_of(std::vector<Claim> claims, double left, double k) {
  divide_surplus(claims, left, k);
  std::vector<double> shares;
  for (const Claim& claim : claims) shares.push_back(claim.share);
  return shares;
}

Claim claim_of(double weight, double usage) {
  return {.limit = 1e9, .weight = weight, .requested = 1e9, .usage = usage};
}

/// max(0, w + k (w - usage)), made to add up to one (quota.md 3).
TEST(Order, ThePastCorrectsTheWeights) {
  const std::vector<Claim> even = {claim_of(1, 0.75), claim_of(1, 0.25)};
  EXPECT_EQ(surplus_of(even, 100, 0), (std::vector<double>{50, 50}));
  EXPECT_EQ(surplus_of(even, 100, 1), (std::vector<double>{25, 75}));
  EXPECT_EQ(surplus_of(even, 100, 2), (std::vector<double>{0, 100}));
  EXPECT_EQ(surplus_of({claim_of(1, 1), claim_of(1, 0)}, 100, 4), (std::vector<double>{0, 100}));
}

}  // namespace
}  // namespace rota::sched
