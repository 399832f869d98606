// proxy/server.h - rproxy: listens, counts who is there, and lets visits begin.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/config.h"
#include "common/result.h"
#include "proxy/links.h"

namespace rota::proxy {

/// How many connections each has, and a bound on it.
class Tally {
 public:
  explicit Tally(std::uint64_t max) : max_(max) {}

  /// A place of `who`, given back with it.
  class Seat {
   public:
    Seat() = default;
    Seat(Tally& tally, std::string who) : tally_(&tally), who_(std::move(who)) {}
    Seat(Seat&& other) noexcept
        : tally_(std::exchange(other.tally_, nullptr)), who_(std::move(other.who_)) {}
    Seat& operator=(Seat&& other) noexcept {
      std::swap(tally_, other.tally_);
      std::swap(who_, other.who_);
      return *this;
    }
    ~Seat() {
      if (tally_ != nullptr) tally_->leave(who_);
    }
    const std::string& who() const { return who_; }

   private:
    Tally* tally_ = nullptr;
    std::string who_;
  };

  Result<Seat> take(const std::string& who);
  std::uint64_t total() const { return total_; }

 private:
  void leave(const std::string& who);

  std::uint64_t max_;
  std::uint64_t total_ = 0;
  std::map<std::string, std::uint64_t> counts_;
};

class Server {
 public:
  Server(boost::asio::io_context& io, Config config, net::ConnectOptions controller);

  /// Reads the certificate and starts to listen; the result is the port.
  Result<std::uint16_t> start();
  /// Connections from now on get the certificate that is in the files now.
  Result<void> load_certificate();

  const Config& config() const { return config_; }
  const std::shared_ptr<Links>& links() const { return links_; }
  Tally& tally() { return tally_; }
  /// Cookies may only travel with TLS, here or in front of us.
  bool is_secure() const { return config_.proxy_url.starts_with("https:"); }

 private:
  net::awaitable<void> accept();

  boost::asio::io_context& io_;
  Config config_;
  std::shared_ptr<Links> links_;
  Tally tally_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
};

}  // namespace rota::proxy
