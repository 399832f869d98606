// testsuite/bench/scale.cpp - KAI's published scale scenarios (quota.md 14) with the controller's
// own scheduler: 500 nodes of 8 GPUs, and what all passes of each take together, on one core.
//
// A pass is made as rctld makes it, with its policy; what has to make way is gone before the next.
// The passes of a scenario go on until nothing changes any more, and time alone would change
// nothing within the hour.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/format.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double budget_ms = 100;

/// Owner is promised all of it, borrower nothing.
class Cluster {
 public:
  explicit Cluster(std::uint32_t nodes) : scheduler_(live_policy()) {
    Org org;
    for (const char* name : {"borrower", "owner"}) {
      Project& project = org.projects.emplace_back();
      project.name = name;
      project.serial = org.projects.size();
    }
    org.projects[1].quota.gpu_quota = std::int64_t{nodes} * 8 * gpu_unit;
    normalize(org);
    scheduler_.set_org(org);
    NodeInventory inventory;
    inventory.cpu_count = 64;
    inventory.memory_bytes = std::uint64_t{512} << 30;
    inventory.gpus.resize(8);
    for (std::uint32_t i = 0; i < nodes; ++i)
      scheduler_.put_node(NodeId{i + 1}, format("n{}", i), inventory, std::vector<bool>(8), true);
  }

  /// `nodes` 0: one task.
  void submit(const char* project, std::uint32_t count, std::uint32_t gpus,
              std::uint32_t nodes = 0) {
    for (std::uint32_t i = 0; i < count; ++i) {
      Job& job = jobs_[JobId{jobs_.size() + 1}];
      job.id = JobId{jobs_.size()};
      job.spec.project = project;
      job.spec.task_count = std::max(1u, nodes);
      job.spec.node_count = nodes;
      job.spec.task.gpu_count = gpus;
      job.spec.time_limit_seconds = 100'000;
      scheduler_.add_waiting(job, now_);
    }
  }

  /// Passes until nothing happens; returns the milliseconds that they took.
  double run() {
    double spent = 0;
    for (;;) {
      ++now_;
      const auto begin = Clock::now();
      const Plan plan = scheduler_.plan(now_);
      spent += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      for (const Start& start : plan.starts) {
        ++running_;
        jobs_.at(start.job).last.edit().placement = start.placement;
      }
      for (const Eviction& eviction : plan.evictions) end(eviction.job);
      for (const Eviction& eviction : plan.evictions)
        scheduler_.add_waiting(jobs_.at(eviction.job), now_);
      if (!plan.starts.empty() || !plan.evictions.empty()) continue;
      if (scheduler_.next_look() > now_ + 3600) return spent;
      now_ = std::max(now_, scheduler_.next_look() - 1);
    }
  }

  void end(JobId id) {
    --running_;
    Job& job = jobs_.at(id);
    for (const NodePart& part : job.last->placement) scheduler_.release(id, part.node);
    scheduler_.remove(id);
    job.last.reset();
  }

  /// Ends what `goes` says of a job's place on its node.
  void thin_out(const std::function<bool(const NodePart&)>& goes) {
    for (auto& [id, job] : jobs_)
      if (!job.last->placement.empty() && goes(job.last->placement.front())) end(id);
  }
  std::size_t running() const { return running_; }

 private:
  Scheduler scheduler_;
  std::map<JobId, Job> jobs_;
  std::size_t running_ = 0;
  std::int64_t now_ = 1000;
};

bool all_good = true;

/// `wanted`: jobs that run in the end; a scenario that does something else measures nothing.
void row(const char* name, double milliseconds, const Cluster& cluster, std::size_t wanted) {
  const bool good = milliseconds < budget_ms && cluster.running() == wanted;
  all_good = all_good && good;
  std::printf("%-58s %8.1f ms  %s (< %.0f)\n", name, milliseconds,
              cluster.running() != wanted
                  ? format("WRONG: {} run, not {}", cluster.running(), wanted).c_str()
              : good ? "ok"
                     : "MISSED",
              budget_ms);
  std::fflush(stdout);
}

void measure() {
  {
    Cluster cluster(500);
    cluster.submit("owner", 4000, 1);
    row("start 4,000 one-GPU jobs", cluster.run(), cluster, 4000);
  }
  {
    Cluster cluster(500);
    cluster.submit("owner", 400, 9);
    cluster.run();
    cluster.submit("owner", 4000, 1);
    row("the same with 400 waiting that can never start", cluster.run(), cluster, 4000);
  }
  {
    Cluster cluster(512);
    cluster.submit("owner", 1, 8, 512);
    row("one gang of 512 tasks on 512 nodes", cluster.run(), cluster, 1);
  }
  {
    Cluster cluster(500);
    cluster.submit("owner", 4000, 1);
    cluster.run();
    cluster.submit("borrower", 1, 8, 10);
    row("a 10 x 8 gang that cannot start on a full cluster", cluster.run(), cluster, 4000);
  }
  {
    Cluster cluster(500);
    cluster.submit("borrower", 4000, 1);
    cluster.run();
    cluster.submit("owner", 1, 8, 250);
    row("reclaim for a gang of 250 x 8 from one-GPU jobs", cluster.run(), cluster, 2001);
  }
  {
    Cluster cluster(500);
    cluster.submit("borrower", 500, 8);
    cluster.run();
    cluster.submit("owner", 1, 8, 500);
    row("reclaim for a gang of 500 x 8 from whole-node jobs", cluster.run(), cluster, 1);
  }
  {
    Cluster cluster(500);
    cluster.submit("borrower", 4000, 1);
    cluster.run();
    cluster.submit("owner", 1, 1);
    row("reclaim one GPU, 4,000 running", cluster.run(), cluster, 4000);
  }
  {
    Cluster cluster(500);
    cluster.submit("borrower", 4000, 1);
    cluster.run();
    cluster.submit("owner", 4000, 1);
    row("reclaim for 4,000 one-GPU jobs", cluster.run(), cluster, 4000);
  }
  {
    Cluster cluster(500);
    cluster.submit("borrower", 4000, 1);
    cluster.run();
    cluster.submit("owner", 50, 8, 10);
    row("reclaim for 50 gangs of 10 x 8", cluster.run(), cluster, 50);
  }
  {
    Cluster cluster(500);
    cluster.submit("owner", 4000, 1);
    cluster.run();
    cluster.thin_out([](const NodePart& part) { return part.gpus.front() != 0; });
    cluster.submit("owner", 41, 8, 10);
    row("consolidate for 41 gangs of 10 x 8", cluster.run(), cluster, 541);
  }
}

}  // namespace
}  // namespace rota::sched

int main() {
  rota::sched::measure();
  return rota::sched::all_good ? 0 : 1;
}
