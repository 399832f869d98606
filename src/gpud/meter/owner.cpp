// gpud/meter/owner.cpp - two files of /proc, read for the run's name in them.
#include "gpud/meter/owner.h"

#include <algorithm>

#include "gpud/launch/file.h"
#include "gpud/launch/record.h"

namespace rota::gpud {
namespace {

/// The name behind `mark`, up to the next slash, line or variable.
std::optional<RunId> run_behind(std::string_view text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view name = text.substr(at + mark.size());
  name = name.substr(0, std::min(name.find_first_of(std::string_view("/\n\0", 3)), name.size()));
  return run_from_name(name);
}

}  // namespace

std::optional<RunId> run_in_cgroup(std::string_view text, std::string_view node_directory) {
  return run_behind(text, '/' + std::string(node_directory) + '/');
}

std::optional<RunId> run_in_environment(std::string_view text, std::string_view node_directory) {
  const std::string mark = "ROTA_RUN=" + std::string(node_directory) + '/';
  if (text.starts_with(mark)) return run_behind(text, mark);
  return run_behind(text, std::string(1, '\0') + mark);
}

std::optional<RunId> run_of_process(std::uint32_t pid, const std::string& node_directory) {
  const std::string place = "/proc/" + std::to_string(pid);
  if (auto run = run_in_cgroup(file_read(place + "/cgroup", 64 << 10), node_directory)) return run;
  return run_in_environment(file_read(place + "/environ", 1 << 20), node_directory);
}

}  // namespace rota::gpud
