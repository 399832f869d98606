// proxy/headers.cpp - headers taken away, changed and added.
#include "proxy/headers.h"

#include <array>
#include <boost/beast/http/rfc7230.hpp>
#include <vector>

#include "common/lower.h"
#include "model/door.h"

namespace rota::proxy {
namespace {

using http::field;

/// Between neighbours only (RFC 9110, 7.6.1). Transfer-Encoding stays: the serializer heeds it.
constexpr std::array<std::string_view, 7> hop_headers{
    "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Proxy-Authorization", "Upgrade", "Expect",
};

/// What speaks of the whole host, which is not one job's to say.
constexpr std::array<std::string_view, 9> host_headers{
    "Service-Worker-Allowed",
    "Clear-Site-Data",
    "Alt-Svc",
    "Strict-Transport-Security",
    "Public-Key-Pins",
    "NEL",
    "Report-To",
    "Reporting-Endpoints",
    "Origin-Agent-Cluster",
};

template <class Fields>
void drop_hops(Fields& fields) {
  std::vector<std::string> named;
  for (const auto word : http::token_list{fields[field::connection]}) named.emplace_back(word);
  for (const std::string& name : named)
    if (lower_case(name) != "transfer-encoding" && lower_case(name) != "content-length")
      fields.erase(name);
  fields.erase(field::connection);
  for (const std::string_view name : hop_headers) fields.erase(name);
}

template <class Message>
void add_upgrade(Message& message) {
  message.set(field::connection, "Upgrade");
  message.set(field::upgrade, "websocket");
}

}  // namespace

Result<void> check_framing(const Request& request) {
  const auto bad = [](std::string what) { return Error{Errc::invalid_argument, std::move(what)}; };
  if (request.count(field::content_length) > 1) return bad("the request says its length twice");
  if (request.count(field::transfer_encoding) > 1 ||
      (request.count(field::transfer_encoding) == 1 &&
       lower_case(request[field::transfer_encoding]) != "chunked"))
    return bad("the request has a Transfer-Encoding other than chunked");
  if (request.count(field::transfer_encoding) == 1 && request.count(field::content_length) == 1)
    return bad("the request has both a length and chunks");
  if (request.count(field::host) > 1 ||
      (request.version() >= 11 && request.count(field::host) == 0))
    return bad("the request does not say one host");
  return {};
}

bool is_upgrade(const Request& request) {
  return request.version() >= 11 && request.method() == http::verb::get &&
         http::token_list{request[field::connection]}.exists("upgrade") &&
         lower_case(request[field::upgrade]) == "websocket";
}

void prepare(Request& request, const Target& target, std::string_view peer, bool is_secure) {
  const bool upgrades = is_upgrade(request);
  drop_hops(request);
  std::string cookies;
  const auto range = request.equal_range(field::cookie);
  for (auto at = range.first; at != range.second; ++at) {
    const std::string left = cookies_without_ours(at->value());
    if (!left.empty()) cookies += (cookies.empty() ? "" : "; ") + left;
  }
  request.erase(field::cookie);
  if (!cookies.empty()) request.set(field::cookie, cookies);
  request.erase(token_header);
  // A browser may have the token in the address that it came from.
  for (const std::string_view name : {"Referer", "Referrer"}) {
    const std::string_view from = request[name];
    if (from.find(token_parameter) != std::string_view::npos) request.erase(name);
  }
  // Only what we say ourselves of where a request comes from is true.
  for (const std::string_view name : {"Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
                                      "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Real-IP"})
    request.erase(name);
  request.set("X-Forwarded-For", peer);
  request.set("X-Forwarded-Proto", is_secure ? "https" : "http");
  request.target(target.path);
  request.version(11);
  if (upgrades) add_upgrade(request);
}

void prepare(Response& response, const Target& target, bool is_upgrade) {
  drop_hops(response);
  std::vector<std::string> cookies;
  const auto range = response.equal_range(field::set_cookie);
  for (auto at = range.first; at != range.second; ++at)
    if (auto cookie = cookie_within(at->value(), target.prefix))
      cookies.push_back(*std::move(cookie));
  response.erase(field::set_cookie);
  for (const std::string& cookie : cookies) response.insert(field::set_cookie, cookie);
  for (const std::string_view name : host_headers) response.erase(name);
  response.version(11);
  if (is_upgrade) add_upgrade(response);
}

}  // namespace rota::proxy
