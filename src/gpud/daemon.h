// gpud/daemon.h - all of rgpud, wired: inventory, shell, link to the controller, listener.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>
#include <string>

#include "common/config.h"
#include "common/result.h"
#include "gpud/inventory/nvml_worker.h"
#include "gpud/link.h"
#include "gpud/logs.h"
#include "gpud/mig/keeper.h"
#include "gpud/shell.h"
#include "net/client.h"
#include "net/listener.h"

namespace rota::gpud {

class Daemon {
 public:
  Daemon(boost::asio::any_io_executor executor, Config config, int ready_fd);

  /// Reads the inventory, adopts running jobs, listens and begins to dial the controller.
  Result<void> start();
  /// Hangs up everywhere. Jobs are rstepd's and go on.
  void stop();

 private:
  Result<void> make_shell();
  void make_mig(const std::string& spool_dir, std::vector<Gpu>& gpus);
  Result<void> listen();
  Result<void> dial();
  Link::Events link_events();
  void ready();

  boost::asio::any_io_executor executor_;
  Config config_;
  int ready_fd_;
  bool is_ready_ = false;
  std::string listening_;  // host:port, with the real port
  std::optional<NvmlWorker> nvml_;
  std::optional<NvmlWorker> mig_nvml_;
  std::optional<MigKeeper> mig_;
  std::optional<Shell> shell_;
  std::optional<LogServer> logs_;
  std::optional<Link> link_;
  std::unique_ptr<net::Listener> listener_;
};

/// How a node dials the controller, and as whom it expects that to run.
Result<net::ConnectOptions> controller_options(const Config& config);

/// Where commands reach a node: node.address; else the host it listens on, or its name when it
/// listens on all. Port 0 stands for the port that was found free.
std::string public_address(const Config& config, const std::string& name, std::uint16_t port);

/// A node's name: letters, digits, dots, dashes and underscores, as it names directories and
/// cgroups.
Result<std::string> node_name(const Config& config);

}  // namespace rota::gpud
