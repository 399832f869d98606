// testsuite/unit/sched/drawn_world.cpp - a generator of our own: the same worlds everywhere.
#include "unit/sched/drawn_world.h"

#include <algorithm>

#include "common/format.h"

namespace rota::sched::drawn {
namespace {

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

/// SplitMix64.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  int pick(int from, int to) {
    return from + static_cast<int>(next() % static_cast<std::uint64_t>(to - from + 1));
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  bool one_in(int count) { return pick(1, count) == 1; }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

/// What is still free while jobs are put on nodes.
struct Free {
  std::vector<std::int64_t> gpus;  // of each GPU
  std::int64_t cpu_milli = 0, memory_bytes = 0;
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : dice_(seed), is_full_(seed % 4 == 0) {
    world_.seed = seed;
  }

  World draw() {
    scarce_cpu_ = dice_.one_in(4);
    scarce_memory_ = dice_.one_in(6);
    has_parts_ = dice_.one_in(2);
    draw_nodes();
    draw_projects();
    const int jobs = is_full_ ? 40 : dice_.pick(4, 24);
    for (int i = 0; i < jobs; ++i) draw_job();
    if (is_full_) draw_only_waiting();
    return std::move(world_);
  }

 private:
  void draw_nodes() {
    const int count = dice_.pick(1, 6);
    const bool alike = dice_.one_in(2);
    int gpus = dice_.pick(1, 8);
    for (int i = 0; i < count; ++i) {
      if (!alike) gpus = dice_.pick(1, 8);
      const std::int64_t cpus = scarce_cpu_ ? 3 * gpus : 1000;
      const std::int64_t memory = scarce_memory_ ? 6 * gpus : 1024;
      world_.nodes.push_back({static_cast<std::uint32_t>(gpus), cpus * 1000, memory * gibibyte});
      free_.push_back({std::vector<std::int64_t>(static_cast<std::size_t>(gpus), gpu_whole),
                       cpus * 1000, memory * gibibyte});
    }
  }

  std::int64_t draw_gpus(int most) {
    std::int64_t amount = dice_.pick(0, most) * gpu_whole;
    if (dice_.one_in(4)) amount += dice_.pick(1, 9) * gpu_whole / 10;
    return amount;
  }

  Project draw_project(std::string name, std::optional<std::size_t> above, int most) {
    static constexpr std::array weights{0, 5, 10, 10, 10, 15, 20, 30};
    Project project;
    project.name = std::move(name);
    project.above = above;
    if (!dice_.one_in(12)) project.deserved[0] = draw_gpus(most);
    if (scarce_cpu_ && dice_.one_in(2)) project.deserved[1] = dice_.pick(0, 12) * 1000;
    if (scarce_memory_ && dice_.one_in(2)) project.deserved[2] = dice_.pick(0, 20) * gibibyte;
    if (dice_.one_in(5)) project.limit[0] = draw_gpus(most) + gpu_whole;
    if (scarce_cpu_ && dice_.one_in(6)) project.limit[1] = dice_.pick(2, 16) * 1000;
    project.weight_tenths = {weights[dice_.below(weights.size())], 10, 10};
    if (dice_.one_in(4)) project.rank = dice_.pick(0, 3) * 50;
    if (dice_.one_in(6)) project.reclaim_keep = dice_.pick(0, 100);
    if (dice_.one_in(6)) project.preempt_keep = dice_.pick(0, 100);
    return project;
  }

  void draw_projects() {
    const int departments = dice_.pick(1, 3);
    for (int d = 0; d < departments; ++d)
      world_.projects.push_back(draw_project(format("d{}", d), std::nullopt, 16));
    for (int d = 0; d < departments; ++d) {
      const int projects = dice_.pick(1, 5);
      for (int p = 0; p < projects; ++p) {
        leaves_.push_back(world_.projects.size());
        world_.projects.push_back(
            draw_project(format("d{}p{}", d, p), static_cast<std::size_t>(d), 6));
      }
    }
  }

  Job draw_wish() {
    Job job;
    job.project = leaves_[dice_.below(leaves_.size())];
    job.priority = 25 * dice_.pick(1, 4);
    job.preemptible = !dice_.one_in(5);
    job.submitted = -dice_.pick(0, 9);
    if (has_parts_ && dice_.one_in(3)) {
      job.portion = dice_.pick(1, 9) * gpu_whole / 10;
    } else {
      job.gpus = static_cast<std::uint32_t>(dice_.one_in(3) ? dice_.pick(1, 8) : dice_.pick(1, 2));
      if (dice_.one_in(20)) job.gpus = 0;
    }
    job.cpu_milli = scarce_cpu_ ? dice_.pick(0, 6) * 1000 : 1000;
    job.memory_bytes = scarce_memory_ ? dice_.pick(0, 8) * gibibyte : gibibyte;
    if (dice_.one_in(3)) {
      job.tasks = static_cast<std::uint32_t>(dice_.pick(2, 5));
      job.minimum = job.tasks;
      if (dice_.one_in(2))
        job.minimum = static_cast<std::uint32_t>(dice_.pick(1, static_cast<int>(job.tasks)));
    }
    return job;
  }

