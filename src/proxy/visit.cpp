// proxy/visit.cpp - who comes, to which door, and whether it opens.
#include "proxy/visit.h"

#include <poll.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "common/escape.h"
#include "common/format.h"
#include "common/log.h"
#include "common/lower.h"
#include "net/log_end.h"
#include "net/url_token.h"

namespace asio = boost::asio;

namespace rota::proxy {
namespace {

constexpr std::uint32_t header_bytes_max = 32 << 10;
constexpr std::size_t buffer_bytes_max = 128 << 10;
/// For TLS and the first header, and between requests.
constexpr Duration greeting_limit = std::chrono::seconds(30);
constexpr Duration quiet_limit = std::chrono::seconds(75);
/// A browser that has closed its side may still read, or be gone: so long without a byte, it is.
constexpr Duration leaving_limit = std::chrono::seconds(3);
/// So long, and so much, of a body that nobody wants is read, that the answer is not lost with it.
constexpr Duration linger_limit = std::chrono::seconds(2);
constexpr std::size_t linger_bytes_max = 1 << 20;

bool wants_html(const Request& request) {
  return lower_case(request[http::field::accept]).find("text/html") != std::string::npos;
}

bool is_safe(http::verb method) {
  return method == http::verb::get || method == http::verb::head || method == http::verb::options;
}

/// A page of another host must not act here with this browser's cookies.
Result<void> check_origin(const Request& request, const Target& target, std::string_view base) {
  if (is_safe(request.method()) && !is_upgrade(request)) return {};
  if (request.count(http::field::origin) == 0) return {};
  if (request.count(http::field::origin) == 1 &&
      is_own_origin(request[http::field::origin], request[http::field::host], target, base))
    return {};
  return Error{Errc::denied, "a page of another host has asked for this"};
}

template <class Response>
void add_own_headers(Response& response) {
  response.set(http::field::server, "rproxy");
  response.set(http::field::cache_control, "no-store");
  response.set("Referrer-Policy", "no-referrer");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Content-Security-Policy",
               "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
}

}  // namespace

Visit::Visit(Server& server, ClientStream client, std::string address, Tally::Seat seat)
    : server_(server),
      client_(std::move(client)),
      address_(std::move(address)),
      seat_(std::move(seat)),
      buffer_(buffer_bytes_max),
      timer_(client_.get_executor()),
      deadline_(std::chrono::steady_clock::now() + greeting_limit) {}

void Visit::begin() {
  const auto executor = client_.get_executor();
  asio::co_spawn(
      executor, [self = shared_from_this()] { return self->watch(); }, net::log_end("watch"));
  asio::co_spawn(
      executor, [self = shared_from_this()] { return self->run(); }, net::log_end("visit"));
}

net::awaitable<void> Visit::run() {
  bool goes_on = co_await client_.greet();
  while (goes_on && !is_closed_) goes_on = co_await serve_request();
  close();
}

// ---- time ----

void Visit::allow(Duration time) {
  if (is_leaving_) time = std::min(time, leaving_limit);
  const auto before = deadline_;
  deadline_ = std::chrono::steady_clock::now() + time;
  if (deadline_ < before) timer_.cancel();  // else it is looked at when it expires
}

net::awaitable<void> Visit::watch() {
  while (!is_closed_) {
    timer_.expires_at(deadline_);
    co_await timer_.async_wait(net::no_throw);
    if (std::chrono::steady_clock::now() >= deadline_) close();
  }
}

/// While a job takes its time, nobody reads from the browser: its end must be looked for.
void Visit::heed_departure() {
  asio::co_spawn(
      client_.get_executor(),
      [self = shared_from_this(), answer = answers_] { return self->wait_departure(answer); },
      net::log_end("visit"));
}

net::awaitable<void> Visit::wait_departure(std::uint64_t answer) {
  asio::steady_timer pause(client_.get_executor());
  while (!is_closed_ && answer == answers_) {
    co_await client_.socket().async_wait(asio::socket_base::wait_read, net::no_throw);
    if (is_closed_ || answer != answers_) co_return;
    pollfd look{.fd = client_.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
    if (::poll(&look, 1, 0) > 0) {
      is_leaving_ = true;
      co_return allow(leaving_limit);
    }
    // It has sent more, which waits its turn, or the goodbye of TLS, with its end right behind.
    pause.expires_after(std::chrono::seconds(1));
    co_await pause.async_wait(net::no_throw);
  }
}

void Visit::close() {
  is_closed_ = true;
  boost::system::error_code ignored;
  client_.socket().close(ignored);
  if (way_) way_->socket.close(ignored);
  timer_.cancel();
}

// ---- a request ----

net::awaitable<bool> Visit::serve_request() {
  RequestParser parser;
  parser.header_limit(header_bytes_max);
  parser.body_limit(boost::none);
  allow(std::exchange(is_first_, false) ? greeting_limit : quiet_limit);
  auto [error, size] = co_await http::async_read_header(client_, buffer_, parser, net::no_throw);
  if (error) co_return co_await refuse_unread(error);
  allow(server_.config().proxy_idle_limit);
  const Request& request = parser.get();
  const std::string& base = server_.config().proxy_url;
  const Result<void> framing = check_framing(request);
  if (!framing) {
    Page page = page_for(framing.error(), {});
    co_return co_await send_page(std::move(page), nullptr);
  }
  if (request.method() == http::verb::connect || request.method() == http::verb::trace ||
      request.method() == http::verb::unknown) {
    Page page{405, "Method not allowed", "This method is of no use here."};
    co_return co_await send_page(std::move(page), &parser);
  }
  auto target = target_from(request.target(), request[http::field::host], base);
  if (!target) {
    Page page = page_for(target.error(), {});
    co_return co_await send_page(std::move(page), &parser);
  }
  const auto guest = co_await let_in(request, *target);
  if (!guest) {
    const bool is_stranger =
        guest.error().code == Errc::auth_failed && guest.error().detail.empty();
    Page page =
        is_stranger ? page_for_stranger(target->door) : page_for(guest.error(), target->door);
    co_return co_await send_page(std::move(page), &parser);
  }
  const bool asks_page = is_safe(request.method()) && !is_upgrade(request);
  if (!target->token.empty() && asks_page) co_return co_await greet(*guest, *target, parser);
  if (!target->token.empty() && target->changes && request.method() == http::verb::post)
    co_return co_await change_owner(*guest, *target, parser);
  if (guest->by_cookie) {
    if (const auto other = other_owner(request, *guest)) {
      Page page = other->empty() ? page_for_stranger(target->door)
                                 : page_for_other(target->door, guest->owner, *other, {});
      co_return co_await send_page(std::move(page), &parser);
    }
  }
  if (guest->waits) {
    Page page = page_for(*guest->waits, target->door);
    co_return co_await send_page(std::move(page), &parser);
  }
  if (target->lacks_slash) {
    std::vector<std::string> none;
    co_return co_await send_redirect(308, target->path, std::move(none), parser);
  }
  const Result<void> origin = check_origin(request, *target, base);
  if (!origin) {
    Page page = page_for(origin.error(), target->door);
    co_return co_await send_page(std::move(page), &parser);
  }
  Passage passage{*target, guest->token};
  passage.upgrades = is_upgrade(request);
  passage.is_head = request.method() == http::verb::head;
  passage.has_body = !parser.is_done();
  passage.expects = lower_case(request[http::field::expect]) == "100-continue";
  passage.keeps_open = request.keep_alive();
  passage.is_old = request.version() < 11;
  passage.html = wants_html(request);
  prepare(parser.get(), *target, address_, server_.is_secure());
  co_return co_await pass_on(parser, passage);
}

/// What came is no request, too long a one, or nothing at all.
net::awaitable<bool> Visit::refuse_unread(boost::system::error_code error) {
  if (error.category() != http::make_error_code(http::error::end_of_stream).category() ||
      error == http::error::end_of_stream || error == http::error::partial_message)
    co_return false;
  const bool is_long = error == http::error::header_limit || error == http::error::buffer_overflow;
  Page page = is_long
                  ? Page{431, "Too long", "The request's header is longer than this takes."}
                  : Page{400, "Bad request", format("This is no request: {}.", error.message())};
  co_return co_await send_page(std::move(page), nullptr);
}

/// With a token in the address: the browser is to show it by itself from now on.
net::awaitable<bool> Visit::greet(const Guest& guest, const Target& target,
                                  const RequestParser& parser) {
  const bool has_hosts = has_own_hosts(server_.config().proxy_url);
  if (const auto other = other_owner(parser.get(), guest); other && !other->empty()) {
    Page page = page_for_other(target.door, guest.owner, *other,
                               path_with_token(target, guest.token, true));
    co_return co_await send_page(std::move(page), &parser);
  }
  const bool is_secure = server_.is_secure();
  std::vector<std::string> cookies{cookie_with_token(target, guest.token, is_secure)};
  if (!has_hosts) cookies.push_back(cookie_with_pin(guest.owner_uid, is_secure));
  co_return co_await send_redirect(303, target.path, std::move(cookies), parser);
}

/// By the button of such a page only, which is of this host: a link cannot do it.
net::awaitable<bool> Visit::change_owner(const Guest& guest, const Target& target,
                                         const RequestParser& parser) {
  const Request& request = parser.get();
  if (request.count(http::field::origin) == 0 ||
      !check_origin(request, target, server_.config().proxy_url)) {
    Page page{403, "Not for you", "A page of another host has asked for this."};
    co_return co_await send_page(std::move(page), &parser);
  }
  std::vector<std::string> cookies{cookie_without_pin(server_.is_secure())};
  std::string where = path_with_token(target, guest.token, false);
  co_return co_await send_redirect(303, std::move(where), std::move(cookies), parser, true);
}

std::optional<std::string> Visit::other_owner(const Request& request, const Guest& guest) const {
  if (has_own_hosts(server_.config().proxy_url)) return std::nullopt;
  const std::string own = format("{}", guest.owner_uid);
  std::optional<std::string> other = "";
  const auto range = request.equal_range(http::field::cookie);
  for (auto at = range.first; at != range.second; ++at)
    for (const std::string& pin : pins_in_cookies(at->value())) {
      if (pin != own) return format("uid {}", quoted(pin.substr(0, 20)));
      other.reset();
    }
  return other;
}

/// By the token that opens the door; auth_failed without words when none was shown.
net::awaitable<Result<Visit::Guest>> Visit::let_in(const Request& request, const Target& target) {
  std::vector<std::string> tokens;
  bool by_cookie = false;
  if (!target.token.empty()) {
    tokens.push_back(target.token);
  } else if (request.count(token_header) > 0) {
    tokens.emplace_back(request[token_header]);
  } else {
    by_cookie = true;
    const auto range = request.equal_range(http::field::cookie);
    for (auto at = range.first; at != range.second && tokens.size() < 4; ++at)
      for (std::string& token : tokens_in_cookies(at->value(), target.door))
        tokens.push_back(std::move(token));
  }
  Error last{Errc::auth_failed, ""};
  for (const std::string& token : tokens) {
    const auto about = net::read_token(token);
    if (!about) {
      last = about.error();
      continue;
    }
    const auto links = server_.links();
    auto good = co_await links->check(target.door, token);
    // A token is good before its job has started: the browser may wait without it in the address.
    if (!good && good.error().code != Errc::job_not_started) {
      last = good.error();
      continue;
    }
    Guest guest;
    guest.token = token;
    guest.by_cookie = by_cookie;
    const bool is_told = about->owner_uid != UINT32_MAX;
    guest.owner_uid = is_told ? about->owner_uid : about->uid;
    guest.owner = is_told ? about->owner : about->user;
    if (!good) {
      guest.waits = good.error();
      co_return guest;
    }
    const std::string who = format("{} (uid {})", about->user, about->uid);
    if (seat_.who() != who) {
      auto seat = server_.tally().take(who);
      if (!seat) co_return seat.error();
      seat_ = *std::move(seat);
      log::debug("{} comes to job {} port {} from {}", who, target.door.job.value, target.door.port,
                 address_);
    }
    co_return guest;
  }
  co_return last;
}

// ---- answers of our own ----

template <class Response>
net::awaitable<bool> Visit::send_own(Response response, bool may_go_on) {
  response.keep_alive(may_go_on);
  allow(server_.config().proxy_idle_limit);
  auto [error, size] = co_await http::async_write(client_, response, net::no_throw);
  if (error) co_return false;
  if (!may_go_on) co_await linger();
  co_return may_go_on;
}

/// `parser`: of the request, when it was one.
net::awaitable<bool> Visit::send_page(Page page, const RequestParser* parser) {
  const bool is_request = parser != nullptr;
  const bool html = is_request && wants_html(parser->get());
  const bool is_head = is_request && parser->get().method() == http::verb::head;
  const bool may_go_on = is_request && parser->is_done() && parser->get().keep_alive();
  co_return co_await write_page(std::move(page), html, is_head, may_go_on);
}

net::awaitable<bool> Visit::write_page(Page page, bool html, bool is_head, bool may_go_on) {
  http::response<http::string_body> response;
  response.result(page.status);
  add_own_headers(response);
  response.set(http::field::content_type,
               html ? "text/html; charset=utf-8" : "text/plain; charset=utf-8");
  if (page.comes_back) response.set("Refresh", "3");
  // Without one, the button's request would not say that it comes from here.
  if (!page.action.empty()) response.set("Referrer-Policy", "same-origin");
  if (page.status == 401) response.set(http::field::www_authenticate, "Rota");
  const std::string text = document(page, html);
  response.content_length(text.size());
  if (!is_head) response.body() = text;
  co_return co_await send_own(std::move(response), may_go_on && !is_head);
}

net::awaitable<bool> Visit::send_redirect(unsigned status, std::string where,
                                          std::vector<std::string> cookies,
                                          const RequestParser& parser, bool clears) {
  http::response<http::empty_body> response;
  response.result(status);
  add_own_headers(response);
  response.set(http::field::location, where);
  for (const std::string& cookie : cookies) response.insert(http::field::set_cookie, cookie);
  // What pages of the owner before have left, service workers too. Not the cookies: browsers take
  // those of the whole domain for meant.
  if (clears) response.set("Clear-Site-Data", "\"storage\"");
  response.content_length(0);
  const bool may_go_on = parser.is_done() && parser.get().keep_alive();
  co_return co_await send_own(std::move(response), may_go_on);
}

/// Closing with unread bytes would take the answer away from the other side.
net::awaitable<void> Visit::linger() {
  boost::system::error_code ignored;
  client_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  allow(linger_limit);
  char block[4096];
  for (std::size_t left = linger_bytes_max; left > sizeof block; left -= sizeof block) {
    auto [error, size] =
        co_await client_.socket().async_read_some(asio::buffer(block), net::no_throw);
    if (error) co_return;
  }
}

}  // namespace rota::proxy
