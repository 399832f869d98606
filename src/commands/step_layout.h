// commands/step_layout.h - which task of a step is where: from what was asked for and what the job
// has.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace rota::commands {

/// What the job has on one of its nodes.
struct StepNode {
  std::string name;
  std::uint32_t task_count = 0;  // of the job itself
  std::uint32_t cpu_count = 0;
  std::uint32_t gpu_count = 0;
};

/// What the user wrote; nothing where the user wrote nothing.
struct StepRequest {
  std::optional<std::uint32_t> nodes;           // -N
  std::optional<std::uint32_t> tasks;           // -n
  std::optional<std::uint32_t> tasks_per_node;  // --ntasks-per-node
  std::optional<std::uint32_t> cpus_per_task;   // -c
  std::uint32_t gpus_per_task = 0;              // 0: each task sees all
  std::vector<std::string> nodelist;            // -w; none: any
};

/// Tasks are numbered node by node.
struct StepLayout {
  struct Place {
    std::size_t node = 0;  // among the job's
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::vector<Place> places;  // in the job's order
  std::uint32_t task_count = 0;
};

/// As the job itself where nothing is said: its nodes, its tasks. Fewer nodes are its first ones;
/// another number of tasks is spread evenly over them, the first ones getting one more. What does
/// not fit is a usage error with the numbers.
Result<StepLayout> lay_out(const StepRequest& request, const std::vector<StepNode>& nodes);

/// The variables of one task, as users of Slurm and PyTorch know them, but for what is known only
/// when all tasks are ready. `place` is among the layout's.
std::vector<std::string> task_variables(const StepLayout& layout,
                                        const std::vector<StepNode>& nodes,
                                        const StepRequest& request, std::size_t place,
                                        std::uint32_t local);

}  // namespace rota::commands
