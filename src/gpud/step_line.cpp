// gpud/step_line.cpp - packets of a seqpacket socket, as they become readable.
#include "gpud/step_line.h"

#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "common/log.h"
#include "gpud/launch/nursery.h"
#include "gpud/launch/packet.h"
#include "proto/codec.h"

namespace rota::gpud {

namespace {
constexpr std::size_t report_bytes_max = 64 << 10;
}  // namespace

StepLine::StepLine(boost::asio::any_io_executor executor, Fd socket)
    : socket_(executor, socket.release()) {}

void StepLine::open(OnReport on_report, OnClosed on_closed) {
  on_report_ = std::move(on_report);
  on_closed_ = std::move(on_closed);
  read();
}

void StepLine::read() {
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](boost::system::error_code error) {
                       if (!error) self->drain();
                     });
}

void StepLine::drain() {
  static char packet[report_bytes_max];
  while (socket_.is_open()) {
    const ssize_t size = ::recv(socket_.native_handle(), packet, sizeof packet, MSG_DONTWAIT);
    // A reset only says that rstepd went without hearing us out; what it sent is still there.
    if (size < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (size < 0 && errno == EAGAIN) return read();
    if (size <= 0) {
      const auto on_closed = std::move(on_closed_);
      close();
      if (on_closed) on_closed(shared_from_this());
      return;
    }
    auto report =
        proto::decode<StepReport>(std::string_view(packet, static_cast<std::size_t>(size)));
    if (!report) {
      log::error("rstepd sent what rgpud cannot read: {}", report.error().message());
      continue;
    }
    const OnReport on_report = on_report_;  // it may close this line, and with it the original
    on_report(shared_from_this(), *std::move(report));
  }
}

void StepLine::send(const StepCommand& command) {
  if (!socket_.is_open()) return;
  const std::string packet = proto::encode(command);
  if (packet.size() > command_bytes_max) return;
  // A line that takes nothing any more is about to close, and then its record is read.
  if (::send(socket_.native_handle(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <
      0)
    log::debug("rstepd does not listen: {}", errno);
}

bool StepLine::send_run(int record, int secrets) {
  const std::string body = secrets < 0 ? "" : run_with_secrets;
  return socket_.is_open() &&
         nursery_send(socket_.native_handle(), NurseryOrder::run, body, record, secrets)
             .has_value();
}

bool StepLine::send_exec(int socket) {
  if (!socket_.is_open()) {
    errno = ENOTCONN;
    return false;
  }
  StepCommand command;
  command.signal = SIGCONT;  // to an rstepd from before an upgrade it is only that
  command.exec = true;
  return packet_send(socket_.native_handle(), proto::encode(command), {socket}, MSG_DONTWAIT);
}

void StepLine::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  on_report_ = nullptr;
  on_closed_ = nullptr;
}

}  // namespace rota::gpud
