// gpud/share/door.cpp - a listening socket, connections and pidfds under one epoll.
#include "gpud/share/door.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rota::gpud {
namespace {

// Processes that have said nothing yet, or only watch, are few: nvidia-smi and its like.
constexpr std::size_t guests_max = 2 * rota_region_slot_max;

Error failed(const std::string& path, const char* what) {
  return Error{Errc::io_failed, path + ": " + what + ": " + strerrordesc_np(errno)};
}

Result<Fd> listen_at(const std::string& path, uid_t owner) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Errc::too_large, path + ": longer than a socket's name may be"};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed(path, "socket");
  unlink(path.c_str());
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed(path, "bind");
  }
  if (chmod(path.c_str(), 0600) != 0 ||
      (geteuid() == 0 && chown(path.c_str(), owner, static_cast<gid_t>(-1)) != 0)) {
    return failed(path, "chmod");
  }
  if (listen(fd.get(), SOMAXCONN) != 0) return failed(path, "listen");
  return fd;
}

int pidfd_open_(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

Result<std::unique_ptr<ShareDoor>> ShareDoor::open(const std::string& socket_path, uid_t owner,
                                                   std::vector<GpuShare> shares) {
  ROTA_TRY(ShareRegion region, ShareRegion::make());
  Fd events(epoll_create1(EPOLL_CLOEXEC));
  if (!events) return failed(socket_path, "epoll_create1");
  ROTA_TRY(Fd listener, listen_at(socket_path, owner));
  std::unique_ptr<ShareDoor> door(new ShareDoor(std::move(events), std::move(listener), socket_path,
                                                owner, std::move(region), std::move(shares)));
  if (!door->watch(door->listener_.get(), Source::listener, 0)) {
    return failed(socket_path, "epoll_ctl");
  }
  return door;
}

ShareDoor::ShareDoor(Fd events, Fd listener, std::string path, uid_t owner, ShareRegion region,
                     std::vector<GpuShare> shares)
    : events_(std::move(events)),
      listener_(std::move(listener)),
      path_(std::move(path)),
      owner_(owner),
      region_(std::move(region)),
      books_(region_.rules(), region_.counts(), std::move(shares)) {}

ShareDoor::~ShareDoor() { unlink(path_.c_str()); }

bool ShareDoor::watch(int fd, Source source, std::uint64_t guest) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = guest << 2 | static_cast<std::uint64_t>(source);
  return epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void ShareDoor::serve() {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t guest = ready[static_cast<std::size_t>(i)].data.u64 >> 2;
    switch (static_cast<Source>(ready[static_cast<std::size_t>(i)].data.u64 & 3)) {
      case Source::listener:
        accept_all();
        break;
      case Source::connection:
        hear(guest);
        break;
      case Source::process:
        bury(guest);
        break;
    }
  }
}

void ShareDoor::accept_all() {
  while (guests_.size() < guests_max) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) break;
    if (!fd) return;
    const std::uint64_t id = next_guest_++;
    if (!watch(fd.get(), Source::connection, id)) continue;
    guests_[id].connection = std::move(fd);
  }
  rest();
}

/// Who comes now waits until a guest has left; its own patience may end before.
void ShareDoor::rest() {
  if (std::exchange(resting_, true)) return;
  note_ = "its part of a GPU: no room for more than " + std::to_string(guests_.size()) +
          " processes at once";
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
}

void ShareDoor::forget(std::uint64_t id) {
  guests_.erase(id);
  if (std::exchange(resting_, false)) watch(listener_.get(), Source::listener, 0);
}

void ShareDoor::hear(std::uint64_t id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;  // buried in this same round
  RotaHello hello{};
  const ssize_t size = recv(found->second.connection.get(), &hello, sizeof hello, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const bool good = size == sizeof hello && hello.magic == rota_region_magic &&
                    hello.version == rota_region_version && found->second.pid == 0 &&
                    (hello.kind == rota_share_holder || hello.kind == rota_share_watcher);
  if (!good) {
    hang_up(id);
    return;
  }
  found->second.holds = hello.kind == rota_share_holder;
  greet(id, found->second);
}

// The kernel says who calls. Should that process have died before its pidfd is open, its number may
// be another's: but then the connection is closed, and nothing is ever counted for it.
void ShareDoor::greet(std::uint64_t id, Guest& guest) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(guest.connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.pid <= 0 || (peer.uid != owner_ && peer.uid != 0)) {
    send_welcome(guest, rota_share_refused);
    forget(id);
    return;
  }
  std::uint32_t status = rota_share_welcome;
  if (guest.holds) {
    Fd process(pidfd_open_(peer.pid));
    const auto slot = process ? books_.join(static_cast<std::uint32_t>(peer.pid)) : std::nullopt;
    if (slot && watch(process.get(), Source::process, id)) {
      guest.process = std::move(process);
      guest.slot = *slot;
    } else {
      if (slot) books_.died(*slot);
      status = process ? rota_share_full : rota_share_refused;
      note_ = "its part of a GPU: process " + std::to_string(peer.pid) + " gets no slot";
    }
  }
  guest.pid = static_cast<std::uint32_t>(peer.pid);
  const bool told = send_welcome(guest, status);
  if (status != rota_share_welcome) {
    forget(id);
  } else if (!told) {
    hang_up(id);
  }
}

bool ShareDoor::send_welcome(const Guest& guest, std::uint32_t status) {
  RotaWelcome welcome{rota_region_magic, rota_region_version, status, guest.slot.number};
  const std::array<int, 2> files = {region_.rules_fd(), region_.counts_fd()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> control{};
  iovec part{&welcome, sizeof welcome};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (status == rota_share_welcome) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(head), files.data(), sizeof files);
  }
  return sendmsg(guest.connection.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof welcome);
}

void ShareDoor::hang_up(std::uint64_t id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  if (!found->second.process) {
    forget(id);
    return;
  }
  found->second.connection.reset();
  books_.hung_up(found->second.slot);
}

void ShareDoor::bury(std::uint64_t id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  books_.died(found->second.slot);
  forget(id);
}

}  // namespace rota::gpud
