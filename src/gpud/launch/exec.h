// gpud/launch/exec.h - from a fresh child of rstepd to a process beside the tasks of a run.
#pragma once
#include <sys/types.h>

#include "gpud/launch/cgroup.h"
#include "gpud/launch/exec_order.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// Where a process goes.
struct ExecPlace {
  const StepOrder& order;
  const TaskOrder& task;
  const RunCgroups& cgroups;
  bool cloned = false;  // as of become_task
  pid_t anchor = 0;     // whose namespaces it enters; 0: the node's own, as a first task would
};

/// Called in the child. Opens a terminal, pipes or a connection, sends rgpud's ends over `socket`
/// and runs the program; a task of a step only when `gate` opens. What fails is told over the
/// socket.
[[noreturn]] void become_exec(const ExecPlace& place, const ExecOrder& exec, int socket, int gate);

}  // namespace rota::gpud
