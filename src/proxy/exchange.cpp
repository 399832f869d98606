// proxy/exchange.cpp - requests into a job and its answers back, as they come.
#include <poll.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "common/format.h"
#include "common/log.h"
#include "proxy/visit.h"

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace rota::proxy {
namespace {

constexpr std::size_t block_bytes = 64 << 10;
constexpr std::uint32_t header_bytes_max = 64 << 10;
constexpr std::size_t buffer_bytes_max = 256 << 10;
/// Answers before the answer: 100 Continue, 103 Early Hints.
constexpr int interim_max = 8;

/// Nothing has come of it since the last answer: no end, and no word too many.
bool is_quiet(Links::JobSocket& socket) {
  pollfd look{.fd = socket.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) == 0;
}

/// One step of a body from `from`, through `parser`'s message, to `to`. False: one of them is gone.
template <class Parser, class Serializer, class From, class To>
net::awaitable<bool> relay_block(From& from, boost::beast::flat_buffer& buffer, Parser& parser,
                                 Serializer& serializer, To& to, char* block) {
  auto& body = parser.get().body();
  body.data = block;
  body.size = block_bytes;
  if (!parser.is_done()) {
    auto [error, size] = co_await http::async_read_some(from, buffer, parser, net::no_throw);
    if (error && error != http::error::need_buffer) co_return false;
  }
  body.size = block_bytes - body.size;
  body.data = body.size > 0 ? block : nullptr;
  body.more = !parser.is_done();
  if (body.size == 0 && body.more) co_return true;  // a chunk's head, and nothing of it yet
  auto [error, size] = co_await http::async_write(to, serializer, net::no_throw);
  co_return !error || error == http::error::need_buffer;
}

}  // namespace

net::awaitable<bool> Visit::pass_on(RequestParser& parser, Passage passage) {
  bool is_reused = way_ && way_->socket.is_open() && way_->door == passage.target.door &&
                   way_->token == passage.token && is_quiet(way_->socket);
  for (;;) {
    if (!is_reused) {
      const auto opened = co_await open_way(passage);
      if (is_closed_) co_return false;
      if (!opened) {
        Page page = page_for(opened.error(), passage.target.door);
        co_return co_await send_page(std::move(page), &parser);
      }
    }
    std::optional<bool> goes_on;
    if (passage.has_body) {
      // Both at once: a job may answer before it has heard everything, or while it does.
      request_sent_ = false;
      auto [sent, answered] =
          co_await (send_request(parser, passage.expects) && relay_response(passage, false));
      goes_on = answered.value_or(false) && sent;
      if (!sent && !is_closed_) co_await linger();
    } else {
      co_await send_request(parser, false);
      heed_departure();
      // The job may have closed a connection that it had kept, just when we used it.
      goes_on = co_await relay_response(passage, is_reused);
    }
    ++answers_;
    if (goes_on) co_return *goes_on;
    is_reused = false;
  }
}

net::awaitable<Result<void>> Visit::open_way(const Passage& passage) {
  way_.reset();
  const auto links = server_.links();
  auto socket = co_await links->connect(passage.target.door, passage.token);
  if (!socket) co_return socket.error();
  way_.emplace(*std::move(socket), passage.target.door, passage.token);
  way_->buffer.max_size(buffer_bytes_max);
  way_->buffer.reserve(block_bytes);  // Beast reads as much at a time as there is room
  co_return Result<void>();
}

/// Closed and not gone: another coroutine may be at it.
void Visit::shut_way() {
  boost::system::error_code ignored;
  way_->socket.close(ignored);
}

/// False: not all of it could be sent.
net::awaitable<bool> Visit::send_request(RequestParser& parser, bool expects) {
  http::request_serializer<http::buffer_body> serializer(parser.get());
  if (parser.is_done()) {
    parser.get().body().data = nullptr;
    parser.get().body().size = 0;
    parser.get().body().more = false;
    auto [error, size] = co_await http::async_write(way_->socket, serializer, net::no_throw);
    co_return !error;
  }
  if (expects) {
    static constexpr std::string_view word = "HTTP/1.1 100 Continue\r\n\r\n";
    auto [error, size] = co_await asio::async_write(client_, asio::buffer(word), net::no_throw);
    if (error) co_return false;
  }
  auto [error, size] = co_await http::async_write_header(way_->socket, serializer, net::no_throw);
  bool is_good = !error;
  buffer_.reserve(block_bytes);
  const auto block = std::make_unique<char[]>(block_bytes);
  while (is_good && !serializer.is_done()) {
    is_good = co_await relay_block(client_, buffer_, parser, serializer, way_->socket, block.get());
    allow(server_.config().proxy_idle_limit);
  }
  request_sent_ = is_good;
  if (is_good) heed_departure();
  // A browser that has gone in the middle wants no answer; a job that takes no more may have one.
  boost::system::error_code ignored;
  if (!is_good && !parser.is_done())
    way_->socket.shutdown(asio::socket_base::shutdown_send, ignored);
  co_return is_good;
}

/// Whether another request may follow; nothing: the job said nothing, and may be asked again.
net::awaitable<std::optional<bool>> Visit::relay_response(const Passage& passage, bool may_retry) {
  for (int interim = 0; interim < interim_max; ++interim) {
    ResponseParser parser;
    parser.header_limit(header_bytes_max);
    parser.body_limit(boost::none);
    parser.skip(passage.is_head);
    auto [error, size] =
        co_await http::async_read_header(way_->socket, way_->buffer, parser, net::no_throw);
    if (is_closed_) co_return false;
    if (error) {
      if (may_retry && !parser.got_some()) co_return std::nullopt;
      log::debug("job {} port {}: {}", passage.target.door.job.value, passage.target.door.port,
                 error.message());
      Page page{502, "No answer",
                "The job's program closed the connection, or said what is no HTTP."};
      shut_way();
      co_await write_page(std::move(page), passage.html, passage.is_head, false);
      co_return false;
    }
    const unsigned status = parser.get().result_int();
    if (status == 101 && passage.upgrades) co_return co_await tunnel(parser.get(), passage);
    if (status == 101) break;
    if (status >= 200) co_return co_await relay_body(parser, passage);
  }
  shut_way();
  Page page{502, "No answer", "The job's program said what is no answer."};
  co_await write_page(std::move(page), passage.html, passage.is_head, false);
  co_return false;
}

net::awaitable<bool> Visit::relay_body(ResponseParser& parser, const Passage& passage) {
  Response& response = parser.get();
  const bool job_keeps_open = response.keep_alive() && !parser.need_eof();
  const bool has_body = !parser.is_done();
  prepare(response, passage.target, false);
  bool goes_on = passage.keeps_open;
  if (has_body && parser.need_eof()) response.chunked(!passage.is_old);
  if (has_body && passage.is_old && response.chunked()) response.chunked(false);
  if (has_body && passage.is_old && !response.has_content_length()) goes_on = false;
  response.keep_alive(goes_on);
  http::response_serializer<http::buffer_body> serializer(response);
  auto [error, size] = co_await http::async_write_header(client_, serializer, net::no_throw);
  bool is_good = !error;
  const auto block = has_body ? std::make_unique<char[]>(block_bytes) : nullptr;
  while (is_good && has_body && !serializer.is_done()) {
    is_good =
        co_await relay_block(way_->socket, way_->buffer, parser, serializer, client_, block.get());
    allow(server_.config().proxy_idle_limit);
  }
  // What was sent to the last byte may not have been told yet.
  if (passage.has_body && !request_sent_)
    co_await asio::post(client_.get_executor(), asio::use_awaitable);
  const bool is_whole = !passage.has_body || request_sent_;
  if (!is_whole) {  // whoever still sends has no one to hear it
    boost::system::error_code ignored;
    client_.socket().cancel(ignored);
    way_->socket.cancel(ignored);
  }
  if (!is_good || !is_whole) co_return false;
  if (!job_keeps_open) shut_way();
  co_return goes_on;
}

net::awaitable<bool> Visit::tunnel(Response& response, const Passage& passage) {
  ++answers_;  // whether the browser is there, copy() hears
  prepare(response, passage.target, true);
  http::response_serializer<http::buffer_body> serializer(response);
  auto [error, size] = co_await http::async_write_header(client_, serializer, net::no_throw);
  if (error) co_return false;
  co_await (copy(client_, way_->socket, buffer_) && copy(way_->socket, client_, way_->buffer));
  co_return false;
}

/// Until one of the two ends; then both are closed, for half a WebSocket is none.
template <class From, class To>
net::awaitable<void> Visit::copy(From& from, To& to, boost::beast::flat_buffer& first) {
  const auto block = std::make_unique<char[]>(block_bytes);
  bool is_good = true;
  if (first.size() > 0) {
    auto [error, size] = co_await asio::async_write(to, first.data(), net::no_throw);
    first.clear();
    is_good = !error;
  }
  while (is_good && !is_closed_) {
    auto [error, size] =
        co_await from.async_read_some(asio::buffer(block.get(), block_bytes), net::no_throw);
    if (error) break;
    allow(server_.config().proxy_idle_limit);
    auto [failed, sent] =
        co_await asio::async_write(to, asio::buffer(block.get(), size), net::no_throw);
    is_good = !failed;
  }
  close();
}

}  // namespace rota::proxy
