// gpud/exec_server.cpp - tickets checked, orders handed to rstepd, frames sorted.
#include "gpud/exec_server.h"

#include <algorithm>

#include "common/clock.h"
#include "common/format.h"
#include "net/ticket.h"

namespace rota::gpud {
namespace {

constexpr std::size_t sessions_max = 2048;
constexpr std::size_t sessions_per_command_max = 512;
constexpr std::size_t words_max = 4096;

RunId run_of(const proto::Ticket& ticket) { return {ticket.job, ticket.restart, ticket.growth}; }

Result<void> check_words(const proto::ExecStart& request) {
  if (request.words.size() > words_max || request.environment.size() > words_max)
    return Error{Errc::invalid_argument, format("more than {} words", words_max)};
  for (const auto* list : {&request.words, &request.environment})
    for (const std::string& word : *list)
      if (word.find('\0') != std::string::npos)
        return Error{Errc::invalid_argument, "a word has a NUL byte"};
  const std::string& directory = request.directory;
  if (!directory.empty() && (directory.front() != '/' || directory.find('\0') != std::string::npos))
    return Error{Errc::invalid_argument, "the working directory must be an absolute path"};
  for (const std::string& variable : request.environment)
    if (variable.find('=') == std::string::npos || variable.starts_with('='))
      return Error{Errc::invalid_argument,
                   format("environment entry '{}' is not NAME=value", variable.substr(0, 40))};
  return {};
}

/// A ticket for a port opens that port and nothing else.
Result<void> check_purpose(const proto::ExecStart& request) {
  const proto::Ticket& ticket = request.ticket;
  if (ticket.purpose == "exec") return {};
  if (ticket.purpose != "port")
    return Error{Errc::denied, format("the ticket is for '{}', not for exec", ticket.purpose)};
  if (request.kind != proto::ExecKind::connect || request.port != ticket.port || request.keeps ||
      request.ends_run)
    return Error{Errc::denied,
                 format("the ticket is for port {} and for nothing else", ticket.port)};
  return {};
}

ExecOrder order_from(const proto::ExecStart& request) {
  ExecOrder order;
  order.kind = request.kind;
  order.task = request.task;
  order.words = request.words;
  order.environment = request.environment;
  order.pty = request.pty;
  order.input = request.input;
  order.rows = request.rows;
  order.columns = request.columns;
  order.port = request.port;
  order.ends_run = request.ends_run;
  order.directory = request.directory;
  order.gpu_first = request.gpu_first;
  order.gpu_count = request.gpu_count;
  return order;
}

}  // namespace

ExecServer::ExecServer(boost::asio::any_io_executor executor, Shell& shell)
    : executor_(executor), shell_(shell) {}

bool ExecServer::takes(std::uint16_t type) {
  return type == proto::ExecStart::number || type == proto::ExecData::number ||
         type == proto::ExecControl::number;
}

bool ExecServer::is_busy(const net::Connection& connection) const {
  const auto first = by_call_.lower_bound({&connection, 0});
  return first != by_call_.end() && first->first.first == &connection;
}

Result<void> ExecServer::take(const std::shared_ptr<net::Connection>& connection,
                              const proto::Frame& frame) {
  if (frame.type == proto::ExecStart::number) {
    ROTA_TRY(auto request, proto::decode<proto::ExecStart>(frame.body));
    const auto started = start(connection, frame.call, std::move(request));
    if (!started) {
      const Error& error = started.error();
      connection->send(proto::ErrorReply{static_cast<std::uint16_t>(error.code), error.detail},
                       frame.call);
    }
    return {};
  }
  // What comes for one that has just ended is late, not wrong.
  const auto found = by_call_.find({connection.get(), frame.call});
  if (frame.type == proto::ExecData::number) {
    ROTA_TRY(const auto data, proto::decode<proto::ExecDataView>(frame.body));
    if (data.stream != proto::ExecStream::input)
      return Error{Errc::malformed, "output from a command"};
    return found == by_call_.end() ? Result<void>() : found->second->take_input(data.data);
  }
  ROTA_TRY(const auto control, proto::decode<proto::ExecControl>(frame.body));
  if (found != by_call_.end()) found->second->take_control(control);
  return {};
}

Result<void> ExecServer::check(const net::Connection& connection,
                               const proto::ExecStart& request) const {
  ROTA_CHECK(net::verify(request.ticket, shell_.ticket_key(), connection.peer().uid, wall_now()));
  ROTA_CHECK(check_purpose(request));
  ROTA_CHECK(check_words(request));
  if (request.credit == 0) return Error{Errc::invalid_argument, "no credit for output"};
  if (request.kind == proto::ExecKind::connect && request.port == 0)
    return Error{Errc::invalid_argument, "port 0"};
  if (request.kind == proto::ExecKind::task && request.words.empty())
    return Error{Errc::invalid_argument, "a task of a step names no command"};
  std::size_t own = 0;
  for (auto at = by_call_.lower_bound({&connection, 0});
       at != by_call_.end() && at->first.first == &connection; ++at)
    ++own;
  if (own >= sessions_per_command_max)
    return Error{Errc::busy, format("{} are open in this session already", own)};
  if (all_.size() >= sessions_max)
    return Error{Errc::busy,
                 format("{} processes were put into jobs of this node already", all_.size())};
  return {};
}

Result<void> ExecServer::start(const std::shared_ptr<net::Connection>& connection,
                               std::uint32_t call, proto::ExecStart request) {
  ROTA_CHECK(check(*connection, request));
  const Key key{connection.get(), call};
  if (by_call_.contains(key)) return Error{Errc::invalid_argument, "this call is open already"};
  SessionPtr session;
  if (request.kind == proto::ExecKind::attach) {
    ROTA_TRY(session, find_kept(run_of(request.ticket)));
    std::erase_if(by_call_, [&session](const auto& each) { return each.second == session; });
  } else {
    ROTA_TRY(session, open(request));
  }
  by_call_.emplace(key, session);
  session->attach(connection, call, request.credit);
  if (request.kind != proto::ExecKind::attach)
    session->open([this](const SessionPtr& ended) { over(ended); });
  return {};
}

Result<ExecServer::SessionPtr> ExecServer::open(const proto::ExecStart& request) {
  const RunId run = run_of(request.ticket);
  ROTA_TRY(Fd socket, shell_.steps().open_exec(run, order_from(request)));
  auto session = std::make_shared<ExecSession>(executor_, run, request, std::move(socket));
  session->linger = shell_.steps().session_linger();
  if (request.wants_port && request.kind == proto::ExecKind::task) {
    ROTA_TRY(session->meeting_port, shell_.steps().ports().take(run));
  }
  all_.push_back(session);
  return session;
}

Result<ExecServer::SessionPtr> ExecServer::find_kept(RunId run) const {
  for (const SessionPtr& session : all_)
    if (session->keeps() && session->run() == run) return session;
  return Error{Errc::not_found, format("job {} has no session to attach to", run.job.value)};
}

void ExecServer::closed(const std::shared_ptr<net::Connection>& connection) {
  std::vector<SessionPtr> left;
  for (auto at = by_call_.lower_bound({connection.get(), 0});
       at != by_call_.end() && at->first.first == connection.get(); at = by_call_.erase(at))
    left.push_back(at->second);
  for (const SessionPtr& session : left) session->detach();
}

void ExecServer::over(const SessionPtr& session) {
  std::erase_if(by_call_, [&session](const auto& each) { return each.second == session; });
  std::erase(all_, session);
  if (session->meeting_port != 0) shell_.steps().ports().release(session->meeting_port);
}

}  // namespace rota::gpud
