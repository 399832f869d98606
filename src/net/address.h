// net/address.h - host:port as people write it, and the endpoints it stands for.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota::net {

using Endpoint = boost::asio::ip::tcp::endpoint;
using Endpoints = std::vector<Endpoint>;

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

/// "node1:7118", "10.0.0.1:7118", "[::1]:7118". Port 0 is for listeners only.
Result<HostPort> parse_host_port(std::string_view text);

/// The endpoints of a host that needs no look-up: a literal address or "localhost". Empty for a
/// name. Commands start a thousand times a second, and getaddrinfo costs more than the rest of a
/// session.
Endpoints literal_endpoints(const HostPort& target);

/// Asks the system's resolver: blocks for as long as that takes.
Result<Endpoints> look_up(const HostPort& target);

/// "127.0.0.1:7117", "[::1]:7117"; an IPv4 peer of an IPv6 listener is shown as IPv4.
std::string text_of(const Endpoint& endpoint);

}  // namespace rota::net
