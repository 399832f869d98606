// gpud/launch/task.h - from a fresh child of rstepd to the user's program.
#pragma once
#include <string>

#include "gpud/container/box.h"
#include "gpud/launch/cgroup.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// Once per process, before the first task: looks whether this process is spared when memory runs
/// out (rgpud's unit asks for that), which its tasks must not be.
void look_at_oom_score();
/// In a child: it is no longer spared, if we are.
void reset_oom_score();

/// Why a task could not be started.
struct Excuse {
  std::string text;      // one sentence; "": there is none
  bool by_node = false;  // the node's trouble, not the job's mistake: another node may do better
};

/// Called in a child, with all of rstepd's rights: own session, cgroups, CPUs, memory, limits.
Excuse enter_run(const StepOrder& order, const RunCgroups& cgroups, bool cloned);

/// In a child that is root, before it becomes the owner in a container: what root could get back by
/// running a program, nobody can, neither by an image's set-user-id programs nor, where root's own
/// jobs are allowed, as root. 0 or errno.
int give_up_capabilities();

/// In a child with the owner's rights: whether CUDA and NVML show what its part of a GPU is, if it
/// has one. One sentence when they do not.
std::string prove_share(const StepOrder& order, char** environment);

/// Called in the child: enter_run(), then the owner's rights, directory, files, exec.
/// Comes back only when that failed, with one sentence that says at what. `cloned`: the child is in
/// the cgroup of clone_fd() already. `inside`: of the run's container, if it has one.
Excuse become_task(const StepOrder& order, std::size_t index, const RunCgroups& cgroups,
                   bool cloned, const Enclosure* inside);

/// Called in a child: as the owner, a line behind the first task's errors, if that file is there.
void write_notice(const StepOrder& order, const std::string& text);

}  // namespace rota::gpud
