// gpud/launch/task.h - from a fresh child of rstepd to the user's program.
#pragma once
#include <string>

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

/// Called in the child: enter_run(), then the owner's rights, directory, files, exec.
/// Comes back only when that failed, with one sentence that says at what. `cloned`: the child is in
/// the cgroup of clone_fd() already.
Excuse become_task(const StepOrder& order, std::size_t index, const RunCgroups& cgroups,
                   bool cloned);

/// Called in a child: as the owner, a line behind the first task's errors, if that file is there.
void write_notice(const StepOrder& order, const std::string& text);

}  // namespace rota::gpud
