// gpud/steps.h - the runs of this node as processes: started, told, watched, cleaned up after.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/agent.h"
#include "gpud/groups.h"
#include "gpud/launch/exec_order.h"
#include "gpud/launch/plan.h"
#include "gpud/meeting_ports.h"
#include "gpud/nursery_keeper.h"
#include "gpud/share/burst.h"
#include "gpud/spool.h"
#include "gpud/step_line.h"

namespace rota::gpud {

/// Carries out what the Agent decides and tells it what became of it. Every run that was started or
/// adopted is told as ended exactly once, whatever happens to its rstepd.
class Steps {
 public:
  struct Events {
    std::function<void(RunId, WallTime, const std::string& image_digest)> started;
    std::function<void(RunId, RunEnd)> ended;
    /// Who holds memory of which GPU now, for the runs that share some; asked once a second.
    std::function<std::vector<GpuHolders>()> gpu_holders;
    /// What each run holds of each GPU; asked once a second while runs hold more than they asked
    /// for, or might.
    std::function<BurstRoom::Held(MonoTime now)> gpu_held;
    /// Makes the run's MIG instances, or its GPUs whole again, and its MPS daemons. `groups` are
    /// the owner's. Answers at once or later, but not after the release. None: this node can do
    /// none of that.
    using Prepared = std::function<void(Result<Provision>)>;
    using Groups = std::vector<std::uint32_t>;
    std::function<void(const proto::LaunchRun&, const Groups&, Prepared)> prepare = nullptr;
    std::function<void(RunId)> release = nullptr;
    /// A run whose rstepd is gone, or could not remove its container, may have left it.
    std::function<void()> container_lost = nullptr;
    /// Asked before a run starts: calls what it is given, at once or later, and until then has the
    /// launch; an error keeps the run from starting here. Empty: every run may start.
    using Checked = std::function<void(Result<void>)>;
    std::function<void(const proto::LaunchRun&, Checked)> before_start = nullptr;
  };
  /// `step_program` is rstepd's path. Of all calls to this class only tick() calls events itself.
  Steps(boost::asio::any_io_executor executor, Spool spool, NodeFacts facts,
        std::string step_program, Events events);

  /// Starts the nursery and takes calls from rstepds that are already there.
  Result<void> open();
  /// What the spool holds, for the Agent; once, before open().
  std::vector<AdoptedRun> adopt();

  void start(StartStep effect, const NodeSettings& settings);
  void end(const EndStep& effect);
  void signal(RunId run, int signal);
  /// A line for the output of its first task here.
  void tell(RunId run, std::string text);
  /// A new time limit, counted from its start; 0: none.
  void limit(RunId run, std::int64_t seconds);
  void drop(RunId run);

  /// Whether it has no process yet, and nobody has ended it.
  bool is_preparing(RunId run) const;
  /// Whether it is the container of a run that is not over, by its name.
  bool has_container(const std::string& name) const;

  /// About once a second: looks after rstepds that have not called yet, and lets idle ones go.
  void tick(MonoTime now);

  /// A program of ours as a user, outside of all jobs: what it printed, or what went wrong.
  boost::asio::awaitable<Result<std::string>> run_as(UserOrder order);

  /// A reader of the owner's file (launch/log_reader.h): its packets come out of the descriptor.
  /// `masks`: a file with the MaskList of what it hides; none: it hides nothing.
  using LogOpened = std::function<void(Result<Fd>)>;
  void open_log(LogOrder order, LogOpened opened, Fd masks = {});

  /// Those that the jobs and steps of this node were given.
  MeetingPorts& ports() { return ports_; }
  /// How long one whose command has gone is kept for it.
  Duration session_linger() const { return facts_.session_linger; }
  /// A process inside a run that is there: rstepd's news of it come out of the descriptor
  /// (launch/exec_order.h). The run must have started.
  Result<Fd> open_exec(RunId run, const ExecOrder& order);

 private:
  enum class State {
    preparing,  // no process yet, and perhaps no instances
    attached,   // rstepd is on the line
    detached,   // rstepd lives, but has not called (again)
    cleaning,   // rstepd is gone, and what it left is being killed
  };
  struct Step {
    State state = State::preparing;
    std::uint32_t uid = 0;
    CgroupPlan cgroups;
    bool started = false;
    std::optional<StepCommand> end_wanted;
    std::vector<StepCommand> unheard;  // for when its rstepd calls: signals, and what it is told
    std::vector<std::string> shared_gpus;
    std::string image_digest;
    std::string container;     // its name; "": none
    bool has_left_it = false;  // its rstepd could not remove it
    std::uint16_t port = 0;    // where its processes meet, if that is here
    std::shared_ptr<StepLine> line;
    std::optional<StepOrder> waiting;  // preparing: for room on a GPU that another has to give back
  };

  void pass_on(RunId run, StepCommand command);
  void adopt_one(Spool::Found found, std::vector<AdoptedRun>& adopted);
  std::uint16_t adopt_port(const std::vector<std::string>& environment);
  void remove_strays();
  void remove_secrets_of(RunId run) const;
  void find_groups(StartStep effect, const NodeSettings& settings);
  void prepare(StartStep effect, const NodeSettings& settings, std::vector<std::uint32_t> groups);
  void launch(StartStep effect, const NodeSettings& settings, std::vector<std::uint32_t> groups,
              Provision provision);
  Result<std::uint16_t> find_port(const proto::LaunchRun& launch, Step& step);
  Result<void> hand_over(RunId run, Step& step, StepOrder order);
  std::shared_ptr<StepLine> new_line(Fd socket);
  void accept();
  void reported(const std::shared_ptr<StepLine>& line, StepReport report);
  void greeted(const std::shared_ptr<StepLine>& line, RunId run);
  void line_closed(const std::shared_ptr<StepLine>& line);
  void lost(RunId run);
  void tell_holders();
  void settle_burst(MonoTime now);
  void start_waiting();
  void begin_clean(RunId run, std::string why);
  Fd clear_limits(const std::string& cgroup, const std::vector<std::string>& uuids) const;
  boost::asio::awaitable<void> clean(RunId run, std::string why);
  boost::asio::awaitable<void> clean_stray(std::string path);
  void finish(RunId run, RunEnd end, WallTime start_time);
  void finish_later(RunId run, RunEnd end);

  boost::asio::any_io_executor executor_;
  Spool spool_;
  NodeFacts facts_;
  Events events_;
  GroupCache groups_;
  NurseryKeeper nursery_;
  boost::asio::posix::stream_descriptor listening_;
  std::map<RunId, Step> steps_;
  std::vector<std::shared_ptr<StepLine>> idle_;
  MonoTime last_start_;
  BurstRoom burst_;
  MeetingPorts ports_;
};

}  // namespace rota::gpud
