// commands/step_output.h - what comes back from the tasks of a step: lines, and one exit code.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rota::commands {

/// Cuts one task's stream into whole lines, so that those of several tasks do not run into each
/// other. With a label each line begins with the task's number, as srun has it.
class LineCutter {
 public:
  /// A line that is longer is passed on in pieces; with a label these become lines.
  static constexpr std::size_t line_bytes_max = 32 << 10;

  LineCutter() = default;
  explicit LineCutter(std::string label) : label_(std::move(label)) {}

  /// What can be shown now that `data` has come.
  std::string take(std::string_view data);
  /// The rest, when nothing more will come.
  std::string finish();

 private:
  void put(std::string& out, std::string_view line, bool is_whole) const;
  std::string label_;  // "": none
  std::string rest_;
};

/// "12: " of task 12; as wide as that of the last of `count`.
std::string task_label(std::uint32_t task, std::uint32_t count);

/// How one task ended.
struct TaskEnd {
  int code = 0;
  int signal = 0;     // not 0: killed by it
  bool ours = false;  // after we had begun to end the step
};
/// As shells have it.
int exit_code_of(const TaskEnd& end);

/// The step's exit code: the highest of its tasks'. What ended because we ended it counts only
/// where nothing else went wrong.
class WorstCode {
 public:
  void add(const TaskEnd& end);
  int value() const { return own_ != 0 ? own_ : ended_; }

 private:
  int own_ = 0;
  int ended_ = 0;
};

}  // namespace rota::commands
