// gpud/launch/packet.h - one packet over a local socket, with open files in it.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "gpud/launch/file.h"

namespace rota::gpud {

inline constexpr std::size_t packet_fds_max = 4;

/// False when it was not sent; errno says why. The descriptors stay the caller's.
bool packet_send(int socket, std::string_view bytes, std::initializer_list<int> fds, int flags = 0);
/// The size, 0 when the peer has gone, -1 and errno. What came with it is in `fds`.
ssize_t packet_receive(int socket, char* buffer, std::size_t size, std::vector<Fd>& fds,
                       int flags = 0);

}  // namespace rota::gpud
