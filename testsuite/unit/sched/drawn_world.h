// testsuite/unit/sched/drawn_world.h - small worlds drawn from a seed, as plain data.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rota::sched::drawn {

/// Millionths of GPUs, thousandths of CPUs, bytes of memory.
using Triple = std::array<std::int64_t, 3>;
/// The same where nothing means no bound.
using Bound = std::array<std::optional<std::int64_t>, 3>;
inline constexpr std::int64_t gpu_whole = 1'000'000;

struct Node {
  std::uint32_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
};

/// A department, or a project in one; its place in the list is its age.
struct Project {
  std::string name;
  std::optional<std::size_t> above;  // none: the cluster
  Bound deserved, limit;
  std::array<int, 3> weight_tenths{};
  int rank = 100;
  std::optional<std::int64_t> reclaim_keep, preempt_keep;  // seconds
};

struct Place {
  std::size_t node = 0;
  std::vector<std::uint32_t> gpus;  // by number, whole or the one it has a part of
};

/// All tasks are alike. The first of them are where `on` says, the others wait.
struct Job {
  std::size_t project = 0;
  int priority = 50;
  bool preemptible = true;
  std::int64_t submitted = 0, started = 0;     // seconds; it is 0 now
  std::optional<std::int64_t> preempts_after;  // may take from nobody before
  std::uint32_t tasks = 1, minimum = 1;
  std::uint32_t gpus = 0;    // whole ones, of each task
  std::int64_t portion = 0;  // of one GPU, of each task
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  std::vector<Place> on;
  bool leaves = false;  // all that it holds is being given back

  Triple charge() const { return {gpus * gpu_whole + portion, cpu_milli, memory_bytes}; }
};

struct World {
  std::uint64_t seed = 0;
  std::vector<Node> nodes;
  std::vector<Project> projects;  // departments first
  std::vector<Job> jobs;          // older ids first
};

/// What holds fits. Every fourth world is full, and a single task waits in it.
World draw(std::uint64_t seed);
/// One line for each thing, short enough to read when a test fails.
std::string text_of(const World& world);

}  // namespace rota::sched::drawn
