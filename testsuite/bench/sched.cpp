// testsuite/bench/sched.cpp - what a pass of the scheduler costs, by nodes and waiting jobs.
//
// A full cluster of 8-GPU nodes; projects in departments, promised all GPUs together, hold what
// they got first come, first served; everybody has jobs waiting. Then single changes: a job ends, a
// job arrives. Times are of the CPU, so that others on the machine do not count; memory is what the
// scheduler alone takes for a waiting job.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "common/format.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

double milliseconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) * 1000 / CLOCKS_PER_SEC;
}

struct Size {
  std::uint32_t nodes = 0, projects = 0, departments = 0;
  std::uint64_t jobs = 0;
  int rounds = 100;  // of two changes each
};

/// What we promise, at one size only.
struct Budget {
  static constexpr double pass_ms = 5, full_ms = 2000, bytes = 600;

  static bool is_for(const Size& size) { return size.nodes == 10'000 && size.jobs == 1'000'000; }
};

class Bench {
 public:
  explicit Bench(const Size& size) : size_(size), scheduler_(live_policy()) {
    Org org;
    for (std::uint32_t i = 0; i < size.departments; ++i) {
      Department& department = org.departments.emplace_back();
      department.name = format("d{:04}", i);
      department.quota.gpu_quota = std::int64_t{size.nodes} * 8 * gpu_unit / size.departments;
      department.serial = i + 1;
    }
    for (std::uint32_t i = 0; i < size.projects; ++i) {
      Project& project = org.projects.emplace_back();
      project.name = format("p{:06}", i);
      project.department = format("d{:04}", i % size.departments);
      project.quota.gpu_quota = std::int64_t{size.nodes} * 8 * gpu_unit / size.projects;
      project.serial = size.departments + i + 1;
    }
    normalize(org);
    scheduler_.set_org(org);
    NodeInventory inventory;
    inventory.cpu_count = 64;
    inventory.memory_bytes = std::uint64_t{512} << 30;
    inventory.gpus.resize(8);
    for (Gpu& gpu : inventory.gpus) gpu.memory_bytes = std::uint64_t{32} << 30;
    for (std::uint32_t i = 0; i < size.nodes; ++i)
      scheduler_.put_node(NodeId{i + 1}, format("n{}", i), inventory, std::vector<bool>(8), true);
  }

  void run() {
    // Jobs of several shapes, most of them small.
    static constexpr std::uint32_t gpus[] = {1, 1, 1, 2, 2, 4, 8};
    // The projects come one after the other, so the first of them borrow.
    const std::uint64_t first = std::uint64_t{size_.nodes} * 8 / 2;
    for (std::uint64_t i = 0; i < first; ++i) submit(i % (size_.projects / 2 + 1), gpus[i % 7]);
    plan();
    const auto memory = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
    const std::size_t memory_before = memory();
    const std::uint64_t before = id_last_;
    for (std::uint64_t i = 0; i < size_.jobs; ++i)
      submit(random() % size_.projects, gpus[random() % 7]);
    const double bytes =
        static_cast<double>(memory() - memory_before) / static_cast<double>(id_last_ - before);
    std::clock_t begin = std::clock();
    plan();
    const double full = milliseconds_since(begin);
    // What had to make way has left; the plan that follows comes to rest.
    for (int i = 0; i < 20 && !leaving_.empty(); ++i) {
      return_leaving();
      plan();
    }
    double ends = 0, arrives = 0, ends_worst = 0, arrives_worst = 0;
    for (int i = 0; i < size_.rounds; ++i) {
      end_one();
      return_leaving();
      begin = std::clock();
      plan();
      ends += milliseconds_since(begin);
      ends_worst = std::max(ends_worst, milliseconds_since(begin));
      submit(random() % size_.projects, gpus[random() % 7]);
      begin = std::clock();
      plan();
      arrives += milliseconds_since(begin);
      arrives_worst = std::max(arrives_worst, milliseconds_since(begin));
    }
    const int rounds = std::max(size_.rounds, 1);
    std::printf(
        "%7u nodes %8llu jobs %5u projects: full plan %8.1f ms, job ends %7.2f ms (worst "
        "%7.2f), arrives %7.2f ms (worst %7.2f), %4.0f bytes a waiting job\n",
        size_.nodes, static_cast<unsigned long long>(size_.jobs), size_.projects, full,
        ends / rounds, ends_worst, arrives / rounds, arrives_worst, bytes);
    if (Budget::is_for(size_) && size_.rounds > 0) {
      const double mean = std::max(ends, arrives) / rounds;
      judge("a pass after one change, mean", mean, "ms", Budget::pass_ms);
      judge("a pass after one change, worst", std::max(ends_worst, arrives_worst), "ms",
            Budget::pass_ms);
      judge("the first full plan", full, "ms", Budget::full_ms);
      judge("the scheduler's memory of a waiting job", bytes, "bytes", Budget::bytes);
    }
    std::fflush(stdout);
  }