  void draw_job() {
    Job job = draw_wish();
    // Every other full world is full of one project's jobs: what it owes is easy to tell.
    if (world_.seed % 8 == 0) job.project = leaves_.front();
    const bool wants_to_run = is_full_ || dice_.one_in(2);
    if (wants_to_run) put(job);
    if (is_full_ && job.on.empty()) return;
    if (job.on.empty()) {
      if (dice_.one_in(10)) job.preempts_after = 10;
    } else {
      job.started = -dice_.pick(0, 120);
      job.leaves = !is_full_ && dice_.one_in(12);
      // One that is partly placed may grow; on a full cluster nothing else waits.
      if (is_full_ || job.leaves) job.tasks = static_cast<std::uint32_t>(job.on.size());
    }
    world_.jobs.push_back(std::move(job));
  }

  void draw_only_waiting() {
    Job job = draw_wish();
    job.portion = 0;
    job.tasks = job.minimum = 1;
    job.gpus = static_cast<std::uint32_t>(dice_.one_in(3) ? dice_.pick(1, 8) : dice_.pick(1, 2));
    world_.jobs.push_back(std::move(job));
  }

  /// As many tasks as find room; fewer than the minimum: none.
  void put(Job& job) {
    const std::vector<Free> before = free_;
    const bool all = dice_.one_in(2);
    const auto most = all ? job.tasks
                          : static_cast<std::uint32_t>(dice_.pick(static_cast<int>(job.minimum),
                                                                  static_cast<int>(job.tasks)));
    while (job.on.size() < most && put_task(job)) {
    }
    if (job.on.size() >= job.minimum) return;
    job.on.clear();
    free_ = before;
  }

  bool put_task(Job& job) {
    const std::size_t first = dice_.below(free_.size());
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const std::size_t node = (first + i) % free_.size();
      Free& free = free_[node];
      if (free.cpu_milli < job.cpu_milli || free.memory_bytes < job.memory_bytes) continue;
      const auto gpus = gpus_for(job, free);
      if (gpus.size() < std::max<std::size_t>(job.gpus, job.portion > 0 ? 1 : 0)) continue;
      for (const auto gpu : gpus) free.gpus[gpu] -= job.portion > 0 ? job.portion : gpu_whole;
      free.cpu_milli -= job.cpu_milli;
      free.memory_bytes -= job.memory_bytes;
      job.on.push_back({node, gpus});
      return true;
    }
    return false;
  }

  std::vector<std::uint32_t> gpus_for(const Job& job, const Free& free) {
    std::vector<std::uint32_t> gpus;
    const std::size_t wanted = job.portion > 0 ? 1 : job.gpus;
    const std::int64_t least = job.portion > 0 ? job.portion : gpu_whole;
    for (std::uint32_t g = 0; g < free.gpus.size() && gpus.size() < wanted; ++g)
      if (free.gpus[g] >= least) gpus.push_back(g);
    return gpus;
  }

  Dice dice_;
  bool is_full_;
  bool scarce_cpu_ = false, scarce_memory_ = false, has_parts_ = false;
  World world_;
  std::vector<Free> free_;
  std::vector<std::size_t> leaves_;  // projects that are no department
};

std::string gpus_text(std::int64_t amount) {
  return format("{}", static_cast<double>(amount) / static_cast<double>(gpu_whole));
}

std::string bounds_text(const char* word, const Bound& bound) {
  std::string text;
  if (bound[0]) text += format(" {}={}", word, gpus_text(*bound[0]));
  if (bound[1]) text += format(" {}_cpu={}m", word, *bound[1]);
  if (bound[2]) text += format(" {}_mem={}G", word, *bound[2] / gibibyte);
  return text;
}

std::string job_text(const World& world, const Job& job) {
  std::string text = format("{} {}x", world.projects[job.project].name, job.tasks);
  text += job.portion > 0 ? gpus_text(job.portion) : format("{}", job.gpus);
  text += format(" cpu={}m mem={}G", job.cpu_milli, job.memory_bytes / gibibyte);
  if (job.minimum != job.tasks) text += format(" min={}", job.minimum);
  text += format(" priority={} age={}", job.priority, -job.submitted);
  if (!job.preemptible) text += " firm";
  if (job.preempts_after) text += " delayed";
  if (job.on.empty()) return text;
  text += format(" ran={} {}", -job.started, job.leaves ? "leaves" : "on");
  for (const Place& place : job.on) {
    text += format(" n{}", place.node);
    for (std::size_t i = 0; i < place.gpus.size(); ++i)
      text += format("{}{}", i == 0 ? ":" : ",", place.gpus[i]);
  }
  return text;
}

}  // namespace

World draw(std::uint64_t seed) { return Drawing(seed).draw(); }

std::string text_of(const World& world) {
  std::string text;
  for (std::size_t i = 0; i < world.nodes.size(); ++i)
    text += format("n{} gpus={} cpu={}m mem={}G\n", i, world.nodes[i].gpus,
                   world.nodes[i].cpu_milli, world.nodes[i].memory_bytes / gibibyte);
  for (const Project& project : world.projects) {
    text +=
        format("{}{}{} weight={} rank={}", project.name, bounds_text("quota", project.deserved),
               bounds_text("limit", project.limit), project.weight_tenths[0] / 10.0, project.rank);
    if (project.reclaim_keep) text += format(" reclaim_keep={}", *project.reclaim_keep);
    if (project.preempt_keep) text += format(" preempt_keep={}", *project.preempt_keep);
    text += '\n';
  }
  for (std::size_t i = 0; i < world.jobs.size(); ++i)
    text += format("j{} {}\n", i, job_text(world, world.jobs[i]));
  return text;
}

}  // namespace rota::sched::drawn
