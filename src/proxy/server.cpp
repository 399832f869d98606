// proxy/server.cpp - the acceptor, the certificate, the bounds.
#include "proxy/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/format.h"
#include "common/log.h"
#include "net/address.h"
#include "net/log_end.h"
#include "net/wakeup.h"
#include "proxy/visit.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace rota::proxy {
namespace {

Result<tcp::endpoint> endpoint_of(const std::string& address) {
  ROTA_TRY(const auto target, net::parse_host_port(address));
  net::Endpoints endpoints = net::literal_endpoints(target);
  if (endpoints.empty()) {
    ROTA_TRY(endpoints, net::look_up(target));
  }
  if (endpoints.empty())
    return Error{Errc::config_invalid, format("proxy.listen: {} is no address", address)};
  return endpoints.front();
}

}  // namespace

Result<Tally::Seat> Tally::take(const std::string& who) {
  std::uint64_t& count = counts_[who];
  if (count >= max_)
    return Error{Errc::busy,
                 format("{} connections are open already (proxy.user_connections_max)", count)};
  ++count;
  ++total_;
  return Seat(*this, who);
}

void Tally::leave(const std::string& who) {
  --total_;
  if (const auto found = counts_.find(who); found != counts_.end() && --found->second == 0)
    counts_.erase(found);
}

Server::Server(asio::io_context& io, Config config, net::ConnectOptions controller)
    : io_(io),
      config_(std::move(config)),
      links_(std::make_shared<Links>(io.get_executor(), std::move(controller))),
      tally_(config_.proxy_user_connections_max),
      acceptor_(io) {}

Result<void> Server::load_certificate() {
  if (config_.proxy_certificate.empty()) return {};
  const auto failed = [](std::string_view what, const std::string& file,
                         const boost::system::error_code& error) {
    return Error{Errc::config_invalid,
                 format("cannot read the {} in {}: {}", what, file, error.message())};
  };
  try {
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    using Option = asio::ssl::context;
    tls->set_options(Option::default_workarounds | Option::no_sslv2 | Option::no_sslv3 |
                     Option::no_tlsv1 | Option::no_tlsv1_1 | Option::single_dh_use);
    boost::system::error_code error;
    tls->use_certificate_chain_file(config_.proxy_certificate, error);
    if (error) return failed("certificate (proxy.certificate)", config_.proxy_certificate, error);
    tls->use_private_key_file(config_.proxy_key, asio::ssl::context::pem, error);
    if (error) return failed("key (proxy.key)", config_.proxy_key, error);
    tls_ = std::move(tls);
  } catch (const std::exception& error) {
    return Error{Errc::io_failed, format("TLS: {}", error.what())};
  }
  return {};
}

Result<std::uint16_t> Server::start() {
  if (config_.proxy_url.empty())
    return Error{Errc::config_invalid, "proxy.url is not set: no browser would know where to go"};
  ROTA_CHECK(load_certificate());
  ROTA_TRY(const tcp::endpoint place, endpoint_of(config_.proxy_listen));
  if (!tls_ && !place.address().is_loopback() && !config_.proxy_plain)
    return Error{Errc::config_invalid,
                 format("proxy.listen {} is open to other hosts and there is no certificate: set "
                        "proxy.certificate and proxy.key, or proxy.plain where another proxy has "
                        "the TLS",
                        config_.proxy_listen)};
  boost::system::error_code error;
  acceptor_.open(place.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(place, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{Errc::io_failed,
                 format("cannot listen on {}: {}", config_.proxy_listen, error.message())};
  asio::co_spawn(io_, accept(), net::log_end("accept"));
  return acceptor_.local_endpoint().port();
}

net::awaitable<void> Server::accept() {
  asio::steady_timer pause(io_);
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(net::no_throw);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors: some may come free
      log::warning("cannot take a connection: {}", error.message());
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(net::no_throw);
      continue;
    }
    boost::system::error_code gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    if (gone) continue;
    if (tally_.total() >= config_.proxy_connections_max) {
      log::warning("{} refused: {} connections are open", net::text_of(peer), tally_.total());
      continue;
    }
    const std::string address = peer.address().to_string();
    auto seat = tally_.take("address " + address);
    if (!seat) {
      log::warning("{} refused: {}", net::text_of(peer), seat.error().detail);
      continue;
    }
    socket.set_option(tcp::no_delay(true), gone);
    socket.set_option(asio::socket_base::keep_alive(true), gone);
    std::make_shared<Visit>(*this, ClientStream(std::move(socket), tls_), address, *std::move(seat))
        ->begin();
  }
}

}  // namespace rota::proxy
