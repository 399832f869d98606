// proxy/visit.h - one connection of a browser's: its requests, one after the other.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/time.h"
#include "proxy/client_stream.h"
#include "proxy/headers.h"
#include "proxy/pages.h"
#include "proxy/server.h"

namespace rota::proxy {

/// Lives while its coroutines do. Nothing of a body is kept but what is under way.
class Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(Server& server, ClientStream client, std::string address, Tally::Seat seat);

  /// Serves the connection to its end.
  void begin();

 private:
  using RequestParser = http::request_parser<http::buffer_body>;
  using ResponseParser = http::response_parser<http::buffer_body>;
  /// The job's side, which may serve several requests.
  struct Way {
    Way(Links::JobSocket to, Door where, std::string with)
        : socket(std::move(to)), door(where), token(std::move(with)) {}
    Links::JobSocket socket;
    boost::beast::flat_buffer buffer;
    Door door;
    std::string token;
  };
  /// What is known of a request once its header is changed for the job.
  struct Passage {
    const Target& target;
    std::string token;
    bool upgrades = false;
    bool is_head = false;
    bool has_body = false;
    bool expects = false;     // to hear that the body is wanted
    bool keeps_open = false;  // the browser wants to ask more
    bool is_old = false;      // HTTP/1.0, which knows no chunks
    bool html = false;        // what a page would be
  };

  net::awaitable<void> run();
  net::awaitable<void> watch();
  void allow(Duration time);
  void heed_departure();
  net::awaitable<void> wait_departure(std::uint64_t answer);
  void close();

  // visit.cpp: each answers, and says whether another request may follow.
  net::awaitable<bool> serve_request();
  net::awaitable<bool> refuse_unread(boost::system::error_code error);
  /// Who has been let in, and by what.
  struct Guest {
    std::string token;
    std::uint32_t owner_uid = 0;  // of the job
    std::string owner;
    bool by_cookie = false;           // which the browser shows whoever has made it ask
    std::optional<Error> waits = {};  // the door opens, but there is nothing behind it yet
  };
  net::awaitable<Result<Guest>> let_in(const Request& request, const Target& target);
  net::awaitable<bool> greet(const Guest& guest, const Target& target, const RequestParser& parser);
  net::awaitable<bool> change_owner(const Guest& guest, const Target& target,
                                    const RequestParser& parser);
  /// Whose jobs this browser is let in to, by the cookie of the whole host; "": nobody's yet; none:
  /// this job's owner's.
  std::optional<std::string> other_owner(const Request& request, const Guest& guest) const;
  net::awaitable<bool> send_page(Page page, const RequestParser* parser);
  net::awaitable<bool> write_page(Page page, bool html, bool is_head, bool may_go_on);
  net::awaitable<bool> send_redirect(unsigned status, std::string where,
                                     std::vector<std::string> cookies, const RequestParser& parser,
                                     bool clears = false);
  template <class Response>
  net::awaitable<bool> send_own(Response response, bool may_go_on);
  net::awaitable<void> linger();

  // exchange.cpp: the same, by way of the job.
  net::awaitable<bool> pass_on(RequestParser& parser, Passage passage);
  net::awaitable<Result<void>> open_way(const Passage& passage);
  void shut_way();
  net::awaitable<bool> send_request(RequestParser& parser, bool expects);
  net::awaitable<std::optional<bool>> relay_response(const Passage& passage, bool may_retry);
  net::awaitable<bool> relay_body(ResponseParser& parser, const Passage& passage);
  net::awaitable<bool> tunnel(Response& response, const Passage& passage);
  template <class From, class To>
  net::awaitable<void> copy(From& from, To& to, boost::beast::flat_buffer& first);

  Server& server_;
  ClientStream client_;
  std::string address_;
  Tally::Seat seat_;
  boost::beast::flat_buffer buffer_;
  std::optional<Way> way_;
  bool request_sent_ = false;
  bool is_closed_ = false;
  bool is_first_ = true;
  bool is_leaving_ = false;    // the browser has closed its side while it was being answered
  std::uint64_t answers_ = 0;  // counts them, so that a wait knows whether its own is over
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace rota::proxy
