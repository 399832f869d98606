// proxy/links.h - rproxy's sessions with the controller and with nodes, shared by all visitors.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/time.h"
#include "model/door.h"
#include "net/client.h"
#include "net/port_calls.h"
#include "net/wakeup.h"

namespace rota::proxy {

/// All calls from the executor's thread. It has no power of its own: what it asks for, it asks for
/// with a visitor's token.
class Links : public std::enable_shared_from_this<Links> {
 public:
  using JobSocket = boost::asio::local::stream_protocol::socket;

  Links(const boost::asio::any_io_executor& executor, net::ConnectOptions controller);

  /// Whether the token opens the door. A good answer is good for some seconds.
  net::awaitable<Result<void>> check(Door door, std::string token);
  /// A connection to the port.
  net::awaitable<Result<JobSocket>> connect(Door door, std::string token);

 private:
  struct Ticket {
    Result<proto::TicketReply> reply = Error{Errc::internal, ""};
    MonoTime at;
  };
  struct Pending {
    explicit Pending(const boost::asio::any_io_executor& executor) : answered(executor) {}
    net::Wakeup answered;
    std::optional<Result<proto::Frame>> frame;
  };
  /// Who connects, others wait for; a failure is everybody's for a moment.
  struct Dial {
    bool is_busy = false;
    MonoTime failed_at;
    std::optional<Error> failure;
  };
  struct Node {
    std::vector<std::shared_ptr<net::PortCalls>> sessions;
    Dial dial;
  };

  net::awaitable<Result<proto::TicketReply>> ticket(Door door, std::string token, bool anew);
  net::awaitable<Result<proto::Frame>> ask(std::uint16_t type, std::string body);
  net::awaitable<Result<std::shared_ptr<net::Connection>>> controller_session();
  net::awaitable<void> read_answers(std::shared_ptr<net::Connection> connection);
  net::awaitable<Result<std::shared_ptr<net::PortCalls>>> node_session(proto::TicketReply where);
  net::awaitable<Result<std::shared_ptr<net::Connection>>> dial(Dial& dial,
                                                                net::ConnectOptions options);
  void forget_old_tickets();

  boost::asio::any_io_executor executor_;
  net::ConnectOptions controller_;
  std::shared_ptr<net::Connection> connection_;
  Dial controller_dial_;
  std::uint32_t calls_ = 0;
  std::map<std::uint32_t, std::shared_ptr<Pending>> pending_;
  std::map<std::string, Ticket> tickets_;  // by door and token
  std::map<std::string, Node> nodes_;      // by address
  boost::asio::steady_timer dialled_;      // never expires: cancelled when a dial has ended
};

}  // namespace rota::proxy