 private:
  static void judge(const char* what, double value, const char* unit, double budget) {
    std::printf("  %-44s %12.2f %-10s %s (< %g)\n", what, value, unit,
                value < budget ? "ok" : "MISSED", budget);
  }

  std::uint64_t random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  Job job_of(JobId id, std::uint64_t project, std::uint32_t gpus) const {
    Job job;
    job.id = id;
    job.spec.project = format("p{:06}", project);
    job.spec.task.gpu_count = gpus;
    job.spec.time_limit_seconds = 3600;
    return job;
  }

  void submit(std::uint64_t project, std::uint32_t gpus) {
    const JobId id{++id_last_};
    scheduler_.add_waiting(job_of(id, project, gpus), now_);
  }

  void plan() {
    Plan plan = scheduler_.plan(++now_);
    for (Start& start : plan.starts) running_[start.job] = std::move(start.placement);
    for (const Eviction& eviction : plan.evictions) leaving_.push_back(eviction.job);
  }

  void free(JobId id) {
    for (const NodePart& part : running_.at(id)) scheduler_.release(id, part.node);
    scheduler_.remove(id);
    running_.erase(id);
  }

  void end_one() {
    auto at = running_.upper_bound(JobId{random() % id_last_});
    if (at == running_.end()) at = running_.begin();
    while (std::find(leaving_.begin(), leaving_.end(), at->first) != leaving_.end()) ++at;
    free(at->first);
  }

  void return_leaving() {
    for (const JobId id : leaving_) {
      const auto gpus = static_cast<std::uint32_t>(running_.at(id).front().gpus.size());
      free(id);
      submit(random() % size_.projects, gpus);
    }
    leaving_.clear();
  }

  Size size_;
  Scheduler scheduler_;
  std::map<JobId, Placement> running_;
  std::vector<JobId> leaving_;
  std::uint64_t id_last_ = 0;
  std::int64_t now_ = 0;
  std::uint64_t state_ = 88172645463325252ULL;
};

}  // namespace
}  // namespace rota::sched

/// `sched [NODES JOBS PROJECTS [ROUNDS]]`: one line; without, the table.
int main(int argc, char** argv) {
  using rota::sched::Bench;
  if (argc == 4 || argc == 5) {
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    Bench({static_cast<std::uint32_t>(number(1)), static_cast<std::uint32_t>(number(3)),
           static_cast<std::uint32_t>(std::max<std::uint64_t>(1, number(3) / 20)), number(2),
           argc == 5 ? static_cast<int>(number(4)) : 100})
        .run();
    return 0;
  }
  for (const std::uint32_t nodes : {1'000u, 10'000u, 100'000u})
    for (const std::uint64_t jobs : {10'000u, 100'000u, 1'000'000u})
      Bench({nodes, 1'000, 50, jobs}).run();
  return 0;
}
