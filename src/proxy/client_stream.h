// proxy/client_stream.h - a browser's connection, with TLS or without, as one type.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "net/connection.h"
#include "net/wakeup.h"

namespace rota::proxy {

/// What Beast reads and writes. The TLS context must outlive it: it is kept.
class ClientStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = boost::asio::any_io_executor;

  ClientStream(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls)
      : context_(std::move(tls)) {
    if (context_)
      tls_.emplace(std::move(socket), *context_);
    else
      plain_.emplace(std::move(socket));
  }

  executor_type get_executor() { return socket().get_executor(); }
  Socket& socket() { return tls_ ? tls_->next_layer() : *plain_; }
  bool is_secure() const { return tls_.has_value(); }

  /// True when it has TLS now, or needs none.
  net::awaitable<bool> greet() {
    if (!tls_) co_return true;
    auto [error] =
        co_await tls_->async_handshake(boost::asio::ssl::stream_base::server, net::no_throw);
    co_return !error;
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Token>(token));
    return plain_->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Token>(token));
    return plain_->async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<Socket> plain_;
  std::optional<boost::asio::ssl::stream<Socket>> tls_;
};

}  // namespace rota::proxy
