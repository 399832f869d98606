// gpud/hollow.h - many nodes that are none: real sessions and orders, and nothing is ever run.
//
// For measuring the controller and the start of steps without hosts. Never for production.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "gpud/agent.h"
#include "gpud/link.h"
#include "net/client.h"
#include "net/listener.h"

namespace rota::gpud {

/// The name of the node with this number, from 1 on: "hollow-0001".
std::string hollow_name(const std::string& prefix, std::uint32_t number);
/// Eight GPUs whose UUIDs follow from the name: the same at every start, and no other node's.
NodeInventory hollow_inventory(const std::string& name);

/// One of them. Its runs start at once and last until somebody ends them; the tasks of steps are
/// ready at once and end with 0 as soon as they may run. What it knows goes with the process.
class HollowNode {
 public:
  HollowNode(boost::asio::any_io_executor executor, std::string name, std::string boot_id,
             net::ConnectOptions controller, Duration reconnect_max);

  /// Takes any free port of the host that `config` names.
  Result<void> listen(const Config& config, const std::string& host);
  /// `welcomed` is called at the first welcome.
  void join(std::function<void()> welcomed);
  void stop();
  /// Ends the runs that are over their time limit.
  void tick(MonoTime now);
  std::uint64_t run_count() const { return run_count_; }    // started so far
  std::uint64_t task_count() const { return task_count_; }  // of steps, that were let run so far

 private:
  struct Running {
    MonoTime begun;
    std::int64_t limit_seconds = 0;  // 0: none
    bool is_allocation = false;
    std::uint32_t next_step = 0;
  };
  /// What a command has open.
  struct Call {
    std::shared_ptr<net::Connection> connection;
    RunId run;
    proto::ExecKind kind = proto::ExecKind::task;
    bool ends_run = false;
  };
  using Key = std::pair<const net::Connection*, std::uint32_t>;

  Link::Events link_events();
  void connected(std::shared_ptr<net::Connection> controller);
  Result<void> received(const proto::Frame& frame);
  void carry_out();
  void carry_out_one(const AgentEffect& effect);
  void start(const proto::LaunchRun& launch);
  void end(RunId run, RunEnd how);

  net::awaitable<void> session(std::shared_ptr<net::Connection> connection);
  Result<void> take(const std::shared_ptr<net::Connection>& connection, const proto::Frame& frame);
  Result<void> open(const std::shared_ptr<net::Connection>& connection, std::uint32_t call,
                    const proto::ExecStart& request);
  void control(const Key& key, const proto::ExecControl& order);
  void close_all(const net::Connection& connection);
  bool is_busy(const net::Connection& connection) const;

  boost::asio::any_io_executor executor_;
  NodeIdentity identity_;
  NodeInventory inventory_;
  std::string ticket_key_;
  Agent agent_;
  std::map<RunId, Running> running_;
  std::map<Key, Call> calls_;
  std::uint64_t run_count_ = 0;
  std::uint64_t task_count_ = 0;
  std::shared_ptr<net::Connection> controller_;
  std::function<void()> first_welcome_;
  std::unique_ptr<net::Listener> listener_;
  Link link_;
};

/// All of `rgpud --hollow N`.
class HollowNodes {
 public:
  /// `config.node_name` is how their names begin; "hollow" when it is empty.
  HollowNodes(boost::asio::any_io_executor executor, Config config, std::uint32_t count,
              int ready_fd);

  /// Listens, and begins to dial the controller: a few nodes at a time until all have joined.
  Result<void> start();
  /// Hangs up everywhere, and logs what was done: a measurement can be checked against it.
  void stop();

 private:
  void join_next();
  void joined();
  void tick();

  boost::asio::any_io_executor executor_;
  Config config_;
  std::uint32_t count_;
  int ready_fd_;
  std::vector<std::unique_ptr<HollowNode>> nodes_;
  std::size_t dialled_ = 0;
  std::size_t joined_ = 0;
  boost::asio::steady_timer timer_;
};

}  // namespace rota::gpud
