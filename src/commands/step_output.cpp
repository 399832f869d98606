// commands/step_output.cpp - lines and codes of a step's tasks.
#include "commands/step_output.h"

#include <algorithm>
#include <utility>

#include "common/format.h"

namespace rota::commands {

void LineCutter::put(std::string& out, std::string_view line, bool is_whole) const {
  out += label_;
  out += line;
  if (!is_whole && !label_.empty()) out += '\n';
}

std::string LineCutter::take(std::string_view data) {
  std::string out;
  while (!data.empty()) {
    const std::size_t end = data.find('\n');
    if (end == std::string_view::npos) {
      rest_ += data;
      if (rest_.size() >= line_bytes_max) put(out, std::exchange(rest_, {}), false);
      break;
    }
    rest_ += data.substr(0, end + 1);
    put(out, std::exchange(rest_, {}), true);
    data.remove_prefix(end + 1);
  }
  return out;
}

std::string LineCutter::finish() {
  std::string out;
  if (!rest_.empty()) put(out, std::exchange(rest_, {}), false);
  return out;
}

std::string task_label(std::uint32_t task, std::uint32_t count) {
  const std::size_t width = std::to_string(count > 0 ? count - 1 : 0).size();
  return format("{:>{}}: ", task, width);
}

int exit_code_of(const TaskEnd& end) { return end.signal > 0 ? 128 + end.signal : end.code & 0xff; }

void WorstCode::add(const TaskEnd& end) {
  int& worst = end.ours ? ended_ : own_;
  worst = std::max(worst, exit_code_of(end));
}

}  // namespace rota::commands
