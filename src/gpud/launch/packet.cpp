// gpud/launch/packet.cpp - sendmsg and recvmsg with SCM_RIGHTS. In rstepd, so without libfmt.
#include "gpud/launch/packet.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rota::gpud {

bool packet_send(int socket, std::string_view bytes, std::initializer_list<int> fds, int flags) {
  iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(packet_fds_max * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const std::size_t count = std::min(fds.size(), packet_fds_max);
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.begin(), count * sizeof(int));
  }
  return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL) >= 0;
}

ssize_t packet_receive(int socket, char* buffer, std::size_t size, std::vector<Fd>& fds,
                       int flags) {
  iovec part{.iov_base = buffer, .iov_len = size};
  alignas(cmsghdr) char control[CMSG_SPACE(packet_fds_max * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  // A peer that closes with words of ours unread: the kernel says so before it hands out the
  // peer's last packets, which are still there.
  if (got < 0 && errno == ECONNRESET) got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return got;
}

}  // namespace rota::gpud
