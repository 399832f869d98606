// gpud/shell.h - feeds the Agent what happens and carries out what it decides, in order.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "gpud/agent.h"
#include "gpud/container/keeper.h"
#include "gpud/health/monitor.h"
#include "gpud/job_map.h"
#include "gpud/meter/keeper.h"
#include "gpud/mig/keeper.h"
#include "gpud/mps/keeper.h"
#include "gpud/prolog.h"
#include "gpud/steps.h"
#include "net/connection.h"
#include "proto/messages.h"

namespace rota::gpud {

/// All of rgpud's state on one thread: the Agent's and the steps'. The link tells it of the session
/// with the controller; the log server asks it whether a run is over.
class Shell {
 public:
  struct Options {
    NodeIdentity identity;
    NodeInventory inventory;
    std::vector<Cpu> cpus;
    std::string ticket_key;
    std::string dcgm_dir;      // of JobMap
    std::string jobstats_dir;  // the same
    std::string mps_program;   // of MpsKeeper
    ImageKeeper::Options images;
    Prologs::Options prologs;
    MigKeeper* mig = nullptr;                 // none: no GPU here can be cut
    std::map<std::string, MigSeen> mig_seen;  // what was there before us
  };
  Shell(boost::asio::any_io_executor executor, Options options, Spool spool, NodeFacts facts,
        std::string step_program);
  /// Before start(): watches the GPUs' health. `was_reset` is Monitor::Events'.
  void watch_health(Monitor::Options options, std::function<void()> was_reset);
  /// No job is ended and no GPU reset any more.
  void stop();

  /// Adopts what the spool holds and begins to tick.
  Result<void> start();

  /// A session begins: says hello on it. From now on reports leave through it, behind the hello.
  void connected(std::shared_ptr<net::Connection> controller);
  void welcomed(const proto::NodeWelcome& welcome);
  /// One frame of the controller's; an error means that the session makes no sense any more.
  Result<void> received(const proto::Frame& frame);
  void disconnected();
  /// The controller has answered what we sent at this time: the runs may go on for a while.
  void in_contact(MonoTime sent);

  const NodeIdentity& identity() const { return options_.identity; }
  void set_address(std::string address) { options_.identity.address = std::move(address); }
  const std::string& ticket_key() const { return options_.ticket_key; }
  const NodeSettings& settings() const { return agent_.settings(); }
  std::size_t running_count() const;
  bool is_over(RunId run) const;
  Steps& steps() { return steps_; }

  /// Called for every run whose end was told to the Agent.
  std::function<void(RunId)> on_run_ended;
  /// Who holds memory of which GPU, as of the last sample; asked once a second while runs share
  /// GPUs.
  std::function<std::vector<GpuHolders>()> gpu_holders;
  /// What the GPUs did when they were last looked at, and have them looked at again; asked once a
  /// second while runs have GPUs. It is told which of them several runs have parts of.
  std::function<std::vector<GpuSample>(std::set<std::string> shared)> gpu_samples;

  /// What the runs did with their GPUs so far, for a heartbeat.
  std::vector<proto::RunUsageReport> usage_reports();

 private:
  Steps::Events step_events();
  void before_start(const proto::LaunchRun& launch, Prologs::Answer done);
  void release(RunId run);
  void ended(RunId run, RunEnd end);
  void run_left_over(const std::map<RunId, RunEnd>& ended, const std::set<RunId>& adopted);
  ImageKeeper::Options image_options();
  void prepare(const proto::LaunchRun& launch, const Steps::Events::Groups& groups,
               Steps::Events::Prepared prepared);
  void prepare_mps(const proto::LaunchRun& launch, const Steps::Events::Groups& groups,
                   Provision provision, const Steps::Events::Prepared& prepared);
  void prepare_image(const proto::LaunchRun& launch, Provision provision,
                     const Steps::Events::Prepared& prepared);
  void prepare_named(const proto::LaunchRun& launch, ContainerKind kind, Provision provision,
                     const Steps::Events::Prepared& prepared);
  void pull_image(const proto::LaunchRun& launch, ContainerKind kind, Provision provision,
                  const Steps::Events::Prepared& prepared);
  void sweep_containers();
  Result<void> fetch_image(const proto::Frame& frame);
  void tell_images();
  void settle_mps();
  void settle_instances();
  std::function<std::vector<MigDevice>(RunId)> instances_of() const;
  void carry_out();
  void carry_out_one(AgentEffect& effect);
  void measure(RunId run);
  void take_samples();
  void tick();
  void runs_changed();
  void close_gpus_of(RunId id, const RunEnd& end);

  boost::asio::any_io_executor executor_;
  Options options_;
  std::string spool_dir_;
  Agent agent_;
  JobMap job_map_;
  UsageKeeper usage_;
  ContainerFacts containers_;
  MonoTime next_sweep_;
  Duration sweep_pause_ = Duration::zero();  // after one that could not remove everything
  Steps steps_;
  MpsKeeper mps_;
  ImageKeeper images_;
  Prologs prologs_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<net::Connection> controller_;
  std::optional<Monitor> health_;
};

}  // namespace rota::gpud
