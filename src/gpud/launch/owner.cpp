// gpud/launch/owner.cpp - a few files of /proc.
#include "gpud/launch/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "common/format.h"
#include "gpud/launch/file.h"
#include "gpud/launch/record.h"

namespace rota::gpud {
namespace {

constexpr int ancestors_max = 64;

std::uint32_t parent_of(std::uint32_t pid) {
  const std::string text = file_read(format("/proc/{}/stat", pid));
  const std::size_t bracket = text.rfind(')');
  std::uint32_t parent = 0;
  if (bracket != std::string::npos && bracket + 4 < text.size())
    std::from_chars(text.data() + bracket + 4, text.data() + text.size(), parent);
  return parent;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Also one from before an upgrade: its file is gone, and its name is still known.
bool runs_program(std::uint32_t pid, const std::string& program) {
  const std::string link = format("/proc/{}/exe", pid);
  if (is_same_file(link, program)) return true;
  char target[4096];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  return size > 0 && std::string_view(target, static_cast<std::size_t>(size)) ==
                         format("{} (deleted)", program);
}

/// rstepd writes its run's name over its arguments.
std::optional<RunId> run_in_arguments(std::uint32_t pid) {
  const std::string text = file_read(format("/proc/{}/cmdline", pid));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, std::min(rest.find('\0'), rest.size()));
    if (const auto run = run_from_name(word)) return run;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<RunId> run_in_cgroup(const std::string& text, const std::string& node_directory) {
  if (node_directory.empty()) return std::nullopt;
  const std::string above = format("/{}/", node_directory);
  for (std::size_t at = text.find(above); at != std::string::npos; at = text.find(above, at + 1)) {
    const std::string_view rest = std::string_view(text).substr(at + above.size());
    const auto end = std::min(rest.find_first_of("/\n"), rest.size());
    if (const auto run = run_from_name(rest.substr(0, end))) return run;
  }
  return std::nullopt;
}

ProcessOwner owner_of_process(std::uint32_t pid, const std::string& node_directory,
                              const std::string& step_program) {
  ProcessOwner owner;
  const std::string cgroups = file_read(format("/proc/{}/cgroup", pid));
  owner.is_alive = !cgroups.empty();
  owner.run = run_in_cgroup(cgroups, node_directory);
  std::uint32_t at = pid;
  for (int i = 0; i < ancestors_max && at > 1 && !owner.run; ++i) {
    if (runs_program(at, step_program)) owner.run = run_in_arguments(at);
    at = parent_of(at);
  }
  return owner;
}

}  // namespace rota::gpud
