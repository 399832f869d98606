// sim/virtual_cluster.h - a cluster in virtual time: the scheduler, what runs, and when it ends.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "model/job.h"
#include "model/project.h"
#include "sched/scheduler.h"
#include "sched/user_turns.h"
#include "sim/cluster_file.h"
#include "sim/trace.h"

namespace rota::sim {

/// A job of the virtual cluster, by its number: 0 for the first that was submitted.
using JobNumber = std::uint32_t;

struct VirtualJob {
  enum class State : std::uint8_t { waiting, running, ended, cancelled };
  JobSpec spec;
  SimTime work = 0;  // how long it runs, undisturbed
  SimTime done = 0;  // of its work, in runs that were ended before it was over
  SimTime started = 0;
  std::uint32_t run_count = 0;
  State state = State::waiting;
  Placement placement;  // while it runs
  std::string user;     // of its project; "": nobody in particular
};

/// Something that happened to a job.
struct Happening {
  enum class What : std::uint8_t { submitted, started, displaced, ended, cancelled };
  SimTime at = 0;
  SimTime lost = 0;  // of a displaced job: work that it has to do again
  JobNumber job = 0;
  What what = What::submitted;
};

/// The scheduler of rctld, on nodes and jobs that are only described. Time stands still until
/// somebody moves it. All that happens at one moment is decided on in one pass, as in a controller;
/// who is displaced leaves at once, and what that makes room for starts at the same moment.
class VirtualCluster {
 public:
  static constexpr SimTime forever = std::numeric_limits<SimTime>::max();

  struct Options {
    sched::Policy policy = sched::live_policy();
    SimTime checkpoint = 0;  // work is saved so often; 0: never, a displaced job starts over
  };
  VirtualCluster(const ClusterDescription& cluster, const Org& org, const Options& options);

  SimTime now() const { return now_; }
  /// Whether it would fit if nothing else were there.
  bool fits(const JobSpec& spec) const { return scheduler_.fit_of(spec) == sched::Fit::yes; }

  /// It waits from now on and runs for `work` once it starts; `forever`: until it is cancelled.
  /// Pre: its project is there, and it fits.
  JobNumber submit(JobSpec spec, SimTime work, std::string user = {});
  /// False when it has ended already.
  bool cancel(JobNumber job);

  /// Decides about what has changed at this moment.
  void settle();
  /// Lets time go on to `time`, settling on the way. What ends at `time` has ended; nothing is
  /// decided about that yet, as more may happen at the same moment.
  void run_until(SimTime time);
  /// Lets time go on until nothing more can happen: what waits then waits for ever.
  void run_out();

  const std::vector<VirtualJob>& jobs() const { return jobs_; }
  /// All that has happened, in order.
  const std::vector<Happening>& happenings() const { return happenings_; }
  std::vector<Happening> take_happenings() { return std::move(happenings_); }
  const sched::Scheduler& scheduler() const { return scheduler_; }
  const std::string& node_name(NodeId id) const { return node_names_[id.value - 1]; }
  const std::vector<std::string>& node_names() const { return node_names_; }
  /// Why a job that waits does so.
  std::string wait_text(JobNumber job) const;

 private:
  struct End {
    SimTime at = 0;
    JobNumber job = 0;
    std::uint32_t run = 0;  // it holds for this run of the job only
    friend bool operator>(const End& a, const End& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  void wait(JobNumber job);
  void start(JobNumber job, Placement placement);
  void displace(JobNumber job);
  void grow(JobNumber job, Placement placement);
  void shrink(JobNumber job, const std::vector<NodeId>& nodes);
  void finish(JobNumber job, VirtualJob::State state, Happening::What what);
  void end_due();
  SimTime next_time();
  /// What a user of a project has used, and holds since.
  struct Account {
    double used = 0;        // GPU seconds
    std::int64_t held = 0;  // millionths of GPUs
    SimTime since = 0;
  };
  void hold(const VirtualJob& job, const Placement& placement, std::int64_t sign);
  double used_at(const Account& account, const std::string& project) const;
  void rank_users();
  void note(JobNumber job, Happening::What what, SimTime lost = 0) {
    happenings_.push_back({now_, lost, job, what});
  }

  sched::Scheduler scheduler_;
  std::vector<Project> projects_;
  using Accounts = std::map<std::string, Account, std::less<>>;  // by user
  std::map<std::string, Accounts, std::less<>> accounts_;        // by project
  std::map<std::string, std::vector<sched::Scheduler::UserRank>, std::less<>> ranks_;
  SimTime ranked_at_ = 0;
  SimTime checkpoint_;
  SimTime now_ = 0;
  SimTime look_at_ = forever;  // time alone may change something then
  bool changed_ = false;       // since the last pass
  std::vector<VirtualJob> jobs_;
  std::vector<Happening> happenings_;
  std::vector<std::string> node_names_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace rota::sim
