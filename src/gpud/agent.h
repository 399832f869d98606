// gpud/agent.h - what should run on this node against what does: event in, effects out.
//
// No I/O, no clock, no threads: rgpud's shell feeds it what the controller says and what rstepd
// reports, and carries out what it returns, in order. The simulation tests run the same code.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "model/job.h"
#include "model/node.h"
#include "proto/frame.h"
#include "proto/messages.h"

namespace rota::gpud {

/// A CPU that jobs may use, with the NUMA node it belongs to (-1: not known).
struct Cpu {
  std::uint32_t index = 0;
  std::int32_t numa_node = -1;
};

/// Write the spool record, then start rstepd with it. Failure comes back as Agent::ended() with
/// EndCause::launch_failed.
struct StartStep {
  proto::LaunchRun launch;
  std::vector<std::uint32_t> cpus;  // ascending; empty: not bound
};
/// Tell rstepd to end its processes: a signal, some grace, SIGKILL.
struct EndStep {
  proto::EndRun order;
  EndCause cause = EndCause::cancelled;
  std::string detail = {};  // of the cause
};
struct SignalStep {
  RunId run;
  int signal = 0;
};
/// A line for its output.
struct TellStep {
  RunId run;
  std::string text;
};
/// It has this time limit from now on, counted from its start.
struct LimitStep {
  RunId run;
  std::int64_t seconds = 0;  // 0: none
};
/// The controller has the end on record: remove the spool record.
struct DropStep {
  RunId run;
};
/// Send to the controller; dropped when there is no session (hello repeats what matters).
using ToController = std::variant<proto::RunStarted, proto::RunEnded>;
using AgentEffect =
    std::variant<StartStep, EndStep, SignalStep, TellStep, LimitStep, DropStep, ToController>;

/// A run found in the spool when rgpud starts.
struct AdoptedRun {
  proto::LaunchRun launch;
  std::vector<std::uint32_t> cpus;
  proto::RunPhase phase = proto::RunPhase::starting;
  WallTime start_time;
  RunEnd end;
  std::string image_digest = {};
};

class Agent {
 public:
  Agent(NodeInventory inventory, std::vector<Cpu> cpus);

  /// Before the first connect: what the spool holds.
  void adopt(AdoptedRun run);

  /// A session with the controller begins: what NodeHello must say of our runs.
  std::vector<proto::RunReport> connected();
  void welcomed(const NodeSettings& settings);

  /// An order about a run, as it came; false: it is about something else.
  Result<bool> take(const proto::Frame& frame);
  void apply(proto::LaunchRun launch);
  void apply(const proto::EndRun& order);
  void apply(const proto::SignalRun& order);
  void apply(const proto::LimitRun& order);
  void apply(const proto::TellRun& order);
  void apply(const proto::ForgetRun& order);

  /// The node itself ends the run, and says why. Nothing happens to one that is being ended.
  void condemn(RunId run, EndCause cause, std::string detail);

  /// rstepd's word.
  void started(RunId run, WallTime start_time, std::string image_digest = {});
  void ended(RunId run, RunEnd end);

  std::vector<AgentEffect> take_effects();

  struct Run {
    proto::LaunchRun launch;  // only `run` is filled when we know it as ended without having it
    std::vector<std::uint32_t> cpus;
    proto::RunPhase phase = proto::RunPhase::starting;
    std::optional<std::int64_t> end_grace_ms;  // it has been told to end
    WallTime start_time;
    RunEnd end;
    std::string image_digest = {};
  };
  const std::map<RunId, Run>& runs() const { return runs_; }
  const NodeSettings& settings() const { return settings_; }

 private:
  template <class Order>
  Result<bool> take_as(const proto::Frame& frame);
  std::vector<std::uint32_t> pick_cpus(const proto::LaunchRun& launch);
  void report(const Run& run);
  void end(Run& run, const proto::EndRun& order);
  void remember_forgotten(RunId run);

  NodeInventory inventory_;
  std::vector<Cpu> cpus_;
  std::set<std::uint32_t> cpus_held_;
  NodeSettings settings_;
  std::map<RunId, Run> runs_;
  /// Runs that were forgotten in this session: a late copy of their launch must not start them
  /// again.
  std::set<RunId> forgotten_;
  std::deque<RunId> forgotten_order_;
  std::vector<AgentEffect> effects_;
};

}  // namespace rota::gpud
