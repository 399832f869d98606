// gpud/meeting_ports.cpp - which port comes next, and whether somebody has it.
#include "gpud/meeting_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "common/format.h"
#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

constexpr std::uint32_t port_first = 10'240;
constexpr std::uint32_t port_end = 32'768;  // Linux hands out those above by itself
constexpr std::uint32_t port_count = port_end - port_first;

std::uint16_t port_at(std::uint32_t place) {
  return static_cast<std::uint16_t>(port_first + place % port_count);
}

/// True when it can be had, or there is no such kind of address here.
bool can_bind(int family, const sockaddr* address, socklen_t size) {
  const Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return true;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // not for closed ones
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket.get(), address, size) != 0) return errno == EADDRNOTAVAIL;
  // With SO_REUSEADDR two may be bound, and only one may listen.
  return ::listen(socket.get(), 1) == 0;
}

}  // namespace

MeetingPorts::MeetingPorts(IsFree is_free) : is_free_(std::move(is_free)) {}

/// Neighbours in time are far from each other, and a restart goes elsewhere.
std::uint16_t MeetingPorts::first_choice(RunId run) {
  const std::uint64_t mixed =
      (std::uint64_t{run.job.value} + run.restart * 7'919u) * 2'654'435'761u;
  return port_at(static_cast<std::uint32_t>(mixed % port_count));
}

Result<std::uint16_t> MeetingPorts::take(RunId run) {
  const std::uint32_t begin = first_choice(run) - port_first;
  for (std::uint32_t i = 0; i < port_count; ++i) {
    const std::uint16_t port = port_at(begin + i);
    if (taken_.contains(port) || !is_free_(port)) continue;
    ++taken_[port];
    return port;
  }
  return Error{Errc::busy,
               format("no TCP port from {} to {} is free for the job's processes to meet",
                      port_first, port_end - 1)};
}

Result<std::uint16_t> MeetingPorts::take_first_choice(RunId run) {
  const std::uint16_t port = first_choice(run);
  if (taken_.contains(port) || !is_free_(port))
    return Error{Errc::busy,
                 format("TCP port {}, where the job's processes would meet, is in use", port)};
  ++taken_[port];
  return port;
}

void MeetingPorts::adopt(std::uint16_t port) { ++taken_[port]; }

void MeetingPorts::release(std::uint16_t port) {
  const auto found = taken_.find(port);
  if (found != taken_.end() && --found->second == 0) taken_.erase(found);
}

bool MeetingPorts::is_unused(std::uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  return can_bind(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four) &&
         can_bind(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six);
}

}  // namespace rota::gpud
