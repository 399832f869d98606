// gpud/launch/step_task.cpp - GPUs divided, variables joined, the gate. In rstepd: no libfmt.
#include "gpud/launch/step_task.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string_view>

#include "gpud/launch/exec_order.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

/// Calls `look` with each place where a program of this name may be, until it returns true.
template <class Look>
void search_path(const std::string& program, Look look) {
  const char* variable = ::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  for (;;) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string place(end == 0 ? "." : path.substr(0, end));
    if (look(place + '/' + program) || end == path.size()) return;
    path.remove_prefix(end + 1);
  }
}

/// 0, or why this file cannot be run by who we are.
int trouble_with(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

std::vector<char*> merged_environment(
    std::initializer_list<const std::vector<std::string>*> lists) {
  std::vector<char*> variables;
  std::set<std::string_view> names;
  for (const std::vector<std::string>* list : lists)
    for (const std::string& variable : *list)
      if (names.insert(name_of(variable)).second)
        variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  return variables;
}

std::vector<std::string> gpus_of_run(const StepOrder& order) {
  constexpr std::string_view name = "CUDA_VISIBLE_DEVICES=";
  std::vector<std::string> gpus;
  for (const TaskOrder& task : order.tasks)
    for (const std::string& variable : task.environment) {
      if (!variable.starts_with(name)) continue;
      std::string_view rest = std::string_view(variable).substr(name.size());
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string gpu(rest.substr(0, end));
        if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  return gpus;
}

std::optional<std::string> gpus_of_task(const std::vector<std::string>& all, std::uint32_t first,
                                        std::uint32_t count) {
  if (std::uint64_t{first} + count > all.size()) return std::nullopt;
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + all[first + i];
  return text;
}

int find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return trouble_with(program);
  int worst = ENOENT;
  search_path(program, [&worst](const std::string& path) {
    const int trouble = trouble_with(path);
    if (trouble == 0) worst = 0;
    // As execvp does it: what is there and closed is told only if nothing better is found.
    if (trouble == EACCES && ::access(path.c_str(), F_OK) == 0) worst = EACCES;
    return trouble == 0;
  });
  return worst;
}

bool is_on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return true;
  bool is_there = false;
  search_path(program, [&is_there](const std::string& path) {
    return is_there = ::access(path.c_str(), F_OK) == 0;
  });
  return is_there;
}

void open_gate(int gate, const std::vector<std::string>& variables) {
  ExecWord word;
  word.go = true;
  word.environment = variables;
  const std::string bytes = proto::encode(word);
  // A pipe takes so much at once; a task that has gone is nobody's loss.
  if (::write(gate, bytes.data(), bytes.size()) < 0) return;
}

bool wait_at_gate(int gate, std::vector<std::string>& variables) {
  std::string bytes;
  char block[4096];
  for (;;) {
    const ssize_t size = ::read(gate, block, sizeof block);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    bytes.append(block, static_cast<std::size_t>(size));
  }
  auto word = proto::decode<ExecWord>(bytes);
  if (bytes.empty() || !word || !word->go) return false;
  variables = std::move(word->environment);
  return true;
}

}  // namespace rota::gpud
