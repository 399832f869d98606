// gpud/launch/cgroup.cpp - files under /sys/fs/cgroup. Linked into rstepd, so without libfmt.
#include "gpud/launch/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "gpud/launch/devices.h"

namespace rota::gpud {
namespace {

constexpr int depth_max = 16;  // a job may nest cgroups of its own; not for ever

std::vector<std::string> children_of(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* item = ::readdir(directory))
    if (item->d_type == DT_DIR && item->d_name[0] != '.')
      names.push_back(path + '/' + item->d_name);
  ::closedir(directory);
  return names;
}

void collect(const std::string& path, std::vector<pid_t>& pids, int depth) {
  const std::string text = file_read(path + "/cgroup.procs");
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    pid_t pid = 0;
    const auto [next, error] = std::from_chars(at, end, pid);
    // 0 stands for a process of another pid namespace: it has no name we could kill it by.
    if (error == std::errc() && pid > 0) pids.push_back(pid);
    at = std::find(next, end, '\n') + 1;
  }
  if (depth < depth_max)
    for (const std::string& child : children_of(path)) collect(child, pids, depth + 1);
}

bool remove_tree(const std::string& path, int depth) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (depth == depth_max) return false;
  for (const std::string& child : children_of(path)) remove_tree(child, depth + 1);
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

/// The number behind `key` in the lines of a flat keyed file.
std::uint64_t keyed_number(const std::string& text, std::string_view key) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      std::uint64_t number = 0;
      std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), number);
      return number;
    }
    at = end + 1;
  }
  return 0;
}

void complain(std::string& trouble, const std::string& what, int error) {
  if (!trouble.empty()) trouble += "; ";
  trouble += "cannot " + what + ": " + strerrordesc_np(error);
}

}  // namespace

std::vector<pid_t> cgroup_processes(const std::string& path) {
  std::vector<pid_t> pids;
  collect(path, pids, 0);
  return pids;
}

void cgroup_kill(const std::string& path) {
  if (file_write(path + "/cgroup.kill", "1") == 0) return;
  for (const pid_t pid : cgroup_processes(path)) ::kill(pid, SIGKILL);
}

bool cgroup_remove(const std::string& path) { return remove_tree(path, 0); }

/// Without the directory the run goes on without that controller: the path is emptied.
bool RunCgroups::make(std::string& path, bool v2, std::string& trouble) {
  if (path.empty()) return false;
  const bool made_before = (&path != &plan_.tracking && path == plan_.tracking) ||
                           (&path == &plan_.cpuset && path == plan_.memory);
  if (!made_before && ::mkdir(path.c_str(), 0755) != 0) {
    // A directory that is there already may hold processes of somebody else: never use it.
    complain(trouble, "make the cgroup " + path, errno);
    path.clear();
    return false;
  }
  // Programs look there for their limits, and we make files for nobody else to read.
  if (!made_before) ::chmod(path.c_str(), 0755);
  if (v2 && !clone_fd_) clone_fd_.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return true;
}

std::string RunCgroups::create(std::uint64_t memory_bytes, const std::string& cpus,
                               const std::string& memory_nodes, bool binds_memory) {
  std::string trouble;
  // What is not limited needs no cgroup, unless it is there anyhow: every v1 hierarchy costs.
  if (memory_bytes == 0 && plan_.memory != plan_.tracking) plan_.memory.clear();
  if (cpus.empty() && plan_.cpuset != plan_.tracking) plan_.cpuset.clear();
  const std::string tracking_planned = plan_.tracking;
  if (!make(plan_.tracking, plan_.tracking_v2, trouble)) {
    if (plan_.memory == tracking_planned) plan_.memory.clear();
    if (plan_.cpuset == tracking_planned) plan_.cpuset.clear();
    if (plan_.devices == tracking_planned) plan_.devices.clear();
  }
  if (make(plan_.memory, plan_.memory_v2, trouble) && memory_bytes > 0) {
    const std::string limit = std::to_string(memory_bytes);
    const char* file = plan_.memory_v2 ? "/memory.max" : "/memory.limit_in_bytes";
    const char* swap = plan_.memory_v2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes";
    if (const int error = file_write(plan_.memory + file, limit))
      complain(trouble, "limit the memory in " + plan_.memory + file, error);
    // Without swap accounting in the kernel there is no such file; that is as good as it gets.
    file_write(plan_.memory + swap, plan_.memory_v2 ? std::string("0") : limit);
  }
  if (make(plan_.cpuset, plan_.cpuset_v2, trouble) && !cpus.empty()) {
    int error = file_write(plan_.cpuset + "/cpuset.cpus", cpus);
    if (error == 0 && (!plan_.cpuset_v2 || binds_memory))
      error = file_write(plan_.cpuset + "/cpuset.mems", memory_nodes);
    cpus_bound_ = error == 0;
    if (error != 0) {
      complain(trouble, "bind to CPUs " + cpus + " in " + plan_.cpuset, error);
      // A v1 cpuset without CPUs takes no process.
      if (!plan_.cpuset_v2) ::rmdir(std::exchange(plan_.cpuset, "").c_str());
    }
  }
  return trouble;
}

std::string RunCgroups::confine(const DeviceGate& devices) {
  if (!devices.is_closed) {
    // As for what is not limited: it need not be entered.
    if (plan_.devices != plan_.tracking) plan_.devices.clear();
    return {};
  }
  std::string trouble;
  if (plan_.devices.empty()) return "there is no cgroup to do it with";
  if (!make(plan_.devices, plan_.devices_v2, trouble)) return trouble;
  const int error = plan_.devices_v2 ? close_devices_v2(plan_.devices, devices)
                                     : close_devices_v1(plan_.devices, devices);
  if (error != 0) complain(trouble, "close devices in " + plan_.devices, error);
  return trouble;
}

std::vector<RunCgroups::Leaf> RunCgroups::leaves() const {
  std::vector<Leaf> all;
  const auto add = [&all](const std::string& path, bool v2) {
    for (const Leaf& leaf : all)
      if (leaf.path == path) return;
    if (!path.empty()) all.push_back({path, v2});
  };
  add(plan_.tracking, plan_.tracking_v2);
  add(plan_.memory, plan_.memory_v2);
  add(plan_.cpuset, plan_.cpuset_v2);
  add(plan_.devices, plan_.devices_v2);
  return all;
}

int RunCgroups::join(bool cloned) const {
  for (const Leaf& leaf : leaves()) {
    if (leaf.v2 && cloned) continue;
    if (const int error = file_write(leaf.path + "/cgroup.procs", "0")) return error;
  }
  return 0;
}

int RunCgroups::take(pid_t pid) const {
  for (const Leaf& leaf : leaves())
    if (const int error = file_write(leaf.path + "/cgroup.procs", std::to_string(pid)))
      return error;
  return 0;
}

std::vector<pid_t> RunCgroups::processes() const {
  std::vector<pid_t> pids;
  for (const Leaf& leaf : leaves()) collect(leaf.path, pids, 0);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void RunCgroups::kill() const {
  for (const Leaf& leaf : leaves()) cgroup_kill(leaf.path);
}

std::uint64_t RunCgroups::oom_kills() const {
  if (plan_.memory.empty()) return 0;
  const char* file = plan_.memory_v2 ? "/memory.events" : "/memory.oom_control";
  return keyed_number(file_read(plan_.memory + file), "oom_kill");
}

bool RunCgroups::remove() {
  bool all = true;
  for (const Leaf& leaf : leaves()) all = cgroup_remove(leaf.path) && all;
  return all;
}

}  // namespace rota::gpud
