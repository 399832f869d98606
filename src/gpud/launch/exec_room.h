// gpud/launch/exec_room.h - the processes that people have put into a run, beside its tasks.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/time.h"
#include "gpud/launch/exec_order.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

/// Which of them are there, and the socket to rgpud of each. Those of ExecKind::hold and step are
/// sockets without a process.
class ExecRoom {
 public:
  /// More at once are refused.
  static constexpr std::size_t size_max = 512;

  /// The first step of the run gets this number, the others those that follow.
  void number_steps_from(std::uint32_t first) { next_step_ = first; }
  /// A step's task that was hung up on may take so long to end.
  void set_kill_wait(Duration wait) { kill_wait_ = wait; }
  /// The order that came with a socket; none when it makes no sense.
  static std::optional<ExecOrder> read_order(int socket);
  /// Tells rgpud that it cannot be done, and hangs up.
  static void refuse(const Fd& socket, const std::string& why);

  bool is_full() const { return entries_.size() >= size_max; }
  bool has_processes() const;
  /// A command is at the other end of one of them.
  bool is_held() const;
  /// `pid` 0: a hold or a step. A task of a step waits at the other end of `gate`.
  void add(Fd socket, const ExecOrder& order, pid_t pid, Fd gate = {});
  /// In a child: nothing of this is its business.
  void forget() { entries_.clear(); }

  /// One of its processes has ended: tells rgpud. False when it was none of them.
  bool child_ended(pid_t pid, int status);
  /// A line for everybody who sits at one of them.
  void tell(const std::string& text);

  void add_waits(std::vector<pollfd>& waits) const;
  /// Hears what rgpud says over those sockets that are ready. One that was closed is hung up on.
  void serve(const std::vector<pollfd>& waits);
  /// When end_late() has something to do.
  std::optional<MonoTime> kill_at() const;
  /// Kills tasks of steps that have outlived their command for too long.
  void end_late(MonoTime now);

  /// Somebody who may has said that the run is over: as a status of waitpid's.
  std::optional<int> finished() const { return finished_; }

 private:
  struct Entry {
    Fd socket;
    pid_t pid = 0;
    bool ends_run = false;
    proto::ExecKind kind = proto::ExecKind::command;
    Fd gate;                          // closed: the task runs, or goes
    bool is_hung_up = false;          // rgpud has gone, the process may still be there
    std::optional<MonoTime> kill_at;  // then it goes by SIGKILL
  };
  void hear(Entry& entry);
  void hang_up(Entry& entry);

  std::vector<Entry> entries_;
  std::optional<int> finished_;
  std::uint32_t next_step_ = 0;
  Duration kill_wait_ = std::chrono::seconds(30);
};

}  // namespace rota::gpud
