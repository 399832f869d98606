// testsuite/unit/sched/packing_random_test.cpp - packing under random steps: nothing is ever given
// twice, and what was kept is what would be worked out afresh.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "sched/packing.h"

namespace rota::sched {
namespace {

std::vector<PackNode> some_nodes() {
  std::vector<PackNode> nodes;
  for (std::int32_t n = 0; n < 60; ++n)
    nodes.push_back({.cpu_milli = 32000 + 32000 * (n % 3),
                     .memory_bytes = std::int64_t{200} << 30,
                     .gpu_count = n % 9,
                     .model = n % 4});
  return nodes;
}

std::vector<PackRequest> some_requests(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  std::vector<PackRequest> requests;
  for (int i = 0; i < 40; ++i) {
    constexpr std::array gpu_counts{0, 1, 1, 1, 1, 1, 2, 4, 8};
    PackRequest request{.cpu_milli = 1000 * below(20),
                        .memory_bytes = std::int64_t{below(50)} << 30};
    request.gpu_count = gpu_counts[random() % gpu_counts.size()];
    if (request.gpu_count > 0) request.gpu_share = whole_gpu;
    if (request.gpu_count == 1 && below(2) == 0) request.gpu_share = 50'000 + 10'000 * below(95);
    if (below(3) == 0) request.models = 1u + static_cast<std::uint32_t>(below(14));
    requests.push_back(request);
  }
  return requests;
}

/// What is taken, kept by other means: who is where.
struct Ledger {
  struct Stay {
    PackRequest request;
    PackSpot spot;
  };
  std::vector<Stay> stays;

  /// What is wrong on this node; nothing, as a rule.
  std::string fault(const PackNode& total, NodeIndex node) const {
    std::int64_t cpu = 0, memory = 0;
    std::array<std::int64_t, pack_gpus_max> gpus{};
    for (const auto& [request, spot] : stays) {
      if (spot.node != node) continue;
      cpu += request.cpu_milli;
      memory += request.memory_bytes;
      if (std::popcount(spot.gpus) != request.gpu_count) return "not the GPUs that were asked for";
      if (request.gpu_count > 0 && (request.models >> total.model & 1u) == 0) return "wrong model";
      for (std::size_t g = 0; g < gpus.size(); ++g)
        gpus[g] += (spot.gpus >> g & 1u) != 0 ? request.gpu_share : 0;
    }
    if (cpu > total.cpu_milli || memory > total.memory_bytes) return "CPUs or memory given twice";
    for (std::size_t g = 0; g < gpus.size(); ++g)
      if (gpus[g] > (g < static_cast<std::size_t>(total.gpu_count) ? whole_gpu : 0))
        return "a GPU given twice";
    return "";
  }
};

/// The same choice with nothing kept: every node, every GPU.
std::optional<PackChoice> choose_afresh(const Packing& packing, const PackRequest& request) {
  std::optional<PackChoice> best;
  for (NodeIndex node = 0; node < packing.fleet().size(); ++node) {
    const PackRoom room = packing.fleet().room_of(node);
    if (packing.fleet().shelf_of(node) == PackFleet::no_shelf || !room.fits(request)) continue;
    const std::int64_t before = packing.worth().of(room);
    std::optional<PackChoice> here;
    const std::size_t levels = request.is_share() ? static_cast<std::size_t>(room.gpu_count) : 1;
    for (std::size_t g = 0; g < levels; ++g) {
      const std::int32_t level = room.gpu_free[g];
      if (request.is_share() && level < request.gpu_share) break;
      const std::int64_t loss = before - packing.worth().of(room.after(request, level));
      if (!here || loss <= here->loss)
        here = PackChoice{packing.fleet().spot_on(node, request, level), loss};
    }
    if (here && (!best || here->loss < best->loss)) best = here;
  }
  return best;
}

TEST(PackingRandom, NothingIsGivenTwiceAndKeptScoresAreTrue) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto nodes = some_nodes();
    const auto requests = some_requests(random);
    Packing packing, twin;  // the twin is told the same
    for (const PackNode& node : nodes) {
      packing.add(node);
      twin.add(node);
    }
    Ledger ledger;
    std::size_t most = 0;
    for (int step = 0; step < 6000; ++step) {
      if (!ledger.stays.empty() && random() % 100 < 45) {
        std::swap(ledger.stays[random() % ledger.stays.size()], ledger.stays.back());
        const auto [request, spot] = ledger.stays.back();
        ledger.stays.pop_back();
        packing.release(request, spot);
        twin.release(request, spot);
        continue;
      }
      if (random() % 500 == 0) {
        const auto node = static_cast<NodeIndex>(random() % nodes.size());
        const bool usable = random() % 3 > 0;
        packing.set_usable(node, usable);
        twin.set_usable(node, usable);
      }
      const PackRequest& request = requests[random() % requests.size()];
      packing.observe(request);
      twin.observe(request);
      const auto choice = packing.choose(request);
      ASSERT_EQ(choice, choose_afresh(packing, request)) << "step " << step;
      ASSERT_EQ(choice, twin.choose(request)) << "step " << step;
      if (!choice) continue;
      packing.take(request, choice->spot);
      twin.take(request, choice->spot);
      ledger.stays.push_back({request, choice->spot});
      most = std::max(most, ledger.stays.size());
      ASSERT_EQ(ledger.fault(nodes[choice->spot.node], choice->spot.node), "") << "step " << step;
    }
    EXPECT_GT(most, 100u) << "the fleet was never full";
    for (const auto& [request, spot] : ledger.stays) packing.release(request, spot);
    for (NodeIndex node = 0; node < nodes.size(); ++node) {
      const PackRoom room = packing.fleet().room_of(node);
      EXPECT_EQ(room.cpu_milli, nodes[node].cpu_milli);
      EXPECT_EQ(room.memory_bytes, nodes[node].memory_bytes);
      EXPECT_EQ(room.whole_gpus(), nodes[node].gpu_count);
    }
  }
}

// More different requests than scores are kept for: they are dropped on the way, and nothing shows.
TEST(PackingRandom, ManyRequestsAreForgottenAndFoundAgain) {
  Packing packing;
  for (const PackNode& node : some_nodes()) packing.add(node);
  const PackRequest first{.cpu_milli = 1, .gpu_count = 1, .gpu_share = 300'000};
  packing.observe(first);
  const auto choice = packing.choose(first);
  for (std::int64_t cpu = 2; cpu < 70'000; ++cpu)
    ASSERT_TRUE(packing.choose({.cpu_milli = cpu % 32'000, .memory_bytes = cpu}));
  EXPECT_EQ(packing.choose(first), choice);
}

}  // namespace
}  // namespace rota::sched
