// testsuite/sim/world.h - a whole cluster in one process, on a virtual clock, under a seed.
//
// The engine and the agents are the real ones; the network, the store's disk, the processes and the
// crashes are simulated. Same seed, same run, on every machine.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ctld/engine.h"
#include "gpud/agent.h"
#include "sim/disk.h"

namespace rota::sim {

/// A mistake built in on purpose, to see that the checks find it.
enum class Mistake {
  none,
  answer_before_commit,   // messages leave before their rows are durable
  launch_twice,           // a repeated launch starts a second set of processes
  requeue_at_once,        // a lost node's jobs start elsewhere although it may still run them
  forget_without_record,  // the node drops an end as soon as it is sent
};
const char* name_of(Mistake mistake);

/// What every GPU has, and what a job's part has of each of its own.
inline constexpr std::int64_t gpu_memory_mib = 32 << 10;
std::int64_t gpu_mib_of(const NodePart& part);
/// How each of them can be cut.
const MigGeometry& mig_geometry();
inline std::uint32_t mask_of(const MigSlot& slot) { return slice_mask(slot.start, slot.size); }
/// Where the node called "n7" lies.
inline constexpr std::size_t nodes_per_rack = 3;
std::size_t rack_of(const std::string& node);

struct Options {
  std::uint64_t seed = 1;
  int node_count = 6;
  int gpus_per_node = 4;
  int job_count = 40;
  bool faults = true;
  Mistake mistake = Mistake::none;
  bool verbose = false;
};

class World {
 public:
  explicit World(Options options);
  ~World();

  /// Runs until every job has ended and all is quiet, or something breaks. "" or what broke.
  std::string run();

  struct Counts {
    std::uint64_t events = 0, jobs_acknowledged = 0, controller_crashes = 0, node_crashes = 0,
                  reboots = 0, sessions_cut = 0, commits_failed = 0, requeues = 0, preemptions = 0,
                  growths = 0, shrinks = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  // ---- time ----
  struct Event {
    std::int64_t at;
    std::uint64_t order;
    std::function<void()> act;
    friend bool operator<(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  void in(std::int64_t delay_us, std::function<void()> act);
  Now now() const;
  std::int64_t random(std::int64_t from, std::int64_t to);
  bool chance(double probability);
  void say(const std::string& line);

  // ---- what really runs on a node ----
  struct Process {
    RunId run;
    std::set<std::string> gpus;
    std::int64_t gpu_mib = 0;                                 // of each of them
    std::vector<std::pair<std::string, std::uint32_t>> cuts;  // slices of GPUs that are cut
    bool alive = true;
    bool started = false;
    bool end_ordered = false;
  };
  /// What survives a crash of rgpud: the spool.
  struct SpoolRecord {
    gpud::AdoptedRun run;
    std::string boot_id;
  };
  struct Node {
    std::string name;
    int boots = 0;
    NodeInventory inventory;
    std::unique_ptr<gpud::Agent> agent;  // none: rgpud is down
    std::uint64_t life = 0;              // of rgpud: events of an older one are void
    std::map<RunId, SpoolRecord> spool;
    std::vector<Process> processes;
    std::uint64_t session = 0;  // 0: none
    bool cut_off = false;       // the network to the controller is down
    NodeId id;
    std::int64_t contact_us = 0;  // when the last heartbeat that was answered had been sent
  };
  /// One session: closing it voids whatever is under way on it.
  struct Session {
    int node = 0;
    std::uint64_t controller_life = 0;
    std::uint64_t joined = 0;  // the engine's number of this join; 0: not yet
    bool open_at_node = true;
    bool open_at_controller = true;
    bool doomed = false;  // a message was lost: nothing gets through any more
  };

  // ---- the controller ----
  void start_controller();
  void crash_controller();
  void wake_controller();
  void pump();
  void commit_done(std::uint64_t life, std::shared_ptr<ctld::Effects> effects,
                   std::vector<std::function<void()>> answers);
  void store_failed(std::vector<std::function<void()>> answers);
  void send_orders(const ctld::Effects& effects);
  void tick_controller();

  // ---- nodes ----
  void start_rgpud(int node);
  void crash_rgpud(int node);
  void reboot(int node);
  void connect(int node);
  void close_others(std::uint64_t session);
  void cut_session(std::uint64_t session);
  void carry_out(int node);
  void start_processes(int node, const gpud::StartStep& step);
  void process_ends(int node, RunId run, RunEnd end);
  void to_controller(int node, gpud::ToController message);
  void controller_hears(std::uint64_t session, const gpud::ToController& message);
  void tick_node(int node);
  void in_contact(int node, std::int64_t heartbeat_sent);
  void fence(int node);
  NodeSettings node_settings() const;
  void deliver(std::uint64_t session, bool to_node, std::function<void()> act);

  // ---- clients ----
  struct ClientJob {
    RequestId request;
    JobSpec spec;
    JobPayload payload;
    JobId acknowledged;
  };
  void submit(std::size_t job);
  void cancel_some();
  void change_some(bool is_last);
  int gpus_promised() const;
  void share_gpus(TaskRequest& task);
  void cut_gpus(TaskRequest& task);
  void choose_nodes(NodeWish& wish);
  void choose_topology(JobSpec& spec);
  void change_projects(int round);

  void plan_faults();
  std::string check();
  std::string check_engine() const;
  std::string check_projects() const;
  std::string check_reality() const;
  std::string check_arrays() const;
  std::string check_acknowledged() const;
  std::string check_end() const;
  bool all_quiet() const;
  std::string unrest() const;

  Options options_;
  std::mt19937_64 random_;
  std::int64_t time_us_ = 0;
  std::int64_t wall_offset_us_ = 1'700'000'000'000'000;
  std::uint64_t event_order_ = 0;
  std::priority_queue<Event> events_;
  std::string broken_;
  Counts counts_;

  Disk disk_;
  std::unique_ptr<ctld::Engine> engine_;
  std::uint64_t controller_life_ = 0;
  bool pump_due_ = false;
  bool committing_ = false;
  std::vector<std::function<void()>> answers_;
  std::vector<Node> nodes_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint64_t session_last_ = 0;
  std::vector<ClientJob> clients_;
  std::map<JobId, JobState> final_states_;
  std::set<std::tuple<RunId, int>> starts_;
  std::set<JobId> finished_;  // one-node jobs that ended by themselves, with the end in a spool
  bool faults_over_ = false;
  double gpu_ms_held_ = 0;
};

}  // namespace rota::sim
