// testsuite/unit/sched/played_pass.cpp - a drawn world as the scheduler knows it, and its log read
// backwards.
#include "unit/sched/played_pass.h"

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>

#include "common/assert.h"
#include "common/format.h"
#include "sched/pass.h"
#include "sched/world.h"

namespace rota::sched::drawn {
namespace {

constexpr std::int64_t gpu_memory_mib = 1000;  // so that tenths of a GPU are whole

Amount amount_of(const Bound& bound) {
  Amount amount;
  for (std::size_t i = 0; i < bound.size(); ++i) amount.of[i] = bound[i].value_or(unbounded);
  return amount;
}

QuotaTerms terms_of(const Project& project, std::size_t age) {
  QuotaTerms terms;
  terms.deserved = amount_of(project.deserved);
  terms.limit = amount_of(project.limit);
  for (std::size_t i = 0; i < terms.weight.size(); ++i)
    terms.weight[i] = project.weight_tenths[i] / 10.0;
  terms.rank = project.rank;
  terms.age_order = age;
  terms.reclaim_min_runtime_seconds = project.reclaim_keep;
  terms.preempt_min_runtime_seconds = project.preempt_keep;
  return terms;
}

/// Jobs that are alike have one shape, as those of the controller have.
class Shapes {
 public:
  std::shared_ptr<const JobShape> of(const Job& job) {
    auto& shape = known_[{job.tasks, job.minimum, job.charge()}];
    if (shape != nullptr) return shape;
    auto demand = std::make_shared<Demand>();
    demand->cpu_milli = job.cpu_milli;
    demand->memory_bytes = job.memory_bytes;
    demand->portion = job.portion;
    demand->devices = job.portion > 0 ? 1 : job.gpus;
    if (job.portion > 0)
      demand->gpu = Demand::Gpu::portion;
    else if (job.gpus > 0)
      demand->gpu = Demand::Gpu::whole;
    auto made = std::make_shared<JobShape>();
    made->gang = Gang::simple(job.minimum);
    made->tasks.assign(job.tasks, {0, demand, nullptr});
    shape = std::move(made);
    return shape;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, Triple>, std::shared_ptr<const JobShape>>
      known_;
};

SchedJob job_of(const Job& job, std::uint64_t id, Shapes& shapes) {
  SchedJob made;
  made.id = id;
  made.shape = shapes.of(job);
  made.project = static_cast<QuotaIndex>(job.project + 1);
  made.priority = job.priority;
  made.preemptible = job.preemptible;
  made.submitted = job.submitted;
  made.preempts_after = job.preempts_after.value_or(never);
  if (job.on.empty()) return made;
  made.started = job.started;
  made.tasks.resize(job.tasks);
  for (std::size_t i = 0; i < job.on.size(); ++i) {
    made.tasks[i].state = job.leaves ? TaskState::leaving : TaskState::running;
    made.tasks[i].spot.node = static_cast<NodeIndex>(job.on[i].node);
    made.tasks[i].spot.gpus = job.on[i].gpus;
  }
  return made;
}

/// The tree's places are those of the list, after the root.
void build(const World& drawn, sched::World& world) {
  for (std::size_t i = 0; i < drawn.nodes.size(); ++i) {
    FleetNode node;
    node.name = format("n{}", i);
    node.gpu_count = drawn.nodes[i].gpus;
    node.gpu_memory_mib = gpu_memory_mib;
    node.cpu_milli = drawn.nodes[i].cpu_milli;
    node.memory_bytes = drawn.nodes[i].memory_bytes;
    node.task_count_max = 1000;
    world.fleet.add(std::move(node));
  }
  world.measure_gpus();
  for (std::size_t i = 0; i < drawn.projects.size(); ++i) {
    const Project& project = drawn.projects[i];
    const auto parent = project.above ? static_cast<QuotaIndex>(*project.above + 1) : quota_root;
    world.quotas.add(project.name, parent, terms_of(project, i));
  }
  Shapes shapes;
  for (std::size_t i = 0; i < drawn.jobs.size(); ++i) world.add(job_of(drawn.jobs[i], i, shapes));
}

Be be_of(TaskState state) {
  switch (state) {
    case TaskState::running:
      return Be::running;
    case TaskState::starting:
      return Be::starting;
    case TaskState::promised:
      return Be::promised;
    case TaskState::leaving:
      return Be::leaving;
    default:
      return Be::waiting;
  }
}

Stand stand_of(const SchedJob& job, std::uint32_t index) {
  Stand stand;
  if (job.tasks.empty()) return stand;
  const Task& task = job.tasks[index];
  stand.be = be_of(task.state);
  if (stand.be != Be::waiting) stand.at = {task.spot.node, task.spot.gpus, task.spot.shared};
  if (task.leaves) stand.from = {task.leaves->node, task.leaves->gpus, task.leaves->shared};
  return stand;
}

Stands stands_of(const sched::World& world) {
  Stands stands;
  for (std::uint32_t j = 0; j < world.job_count(); ++j) {
    stands.emplace_back();
    for (std::uint32_t t = 0; t < world.job(j).task_count(); ++t)
      stands.back().push_back(stand_of(world.job(j), t));
  }
  return stands;
}

NodeSays says(const FleetNode& node) {
  NodeSays said{.gpus_idle = node.gpus_idle,
                .gpus_leaving = node.gpus_leaving,
                .cpu_idle = node.cpu_idle,
                .cpu_leaving = node.cpu_leaving,
                .memory_idle = node.memory_idle,
                .memory_leaving = node.memory_leaving,
                .residents = node.residents.size(),
                .shared = {}};
  for (const SharedGpu& gpu : node.shared)
    if (gpu.members > 0) said.shared[gpu.id] = gpu.gpu;
  return said;
}

std::vector<NodeSays> says(const Fleet& fleet) {
  std::vector<NodeSays> said;
  for (const FleetNode& node : fleet.nodes()) said.push_back(says(node));
  return said;
}

/// Undoes one change after the other: what a pass did is only told by its log. The world is as it
/// was before the pass then.
std::vector<Step> read_backwards(sched::World& world) {
  std::vector<Step> steps;
  for (std::size_t mark = world.mark(); mark-- > 0;) {
    const TaskRef ref = world.changed_since(mark).front();
    Step step{ref.job, ref.task, {}, stand_of(world.job(ref.job), ref.task)};
    world.undo_to(mark);
    step.before = stand_of(world.job(ref.job), ref.task);
    steps.push_back(std::move(step));
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace

const char* name_of(Did action) {
  static constexpr std::array names{"allocate", "consolidate", "reclaim", "preempt", "evict_stale"};
  return names[static_cast<std::size_t>(action)];
}

PlayedPass play(const World& drawn) {
  PlayedPass played;
  // Fair shares are derived once, so the actions of one pass cannot be run one by one: to know
  // where each ended, the pass is run once for each of them, from the beginning to its end.
  for (std::size_t count = 1; count <= did_count; ++count) {
    sched::World world;
    build(drawn, world);
    run_pass(world, std::span(all_actions).first(count));
    played.ended[count - 1] = world.mark();
    if (count < did_count) continue;
    world.settle();
    played.settled = stands_of(world);
    played.settled_nodes = says(world.fleet);
  }
  sched::World world;
  build(drawn, world);
  const Stands first = stands_of(world);
  run_pass(world);
  played.last = stands_of(world);
  for (std::size_t i = 0; i < drawn.projects.size(); ++i) {
    const QuotaNode& quota = world.quotas.at(static_cast<QuotaIndex>(i + 1));
    played.fair_share.push_back(quota.fair_share.of);
    played.held.push_back(quota.held.of);
    played.held_firm.push_back(quota.held_firm.of);
  }
  played.nodes = says(world.fleet);
  played.steps = read_backwards(world);
  played.first = stands_of(world);
  ROTA_ASSERT(played.first == first);
  return played;
}

}  // namespace rota::sched::drawn
