// gpud/launch/process_tree.cpp - one pass over /proc. Linked into rstepd, so without libfmt.
#include "gpud/launch/process_tree.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;
  bool found = false;
};

/// "123 (a name) with) R 1 ...": the name may hold anything, so the last bracket counts.
bool parse_stat(const std::string& text, Process& process) {
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 4 >= text.size()) return false;
  const char state = text[bracket + 2];
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data() + bracket + 4, end, process.parent).ec != std::errc())
    return false;
  // The state is field 3, threads are field 20, the start is field 22.
  std::size_t at = bracket + 1;
  std::int64_t threads = 1;
  for (int field = 3; field <= 22 && at != std::string::npos; ++field) {
    if (field == 20) std::from_chars(text.data() + at + 1, end, threads);
    if (field == 22) std::from_chars(text.data() + at + 1, end, process.start_ticks);
    at = text.find(' ', at + 1);
  }
  // Where another thread hangs in the kernel, the first one is a zombie, and its process is not.
  return state != 'X' && (state != 'Z' || threads > 1);
}

std::vector<Process> all_processes() {
  std::vector<Process> all;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return all;
  while (const dirent* item = ::readdir(directory)) {
    Process process;
    const char* const end = item->d_name + std::strlen(item->d_name);
    if (std::from_chars(item->d_name, end, process.pid).ptr != end) continue;
    if (parse_stat(file_read(std::string("/proc/") + item->d_name + "/stat"), process))
      all.push_back(process);
  }
  ::closedir(directory);
  return all;
}

/// Marks what descends from `roots` or from a marked process, until a pass finds nothing new.
std::vector<pid_t> grow(std::vector<Process> all, std::vector<pid_t> roots) {
  std::vector<pid_t> found;
  while (!roots.empty()) {
    std::vector<pid_t> next;
    for (Process& process : all) {
      if (process.found || std::find(roots.begin(), roots.end(), process.parent) == roots.end())
        continue;
      process.found = true;
      next.push_back(process.pid);
    }
    found.insert(found.end(), next.begin(), next.end());
    roots = std::move(next);
  }
  return found;
}

bool carries(pid_t pid, std::string_view variable, uid_t uid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || status.st_uid != uid) return false;
  const std::string environment = '\0' + file_read(directory + "/environ", 8 << 20);
  const std::string wanted = '\0' + std::string(variable) + '\0';
  return environment.find(wanted) != std::string::npos;
}

}  // namespace

std::optional<ProcessName> process_name(pid_t pid) {
  Process process;
  if (!parse_stat(file_read("/proc/" + std::to_string(pid) + "/stat"), process))
    return std::nullopt;
  return ProcessName{static_cast<std::uint32_t>(pid), process.start_ticks};
}

std::vector<ProcessName> process_names(const std::vector<pid_t>& pids) {
  std::vector<ProcessName> names;
  for (const pid_t pid : pids)
    if (const auto name = process_name(pid)) names.push_back(*name);
  return names;
}

std::vector<pid_t> descendants_of(pid_t root) { return grow(all_processes(), {root}); }

std::vector<pid_t> carriers_of(std::string_view variable, uid_t uid) {
  std::vector<Process> all = all_processes();
  std::vector<pid_t> found;
  for (Process& process : all) {
    if (!carries(process.pid, variable, uid)) continue;
    process.found = true;
    found.push_back(process.pid);
  }
  const std::vector<pid_t> below = grow(std::move(all), found);
  found.insert(found.end(), below.begin(), below.end());
  return found;
}

}  // namespace rota::gpud
