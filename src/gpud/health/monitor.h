// gpud/health/monitor.h - Health with hands: its sources, its programs, its record, its clock.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "gpud/agent.h"
#include "gpud/health/health.h"
#include "gpud/health/kernel_log.h"
#include "gpud/health/program.h"
#include "gpud/health/watch.h"
#include "gpud/mig/instances.h"

namespace rota::gpud {

class Monitor {
 public:
  struct Options {
    HealthPolicy policy;
    std::vector<Gpu> gpus;
    std::string boot_id;
    std::string library;  // of NVML
    std::string record_path;
    std::string cgroup_directory;  // of this node, for owner_of_process()
    std::string step_program;
    std::string kernel_log;  // "": none
    Duration poll{};
    std::string reset_program;  // "": nvidia-smi
    std::string test_program;   // "": NVML's word is enough
    Duration program_limit{};   // of those two
    std::vector<std::string> checks;
    Duration check_interval{};
    Duration check_limit{};
    bool checks_jobs = false;           // before each of them, too
    std::vector<std::string> programs;  // whose word on the node is kept as that of a check is
  };
  struct Events {
    std::function<void(RunId, EndCause, std::string detail)> end_run;
    std::function<void(const proto::GpuHealthReport&)> report;
    /// Handles of this GPU are void: it was reset.
    std::function<void()> was_reset;
    /// The MIG instances of a run; empty: they are not there. None: no GPU is cut here.
    std::function<std::vector<MigDevice>(RunId)> instances_of = nullptr;
  };
  Monitor(boost::asio::any_io_executor executor, Options options, Events events);

  /// Begins to look. `runs` are those that were adopted.
  void start(const std::map<RunId, Agent::Run>& runs);
  /// Looks at nothing any more, and ends no job.
  void stop();

  /// What runs here has changed.
  void runs_changed(const std::map<RunId, Agent::Run>& runs);
  /// A session has begun: what it has to hear first.
  proto::GpuHealthReport report() const { return health_.report(); }
  void taken(std::uint64_t sequence) { health_.taken(sequence); }
  void retry(const std::string& uuid);
  /// One of Options::programs says that the node shall take no more jobs, until somebody tries it
  /// again.
  void program_failed(const std::string& path, const Error& why);
  /// A run is over that had these GPUs, and left processes that SIGKILL did not end.
  void left_behind(const std::vector<std::string>& uuids, std::vector<ProcessName> processes);
  /// Calls `done` when the site's checks say that a job may start here, or what they say against
  /// it; at once when they are not asked.
  void check_start(std::function<void(Result<void>)> done);

 private:
  using StartWaiters = std::vector<std::function<void(Result<void>)>>;

  void tick();
  void poll();
  void look_for_left();
  void ask(const std::string& uuid);
  void logged(const LoggedXid& xid);
  void answered(const std::string& uuid, const Result<GpuVitals>& vitals, bool after_reset);
  void carry_out();
  void log_events();
  void save();
  void reset(const std::string& uuid);
  void test(const std::string& uuid);
  void run_test_program(const std::string& uuid, const GpuVitals& vitals);
  ProgramOrder gpu_program(const std::string& program, const Gpu& gpu) const;
  void run_check(const std::string& path);
  void begin_round();
  void end_of_start_check(const std::string& path, const Result<void>& result);
  const Gpu* find(const std::string& uuid) const;

  boost::asio::any_io_executor executor_;
  Options options_;
  Events events_;
  HealthRecord loaded_;
  Health health_;
  std::optional<HealthWatch> watch_;
  KernelLog kernel_log_;
  boost::asio::steady_timer timer_;
  std::map<std::string, std::unique_ptr<RunningProgram>> programs_;  // by what they are for
  std::set<std::string> testing_;                                    // their next answer is a test
  std::map<std::string, MonoTime> check_at_;
  std::map<std::string, MonoTime> missed_at_;  // by UUID: when its last answer was found missing
  MonoTime poll_at_;
  StartWaiters start_waiting_;  // for the next round of checks: one that began before is too old
  StartWaiters round_;          // for the one under way
  std::size_t round_left_ = 0;
  Result<void> round_result_;
  std::uint64_t logged_sequence_ = 0;
  bool is_stopped_ = false;
  bool save_failed_ = false;
};

/// The options as rota.yaml has them; the rest is for the caller to fill in. config_invalid: a
/// policy or a list of checks that makes no sense.
Result<Monitor::Options> monitor_options(const Config& config);

}  // namespace rota::gpud
