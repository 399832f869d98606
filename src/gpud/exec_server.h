// gpud/exec_server.h - commands that want into a job on this node: who may, and which frame is
// whose.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/result.h"
#include "gpud/exec_session.h"
#include "gpud/shell.h"
#include "net/connection.h"
#include "proto/messages.h"

namespace rota::gpud {

/// All ExecSessions of this rgpud, by the command and the call that each belongs to.
class ExecServer {
 public:
  ExecServer(boost::asio::any_io_executor executor, Shell& shell);

  /// Whether this message is for us.
  static bool takes(std::uint16_t type);
  /// A frame of a command; an error means that its session makes no sense any more.
  Result<void> take(const std::shared_ptr<net::Connection>& connection, const proto::Frame& frame);
  /// The command has gone.
  void closed(const std::shared_ptr<net::Connection>& connection);
  /// Something is open for this command.
  bool is_busy(const net::Connection& connection) const;
  std::size_t session_count() const { return all_.size(); }

 private:
  using Key = std::pair<const net::Connection*, std::uint32_t>;
  using SessionPtr = std::shared_ptr<ExecSession>;

  Result<void> start(const std::shared_ptr<net::Connection>& connection, std::uint32_t call,
                     proto::ExecStart request);
  Result<void> check(const net::Connection& connection, const proto::ExecStart& request) const;
  Result<SessionPtr> open(const proto::ExecStart& request);
  Result<SessionPtr> find_kept(RunId run) const;
  void over(const SessionPtr& session);

  boost::asio::any_io_executor executor_;
  Shell& shell_;
  std::map<Key, SessionPtr> by_call_;
  std::vector<SessionPtr> all_;
};

}  // namespace rota::gpud
