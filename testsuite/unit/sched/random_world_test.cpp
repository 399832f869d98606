// testsuite/unit/sched/random_world_test.cpp - promises that hold in whatever world a seed makes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "common/format.h"
#include "unit/sched/small_world.h"

namespace rota::sched {
namespace {

/// Three texts for SmallWorld, made under a seed: what runs fits, the rest waits.
struct Texts {
  std::string nodes, projects, jobs;
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Texts make() {
    Texts texts;
    const int nodes = pick(1, 6);
    std::vector<int> idle;
    for (int i = 0; i < nodes; ++i) {
      idle.push_back(pick(1, 4) * 2);
      texts.nodes += format("n{} gpus={};", i, idle.back());
    }
    const int departments = pick(1, 3), projects = pick(1, 6);
    for (int i = 0; i < departments; ++i)
      texts.projects += format("d{} quota={} weight={};", i, pick(0, 16), pick(0, 3));
    for (int i = 0; i < projects; ++i) {
      texts.projects += format("p{} in=d{} quota={} weight={} rank={}", i, pick(0, departments - 1),
                               pick(0, 8), pick(0, 3), pick(1, 2) * 100);
      if (pick(0, 3) == 0) texts.projects += format(" limit={}", pick(2, 10));
      if (pick(0, 3) == 0) texts.projects += format(" keep={}", pick(0, 100));
      texts.projects += ';';
    }
    for (int i = 0; i < 30; ++i) texts.jobs += job(i, projects, idle);
    return texts;
  }

 private:
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  std::string job(int index, int projects, std::vector<int>& idle) {
    std::string text = format("j{} p{} priority={} age={}", index, pick(0, projects - 1),
                              pick(0, 3) * 25 + 25, pick(0, 5));
    const bool runs = pick(0, 2) != 0;
    const int tasks = pick(0, 3) == 0 ? pick(2, 4) : 1;
    if (pick(0, 3) == 0) {
      text += format(" share=0.{}", pick(1, 9));
      const int node = pick(0, static_cast<int>(idle.size()) - 1);
      // A fraction that runs counts as a whole GPU here, so that it surely fits.
      if (runs && idle[node] > 0)
        text += format(" on=n{} ran={}", node, (--idle[node], pick(0, 200)));
      return text + ";";
    }
    const int gpus = pick(1, 4);
    text += format(" gpus={}", gpus);
    if (runs) {
      std::string on;
      for (int t = 0; t < tasks; ++t) {
        const int node = pick(0, static_cast<int>(idle.size()) - 1);
        if (idle[node] < gpus) break;
        idle[node] -= gpus;
        on += format("{}n{}", on.empty() ? "" : ",", node);
      }
      if (!on.empty()) return text + format(" on={} min=1 ran={};", on, pick(0, 200));
    }
    text += format(" tasks={} min={}", tasks, pick(1, tasks));
    if (pick(0, 3) == 0) text += " firm";
    if (pick(0, 4) == 0) text += format(" delay={}", pick(0, 10));
    return text + ";";
  }

  std::mt19937_64 random_;
};

/// What is wrong with the world, or nothing.
std::string broken_promises(const World& world, const std::vector<bool>& ran_before) {
  std::string broken;
  for (const FleetNode& node : world.fleet.nodes()) {
    std::set<std::uint32_t> gpus;
    for (const auto& resident : node.residents)
      if (resident.stay != Stay::promised)
        for (const auto gpu : resident.spot.gpus)
          if (!gpus.insert(gpu).second)
            broken += format("{}: GPU {} is held twice\n", node.name, gpu);
    for (const SharedGpu& shared : node.shared) {
      if (shared.members == shared.members_promised) continue;
      if (!shared.gpu || !gpus.insert(*shared.gpu).second)
        broken += format("{}: a shared GPU has no GPU of its own\n", node.name);
      if (shared.held_mib > node.gpu_memory_mib)
        broken += format("{}: a shared GPU is overcommitted\n", node.name);
    }
    if (node.gpus_idle < 0 || node.gpus_free() < 0 || node.cpu_idle < 0 || node.cpu_free() < 0)
      broken += format("{}: more is held or promised than there is\n", node.name);
  }
  std::map<QuotaIndex, Amount> held, firm;
  for (std::uint32_t j = 0; j < world.job_count(); ++j) {
    const SchedJob& job = world.job(j);
    std::uint32_t placed = 0;
    for (const Task& task : job.tasks) {
      if (task.state == TaskState::leaving && !job.preemptible)
        broken += format("job {}: evicted although it is firm\n", j);
      if (!is_placed(task.state)) continue;
      ++placed;
      for (QuotaIndex i = job.project;; i = world.quotas.at(i).parent) {
        held[i] += task.charge;
        if (!job.preemptible) firm[i] += task.charge;
        if (i == quota_root) break;
      }
    }
    if (placed > 0 && placed < job.shape->gang.sets[0].minimum)
      broken += format("job {}: {} tasks placed, fewer than its minimum\n", j, placed);
    if (placed > 0 && !ran_before[j])
      for (QuotaIndex i = job.project; i != quota_root; i = world.quotas.at(i).parent) {
        const QuotaNode& quota = world.quotas.at(i);
        if (!within(quota.held, quota.terms.limit))
          broken += format("job {}: {} holds more than its limit\n", j, quota.name);
        if (!job.preemptible && !within(quota.held_firm, quota.terms.deserved))
          broken += format("job {}: {} holds more for good than its quota\n", j, quota.name);
      }
  }
  for (QuotaIndex i = 0; i < world.quotas.size(); ++i)
    if (world.quotas.at(i).held != held[i] || world.quotas.at(i).held_firm != firm[i])
      broken += format("{}: its account does not add up\n", world.quotas.at(i).name);
  return broken;
}

std::uint64_t seed_count() {
  const char* wanted = std::getenv("ROTA_SCHED_SEEDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 500;
}

TEST(RandomWorlds, KeepThePromises) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    const Texts texts = Maker(seed).make();
    SCOPED_TRACE(format("seed {}\n{}\n{}\n{}", seed, texts.nodes, texts.projects, texts.jobs));
    SmallWorld small(texts.nodes, texts.projects, texts.jobs);
    std::vector<bool> ran;
    for (std::uint32_t j = 0; j < small.world().job_count(); ++j)
      ran.push_back(has_placed(small.world().job(j)));
    const std::string before = small.digest();
    const std::string said = small.run();
    ASSERT_EQ(broken_promises(small.world(), ran), "");
    // The same world gives the same decisions, and undone they leave no mark.
    ASSERT_EQ(SmallWorld(texts.nodes, texts.projects, texts.jobs).run(), said);
    small.world().undo_to(0);
    ASSERT_EQ(small.digest(), before);
  }
}

}  // namespace
}  // namespace rota::sched
