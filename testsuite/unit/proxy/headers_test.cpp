// testsuite/unit/proxy/headers_test.cpp - what a job hears of a browser, and a browser of a job.
#include "proxy/headers.h"

#include <gtest/gtest.h>

#include <boost/beast/http/parser.hpp>
#include <sstream>

namespace rota::proxy {
namespace {

Target sample() { return *target_from("/1-80/x?rota_token=t", "login", "https://login"); }

template <class Message, class Parser>
Message parse(const std::string& head) {
  Parser parser;
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head + "\r\n"), error);
  EXPECT_FALSE(error && error != http::error::need_more) << error.message();
  return parser.release();
}
Request request(const std::string& lines, const std::string& first = "GET /1-80/x HTTP/1.1\r\n") {
  return parse<Request, http::request_parser<http::buffer_body>>(first + lines);
}
Response response(const std::string& lines) {
  return parse<Response, http::response_parser<http::buffer_body>>("HTTP/1.1 200 OK\r\n" + lines);
}

template <class Message>
std::string text_of(const Message& message) {
  std::ostringstream out;
  for (const auto& field : message) out << field.name_string() << ": " << field.value() << '\n';
  return out.str();
}

TEST(ProxyFraming, HasOneMeaning) {
  const auto verdict = [](const std::string& lines) {
    const auto checked = check_framing(request(lines, "POST /1-80/ HTTP/1.1\r\n"));
    return checked ? "good" : checked.error().detail;
  };
  EXPECT_EQ(verdict("Host: h\r\nContent-Length: 0\r\n"), "good");
  EXPECT_EQ(verdict("Host: h\r\nTransfer-Encoding: chunked\r\n"), "good");
  EXPECT_EQ(verdict("Host: h\r\nTransfer-Encoding: Chunked\r\n"), "good");
  EXPECT_EQ(verdict("Host: h\r\nTransfer-Encoding: gzip, chunked\r\n"),
            "the request has a Transfer-Encoding other than chunked");
  EXPECT_EQ(verdict("Host: h\r\nTransfer-Encoding: xchunked\r\nContent-Length: 0\r\n"),
            "the request has a Transfer-Encoding other than chunked");
  EXPECT_EQ(verdict("Host: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n"),
            "the request says its length twice");
  EXPECT_EQ(verdict("Content-Length: 0\r\n"), "the request does not say one host");
  EXPECT_EQ(verdict("Host: h\r\nHost: g\r\n"), "the request does not say one host");
}

TEST(ProxyHeaders, OfARequest) {
  Request it = request(
      "Host: login\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n"
      "Cookie: a=1; rota-1-80=secret\r\nCookie: rota-2-80=secret\r\nX-Rota-Token: secret\r\n"
      "Referer: https://login/1-80/?rota_token=secret\r\nX-Forwarded-For: 6.6.6.6\r\n"
      "Upgrade: h2c\r\nTE: trailers\r\nExpect: 100-continue\r\nAccept: x\r\n");
  EXPECT_FALSE(is_upgrade(it));
  prepare(it, sample(), "10.0.0.1", true);
  EXPECT_EQ(text_of(it),
            "Host: login\nAccept: x\nCookie: a=1\nX-Forwarded-For: 10.0.0.1\n"
            "X-Forwarded-Proto: https\n");
  EXPECT_EQ(it.target(), "/1-80/x");
}

TEST(ProxyHeaders, ALengthIsNotNamedAway) {
  Request it = request(
      "Host: login\r\nContent-Length: 0\r\nConnection: Content-Length, transfer-encoding\r\n",
      "POST /1-80/x HTTP/1.1\r\n");
  prepare(it, sample(), "10.0.0.1", false);
  EXPECT_EQ(it[http::field::content_length], "0");
}

TEST(ProxyHeaders, OfAWebSocket) {
  Request it = request(
      "Host: login\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
      "Sec-WebSocket-Key: k\r\n");
  EXPECT_TRUE(is_upgrade(it));
  prepare(it, sample(), "10.0.0.1", false);
  EXPECT_EQ(text_of(it),
            "Host: login\nSec-WebSocket-Key: k\nX-Forwarded-For: 10.0.0.1\n"
            "X-Forwarded-Proto: http\nConnection: Upgrade\nUpgrade: websocket\n");
}

TEST(ProxyHeaders, OfAResponse) {
  Response it = response(
      "Content-Length: 0\r\nConnection: close\r\nSet-Cookie: rota-2-80=stolen; Path=/2-80/\r\n"
      "Set-Cookie: s=1; Path=/; Domain=login\r\nSet-Cookie: t=2\r\nService-Worker-Allowed: /\r\n"
      "Alt-Svc: h3=\":1\"\r\nClear-Site-Data: \"*\"\r\nLocation: /1-80/y\r\n");
  prepare(it, sample(), false);
  EXPECT_EQ(
      text_of(it),
      "Content-Length: 0\nLocation: /1-80/y\nSet-Cookie: s=1; Path=/1-80/\nSet-Cookie: t=2\n");
}

}  // namespace
}  // namespace rota::proxy
