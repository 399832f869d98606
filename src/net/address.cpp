// net/address.cpp - reading host:port, literal addresses and the system's resolver.
#include "net/address.h"

#include <charconv>

#include "common/format.h"
#include "common/names.h"

namespace rota::net {
namespace ip = boost::asio::ip;
namespace {

constexpr std::size_t host_bytes_max = 253;  // the longest name that DNS can hold

Error bad_address(std::string_view text, std::string_view what) {
  return Error{
      Errc::invalid_argument,
      format("address '{}': {}; write host:port, 10.0.0.1:port or [::1]:port", text, what)};
}

Endpoints loopback(std::uint16_t port) {
  return {Endpoint(ip::address_v4::loopback(), port), Endpoint(ip::address_v6::loopback(), port)};
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text, "the port is missing");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);

  HostPort target;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), target.port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    return bad_address(text, format("'{}' is not a port from 0 to 65535", digits));

  if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return bad_address(text, "an IPv6 address needs brackets");
  if (host.empty()) return bad_address(text, "the host is missing");
  if (host.size() > host_bytes_max) return bad_address(text, "the host's name is too long");
  for (const char c : host)
    if (c <= ' ' || c == 0x7f) return bad_address(text, "the host's name has a blank in it");
  target.host = host;
  return target;
}

Endpoints literal_endpoints(const HostPort& target) {
  if (target.host == "localhost") return loopback(target.port);
  boost::system::error_code error;
  const ip::address address = ip::make_address(target.host, error);
  if (error) return {};
  return {Endpoint(address, target.port)};
}

Result<Endpoints> look_up(const HostPort& target) {
  ROTA_TRY(const auto addresses, addresses_of_host(target.host));
  Endpoints endpoints;
  for (const std::string& text : addresses) {
    boost::system::error_code error;
    const ip::address address = ip::make_address(text, error);
    if (!error) endpoints.emplace_back(address, target.port);
  }
  if (endpoints.empty())
    return Error{Errc::unreachable, format("name '{}' has no address", target.host)};
  return endpoints;
}

std::string text_of(const Endpoint& endpoint) {
  const ip::address address = endpoint.address();
  if (address.is_v4()) return format("{}:{}", address.to_string(), endpoint.port());
  if (address.to_v6().is_v4_mapped())
    return format("{}:{}", ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string(),
                  endpoint.port());
  return format("[{}]:{}", address.to_string(), endpoint.port());
}

}  // namespace rota::net
