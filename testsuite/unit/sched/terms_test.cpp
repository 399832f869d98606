// testsuite/unit/sched/terms_test.cpp - what rota.yaml and projects.yaml say, as the scheduler has
// it.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/format.h"
#include "sched/policy_config.h"
#include "sched/quota_map.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

using std::chrono::seconds;

// Every key has a value of its own, so none can stand for another.
TEST(PolicyConfig, EveryKeyReachesItsRule) {
  Config config;
  config.scheduler_reservations = 11;
  config.scheduler_limit_assumed = seconds(12);
  config.scheduler_min_runtime_reclaim = seconds(13);
  config.scheduler_min_runtime_preempt = seconds(14);
  config.scheduler_preemption_delay = seconds(15);
  config.scheduler_history_weight = 1'600'000;
  config.scheduler_history_window = seconds(17);
  config.scheduler_history_half_life = seconds(18);
  config.scheduler_consolidate_max = 19;
  config.scheduler_packing = "least-loss";
  const Policy policy = policy_from(config);
  EXPECT_EQ(policy.reservations_max, 11u);
  EXPECT_EQ(policy.limit_assumed_seconds, 12);
  EXPECT_EQ(policy.reclaim_min_runtime_seconds, 13);
  EXPECT_EQ(policy.preempt_min_runtime_seconds, 14);
  EXPECT_EQ(policy.preemption_delay_seconds, 15);
  EXPECT_DOUBLE_EQ(policy.history_weight, 1.6);
  EXPECT_EQ(policy.history_window_seconds, 17);
  EXPECT_EQ(policy.history_half_life_seconds, 18);
  EXPECT_EQ(policy.consolidate_jobs_max, 19u);
  EXPECT_TRUE(policy.least_loss);
  config.scheduler_packing = "fullest";
  EXPECT_FALSE(policy_from(config).least_loss);
}

// What no key says is as a controller runs passes: bounded.
TEST(PolicyConfig, TheRestIsThatOfAController) {
  const Policy policy = policy_from({}), live = live_policy();
  EXPECT_GT(policy.search_work_max, 0u);
  EXPECT_EQ(policy.search_work_max, live.search_work_max);
  EXPECT_EQ(policy.evicted_rest_seconds, live.evicted_rest_seconds);
}

QuotaPolicy quota_from(std::int64_t first) {
  QuotaPolicy quota;
  quota.gpu_quota = first;
  quota.cpu_quota = first + 1;
  quota.memory_quota = first + 2;
  quota.gpu_limit = first + 3;
  quota.cpu_limit = first + 4;
  quota.memory_limit = first + 5;
  quota.weight = (first + 6) * gpu_unit;
  quota.rank = static_cast<std::int32_t>(first + 7);
  return quota;
}
PreemptionPolicy preemption_from(std::int64_t first) {
  PreemptionPolicy preemption;
  preemption.min_runtime_reclaim_seconds = first;
  preemption.min_runtime_preempt_seconds = first + 1;
  preemption.delay_seconds = first + 2;
  return preemption;
}

std::string text_of(std::int64_t amount) {
  return amount == unbounded ? "-" : format("{}", amount);
}
std::string text_of(const std::optional<std::int64_t>& seconds) {
  return seconds ? format("{}", *seconds) : "-";
}
/// "quota GPU/CPU/MEMORY limit .../.../... weight W rank R age A runtime RECLAIM/PREEMPT delay D".
std::string text_of(const QuotaTerms& terms) {
  const auto triple = [](const Amount& amount) {
    return format("{}/{}/{}", text_of(amount[Resource::gpu]), text_of(amount[Resource::cpu]),
                  text_of(amount[Resource::memory]));
  };
  return format("quota {} limit {} weight {} rank {} age {} runtime {}/{} delay {}",
                triple(terms.deserved), triple(terms.limit), terms.weight[0], terms.rank,
                terms.age_order, text_of(terms.reclaim_min_runtime_seconds),
                text_of(terms.preempt_min_runtime_seconds), text_of(terms.delay_seconds));
}

struct Mapped {
  Mapped() {
    Department& department = org.departments.emplace_back();
    department.name = "research";
    department.quota = quota_from(100);
    department.preemption = preemption_from(200);
    department.serial = 3;
    Project& project = org.projects.emplace_back();
    project.name = "team";
    project.department = "research";
    project.quota = quota_from(10);
    project.preemption = preemption_from(20);
    project.serial = 4;
    Project& plain = org.projects.emplace_back();
    plain.name = "plain";
    plain.quota.gpu_quota = 2 * gpu_unit;
    plain.serial = 5;
    normalize(org);
  }
  Project& team() {
    return *std::find_if(org.projects.begin(), org.projects.end(),
                         [](const Project& project) { return project.name == "team"; });
  }
  std::string project(const std::string& name) {
    map.update(tree, org);
    return text_of(tree.at(map.project(name)).terms);
  }
  std::string department(const std::string& name) {
    map.update(tree, org);
    return text_of(tree.at(map.department(name)).terms);
  }

  Org org;
  QuotaTree tree;
  QuotaMap map;
};

TEST(QuotaMap, EveryTermOfAProjectAndOfADepartment) {
  Mapped m;
  EXPECT_EQ(m.project("team"),
            "quota 10/11/12 limit 13/14/15 weight 16 rank 17 age 4 runtime 20/21 delay 22");
  EXPECT_EQ(m.department("research"),
            "quota 100/101/102 limit 103/104/105 weight 106 rank 107 age 3 runtime 200/201 delay "
            "202");
}

// CPUs and memory are no part of a promise that does not name them, and nothing is limited.
TEST(QuotaMap, WhatIsNotSaidBindsNobody) {
  Mapped m;
  EXPECT_EQ(m.project("plain"),
            "quota 2000000/-/- limit -/-/- weight 2 rank 100 age 5 runtime -/- delay -");
}

TEST(QuotaMap, WithoutOverQuotaTheQuotaIsTheLimit) {
  Mapped m;
  m.team().quota.over_quota = false;
  EXPECT_EQ(m.project("team"),
            "quota 10/11/12 limit 10/11/12 weight 16 rank 17 age 4 runtime 20/21 delay 22");
}

TEST(QuotaMap, AChangeReachesWhatIsThere) {
  Mapped m;
  m.project("team");
  m.team().quota = quota_from(50);
  m.org.departments.front().preemption = preemption_from(300);
  EXPECT_EQ(m.project("team"),
            "quota 50/51/52 limit 53/54/55 weight 56 rank 57 age 4 runtime 20/21 delay 22");
  EXPECT_EQ(m.department("research"),
            "quota 100/101/102 limit 103/104/105 weight 106 rank 107 age 3 runtime 300/301 delay "
            "302");
}

}  // namespace
}  // namespace rota::sched
