// gpud/launch/cgroup.h - the cgroups of one run: made, limited, joined, emptied, removed.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpud/launch/file.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// The leaf directories that a CgroupPlan names, in one v2 hierarchy, several v1 ones or both.
/// Where the plan is empty, everything here does nothing.
class RunCgroups {
 public:
  explicit RunCgroups(const CgroupPlan& plan) : plan_(plan) {}

  /// Makes the directories and sets the limits (0 and "": none). Goes on after a failure, without
  /// what failed; says what is missing, "" when nothing is. `binds_memory`: to `memory_nodes`; else
  /// they are only what a v1 cpuset has to name.
  std::string create(std::uint64_t memory_bytes, const std::string& cpus,
                     const std::string& memory_nodes, bool binds_memory = false);

  /// Closes the other GPUs' device files to the run. Says why it cannot, "" when it has.
  std::string confine(const DeviceGate& devices);

  /// A cgroup v2 directory into which clone3() can put a child directly; -1 when there is none.
  int clone_fd() const { return clone_fd_.get(); }
  /// Called in the child before it gives up its rights: moves itself into the rest. `cloned`: it is
  /// in the directory of clone_fd() already. 0 or errno.
  int join(bool cloned) const;
  /// Moves another process into all of it. 0 or errno.
  int take(pid_t pid) const;

  bool binds_cpus() const { return !plan_.cpuset.empty() && cpus_bound_; }

  /// Every process that is in there now, in sub-cgroups too.
  std::vector<pid_t> processes() const;
  /// SIGKILL to all of them.
  void kill() const;
  /// How many processes the kernel has killed for going over the memory limit.
  std::uint64_t oom_kills() const;
  /// Removes the directories; false while something is still in one of them.
  bool remove();

 private:
  struct Leaf {
    std::string path;
    bool v2 = false;
  };
  std::vector<Leaf> leaves() const;
  bool make(std::string& path, bool v2, std::string& trouble);

  CgroupPlan plan_;
  Fd clone_fd_;
  bool cpus_bound_ = false;
};

/// The processes of the cgroup at `path` and of those below it.
std::vector<pid_t> cgroup_processes(const std::string& path);
/// SIGKILL to them, by the kernel at one stroke where it can.
void cgroup_kill(const std::string& path);
/// Removes it and those below it; false while something is in there. One that is not there is gone.
bool cgroup_remove(const std::string& path);

}  // namespace rota::gpud
