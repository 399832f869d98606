// proxy/links.cpp - tickets asked for, sessions kept, sockets joined to ports.
#include "proxy/links.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/connect_pair.hpp>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "net/log_end.h"

namespace asio = boost::asio;

namespace rota::proxy {
namespace {

/// A ticket is good for 15 seconds; so long a visitor who has lost the right to come still may.
constexpr Duration ticket_fresh_for = std::chrono::seconds(5);
constexpr Duration refusal_fresh_for = std::chrono::seconds(1);
constexpr std::size_t tickets_max = 4096;
constexpr Duration answer_limit = std::chrono::seconds(10);
constexpr Duration failure_fresh_for = std::chrono::seconds(1);
/// The node takes 512; then another session is begun.
constexpr std::size_t calls_per_session = 400;

}  // namespace

Links::Links(const asio::any_io_executor& executor, net::ConnectOptions controller)
    : executor_(executor),
      controller_(std::move(controller)),
      dialled_(executor, asio::steady_timer::time_point::max()) {}

net::awaitable<Result<void>> Links::check(Door door, std::string token) {
  auto reply = co_await ticket(door, std::move(token), false);
  if (!reply) co_return reply.error();
  co_return Result<void>();
}

net::awaitable<Result<Links::JobSocket>> Links::connect(Door door, std::string token) {
  Error last{Errc::internal, ""};
  // A run or a node that has begun again may be elsewhere now: worth a second try.
  for (const bool anew : {false, true}) {
    auto where = co_await ticket(door, token, anew);
    if (!where) co_return where.error();
    auto calls = co_await node_session(*where);
    if (!calls) {
      last = calls.error();
      continue;
    }
    JobSocket ours(executor_), theirs(executor_);
    boost::system::error_code error;
    asio::local::connect_pair(ours, theirs, error);
    if (error) co_return Error{Errc::busy, format("no more sockets: {}", error.message())};
    const auto session = *calls;
    net::PortCalls::Socket local(std::move(theirs));
    auto opened = co_await session->open(where->ticket, 0, door.port, std::move(local), nullptr);
    if (opened) co_return std::move(ours);
    last = opened.error();
    if (last.code == Errc::unreachable) break;  // the job itself has refused
  }
  co_return last;
}

// ---- tickets ----

net::awaitable<Result<proto::TicketReply>> Links::ticket(Door door, std::string token, bool anew) {
  const std::string key = format("{} {}", name_of(door), token);
  if (const auto known = tickets_.find(key); known != tickets_.end() && !anew) {
    const Duration age = mono_now() - known->second.at;
    const bool is_good = known->second.reply.has_value();
    if (age < (is_good ? ticket_fresh_for : refusal_fresh_for)) co_return known->second.reply;
  }
  proto::TicketRequest request;
  request.job = door.job;
  request.purpose = "port";
  request.port = door.port;
  request.token = std::move(token);
  auto frame = co_await ask(proto::TicketRequest::number, proto::encode(request));
  if (!frame) co_return frame.error();
  auto reply = net::reply_from<proto::TicketReply>(*frame);
  forget_old_tickets();
  tickets_.insert_or_assign(key, Ticket{reply, mono_now()});
  co_return reply;
}

void Links::forget_old_tickets() {
  if (tickets_.size() < tickets_max) return;
  const MonoTime now = mono_now();
  std::erase_if(tickets_,
                [now](const auto& each) { return now - each.second.at > ticket_fresh_for; });
  if (tickets_.size() >= tickets_max) tickets_.clear();
}

// ---- the controller ----

net::awaitable<Result<proto::Frame>> Links::ask(std::uint16_t type, std::string body) {
  Error lost{Errc::internal, ""};
  // A session may end between two requests without our having heard of it.
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto connection = co_await controller_session();
    if (!connection) co_return connection.error();
    const std::uint32_t call = ++calls_;
    const auto pending = std::make_shared<Pending>(executor_);
    pending_[call] = pending;
    (*connection)->send_frame(type, call, 0, body);
    const net::Deadline deadline = net::deadline_after(answer_limit);
    while (!pending->frame)
      if (!co_await pending->answered.wait(deadline)) break;
    pending_.erase(call);
    if (!pending->frame) co_return Error{Errc::internal, "the controller does not answer"};
    if (*pending->frame) co_return **std::move(pending->frame);
    lost = pending->frame->error();
  }
  co_return lost;
}

net::awaitable<Result<std::shared_ptr<net::Connection>>> Links::controller_session() {
  while (!connection_ || !connection_->is_open()) {
    if (controller_dial_.is_busy) {
      co_await dialled_.async_wait(net::no_throw);
      continue;
    }
    auto connection = co_await dial(controller_dial_, controller_);
    if (!connection) co_return connection;
    connection_ = *std::move(connection);
    asio::co_spawn(
        executor_,
        [self = shared_from_this(), now = connection_] { return self->read_answers(now); },
        net::log_end("controller"));
  }
  co_return connection_;
}

net::awaitable<void> Links::read_answers(std::shared_ptr<net::Connection> connection) {
  for (;;) {
    auto frame = co_await connection->read(std::chrono::minutes(1));
    if (!frame && frame.error().code == Errc::timed_out) continue;
    if (!frame) {
      log::debug("the session with the controller has ended: {}", frame.error().message());
      break;
    }
    const auto found = pending_.find(frame->call);
    if (found == pending_.end()) continue;
    found->second->frame.emplace(*std::move(frame));
    found->second->answered.notify();
  }
  if (connection_ != connection) co_return;
  connection_.reset();
  for (const auto& [call, pending] : pending_) {
    if (pending->frame) continue;
    pending->frame.emplace(Error{Errc::peer_lost, "the session with the controller has ended"});
    pending->answered.notify();
  }
}

net::awaitable<Result<std::shared_ptr<net::Connection>>> Links::dial(Dial& dial,
                                                                     net::ConnectOptions options) {
  // While somebody does not answer, not every visitor waits for himself.
  if (dial.failure && mono_now() - dial.failed_at < failure_fresh_for) co_return *dial.failure;
  dial.is_busy = true;
  auto connection = co_await net::connect(executor_, std::move(options));
  dial.is_busy = false;
  dial.failure.reset();
  if (!connection) {
    log::warning("{}", connection.error().message());
    // To a visitor this is no closed port of the job's.
    dial.failure = Error{Errc::internal, connection.error().detail};
    dial.failed_at = mono_now();
    dialled_.cancel();
    co_return *dial.failure;
  }
  dialled_.cancel();
  co_return connection;
}

// ---- nodes ----

net::awaitable<Result<std::shared_ptr<net::PortCalls>>> Links::node_session(
    proto::TicketReply where) {
  for (;;) {
    Node& node = nodes_[where.address];  // stays where it is, whoever else is added
    std::erase_if(node.sessions, [](const auto& each) { return !each->is_open(); });
    for (const auto& session : node.sessions)
      if (session->size() < calls_per_session) co_return session;
    if (node.dial.is_busy) {
      co_await dialled_.async_wait(net::no_throw);
      continue;
    }
    net::ConnectOptions options = controller_;
    options.address = where.address;
    options.peer_uid = where.node_uid;
    options.daemon = "rgpud";
    options.address_source = format("node.address in rota.yaml on node {}", where.node);
    auto connection = co_await dial(node.dial, std::move(options));
    if (!connection) co_return connection.error();
    auto session = std::make_shared<net::PortCalls>(executor_, *std::move(connection));
    session->start();
    node.sessions.push_back(session);
    co_return session;
  }
}

}  // namespace rota::proxy
