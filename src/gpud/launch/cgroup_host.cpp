// gpud/launch/cgroup_host.cpp - cgroup v2 where it has the controller, v1 otherwise, each on its
// own.
#include "gpud/launch/cgroup_host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "common/format.h"
#include "gpud/launch/devices.h"
#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool has_word(std::string_view list, char separator, std::string_view word) {
  for (const std::string_view one : split(list, separator))
    if (one == word) return true;
  return false;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// ROOT/PARENT/NODE, one level after the other; `each` is called for every new level with the level
/// above it. "" and the reason when a level cannot be made.
template <class Each>
std::string make_levels(const std::string& root, const std::string& parent, const std::string& node,
                        std::string& trouble, Each each) {
  std::string path = root;
  std::vector<std::string_view> levels = split(parent, '/');
  levels.push_back(node);
  for (const std::string_view level : levels) {
    const std::string above = path;
    path += format("/{}", level);
    const bool is_new = ::mkdir(path.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST) {
      trouble = format("cannot make {}: {}", path, strerrordesc_np(errno));
      return {};
    }
    if (is_new || level == node) ::chmod(path.c_str(), 0755);  // whatever our umask is
    each(above, path);
  }
  if (::access((path + "/cgroup.procs").c_str(), W_OK) != 0 || ::access(path.c_str(), W_OK) != 0) {
    trouble = format("cannot write to {}: {}", path, strerrordesc_np(errno));
    return {};
  }
  return path;
}

void prepare_v2(CgroupBase& base, const std::string& root, const std::string& parent,
                std::string& trouble) {
  const std::string path = make_levels(
      root, parent, base.node_directory, trouble, [](const std::string& above, const std::string&) {
        // One by one: a controller that cannot be had must not cost us the other.
        for (const char* controller : {"+memory", "+cpuset"})
          file_write(above + "/cgroup.subtree_control", controller);
      });
  if (path.empty()) return;
  for (const char* controller : {"+memory", "+cpuset"})
    file_write(path + "/cgroup.subtree_control", controller);
  base.tracking = path;
  base.tracking_v2 = true;
  const std::string have = trimmed(file_read(path + "/cgroup.subtree_control"));
  if (has_word(have, ' ', "memory")) base.memory = path, base.memory_v2 = true;
  if (has_word(have, ' ', "cpuset")) base.cpuset = path, base.cpuset_v2 = true;
}

/// A new v1 cpuset is empty and takes no process until it has CPUs and memory of its parent's.
void inherit_cpuset(const std::string& above, const std::string& path) {
  for (const char* file : {"/cpuset.cpus", "/cpuset.mems"})
    if (trimmed(file_read(path + file)).empty())
      file_write(path + file, trimmed(file_read(above + file)));
}

/// The second version closes devices by a program, which needs rights of its own; the first by a
/// controller.
void prepare_devices(CgroupBase& base, const CgroupMounts& mounts, const std::string& parent) {
  const int error = base.tracking_v2 ? try_devices_v2() : ENOENT;
  if (error == 0) {
    base.devices = base.tracking;
    base.devices_v2 = true;
    return;
  }
  if (!mounts.v1_devices.empty())
    base.devices = make_levels(mounts.v1_devices, parent, base.node_directory, base.device_trouble,
                               [](const std::string&, const std::string&) {});
  else
    base.device_trouble =
        base.tracking_v2 ? format("bpf: {}", strerrordesc_np(error)) : "no such cgroup is mounted";
}

}  // namespace

CgroupMounts cgroup_mounts(std::string_view mounts, std::string_view mode) {
  CgroupMounts found;
  for (const std::string_view line : split(mounts, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() < 4) continue;
    const std::string_view path = words[1];
    if (words[2] == "cgroup2" && (mode == "auto" || mode == "v2") && found.v2.empty())
      found.v2 = path;
    if (words[2] != "cgroup" || (mode != "auto" && mode != "v1")) continue;
    if (has_word(words[3], ',', "memory")) found.v1_memory = path;
    if (has_word(words[3], ',', "cpuset")) found.v1_cpuset = path;
    if (has_word(words[3], ',', "freezer")) found.v1_freezer = path;
    if (has_word(words[3], ',', "devices")) found.v1_devices = path;
  }
  return found;
}

CgroupPlan CgroupBase::plan_for(const std::string& run) const {
  const auto below = [&run](const std::string& path) {
    return path.empty() ? std::string() : path + '/' + run;
  };
  return {below(tracking), tracking_v2, below(memory),  memory_v2,
          below(cpuset),   cpuset_v2,   below(devices), devices_v2};
}

CgroupBase cgroup_prepare(const CgroupMounts& mounts, const std::string& parent,
                          const std::string& node_directory) {
  CgroupBase base;
  base.node_directory = node_directory;
  std::string trouble;
  const auto nothing = [](const std::string&, const std::string&) {};
  if (!mounts.v2.empty()) prepare_v2(base, mounts.v2, parent, trouble);
  if (base.tracking.empty() && !mounts.v1_freezer.empty())
    base.tracking = make_levels(mounts.v1_freezer, parent, node_directory, trouble, nothing);
  if (base.memory.empty() && !mounts.v1_memory.empty())
    base.memory = make_levels(mounts.v1_memory, parent, node_directory, trouble, nothing);
  if (base.cpuset.empty() && !mounts.v1_cpuset.empty()) {
    base.cpuset = make_levels(mounts.v1_cpuset, parent, node_directory, trouble, inherit_cpuset);
    if (!base.cpuset.empty()) base.memory_nodes = trimmed(file_read(base.cpuset + "/cpuset.mems"));
  }
  prepare_devices(base, mounts, parent);
  std::string missing;
  if (base.memory.empty()) missing = "memory";
  if (base.cpuset.empty()) missing += missing.empty() ? "CPUs" : " and CPUs";
  if (missing.empty() && !base.tracking.empty()) return base;
  if (trouble.empty()) trouble = "no such cgroup is mounted";
  base.trouble = missing.empty() ? "jobs are tracked by their process tree only"
                                 : format("jobs are not confined to their {}", missing);
  if (!missing.empty() && base.tracking.empty())
    base.trouble += ", and are tracked by their process tree only";
  base.trouble += format(" ({})", trouble);
  return base;
}

}  // namespace rota::gpud
