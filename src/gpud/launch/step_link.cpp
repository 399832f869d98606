// gpud/launch/step_link.cpp - a seqpacket socket: packets keep their borders, and the end is an
// event.
#include "gpud/launch/step_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/clock.h"
#include "gpud/launch/packet.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr Duration retry_interval = std::chrono::milliseconds(200);

}  // namespace

int connect_in(const std::string& directory, const char* name) {
  // A socket's path holds 107 bytes and a spool directory may be deeper: name it by its descriptor.
  const Fd place(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) return -1;
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", place.get(),
                name);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return -1;
  return socket.release();
}

StepLink::StepLink(RunId run, std::string spool_dir, Fd socket)
    : run_(run), spool_dir_(std::move(spool_dir)), socket_(std::move(socket)) {}

void StepLink::lost(MonoTime now) {
  socket_.reset();
  retry_at_ = now + retry_interval;
}

bool StepLink::send(const StepReport& report) {
  if (!socket_) return false;
  const std::string bytes = proto::encode(report);
  if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
    return true;
  // A line that is full for want of a reader is as good as lost: rgpud reads the record instead.
  lost(mono_now());
  return false;
}

std::optional<StepCommand> StepLink::receive(Fd& file) {
  file.reset();
  if (!socket_) return std::nullopt;
  char packet[command_bytes_max];
  std::vector<Fd> files;
  const ssize_t size = packet_receive(socket_.get(), packet, sizeof packet, files, MSG_DONTWAIT);
  if (!files.empty()) file = std::move(files.front());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size <= 0) {
    lost(mono_now());
    return std::nullopt;
  }
  auto command =
      proto::decode<StepCommand>(std::string_view(packet, static_cast<std::size_t>(size)));
  if (!command) return std::nullopt;
  return *command;
}

bool StepLink::reconnect(MonoTime now) {
  socket_.reset(connect_in(spool_dir_, step_socket_name));
  retry_at_.reset();
  if (!socket_) {
    lost(now);
    return false;
  }
  StepReport hello;
  hello.run = run_;
  return send(hello);
}

}  // namespace rota::gpud
