// testsuite/unit/sched/shares_model.cpp - three phases among siblings, from the cluster down.
//
// Nothing is rounded here. All amounts are whole millionths, thousandths or bytes, and stay so: a
// portion is a fraction only until it is cut off or found to cover a wish. In worlds of this size
// no product of an amount and two weights passes 64 bits.
#include "unit/sched/shares_model.h"

#include <algorithm>
#include <functional>
#include <map>

namespace rota::sched::drawn {
namespace {

struct Sibling {
  std::size_t project = 0;
  std::int64_t most = 0;  // what it asks for, up to its limit
  std::int64_t weight = 0;
  int rank = 0;
  std::int64_t share = 0;

  std::int64_t wish() const { return most - share; }
};

/// What was cut off a portion: `part` / `of` of the smallest amount. Siblings stand in order of
/// age.
struct Cut {
  Sibling* sibling = nullptr;
  std::int64_t part = 0, of = 1;
};

/// A rank's rounds. Takes what it gives from `left`; returns what was cut off.
std::vector<Cut> rounds(const std::vector<Sibling*>& siblings, std::int64_t unit,
                        std::int64_t& left) {
  std::map<Sibling*, Cut> cuts;
  for (bool again = true; again;) {
    again = false;
    std::int64_t weights = 0;
    for (const Sibling* sibling : siblings)
      if (sibling->wish() > 0) weights += sibling->weight;
    if (weights == 0) break;
    const std::int64_t at_start = left;
    for (Sibling* sibling : siblings) {
      const std::int64_t wish = sibling->wish();
      if (wish <= 0 || sibling->weight == 0) continue;
      const std::int64_t portion = at_start * sibling->weight;  // times `weights`
      if (wish * weights <= portion) {
        again = again || wish * weights < portion;
        sibling->share += wish;
        left -= wish;
        cuts.erase(sibling);
      } else {
        const std::int64_t given = portion / (weights * unit) * unit;
        sibling->share += given;
        left -= given;
        // What an earlier round cut off is remembered as long as nothing else is.
        if (portion > given * weights)
          cuts[sibling] = {sibling, portion - given * weights, weights};
      }
    }
  }
  std::vector<Cut> in_order;
  for (Sibling* sibling : siblings)
    if (const auto at = cuts.find(sibling); at != cuts.end()) in_order.push_back(at->second);
  return in_order;
}

void hand_out(std::vector<Cut> cuts, std::int64_t unit, std::int64_t& left) {
  std::stable_sort(cuts.begin(), cuts.end(),
                   [](const Cut& a, const Cut& b) { return a.part * b.of > b.part * a.of; });
  for (const Cut& cut : cuts) {
    if (cut.part == 0) continue;
    // A share never exceeds what is asked for.
    const std::int64_t given = std::min({unit, left, cut.sibling->wish()});
    cut.sibling->share += given;
    left -= given;
  }
}

void divide(std::vector<Sibling>& siblings,
            const std::vector<std::optional<std::int64_t>>& deserved, std::int64_t total,
            std::int64_t unit) {
  std::int64_t left = total;
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    siblings[i].share = std::min(deserved[i].value_or(total), siblings[i].most);
    left -= siblings[i].share;
  }
  if (left <= 0) return;
  std::map<int, std::vector<Sibling*>, std::greater<>> ranks;
  for (Sibling& sibling : siblings) ranks[sibling.rank].push_back(&sibling);
  std::vector<std::vector<Cut>> cut_off;
  for (const auto& [rank, members] : ranks) cut_off.push_back(rounds(members, unit, left));
  for (const auto& cuts : cut_off) hand_out(cuts, unit, left);
}

}  // namespace

std::vector<Triple> fair_shares(const World& world, const std::vector<Triple>& requested) {
  std::vector<Triple> shares(world.projects.size());
  const auto divide_below = [&](std::optional<std::size_t> above, const Triple& total) {
    for (std::size_t r = 0; r < total.size(); ++r) {
      std::vector<Sibling> siblings;
      std::vector<std::optional<std::int64_t>> deserved;
      for (std::size_t i = 0; i < world.projects.size(); ++i) {
        const Project& project = world.projects[i];
        if (project.above != above) continue;
        const std::int64_t most =
            std::min(requested[i][r], project.limit[r].value_or(requested[i][r]));
        siblings.push_back({i, most, project.weight_tenths[r], project.rank, 0});
        deserved.push_back(project.deserved[r]);
      }
      divide(siblings, deserved, total[r], r == 0 ? gpu_whole : 1);
      for (const Sibling& sibling : siblings) shares[sibling.project][r] = sibling.share;
    }
  };
  Triple total{};
  for (const Node& node : world.nodes) {
    total[0] += node.gpus * gpu_whole;
    total[1] += node.cpu_milli;
    total[2] += node.memory_bytes;
  }
  divide_below(std::nullopt, total);
  for (std::size_t i = 0; i < world.projects.size(); ++i)
    if (!world.projects[i].above) divide_below(i, shares[i]);
  return shares;
}

}  // namespace rota::sched::drawn
