// gpud/launch/supervisor_end.cpp - how a run ends: what is left of it is killed, its end is told.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "common/clock.h"
#include "gpud/launch/process_tree.h"
#include "gpud/launch/record.h"
#include "gpud/launch/supervisor.h"

namespace rota::gpud {

/// A signal counts as worse than any exit code, as it does for a shell.
int Supervisor::badness(int status) {
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Tasks that hang in the kernel: whatever they would have said, they were killed.
void Supervisor::give_up() {
  is_given_up_ = true;
  launching_.reset();
  for (Task& task : tasks_)
    if (std::exchange(task.running, false))
      task = {.pid = task.pid, .status = SIGKILL, .ours = true};
}

/// Whatever the job left behind, also what forked twice and took a session of its own: it is our
/// child by now, or a descendant of one.
void Supervisor::kill_rest() {
  const MonoTime give_up = killed_at_.value_or(mono_now()) + unkillable_after();
  sigset_t none;
  sigemptyset(&none);
  while (reap()) {
    cgroups_.kill();
    for (const pid_t pid : descendants_of(::getpid())) ::kill(pid, SIGKILL);
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    ::ppoll(nullptr, 0, &pause, &none);
    if (mono_now() < give_up) continue;
    is_given_up_ = true;
    left_ = process_names(descendants_of(::getpid()));
    break;
  }
}

RunEnd Supervisor::verdict() const {
  RunEnd end{.cause = cause_, .detail = detail_};
  end.by_node = by_node_ && cause_ == EndCause::launch_failed;
  // The first failure is the news; what ended because we ended it is not.
  const Task* worst = nullptr;
  for (const Task& task : tasks_) {
    if (worst == nullptr || (worst->ours && !task.ours) ||
        (worst->ours == task.ours && badness(task.status) > badness(worst->status)))
      worst = &task;
  }
  if (worst != nullptr && cause_ != EndCause::launch_failed) {
    end.exit_code = WIFEXITED(worst->status) ? WEXITSTATUS(worst->status) : 0;
    end.exit_signal = WIFSIGNALED(worst->status) ? WTERMSIG(worst->status) : 0;
  }
  if (order_.holds && cause_ == EndCause::exited) {
    const int status = execs_.finished().value_or(SIGHUP);  // as it is for who is left alone
    end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    end.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  if (cause_ == EndCause::exited && cgroups_.oom_kills() > 0) {
    end.cause = EndCause::out_of_memory;
    end.detail = "over its memory limit of " +
                 std::to_string(order_.launch.part.memory_bytes >> 20) + " MiB on " +
                 order_.launch.nodes[order_.launch.node_index];
  }
  if (!store_trouble_.empty()) end.detail += (end.detail.empty() ? "" : "; ") + store_trouble_;
  if (!left_.empty()) {
    end.detail += end.detail.empty() ? "" : "; ";
    end.detail += "processes that SIGKILL could not end:";
    for (const ProcessName& each : left_) end.detail += ' ' + std::to_string(each.pid);
    end.left = left_;
  }
  end.elapsed_ms = (mono_now() - begun_).count() / 1'000'000;
  return end;
}

bool Supervisor::report_end(const RunEnd& end, bool may_go_on) {
  const MonoTime give_up = mono_now() + std::chrono::milliseconds(200);
  while (!cgroups_.remove() && mono_now() < give_up) ::usleep(1000);
  const RecordEnd entry{end, start_time_};
  StepReport last = report(StepReport::Kind::ended);
  last.end = end;
  last.is_free = may_go_on;
  // On a full disk the end is told to a living rgpud; with neither, it waits here for one of them.
  for (;;) {
    const bool recorded = static_cast<bool>(record_append(record_.get(), entry));
    if (link_.send(last) || recorded) return may_go_on;
    ::usleep(500'000);
    link_.reconnect(mono_now());
  }
}

/// Who was warned of an earlier end is warned again of this one.
void Supervisor::set_limit(std::int64_t seconds) {
  std::int64_t& limit = order_.launch.spec.time_limit_seconds;
  if (limit == seconds) return;
  limit = seconds;
  if (const auto now = mono_now(); limit == 0 || now < begun_ + std::chrono::seconds(limit)) {
    warned_ = false;
    noticed_ = false;
  }
}

/// With --signal=B: the script alone hears it, and tells what it started as it likes.
void Supervisor::warn(int signal) {
  if (!order_.launch.spec.rules->signal_batch_only ||
      order_.launch.payload.mode != LaunchMode::batch)
    return signal_all(signal);
  if (!tasks_.empty() && tasks_.front().running) ::kill(tasks_.front().pid, signal);
}

}  // namespace rota::gpud
