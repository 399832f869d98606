// net/listener.cpp - the accept loop and its bounds.
#include "net/listener.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <list>

#include "common/assert.h"
#include "common/format.h"
#include "common/log.h"
#include "net/address.h"
#include "net/greeting.h"
#include "net/log_end.h"

namespace rota::net {
namespace asio = boost::asio;
using asio::ip::tcp;
namespace {

constexpr unsigned munge_threads = 2;
/// After an accept that failed for want of something (descriptors, memory): the reason will not be
/// gone sooner, and the connections wait in the kernel.
constexpr Duration accept_pause = std::chrono::milliseconds(100);

/// What the accept loop, the handshakes and the Listener share. Lives until the last of them ends.
struct Door : std::enable_shared_from_this<Door> {
  Door(const asio::any_io_executor& executor, ListenerOptions wanted, Listener::OnSession callback)
      : options(std::move(wanted)),
        on_session(std::move(callback)),
        acceptor(executor),
        errands(executor, munge_threads),
        log(std::make_shared<RefusalLog>(executor)),
        room(executor),
        desk{errands, options.munge_socket, log, {}, {}} {}

  Result<void> open();
  void stop();
  awaitable<void> accept_loop(std::shared_ptr<Door> self);
  awaitable<void> welcome(std::shared_ptr<Door> self, std::shared_ptr<Guest> guest);
  awaitable<void> make_room();
  awaitable<void> pause_after(boost::system::error_code error);
  bool drop_oldest(const Error& why);
  std::shared_ptr<void> take_place();

  ListenerOptions options;
  Listener::OnSession on_session;
  tcp::acceptor acceptor;
  ErrandPool errands;
  std::shared_ptr<RefusalLog> log;
  std::list<std::shared_ptr<Guest>> guests;  // the oldest first
  Wakeup room;                               // one of them has gone
  std::shared_ptr<std::uint64_t> session_count = std::make_shared<std::uint64_t>(0);
  bool stopped = false;
  GreetingDesk desk;
};

Result<Endpoint> listen_endpoint(const std::string& address) {
  ROTA_TRY(const auto target, parse_host_port(address));
  Endpoints endpoints = literal_endpoints(target);
  if (endpoints.empty()) {
    ROTA_TRY(endpoints, look_up(target));
  }
  return endpoints.front();
}

Result<void> Door::open() {
  ROTA_TRY(const auto endpoint, listen_endpoint(options.address));
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6() && endpoint.address().is_unspecified())
    acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error)
    return Error{Errc::io_failed,
                 format("cannot listen on {}: {}", options.address, error.message())};
  desk.take_place = [this] { return take_place(); };
  desk.on_refusal = [this](const Guest& guest, const Error& why) {
    if (!stopped) log->refused(guest.address, why);
  };
  return {};
}

void Door::stop() {
  if (stopped) return;
  stopped = true;
  boost::system::error_code ignored;
  acceptor.close(ignored);
  errands.abandon();
  for (const auto& guest : std::list(guests))
    guest->stream->end(Error{Errc::peer_lost, "the listener has stopped"});
  log->flush();
  room.notify();
}

std::shared_ptr<void> Door::take_place() {
  if (*session_count >= options.sessions_max) return nullptr;
  ++*session_count;
  return std::shared_ptr<void>(session_count.get(), [count = session_count](void*) { --*count; });
}

/// The oldest handshake that waits for its peer is closed. False when there is none.
bool Door::drop_oldest(const Error& why) {
  const auto oldest_at = [this](Guest::Stage stage) {
    return std::find_if(guests.begin(), guests.end(),
                        [stage](const auto& guest) { return guest->stage == stage; });
  };
  auto oldest = oldest_at(Guest::Stage::stranger);
  if (oldest == guests.end()) oldest = oldest_at(Guest::Stage::welcomed);
  if (oldest == guests.end()) return false;
  const auto stream = (*oldest)->stream;
  // It leaves the list at once: its coroutine ends only when it has its turn.
  guests.erase(oldest);
  stream->end(why);
  return true;
}

/// One more handshake fits after this. When all wait for MUNGE, so do those outside: in the kernel.
awaitable<void> Door::make_room() {
  const Error why{Errc::busy,
                  format("made way for a newer connection: {} handshakes were under way",
                         options.half_open_max)};
  while (!stopped && guests.size() >= options.half_open_max && !drop_oldest(why))
    co_await room.wait(deadline_after(options.handshake_limit));
}

awaitable<void> Door::pause_after(boost::system::error_code error) {
  if (error == asio::error::connection_aborted) co_return;
  const Error why{Errc::io_failed, format("cannot accept: {}", error.message())};
  log->refused(format("connections to {}", options.address), why);
  drop_oldest(Error{Errc::busy, format("made way: {}", error.message())});
  asio::steady_timer timer(acceptor.get_executor(), deadline_after(accept_pause));
  co_await timer.async_wait(no_throw);
}

awaitable<void> Door::accept_loop(std::shared_ptr<Door> self) {
  while (!stopped) {
    tcp::socket socket(acceptor.get_executor());
    Endpoint endpoint;
    const auto [error] = co_await acceptor.async_accept(socket, endpoint, no_throw);
    if (stopped) co_return;
    if (error) {
      co_await pause_after(error);
      continue;
    }
    auto guest = std::make_shared<Guest>();
    guest->stream = std::make_shared<Stream>(std::move(socket));
    guest->address = text_of(endpoint);
    co_await make_room();
    if (stopped) co_return;
    guest->deadline = deadline_after(options.handshake_limit);
    guests.push_back(guest);
    asio::co_spawn(acceptor.get_executor(), welcome(self, guest), log_end("a handshake"));
  }
}

awaitable<void> Door::welcome([[maybe_unused]] std::shared_ptr<Door> self,
                              std::shared_ptr<Guest> guest) {
  auto session = co_await greet(desk, *guest);
  guests.remove(guest);
  room.notify();
  if (!session || stopped) co_return;
  on_session(*std::move(session));
}

class DoorListener final : public Listener {
 public:
  explicit DoorListener(std::shared_ptr<Door> door) : door_(std::move(door)) {
    boost::system::error_code error;
    port_ = door_->acceptor.local_endpoint(error).port();
  }
  ~DoorListener() override { stop(); }
  std::uint16_t port() const override { return port_; }
  void stop() override { door_->stop(); }

 private:
  std::shared_ptr<Door> door_;
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<Listener>> Listener::start(asio::any_io_executor executor,
                                                  ListenerOptions options, OnSession on_session) {
  ROTA_ASSERT(options.half_open_max > 0 && options.sessions_max > 0);
  auto door = std::make_shared<Door>(executor, std::move(options), std::move(on_session));
  ROTA_CHECK(door->open());
  asio::co_spawn(executor, door->accept_loop(door), log_end("the accept loop"));
  return std::unique_ptr<Listener>(std::make_unique<DoorListener>(std::move(door)));
}

}  // namespace rota::net
