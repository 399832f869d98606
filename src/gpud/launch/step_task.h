// gpud/launch/step_task.h - what a task of a step has that other processes beside a job's tasks do
// not: its part of the GPUs, and a gate before which it waits for the others.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "gpud/launch/order.h"

namespace rota::gpud {

/// All of these for exec, with a nullptr behind. Of a name that stands in several lists the first
/// one counts. They point into the lists.
std::vector<char*> merged_environment(std::initializer_list<const std::vector<std::string>*> lists);

/// What the job's own tasks on this node see, all of them together, in their order.
std::vector<std::string> gpus_of_run(const StepOrder& order);
/// `count` of them from `first` on, for CUDA_VISIBLE_DEVICES; none when there are not so many.
std::optional<std::string> gpus_of_task(const std::vector<std::string>& all, std::uint32_t first,
                                        std::uint32_t count);

/// 0 when execvp() would find a program of this name that may be run, else its errno.
int find_program(const std::string& program);
/// Whether a file of this name is there at all.
bool is_on_path(const std::string& program);

/// Lets a task go, with these variables. They fit into the pipe: exec_word_bytes_max.
void open_gate(int gate, const std::vector<std::string>& variables);
/// In the task. False when the gate was closed instead.
bool wait_at_gate(int gate, std::vector<std::string>& variables);

}  // namespace rota::gpud
