// gpud/launch/supervisor.h - the life of one run inside rstepd: start, limits, orders, a clean end.
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/time.h"
#include "gpud/container/box.h"
#include "gpud/launch/cgroup.h"
#include "gpud/launch/exec_room.h"
#include "gpud/launch/fetch.h"
#include "gpud/launch/file.h"
#include "gpud/launch/order.h"
#include "gpud/launch/step_link.h"
#include "gpud/launch/task.h"
#include "gpud/share/door.h"

namespace rota::gpud {

/// Runs one StepOrder to its end. One thread, one loop, no allocation that grows with time.
class Supervisor {
 public:
  /// Once per process, before the first: signals arrive only while a Supervisor waits for them.
  static void take_signals();

  /// `record` is the run's open and locked record, `socket` the line to rgpud.
  Supervisor(StepOrder order, Fd record, Fd socket);

  /// Comes back when nothing of the run is left and its end is on record. True when this process
  /// may run another: it was asked to, nothing unkillable is left to it, nobody told it to end.
  bool run(bool may_go_on);
  /// The line to rgpud, if it is open, for the next run.
  Fd take_line() { return link_.take(); }

 private:
  struct Task {
    pid_t pid = 0;
    bool running = false;
    int status = 0;     // as waitpid gives it
    bool ours = false;  // ended after we had begun to end the run
  };

  StepReport report(StepReport::Kind kind, std::string detail = {}) const;
  static std::string number_list(const std::vector<std::uint32_t>& numbers);
  std::string open_share();
  bool limit_by_driver();
  void judge_share(const std::vector<GpuHolders>& held);
  void start_run();
  void start_inside();
  void container_is_up();
  void store_container();
  void remove_container();
  std::vector<pid_t> processes() const;
  void launch_next();
  void launch_answered();
  void all_started();
  bool reap();
  void task_ended(Task& task, int status);
  bool done() const;

  void fail_launch(Excuse excuse);
  void begin_end(EndCause cause, std::string detail);
  void look_after_hold(MonoTime now);
  std::optional<MonoTime> notice_at() const;
  void end_within(Duration grace, int signal);
  Duration kill_wait() const { return std::chrono::milliseconds(order_.kill_wait_ms); }
  void wait_for_event();
  void check_deadlines();
  void obey();
  void start_exec(Fd socket);
  /// The process whose namespaces stand for those of this node's task `local`; 0: the node's own.
  pid_t anchor(std::size_t local) const;
  std::string no_place_for(const ExecOrder& exec, std::size_t& local) const;
  std::string no_place_for_step(const ExecOrder& exec, std::size_t& local) const;
  void tell(const std::string& text);
  void signal_all(int signal);
  void warn(int signal);
  void set_limit(std::int64_t seconds);
  std::optional<MonoTime> warn_at() const;

  Duration unkillable_after() const {
    return std::chrono::milliseconds(order_.unkillable_after_ms);
  }
  static int badness(int status);
  void give_up();
  void kill_rest();
  RunEnd verdict() const;
  bool report_end(const RunEnd& end, bool may_go_on);

  StepOrder order_;
  Fd record_;
  StepLink link_;
  RunCgroups cgroups_;
  std::unique_ptr<ShareDoor> share_;   // of a run with parts of GPUs
  std::unique_ptr<ContainerBox> box_;  // of a run with an image
  SourceFetcher fetcher_;
  std::vector<Task> tasks_;
  ExecRoom execs_;
  Fd launching_;  // the newest child's pipe, until its exec or its excuse
  bool started_ = false;
  MonoTime begun_;
  MonoTime opened_;  // its container was begun then
  WallTime start_time_;
  std::optional<MonoTime> kill_at_;    // it is being ended, and this is the end of its grace
  std::optional<MonoTime> killed_at_;  // SIGKILL was sent then
  bool is_given_up_ = false;           // it did not help
  bool warned_ = false;
  bool noticed_ = false;  // those who sit in it were told that its time is nearly over
  std::optional<MonoTime> unheld_since_;
  std::optional<MonoTime> fence_;  // as last read
  MonoTime fence_read_;
  EndCause cause_ = EndCause::exited;
  std::string detail_;
  std::string store_trouble_;  // why its container's files are not where they were wanted
  bool by_node_ = false;
  std::vector<ProcessName> left_;  // that SIGKILL did not end
};

}  // namespace rota::gpud
