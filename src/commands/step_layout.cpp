// commands/step_layout.cpp - tasks over nodes, and what each task is told of it.
#include "commands/step_layout.h"

#include <algorithm>
#include <numeric>

#include "common/counts.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "model/job.h"

namespace rota::commands {
namespace {

Error usage(std::string detail) { return {Errc::usage, std::move(detail)}; }

std::string counted(std::uint64_t count, std::string_view noun) {
  return format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// The job's nodes that the step may have, in its order.
Result<std::vector<std::size_t>> candidates(const StepRequest& request,
                                            const std::vector<StepNode>& nodes) {
  std::vector<std::size_t> found(nodes.size());
  std::iota(found.begin(), found.end(), std::size_t{0});
  if (request.nodelist.empty()) return found;
  for (const std::string& name : request.nodelist)
    if (std::ranges::find(nodes, name, &StepNode::name) == nodes.end()) {
      std::vector<std::string> names;
      for (const StepNode& node : nodes) names.push_back(node.name);
      return usage(format("{} is not a node of the job, which has {}", name, hostlist_fold(names)));
    }
  std::erase_if(found, [&](std::size_t index) {
    const auto& list = request.nodelist;
    return std::ranges::find(list, nodes[index].name) == list.end();
  });
  return found;
}

Result<std::vector<std::size_t>> choose_nodes(const StepRequest& request,
                                              const std::vector<StepNode>& nodes) {
  ROTA_TRY(auto chosen, candidates(request, nodes));
  std::size_t wanted = chosen.size();
  if (request.nodes) {
    wanted = *request.nodes;
  } else if (request.tasks) {
    const std::uint32_t each = request.tasks_per_node.value_or(1);
    wanted = std::min<std::size_t>(wanted, (*request.tasks + each - 1) / each);
  }
  if (wanted > chosen.size())
    return usage(format("{} wanted, and {} {}", counted(wanted, "node"),
                        request.nodelist.empty() ? "the job has" : "--nodelist names",
                        chosen.size()));
  chosen.resize(wanted);
  return chosen;
}

Result<std::vector<std::uint32_t>> spread(const StepRequest& request,
                                          const std::vector<StepNode>& nodes,
                                          const std::vector<std::size_t>& chosen) {
  std::vector<std::uint32_t> own;
  for (const std::size_t index : chosen) own.push_back(nodes[index].task_count);
  const std::uint64_t of_job = std::accumulate(own.begin(), own.end(), std::uint64_t{0});
  const std::uint64_t most = std::uint64_t{request.tasks_per_node.value_or(0)} * chosen.size();
  const std::uint64_t tasks = request.tasks            ? *request.tasks
                              : request.tasks_per_node ? most
                                                       : of_job;
  if (tasks > JobBounds::task_count_max)
    return usage(format("{} tasks, at most {} are possible", tasks, JobBounds::task_count_max));
  if (tasks < chosen.size())
    return usage(
        format("{} need at least as many tasks, not {}", counted(chosen.size(), "node"), tasks));
  if (request.tasks_per_node && tasks > most)
    return usage(format("{} with at most {} on a node (--ntasks-per-node) need {} nodes, not {}",
                        counted(tasks, "task"), *request.tasks_per_node,
                        (tasks + *request.tasks_per_node - 1) / *request.tasks_per_node,
                        chosen.size()));
  if (!request.tasks_per_node && tasks == of_job) return own;
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = static_cast<std::uint32_t>(tasks / own.size() + (i < tasks % own.size() ? 1 : 0));
  return own;
}

Result<void> check_room(const StepRequest& request, const StepNode& node, std::uint32_t tasks) {
  const std::uint64_t cpus = std::uint64_t{tasks} * request.cpus_per_task.value_or(0);
  if (cpus > node.cpu_count)
    return usage(format("{} with {} need {} CPUs on {}, where the job has {}",
                        counted(tasks, "task"), counted(*request.cpus_per_task, "CPU"), cpus,
                        node.name, node.cpu_count));
  const std::uint64_t gpus = std::uint64_t{tasks} * request.gpus_per_task;
  if (gpus > node.gpu_count)
    return usage(format("{} with {} need {} GPUs on {}, where the job has {}",
                        counted(tasks, "task"), counted(request.gpus_per_task, "GPU"), gpus,
                        node.name, node.gpu_count));
  return {};
}

}  // namespace

Result<StepLayout> lay_out(const StepRequest& request, const std::vector<StepNode>& nodes) {
  ROTA_TRY(const auto chosen, choose_nodes(request, nodes));
  ROTA_TRY(const auto counts, spread(request, nodes, chosen));
  StepLayout layout;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ROTA_CHECK(check_room(request, nodes[chosen[i]], counts[i]));
    layout.places.push_back({chosen[i], layout.task_count, counts[i]});
    layout.task_count += counts[i];
  }
  if (layout.task_count == 0) return usage("a step has at least one task");
  return layout;
}

std::vector<std::string> task_variables(const StepLayout& layout,
                                        const std::vector<StepNode>& nodes,
                                        const StepRequest& request, std::size_t place,
                                        std::uint32_t local) {
  const StepLayout::Place& here = layout.places[place];
  const std::uint32_t rank = here.first + local;
  std::vector<std::string> names;
  for (const StepLayout::Place& each : layout.places) names.push_back(nodes[each.node].name);
  std::vector<std::uint32_t> neighbours(here.count);
  std::iota(neighbours.begin(), neighbours.end(), here.first);
  const std::string list = hostlist_fold(names);
  std::vector<std::uint32_t> counts;
  for (const StepLayout::Place& each : layout.places) counts.push_back(each.count);
  const std::string tasks = repeated_list(counts);
  std::vector<std::string> variables;
  const auto both = [&variables](std::string_view name, const auto& value) {
    variables.push_back(format("ROTA_{}={}", name, value));
    variables.push_back(format("SLURM_{}={}", name, value));
  };
  both("PROCID", rank);
  both("LOCALID", local);
  both("NODEID", place);
  both("GTIDS", format("{}", fmt::join(neighbours, ",")));
  both("STEP_NODELIST", list);
  both("STEP_NUM_NODES", layout.places.size());
  both("STEP_NUM_TASKS", layout.task_count);
  both("STEP_TASKS_PER_NODE", tasks);
  both("NTASKS", layout.task_count);
  both("NPROCS", layout.task_count);
  both("NNODES", layout.places.size());
  both("NODELIST", list);
  both("TASKS_PER_NODE", tasks);
  if (request.tasks_per_node) both("NTASKS_PER_NODE", *request.tasks_per_node);
  if (request.cpus_per_task) both("CPUS_PER_TASK", *request.cpus_per_task);
  if (request.gpus_per_task > 0) both("GPUS_PER_TASK", request.gpus_per_task);
  variables.push_back(format("RANK={}", rank));
  variables.push_back(format("LOCAL_RANK={}", local));
  variables.push_back(format("WORLD_SIZE={}", layout.task_count));
  return variables;
}

}  // namespace rota::commands
